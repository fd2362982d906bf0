package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

// KeyReduction says that the keys which one extract brings may reduce another: the rows
// of To whose ToColumn is not among the values of FromColumn in the staged rows of From
// match nothing and need not leave their source. From must be staged first. Reductions
// form no cycle; their order in Plan.KeyReductions is one in which they can be made.
type KeyReduction struct {
	From, To             int    // indexes into Plan.Extracts
	FromColumn, ToColumn int    // indexes into Relation.Table.Columns
	Kind                 string // the join: inner, left, semi, anti, …
	Keys                 int64  // about how many distinct keys, -1 where that is not known
}

// KeyText is a reduction for people: "orders.customer_id ∈ keys of customers.id (about 12
// keys)".
func (p *Plan) KeyText(k KeyReduction) string {
	from, to := &p.Extracts[k.From].Relation, &p.Extracts[k.To].Relation
	column := func(r *Relation, c int) string { return r.Title() + "." + plainName(r.Table.Columns[c].Name) }
	keys := "? keys"
	if k.Keys >= 0 {
		keys = fmt.Sprintf("about %d keys", k.Keys)
	}
	return column(to, k.ToColumn) + " ∈ keys of " + column(from, k.FromColumn) + " (" + keys + ")"
}

// MaxKeys is the number of distinct keys up to which Reduce lists them; above, it takes
// their range.
const MaxKeys = 1000

// reductions chooses among the links those that pay: who goes first is the side that is
// smaller for sure, or by its predicates. Each choice may make another pay.
func reductions(p *Plan, a *analysis, this func(*Relation) bool, rules ruleSet) []KeyReduction {
	if a.whole || !rules.on(ruleKeys) || !rules.on(rulePushdown) {
		return nil
	}
	var possible []KeyReduction
	for _, l := range a.links {
		k := KeyReduction{From: indexOf(p, l.from.rel), To: indexOf(p, l.to.scan.rel), FromColumn: l.from.col, ToColumn: l.to.col, Kind: l.kind}
		if k.From >= 0 && k.To >= 0 && possibleReduction(p, a, k, this, rules) {
			possible = append(possible, k)
		}
	}
	r := reducer{plan: p, reduced: make([]int, len(p.Extracts)), part: make([]float64, len(p.Extracts))}
	for i := range r.part {
		r.part[i] = 1
	}
	for {
		before := len(r.chosen)
		for _, k := range possible {
			r.choose(k)
		}
		if len(r.chosen) == before {
			return r.inOrder()
		}
	}
}

func indexOf(p *Plan, r *Relation) int {
	return slices.IndexFunc(p.Extracts, func(x Extract) bool {
		return x.Relation.Catalog == r.Catalog && x.Relation.Schema == r.Schema && x.Relation.Name == r.Name
	})
}

// possibleReduction: the relation of To is scanned once, for another scan would need
// other rows; it is not cut by a limit, for among the rows of the keys other rows would
// come up to it. The keys of the target's own content never become SQL text, and it is
// not reduced, for it is not read at the source each time.
func possibleReduction(p *Plan, a *analysis, k KeyReduction, this func(*Relation) bool, rules ruleSet) bool {
	from, to := &p.Extracts[k.From], &p.Extracts[k.To]
	scans := 0
	for _, s := range a.scans {
		if indexOf(p, s.rel) == k.To {
			scans++
		}
	}
	if k.From == k.To || scans != 1 && rules.guards(guardOnce) || from.Pruned || to.Pruned || to.Limit >= 0 && rules.guards(guardFree) || from.Reduced != "" || to.Reduced != "" ||
		to.Relation.Dialect == nil || this(&from.Relation) || this(&to.Relation) {
		return false
	}
	ft, tt := from.Relation.Table.Columns[k.FromColumn].Type, to.Relation.Table.Columns[k.ToColumn].Type
	sample, ok := sampleKey(tt)
	if !ok || !sameKeys(ft, tt) || !slices.Contains(from.Columns, k.FromColumn) {
		return false
	}
	return connectors.RenderPred(to.Relation.Dialect, listed(k.ToColumn, []connectors.Value{sample}), to.Relation.Table).SQL != "" ||
		connectors.RenderPred(to.Relation.Dialect, between(k.ToColumn, sample, sample), to.Relation.Table).SQL != ""
}

// sameKeys reports whether values of the two types are equal as they stand.
func sameKeys(a, b connectors.Type) bool {
	switch {
	case isInteger(a.Kind) && isInteger(b.Kind):
		return true
	case a.Kind != b.Kind:
		return false
	case a.Kind == connectors.Decimal:
		return a.Precision > 0 && b.Precision > 0 && a.Scale == b.Scale
	}
	return true
}

func isInteger(k connectors.Kind) bool { return k >= connectors.TinyInt && k <= connectors.UBigInt }

// sampleKey is some value of a type that keys may have.
func sampleKey(t connectors.Type) (connectors.Value, bool) {
	v := connectors.Value{Type: t, Int: big.NewInt(1)}
	switch {
	case isInteger(t.Kind):
		return integerValue(v.Int), true
	case t.Kind == connectors.Decimal || t.Kind == connectors.Date || t.Kind == connectors.Timestamp || t.Kind == connectors.TimestampTZ:
	case t.Kind == connectors.UUID:
		v.Int, v.Text = nil, "00000000-0000-0000-0000-000000000001"
	case t.Kind == connectors.Varchar:
		v.Int, v.Text = nil, "a"
	default:
		return v, false
	}
	return v, true
}

// reducer gathers chosen reductions.
type reducer struct {
	plan    *Plan
	chosen  []KeyReduction
	reduced []int     // for each extract, how many reductions by narrowed extracts it gets
	part    []float64 // and what is expected to be left by them
}

func (r *reducer) choose(k KeyReduction) {
	same := func(c KeyReduction) bool {
		return c.From == k.From && c.To == k.To && c.FromColumn == k.FromColumn && c.ToColumn == k.ToColumn
	}
	if slices.ContainsFunc(r.chosen, same) || r.leads(k.To, k.From) || !r.pays(k) {
		return
	}
	keys, part := r.keys(k)
	k.Keys = int64(keys)
	r.chosen = append(r.chosen, k)
	if r.narrowed(k.From) || part.known() {
		r.reduced[k.To]++
		r.part[k.To] *= part.guess
	}
}

// leads reports whether extract a must be staged before b, or is b.
func (r *reducer) leads(a, b int) bool {
	return a == b || slices.ContainsFunc(r.chosen, func(c KeyReduction) bool { return c.From == a && r.leads(c.To, b) })
}

// wholeShare is how many times a relation that is read as a whole must be smaller than the
// one that waits for it, unless its keys fit into a list. Its keys are likely to be all
// that the other has, so the wait must cost next to nothing beside the other's extract.
const wholeShare = 100

// pays reports whether From is expected to be much smaller than To, and its keys not to
// be nearly all that To has.
func (r *reducer) pays(k KeyReduction) bool {
	for _, c := range r.chosen {
		if c.From == k.From && c.To == k.To { // it waits anyway
			return true
		}
	}
	if _, part := r.keys(k); part.low > mostKeys {
		return false
	}
	from, to := &r.plan.Extracts[k.From], &r.plan.Extracts[k.To]
	a, known1 := r.expected(k.From)
	b, known2 := r.expected(k.To)
	if known1 && known2 {
		times := 4.0
		if a > MaxKeys && !r.narrowed(k.From) {
			times = wholeShare
		}
		return a*times <= b
	}
	return narrowing(from)+r.reduced[k.From] > narrowing(to)+r.reduced[k.To]
}

// narrowed reports whether an extract leaves rows of its relation out, by itself or by the
// keys of one that does.
func (r *reducer) narrowed(i int) bool {
	return narrowing(&r.plan.Extracts[i])+r.reduced[i] > 0
}

// mostKeys is the part of a column's values from which on a list of them leaves out too
// few rows to wait for it.
const mostKeys = 0.5

// keys estimates how many keys From brings, -1 where that is not known, and the part of
// To's rows that has one of them. Of a range between two of many keys nothing is known.
func (r *reducer) keys(k KeyReduction) (float64, share) {
	from, to := r.plan.Extracts[k.From].Relation.Table, r.plan.Extracts[k.To].Relation.Table
	keys, known := r.expected(k.From)
	if n := distinct(from, k.FromColumn); n > 0 && (!known || n < keys) {
		keys, known = n, true
	}
	if !known {
		return -1, unknown
	}
	keys = math.Round(max(min(1, keys*2), keys)) // half a key is one
	values := distinct(to, k.ToColumn)
	if keys > MaxKeys || values == 0 {
		return keys, unknown
	}
	part := min(1, keys/values)
	return keys, share{part, part, part}
}

// expected guesses an extract's rows.
func (r *reducer) expected(i int) (rows float64, known bool) {
	x := &r.plan.Extracts[i]
	if x.Relation.Table.RowEstimate < 0 {
		return 0, false
	}
	return float64(x.Relation.Table.RowEstimate) * x.share().guess * r.part[i], true
}

// narrowing counts what makes an extract smaller than its relation.
func narrowing(x *Extract) int {
	n := len(x.Pushed)
	if x.Limit >= 0 {
		n++
	}
	return n
}

// inOrder sorts the chosen so that each comes after those that reduce its From.
func (r *reducer) inOrder() []KeyReduction {
	var out []KeyReduction
	done := map[int]bool{}
	for len(out) < len(r.chosen) {
		for i, k := range r.chosen {
			waits := slices.ContainsFunc(r.chosen, func(c KeyReduction) bool { return c.To == k.From && !slices.Contains(out, c) })
			if !done[i] && !waits {
				done[i] = true
				out = append(out, k)
			}
		}
	}
	return out
}
