package planner

import (
	"context"
	"errors"
	"slices"
	"strconv"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// scan is one read of a relation in DuckDB's plan, with what DuckDB proved to hold
// directly on it.
type scan struct {
	rel   *Relation
	cols  []int   // columns of the table that the plan reads
	preds []*expr // conjuncts that may be applied to the rows of the scan
	limit int64   // rows that are enough, -1 = all
	order []sortKey
	skip  bool // the limit counts rows that an OFFSET leaves out
	// extremes are all that is needed of the scan, if there are any.
	extremes []extreme
}

type sortKey struct {
	by        *expr
	desc      bool
	nullsLast bool
}

// analysis is what DuckDB's plan of a model says.
type analysis struct {
	scans []*scan
	tree  string // the operators, for tests
	// root is the output of the whole query; its chain is open if nothing but filters,
	// projections and limits stands between it and one scan.
	root output
	// from traces the result's columns in the plan before optimization, so that the
	// types a target gets do not depend on what the optimizer could leave out today.
	from []*origin
	// links are the places where a join's keys may reduce what is read.
	links []link
	// whole is set when nothing was optimized: no predicate, limit or absence of a
	// scan may be concluded.
	whole bool
	note  string // why more is read than need be
}

// analyze plans q. json_serialize_plan can fail on a valid query: an optimizer may leave
// stale operator types, and not everything can be serialized: a folded BIT is bytes that
// are no text. Then it tries with fewer optimizers, with none, and at last without a plan,
// which reads every relation as a whole: slower, never wrong.
func (s *shadow) analyze(ctx context.Context, q *query, rules ruleSet) (*analysis, error) {
	keep := rules.optimizers()
	attempts := [][]string{keep, without(keep, "cte_inlining"), without(keep, "cte_inlining", "expression_rewriter"), nil}
	var note string
	if q.unstable != "" {
		note = q.unstable + "() is evaluated when the model runs: every relation is read whole"
	}
	if note != "" || !rules.on(ruleOptimize) {
		attempts = attempts[len(attempts)-1:]
	}
	for _, keep := range attempts {
		if keep != nil {
			if err := s.optimize(ctx, keep); err != nil {
				return nil, err
			}
		}
		a, err := s.analyzeWith(ctx, q, rules, keep != nil)
		if err == nil {
			a.note = note
			return a, s.trace(ctx, q, a)
		}
		var fault *Error
		if !errors.As(err, &fault) || !s.valid(ctx, q) {
			return nil, err
		}
		note = "DuckDB could not serialize its plan (" + fault.Msg + ")"
	}
	return &analysis{whole: true, note: note + ": every relation is read whole"}, nil
}

func without(optimizers []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(optimizers), func(o string) bool { return slices.Contains(names, o) })
}

// valid reports whether DuckDB accepts q after all.
func (s *shadow) valid(ctx context.Context, q *query) bool {
	return s.prepare(ctx, q.sql, func(*duckdb.Stmt) error { return nil }) == nil
}

// trace sets a.from.
func (s *shadow) trace(ctx context.Context, q *query, a *analysis) error {
	if a.whole {
		a.from = a.root.from
		return nil
	}
	bound, err := s.analyzeWith(ctx, q, ruleSet{}, false)
	var fault *Error
	if errors.As(err, &fault) { // not serialized: columns get DuckDB's types
		return nil
	}
	if err != nil {
		return err
	}
	a.from = bound.root.from
	return nil
}

func (s *shadow) analyzeWith(ctx context.Context, q *query, rules ruleSet, optimize bool) (*analysis, error) {
	// No skip options: skip_empty would drop the constant ''.
	root, err := s.serialize(ctx, "json_serialize_plan", q.sql, ", optimize := "+strconv.FormatBool(optimize))
	if err != nil {
		return nil, err
	}
	if root["error"] == true {
		return nil, duckFault(q.sql, root)
	}
	plans := list(root, "plans")
	if len(plans) != 1 {
		return nil, &Error{Msg: "a model is one SELECT: DuckDB plans " + strconv.Itoa(len(plans)) + " statements"}
	}
	top, _ := plans[0].(obj)
	w := walker{analysis: &analysis{whole: !optimize}, rels: s.scanned, rules: rules, ctes: map[int][]*origin{}}
	w.root = w.visit(top)
	return w.analysis, nil
}
