package duckdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Constrainer = (*conn)(nil)

// Constrains implements connectors.Constrainer.
func (c *conn) Constrains(kind connectors.ConstraintKind) (connectors.Support, string) {
	if kind == connectors.ForeignKey {
		return connectors.Unsupported, "DuckDB replaces no table that a foreign key points to"
	}
	return connectors.Enforced, ""
}

// underContract makes the staging table anew with the constraints of the contract: DuckDB
// adds checks to no table that exists. made are its columns: name, type and more.
func (x *staging) underContract(ctx context.Context, st connectors.Relation, made [][]string) error {
	d := x.c.dialect
	cols := make([]connectors.Column, len(made))
	for i, m := range made {
		cols[i].Name = m[0]
	}
	list, err := connectors.FitConstraints(x.spec.Options.Constraints, cols)
	if err != nil || len(list) == 0 {
		return err
	}
	var defs []string
	required := connectors.RequiredColumns(list, connectors.NotNull)
	for _, m := range made {
		def := quote(m[0]) + " " + m[1]
		if required[m[0]] {
			def += " NOT NULL"
		}
		defs = append(defs, def)
	}
	for _, c := range list {
		if c.Kind != connectors.NotNull {
			defs = append(defs, constraint(c))
		}
	}
	x.contract = list
	if err := x.s.Exec(ctx, d.drop(st, false)); err != nil {
		return err
	}
	return x.s.Exec(ctx, d.createDefined(st, defs))
}

func (d dialect) createDefined(rel connectors.Relation, defs []string) string {
	return "CREATE TABLE " + d.Relation(rel) + " (" + strings.Join(defs, ", ") + ")"
}

// constraint leaves names out: DuckDB forgets them.
func constraint(c connectors.Constraint) string {
	switch c.Kind {
	case connectors.PrimaryKey:
		return "PRIMARY KEY (" + quotes(c.Columns) + ")"
	case connectors.Unique:
		return "UNIQUE (" + quotes(c.Columns) + ")"
	case connectors.Check:
		return "CHECK (" + c.Expression + "\n)"
	}
	return c.Expression
}

// blame names the constraint of the contract that the filling of the staging table has
// broken. DuckDB's message tells the kind, and the columns or the condition as it spells
// it.
func (x *staging) blame(ctx context.Context, source string, err error) error {
	if err == nil || len(x.contract) == 0 || !strings.Contains(err.Error(), "Constraint Error") {
		return err
	}
	// Without the statement, which names the staging table.
	text := strings.ReplaceAll(err.Error(), x.name().Name, x.spec.Target.Name)
	err = errors.New(text)
	var could []connectors.Constraint
	for _, c := range x.contract {
		var is bool
		switch c.Kind {
		case connectors.NotNull:
			is = strings.Contains(text, "NOT NULL constraint failed") && slices.ContainsFunc(c.Columns, func(col string) bool { return strings.HasSuffix(strings.TrimSpace(text), "."+col) })
		case connectors.PrimaryKey, connectors.Unique:
			is = strings.Contains(text, "uplicate key") || c.Kind == connectors.PrimaryKey && strings.Contains(text, "NOT NULL")
		case connectors.Check:
			is = strings.Contains(text, "CHECK constraint failed")
		}
		if is {
			could = append(could, c)
		}
	}
	if len(could) > 1 && could[0].Kind == connectors.Check {
		could = slices.DeleteFunc(could, func(c connectors.Constraint) bool { return !strings.Contains(squeezed(text), squeezed(c.Expression)) })
	}
	if len(could) > 1 && could[0].Kind != connectors.Check {
		could = x.repeating(ctx, source, could)
	}
	if len(could) == 0 {
		return fmt.Errorf("a constraint of the contract: %w", err)
	}
	return &connectors.ConstraintError{Constraint: could[0], Err: err}
}

// repeating are the keys among could that rows of source repeat. Nothing else of the
// staging is used any more.
func (x *staging) repeating(ctx context.Context, source string, could []connectors.Constraint) []connectors.Constraint {
	if x.inTx { // which has failed
		x.inTx = false
		if x.s.Exec(ctx, "ROLLBACK") != nil {
			return could
		}
	}
	for _, c := range could {
		if rows, err := queryTexts(ctx, x.s, repeatedIn(source, c.Columns)); err == nil && len(rows) > 0 {
			return []connectors.Constraint{c}
		}
	}
	return could
}

// repeatedIn gives a row if a key without NULL repeats.
func repeatedIn(source string, key []string) string {
	set := make([]string, len(key))
	for i, k := range key {
		set[i] = quote(k) + " IS NOT NULL"
	}
	return "SELECT 'x' FROM " + source + " WHERE " + strings.Join(set, " AND ") + " GROUP BY " + quotes(key) + " HAVING count(*) > 1 LIMIT 1"
}

// squeezed is a condition without what DuckDB adds when it spells it.
func squeezed(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "(", "", ")", "", `"`, "", "\n", "").Replace(s))
}
