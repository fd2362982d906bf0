package run

import (
	"fmt"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// fedFault spoils one extract of a plan; it reports whether it could.
type fedFault func(p *planner.Plan, x *planner.Extract) bool

// fedFaults are what a planner may do wrong.
var fedFaults = map[string]fedFault{
	"relation not read": func(_ *planner.Plan, x *planner.Extract) bool { x.Pruned = true; return true },
	"column not read": func(_ *planner.Plan, x *planner.Extract) bool {
		return len(x.Columns) > 1 && fedSend(x, x.Columns[1:], x.Where, x.Limit)
	},
	"limit below the other operators": func(_ *planner.Plan, x *planner.Extract) bool {
		return x.Limit < 0 && fedSend(x, x.Columns, x.Where, 10)
	},
	"limit without its order": func(_ *planner.Plan, x *planner.Extract) bool {
		return x.Limit >= 0 && fedSend(x, x.Columns, x.Where, x.Limit)
	},
	"limit without its filter": func(_ *planner.Plan, x *planner.Extract) bool {
		return x.Limit >= 0 && x.Where != "" && fedSend(x, x.Columns, "", x.Limit)
	},
	"rows with NULL lost": func(_ *planner.Plan, x *planner.Extract) bool {
		for _, i := range x.Columns {
			if x.Relation.Table.Columns[i].Name != "id" {
				return fedNarrow(x, &connectors.Pred{Kind: connectors.PNull, Col: i, Neg: true})
			}
		}
		return false
	},
	"predicate of another scan": func(_ *planner.Plan, x *planner.Extract) bool {
		five := connectors.Value{Type: connectors.T(connectors.Integer), Int: big.NewInt(5)}
		return fedNarrow(x, &connectors.Pred{Kind: connectors.PCmp, Col: x.Relation.Table.Index("k"), Op: "<", Vals: []connectors.Value{five}})
	},
	"predicate forgotten where it is exact": func(p *planner.Plan, x *planner.Extract) bool {
		if p.Streamed == nil || x.Where == "" {
			return false
		}
		q := *p.Streamed
		q.SQL = x.Relation.Dialect.Select(connectors.Extract{Table: x.Relation.Table, Columns: p.Plain, Limit: x.Limit})
		p.Streamed = &q
		return true
	},
	"rows of another place": func(p *planner.Plan, x *planner.Extract) bool {
		for i := range p.Extracts {
			y := &p.Extracts[i]
			if x.Relation.Use > 0 && y.Relation.Use > 0 && y.Relation.Use != x.Relation.Use && y.Relation.Label == x.Relation.Label && y.Where != x.Where && !y.Pruned && x.Limit < 0 {
				return fedSend(x, x.Columns, y.Where, y.Limit)
			}
		}
		return false
	},
	"keys of a side that keeps its rows": func(p *planner.Plan, x *planner.Extract) bool {
		k := x.Relation.Table.Index("k")
		if len(p.KeyReductions) > 0 || x.Pruned || x.Limit >= 0 || x.Reduced != "" || !slices.Contains(x.Columns, k) {
			return false
		}
		to := slices.IndexFunc(p.Extracts, func(y planner.Extract) bool { return y.Query.SQL == x.Query.SQL })
		for from := range p.Extracts {
			y := &p.Extracts[from]
			at := y.Relation.Table.Index("k")
			if from != to && !y.Pruned && y.Where != "" && y.Reduced == "" && slices.Contains(y.Columns, at) {
				p.KeyReductions = append(p.KeyReductions, planner.KeyReduction{From: from, To: to, FromColumn: at, ToColumn: k, Kind: "left"})
				return true
			}
		}
		return false
	},
}

// fedSend rebuilds what is sent.
func fedSend(x *planner.Extract, cols []int, where string, limit int64) bool {
	if x.Reduced != "" {
		return false
	}
	e := connectors.Extract{Table: x.Relation.Table, Columns: cols, Where: where, Limit: limit}
	x.Query = connectors.Query{SQL: x.Relation.Dialect.Select(e)}
	for _, i := range cols {
		x.Query.Columns = append(x.Query.Columns, x.Relation.Table.Columns[i])
	}
	x.Columns, x.Where, x.Limit = cols, where, limit
	return true
}

func fedNarrow(x *planner.Extract, p *connectors.Pred) bool {
	a := connectors.RenderPred(x.Relation.Dialect, p, x.Relation.Table)
	if a.SQL == "" || x.Limit >= 0 {
		return false
	}
	where := a.SQL
	if x.Where != "" {
		where = fmt.Sprintf("(%s) AND (%s)", x.Where, a.SQL)
	}
	return fedSend(x, x.Columns, where, x.Limit)
}

// TestAcceptanceFederatedFaults spoils plans in one way at a time: the comparison must
// find it.
func TestAcceptanceFederatedFaults(t *testing.T) {
	const seed, limit = 7, 600
	w := newFedWorld(t, seed)
	for name, fault := range fedFaults {
		t.Run(name, func(t *testing.T) {
			rig := newFedRig(t, w, &fedStats{byEngine: map[string]*fedShare{}})
			spoiled := 0
			r := rand.New(rand.NewSource(seed))
			rig.tamper = func(p *planner.Plan) {
				p.Extracts = slices.Clone(p.Extracts)
				for _, i := range r.Perm(len(p.Extracts)) {
					if !p.Extracts[i].Pruned && fault(p, &p.Extracts[i]) {
						spoiled++
						return
					}
				}
			}
			for i := range int64(limit) {
				g := &fedGen{r: rand.New(rand.NewSource(i)), tables: w.tables}
				sql, ordered := g.plain(), false
				switch i % 4 {
				case 0, 2:
					sql, ordered = g.model()
				case 1:
					sql = g.again()
				}
				want, cols, err := rig.want(sql)
				if err != nil {
					continue
				}
				if err := rig.compare(sql, ordered, want, cols, map[string]bool{"estimate": true}); err != nil {
					t.Logf("found by query %d, plan %d that was spoiled", i, spoiled)
					return
				}
			}
			t.Errorf("%d spoiled plans of %d were right", spoiled, limit)
		})
	}
}
