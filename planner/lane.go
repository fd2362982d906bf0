package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// lane chooses the way of a model and says what stood in the way of a direct one. A
// model whose relations are on one connection stays in the compute lane as long as
// nothing proves a translation into that engine's SQL.
func lane(in Input, used []*Relation) (lane, reason string) {
	var on []string
	for _, r := range used {
		if !slices.Contains(on, r.Connection) {
			on = append(on, r.Connection)
		}
	}
	slices.Sort(on)
	switch {
	case len(on) == 0:
		return LaneCompute, "no source"
	case len(on) > 1:
		return LaneCompute, fmt.Sprintf("sources on %d connections (%s)", len(on), strings.Join(on, ", "))
	case on[0] != in.TargetConnection:
		return LaneCompute, fmt.Sprintf("source on %s, target on %s", on[0], in.TargetConnection)
	}
	return LaneCompute, fmt.Sprintf("one connection (%s): not translated to its dialect", on[0])
}

// plain finds, for a model that is nothing but columns of one relation under an exact
// filter, the column of the relation that each result column is; nil for all others.
func plain(p *Plan, a *analysis) []int {
	if len(p.Extracts) != 1 || len(a.scans) != 1 || a.whole || p.Ordered || a.root.scan == nil || a.root.limited {
		return nil
	}
	x := &p.Extracts[0]
	if x.Relation.Dialect == nil || !x.exact() || len(a.root.cols) != len(p.Columns) {
		return nil
	}
	cols := make([]int, len(p.Columns))
	for i, e := range a.root.cols {
		if e == nil || e.op != opColumn {
			return nil
		}
		t := x.Relation.Table.Columns[e.col].Type
		if t.Kind == connectors.Invalid || !t.Equal(p.Columns[i].Type) {
			return nil
		}
		cols[i] = e.col
	}
	return cols
}
