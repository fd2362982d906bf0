package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// lane chooses the way of a model and says what stood in the way of a direct one. A
// model that is more than a plain scan stays in the compute lane as long as nothing
// proves a translation into the engine's SQL.
func lane(p *Plan, in Input, used []*Relation, a *analysis) {
	var why string
	p.Plain, why = plain(p, a)
	p.Lane = LaneCompute
	var on []string
	for _, r := range used {
		if !slices.Contains(on, r.Connection) {
			on = append(on, r.Connection)
		}
	}
	slices.Sort(on)
	switch {
	case len(on) == 0:
		p.LaneReason = "no source"
	case len(on) > 1:
		p.LaneReason = fmt.Sprintf("sources on %d connections (%s)", len(on), strings.Join(on, ", "))
	case p.Plain == nil:
		p.LaneReason = fmt.Sprintf("one source (%s), not translated to its dialect: %s", on[0], why)
	case in.ForceCompute:
		p.LaneReason = ReasonAsked
	default:
		p.stream()
	}
}

// stream lets the source give the result itself.
func (p *Plan) stream() {
	x := &p.Extracts[0]
	table := x.Relation.Table
	q := connectors.Query{SQL: x.Relation.Dialect.Select(connectors.Extract{Table: table, Columns: p.Plain, Where: x.Where, OrderBy: x.order, Limit: x.Limit})}
	for i, c := range p.Plain {
		col := table.Columns[c]
		col.Name = p.Columns[i].Name
		q.Columns = append(q.Columns, col)
	}
	p.Streamed, p.Lane = &q, LaneStreamed
	var did []string
	if len(p.Plain) < len(table.Columns) {
		did = append(did, "projected")
	}
	if x.Where != "" {
		did = append(did, "filtered")
	}
	if x.Limit >= 0 {
		did = append(did, "limited")
	}
	p.LaneReason = "one relation of " + x.Relation.Connection + ", "
	if n := len(did) - 1; n > 0 {
		did = []string{strings.Join(did[:n], ", ") + " and " + did[n]}
	}
	if len(did) == 0 {
		did = []string{"read whole"}
	}
	p.LaneReason += did[0] + " there"
}

// plain finds, for a model that is nothing but columns of one relation under an exact
// filter and limit, the column of the relation that each result column is; else why it
// is more.
func plain(p *Plan, a *analysis) (cols []int, why string) {
	switch {
	case a.whole:
		return nil, "its plan is not known"
	case len(p.Extracts) != 1 || len(a.scans) != 1:
		return nil, "it is not one scan of one relation"
	case p.Ordered:
		return nil, "it orders its rows"
	case a.root.scan == nil:
		return nil, "it is more than columns of a relation and a filter"
	}
	x := &p.Extracts[0]
	switch {
	case x.Relation.Dialect == nil:
		return nil, "its source is not known"
	case !x.exact():
		return nil, "its filter is not applied exactly there"
	case a.root.limited && (x.Limit < 0 || x.skip):
		return nil, "its limit is not applied exactly there"
	case len(a.root.cols) != len(p.Columns):
		return nil, "its columns are not known"
	}
	for i, e := range a.root.cols {
		name := plainName(p.Columns[i].Name)
		if e == nil || e.op != opColumn {
			return nil, name + " is computed"
		}
		t := x.Relation.Table.Columns[e.col].Type
		if t.Kind == connectors.Invalid || !t.Equal(p.Columns[i].Type) {
			return nil, name + " has another type there"
		}
		if slices.Contains(cols, e.col) {
			return nil, name + " is there twice"
		}
		cols = append(cols, e.col)
	}
	return cols, ""
}
