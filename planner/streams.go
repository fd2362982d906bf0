package planner

import (
	"slices"
	"strings"
)

// LeastStreamed is the number of rows from which on an extract may be read by the query as
// it comes, and half as many are staged first: staging these costs next to nothing, and
// estimates may be far off.
const LeastStreamed = 250_000

// streams marks the extracts whose rows the query may read as they come: DuckDB scans the
// relation once, and nothing else is to be learnt of its rows before.
func streams(p *Plan, a *analysis, in Input) {
	if a.whole || p.Lane != LaneCompute || in.Together != "" || strings.Contains(a.tree, "RECURSIVE") {
		return
	}
	least := int64(LeastStreamed)
	if in.Stream != nil {
		least = *in.Stream
	}
	for i := range p.Extracts {
		x := &p.Extracts[i]
		scans := 0
		for _, sc := range a.scans {
			if indexOf(p, sc.rel) == i {
				scans++
			}
		}
		leads := slices.ContainsFunc(p.KeyReductions, func(k KeyReduction) bool { return k.From == i })
		x.Streams = scans == 1 && x.Uses == 1 && !leads && !x.Pruned && x.Reduced == "" && len(x.Columns) > 0 && !in.own(&x.Relation) && x.Estimate() >= least
		x.StreamAfter = least / 2
	}
}

// Staged is p where everything is staged before the query runs.
func (p *Plan) Staged() *Plan {
	out := *p
	out.Extracts = slices.Clone(p.Extracts)
	for i := range out.Extracts {
		out.Extracts[i].Streams = false
	}
	return &out
}
