package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// oneValue receives the one value of a scalar query.
type oneValue struct {
	typ  connectors.Type
	text *string
	rows int
	// indexed: the index of {{ this }} was read, not the target.
	indexed bool
}

func (o *oneValue) Columns(cols []connectors.Column) error {
	if len(cols) != 1 {
		return fmt.Errorf("a scalar has one column, not %d", len(cols))
	}
	o.typ = cols[0].Type
	return nil
}

func (o *oneValue) Row(values []*string) error {
	o.rows++
	o.text = values[0]
	return nil
}

// scalar evaluates a query of one value, federated like a model: MIN and MAX run on the
// engine where it answers like DuckDB. compiled knows the relations that sql names.
func (r *Runner) scalar(ctx context.Context, n *project.Node, compiled *project.Compiled, sql string, mode planMode) (*oneValue, error) {
	mode.live = true
	p, err := r.prepareSQL(ctx, n, compiled, sql, mode, nil)
	if err != nil {
		return nil, err
	}
	value := &oneValue{}
	if mode.locked {
		p.locked = true
		r.useIndex(p)
		value.indexed = slices.ContainsFunc(p.Plan.Extracts, func(x planner.Extract) bool { return x.Index != "" })
	}
	if err := r.show(ctx, p, value); err != nil {
		return nil, err
	}
	if value.rows != 1 {
		return nil, fmt.Errorf("a scalar gave %d rows", value.rows)
	}
	return value, nil
}

// errNullScalar says that a subquery over {{ this }} is NULL, which would filter
// everything away for ever.
var errNullScalar = errors.New("a scalar over {{ this }} is NULL")

// inlineScalars evaluates the uncorrelated scalar subqueries of sql that read the
// model's own relation and puts their values into their places. indexed says that one of them
// was answered by the index of {{ this }}.
func (r *Runner) inlineScalars(ctx context.Context, n *project.Node, compiled *project.Compiled, mode planMode) (sql string, done []Scalar, indexed bool, err error) {
	input, err := r.input(ctx, n, compiled, compiled.SQL, mode, nil)
	if err != nil {
		return "", nil, false, r.located(n, err)
	}
	found, err := r.planner.FindScalars(ctx, input)
	if err != nil {
		return "", nil, false, r.located(n, err)
	}
	own := map[[3]string]bool{}
	for _, u := range compiled.Relations {
		if u.IsThis {
			own[[3]string{u.Catalog, u.Schema, u.Name}] = true
		}
	}
	var used []planner.Scalar
	var literals []string
	for _, s := range found {
		overThis := false
		for _, rel := range s.Relations {
			overThis = overThis || own[[3]string{rel.Catalog, rel.Schema, rel.Name}]
		}
		if !s.Alone || !overThis {
			continue
		}
		value, err := r.scalar(ctx, n, compiled, s.SQL, planMode{locked: mode.locked})
		if err != nil {
			return "", nil, false, fmt.Errorf("evaluating %s: %w", project.Display(compiled.SQL[s.From:s.To]), err)
		}
		if value.text == nil {
			return "", nil, false, errNullScalar
		}
		literal, err := planner.ScalarLiteral(value.typ, *value.text)
		if err != nil {
			return "", nil, false, err
		}
		indexed = indexed || value.indexed
		used = append(used, s)
		literals = append(literals, literal)
		done = append(done, Scalar{SQL: project.Display(compiled.SQL[s.From:s.To]), Literal: literal})
	}
	return planner.Splice(compiled.SQL, used, literals), done, indexed, nil
}
