package duckdb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/dvt-dev/dvt/connectors"
)

// Describe reads a table or view from the file's catalog.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (t *connectors.Table, err error) {
	s, err := c.session(ctx, reading)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return c.describe(ctx, s, rel)
}

// found is a relation as the catalog has it: names compare without regard to case.
type found struct {
	connectors.Relation
	view     bool
	rows     int64
	ddl      string // CREATE TABLE or CREATE VIEW
	comment  string
	collated bool // some column may compare in a way of its own
}

func (c *conn) find(ctx context.Context, s connectors.Session, rel connectors.Relation) (*found, error) {
	rows, err := queryTexts(ctx, s, c.dialect.findQuery(rel))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s in %s: %w", c.dialect.schemaOf(rel)+"."+rel.Name, c.file.path, connectors.ErrNotFound)
	}
	r := rows[0]
	f := &found{Relation: connectors.Relation{Schema: r[0], Name: r[1]}, view: r[2] == "view", rows: -1, ddl: r[4], comment: r[5], collated: r[6] == "true"}
	if n, err := strconv.ParseInt(r[3], 10, 64); err == nil {
		f.rows = n
	}
	return f, nil
}

func (c *conn) describe(ctx context.Context, s connectors.Session, rel connectors.Relation) (*connectors.Table, error) {
	f, err := c.find(ctx, s, rel)
	if err != nil {
		return nil, err
	}
	t := &connectors.Table{Relation: connectors.Relation{Schema: f.Schema, Name: f.Name}, View: f.view, RowEstimate: f.rows}
	cols, err := queryTexts(ctx, s, c.dialect.columnsQuery(f.Relation))
	if err != nil {
		return nil, err
	}
	for _, r := range cols {
		col := connectors.Column{Name: r[0], Native: r[1], Engine: engine, Nullable: r[2] == "true"}
		if col.Type, err = c.columnType(ctx, s, f.Relation, col.Name); err != nil {
			return nil, err
		}
		if f.collated && col.Type.Kind == connectors.Varchar {
			// Which column it is, the catalog tells only inside a DDL text.
			col.Collation = "unknown"
		}
		t.Columns = append(t.Columns, col)
	}
	keys, err := queryTexts(ctx, s, c.dialect.primaryKeyQuery(f.Relation))
	if err != nil {
		return nil, err
	}
	for _, r := range keys {
		t.PrimaryKey = append(t.PrimaryKey, r[0])
	}
	if !t.View {
		t.Stats = c.stats(ctx, s, t)
	}
	return t, nil
}

var approxUnique = regexp.MustCompile(`\[Approx Unique: (\d+)\]$`)

// stats are DuckDB's own, nil where it gives none: they are told in a text for people,
// and nothing depends on them.
func (c *conn) stats(ctx context.Context, s connectors.Session, t *connectors.Table) []connectors.Stat {
	rows, err := queryTexts(ctx, s, c.dialect.statsQuery(t.Relation, t.Columns))
	if err != nil || len(rows) == 0 {
		return nil
	}
	out := make([]connectors.Stat, len(t.Columns))
	for i, text := range rows[0] {
		if m := approxUnique.FindStringSubmatch(text); m != nil {
			out[i].Distinct, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
	return out
}

// columnType is Invalid, without an error, for a type that cannot be carried: it only
// matters if the column is used.
func (c *conn) columnType(ctx context.Context, s connectors.Session, rel connectors.Relation, column string) (connectors.Type, error) {
	cols, err := s.Columns(ctx, c.dialect.selectColumn(rel, column))
	var unknown *connectors.TypeError
	if errors.As(err, &unknown) {
		return connectors.Type{}, nil
	}
	if err != nil {
		return connectors.Type{}, err
	}
	return cols[0].Type, nil
}
