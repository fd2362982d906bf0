package clickhouse

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// inDatabase names rel's database.
func (c *conn) inDatabase(rel connectors.Relation) connectors.Relation {
	if rel.Schema == "" {
		rel.Schema = c.cfg.database
	}
	return rel
}

// Describe reads the columns of a table or view. Columns that the engine computes
// (MATERIALIZED, ALIAS) are there too, though its own SELECT * leaves them out.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	full := c.inDatabase(rel)
	f, err := c.capabilities(ctx)
	if err != nil {
		return nil, err
	}
	eng, err := c.engineOf(ctx, f, full)
	if err != nil {
		return nil, err
	}
	t := &connectors.Table{Relation: rel, View: isView(eng.name), RowEstimate: eng.rows}
	rows, err := c.text(ctx, columnsSQL(f, full))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r[2] == "EPHEMERAL" { // exists in INSERT only
			continue
		}
		col := describeColumn(r[0], r[1])
		if r[2] != "" { // a row that does not name the column gets a value anyway
			col.Attrs = map[string]string{"default": r[2]}
		}
		t.Columns = append(t.Columns, col)
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("table %s: %w", full, connectors.ErrNotFound)
	}
	return t, nil
}

func describeColumn(name, native string) connectors.Column {
	col := connectors.Column{Name: name, Native: native, Engine: engineName}
	if t, err := parseType(native); err == nil {
		col.Type, col.Nullable = t.logical(), t.nullable()
	}
	return col
}

// tableEngine is how a relation is stored.
type tableEngine struct {
	name string
	rows int64 // -1: not known
}

func isView(engine string) bool { return strings.HasSuffix(engine, "View") }

// engineOf finds a relation; the error Is ErrNotFound if there is none.
func (c *conn) engineOf(ctx context.Context, f *facts, rel connectors.Relation) (tableEngine, error) {
	rows, err := c.text(ctx, tableSQL(f, rel))
	if err != nil {
		return tableEngine{}, err
	}
	if len(rows) == 0 {
		return tableEngine{}, fmt.Errorf("table %s: %w", rel, connectors.ErrNotFound)
	}
	e := tableEngine{rows[0][0], -1}
	if n, err := strconv.ParseInt(rows[0][1], 10, 64); err == nil {
		e.rows = n
	} else if strings.HasSuffix(e.name, "MergeTree") {
		if rows, err = c.text(ctx, partsSQL(rel)); err == nil && len(rows) == 1 {
			if n, err := strconv.ParseInt(rows[0][0], 10, 64); err == nil {
				e.rows = n
			}
		}
	}
	return e, nil
}
