package planner

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Planner plans models. It holds in-memory DuckDB instances, the shadows, that know
// names and types and no rows. Its methods may be called from several goroutines.
type Planner struct {
	slots chan struct{} // one token per shadow that may exist
	mu    sync.Mutex
	idle  []*shadow
	known parsed

	memory Memory // nil: none

	without guard // tests only
}

// maxShadows bounds the instances: each costs about 40 MB and planning is short.
const maxShadows = 4

// New is a planner without a shadow: they are opened when they are needed, and when plans
// overlap.
func New() *Planner {
	return &Planner{slots: make(chan struct{}, min(maxShadows, runtime.GOMAXPROCS(0)))}
}

// Close waits for running plans and frees the shadows. Nothing may be planned after it.
func (p *Planner) Close() error {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	var errs []error
	for _, s := range p.idle {
		errs = append(errs, s.close())
	}
	p.idle = nil
	return errors.Join(errs...)
}

// with lends a shadow to f. A shadow that failed in any way but by refusing the
// user's SQL is thrown away: its state is not known.
func (p *Planner) with(ctx context.Context, f func(*shadow) error) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.slots }()
	p.mu.Lock()
	var s *shadow
	if n := len(p.idle); n > 0 {
		s, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if s == nil {
		var err error
		if s, err = openShadow(ctx); err != nil {
			return err
		}
	}
	s.parsed = &p.known
	err := f(s)
	var refused *Error
	var typ *connectors.TypeError
	if s.broken || err != nil && !errors.As(err, &refused) && !errors.As(err, &typ) {
		return errors.Join(err, s.close())
	}
	p.mu.Lock()
	p.idle = append(p.idle, s)
	p.mu.Unlock()
	return err
}

// Relations lists the relations that sql names, in order of appearance, each place
// where one stands. It refuses everything but one SELECT over such relations, common
// table expressions and table functions without data of their own.
func (p *Planner) Relations(ctx context.Context, sql string) ([]Name, error) {
	q, err := p.parse(ctx, sql)
	if err != nil {
		return nil, err
	}
	return q.names, nil
}

// Plan plans one model.
func (p *Planner) Plan(ctx context.Context, in Input) (*Plan, error) {
	plan, err := p.plan(ctx, in, ruleSet{in.DisabledRules, p.without})
	var refused *Error
	if errors.As(err, &refused) && refused.File == "" {
		refused.File = in.File
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// own reports whether r is the target's own content.
func (in *Input) own(r *Relation) bool {
	return r.Connection == in.TargetConnection && r.Table.Relation == in.Target
}

func (p *Planner) plan(ctx context.Context, in Input, rules ruleSet) (*Plan, error) {
	q, err := p.parse(ctx, in.SQL)
	if err != nil {
		return nil, err
	}
	used, err := q.resolve(in)
	if err != nil {
		return nil, err
	}
	a, cols, err := p.analyze(ctx, q, used, in, rules)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Model: in.Model, SQL: q.sql, Ordered: q.ordered, tree: a.tree}
	if plan.Columns, err = resultColumns(cols, a.from); err != nil {
		return nil, err
	}
	all, err := p.separate(ctx, in, reading{query: q, rels: used, analysis: a, cols: cols}, rules)
	if err != nil {
		return nil, err
	}
	plan.SQL = all.query.sql
	if plan.Extracts, err = extracts(all.rels, all.analysis, rules); err != nil {
		return nil, err
	}
	for i, r := range all.rels {
		plan.Extracts[i].Uses, plan.Extracts[i].Why = all.uses[r], all.why[r]
	}
	lane(plan, in, all.rels, all.analysis)
	plan.KeyReductions = reductions(plan, all.analysis, in.own, rules)
	streams(plan, all.analysis, in)
	if a.note != "" {
		plan.Notes = []string{a.note}
	}
	return plan, nil
}

// analyzeShown analyzes q over the relations that it uses, and describes its result.
func (s *shadow) analyzeShown(ctx context.Context, q *query, used []*Relation, now time.Time, rules ruleSet) (*analysis, []connectors.Column, error) {
	if err := s.freeze(ctx, now); err != nil {
		return nil, nil, err
	}
	defer s.hide(ctx)
	if err := s.show(ctx, used); err != nil {
		return nil, nil, err
	}
	a, err := s.analyze(ctx, q, rules)
	if err != nil {
		return nil, nil, err
	}
	cols, err := s.columns(ctx, q)
	return a, cols, err
}
