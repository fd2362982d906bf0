package extract

import (
	"context"
	"fmt"
	"sort"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// order is a sequence of the extracts in which each stands behind those whose keys
// reduce it. Reads that take turns on one connection keep to it, so that none waits for
// one that waits for its turn.
func order(p *planner.Plan) []int {
	rank := make([]int, len(p.Extracts))
	for range p.Extracts { // as many rounds as the longest chain may have links
		for _, k := range p.KeyReductions {
			rank[k.To] = max(rank[k.To], rank[k.From]+1)
		}
	}
	seq := make([]int, len(p.Extracts))
	for i := range seq {
		seq[i] = i
	}
	sort.SliceStable(seq, func(a, b int) bool { return rank[seq[a]] < rank[seq[b]] })
	return seq
}

// reduced is extract i with the predicates that the keys of staged extracts give it.
// It waits until those are staged.
func (j *job) reduced(ctx context.Context, i int) (*planner.Extract, error) {
	for at, k := range j.plan.KeyReductions {
		if k.To != i {
			continue
		}
		select {
		case <-j.staged[k.From]:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if j.plan.Extracts[i].Pruned {
			break
		}
		if err := j.reduce(ctx, at); err != nil {
			return nil, fmt.Errorf("reading the keys of %s: %w", j.plan.Extracts[k.From].Relation.Title(), err)
		}
	}
	return &j.plan.Extracts[i], nil
}

// reduce puts the predicate of one reduction into its extract. Keys that cannot be told
// leave it as it is: that only moves more.
func (j *job) reduce(ctx context.Context, at int) error {
	k := j.plan.KeyReductions[at]
	from := j.plan.Extracts[k.From].Relation
	col := from.Table.Columns[k.FromColumn]
	loText, hiText, err := j.model.KeyRange(ctx, from.Catalog, from.Schema, from.Name, col.Name)
	if err != nil {
		return err
	}
	lo, ok1 := planner.KeyValue(col.Type, loText)
	hi, ok2 := planner.KeyValue(col.Type, hiText)
	if !ok1 || !ok2 {
		return nil
	}
	texts, err := j.model.Keys(ctx, from.Catalog, from.Schema, from.Name, col.Name, planner.MaxKeys)
	if err != nil {
		return err
	}
	var keys []connectors.Value
	if len(texts) <= planner.MaxKeys {
		keys = make([]connectors.Value, 0, len(texts))
		for _, t := range texts {
			v, ok := planner.KeyValue(col.Type, &t)
			if !ok {
				return nil
			}
			keys = append(keys, v)
		}
	}
	if x, ok := j.plan.Reduce(at, lo, hi, keys); ok {
		j.plan.Extracts[k.To] = x
	}
	return nil
}
