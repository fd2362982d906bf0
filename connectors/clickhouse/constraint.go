package clickhouse

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Constrainer = (*conn)(nil)

// Constrains implements connectors.Constrainer. NOT NULL is a column that is not Nullable.
// ClickHouse has no keys that hold rows apart; checks, which came in 19.14, are not made.
func (c *conn) Constrains(kind connectors.ConstraintKind) (connectors.Support, string) {
	if kind == connectors.NotNull {
		return connectors.Enforced, ""
	}
	return connectors.Unsupported, ""
}

// requiredColumns are the columns that the contract says are never NULL.
func requiredColumns(spec connectors.StageSpec) (map[string]bool, error) {
	list, err := connectors.FitConstraints(spec.Options.Constraints, spec.Columns)
	return connectors.RequiredColumns(list, connectors.NotNull), err
}

// require makes the columns of a staging table that a SELECT has filled what the contract
// says. It counts first: newer servers would put zeros in the place of NULL.
func (st *staging) require(ctx context.Context, spec connectors.StageSpec) error {
	required, err := requiredColumns(spec)
	if err != nil {
		return err
	}
	for i := range st.defs {
		d := &st.defs[i]
		if !required[d.name] || d.t == nil || !d.t.nullable() {
			continue
		}
		rows, err := st.c.text(ctx, countNullSQL(st.sqlName(), d.name))
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0][0] != "0" {
			return &connectors.ConstraintError{Constraint: connectors.Constraint{Kind: connectors.NotNull, Columns: []string{d.name}},
				Err: fmt.Errorf("column %q is NULL in %s rows", d.name, rows[0][0])}
		}
		d.text = d.t.withoutNull()
		if err := st.c.run(ctx, false, modifySQL(st.sqlName(), d.name, d.text), nil); err != nil {
			return err
		}
		if d.t, err = parseType(d.text); err != nil {
			return err
		}
	}
	return nil
}

func countNullSQL(rel, column string) string {
	return "SELECT CAST(toString(count()) AS String) FROM " + rel + " WHERE " + quote(column) + " IS NULL"
}

func modifySQL(rel, column, typ string) string {
	return "ALTER TABLE " + rel + " MODIFY COLUMN " + quote(column) + " " + typ
}
