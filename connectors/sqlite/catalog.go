package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Describe reads a table's or view's columns by what they declare. It looks at no row.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	if err := c.knows(rel); err != nil {
		return nil, err
	}
	s, release, err := c.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.describe(ctx, s, rel)
}

func (c *conn) describe(ctx context.Context, s *session, rel connectors.Relation) (*connectors.Table, error) {
	t := &connectors.Table{RowEstimate: -1}
	var sql string
	err := s.rows(ctx, c.d.findRelation(rel), func(st *stmt) error {
		sql = st.text(2)
		t.View = st.text(0) == "view" || strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL")
		t.Stable = !t.View
		t.Relation = connectors.Relation{Schema: c.d.schemaOf(rel), Name: st.text(1)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.Name == "" {
		return nil, fmt.Errorf("%s in %s: %w", rel, c.path, connectors.ErrNotFound)
	}
	if err := c.columns(ctx, s, t); err != nil {
		return nil, err
	}
	if err = c.estimate(ctx, s, t); err != nil {
		return nil, err
	}
	if t.RowEstimate < 0 && len(t.Columns) > 0 && t.Columns[0].Attrs[attrRowKey] != "" {
		t.RowEstimate, err = c.span(ctx, s, t.Relation, t.Columns[0].Attrs[attrRowKey])
	}
	return t, err
}

// columns fills t.Columns and t.PrimaryKey.
func (c *conn) columns(ctx context.Context, s *session, t *connectors.Table) error {
	withoutRowid, strict := false, false
	err := s.rows(ctx, c.d.tableList(t.Relation), func(st *stmt) error {
		withoutRowid, strict = st.integer(0) != 0, st.integer(1) != 0
		return nil
	})
	if err != nil {
		return err
	}
	textEncoding := ""
	err = s.rows(ctx, encoding, func(st *stmt) error {
		if e := st.text(0); e != "UTF-8" {
			textEncoding = e
		}
		return nil
	})
	if err != nil {
		return err
	}
	key := map[int]string{}
	names := map[string]bool{}
	err = s.rows(ctx, c.d.tableInfo(t.Relation), func(st *stmt) error {
		const hiddenInVirtualTable = 1
		if st.integer(4) == hiddenInVirtualTable {
			return nil
		}
		col := connectors.Column{
			Name: st.text(0), Native: st.text(1), Engine: engine,
			Nullable: st.integer(2) == 0, Attrs: map[string]string{},
		}
		col.Type = typeOf(col.Native)
		if textEncoding != "" {
			col.Attrs[attrEncoding] = textEncoding
		}
		names[strings.ToLower(col.Name)] = true
		if pk := int(st.integer(3)); pk > 0 {
			key[pk] = col.Name
		}
		t.Columns = append(t.Columns, col)
		return nil
	})
	if err != nil {
		return err
	}
	for i := 1; i <= len(key); i++ {
		t.PrimaryKey = append(t.PrimaryKey, key[i])
	}
	rowKey := ""
	if !t.View && !withoutRowid {
		// A column may have taken a name of the rowid for itself.
		for _, name := range []string{"rowid", "_rowid_", "oid"} {
			if !names[name] {
				rowKey = name
				break
			}
		}
	}
	for i := range t.Columns {
		col := &t.Columns[i]
		if rowKey != "" {
			col.Attrs[attrRowKey] = rowKey
		}
		if !t.View {
			col.Collation = strings.ToUpper(s.collation(t.Schema, t.Name, col.Name))
		}
		alias := rowKey != "" && len(key) == 1 && key[1] == col.Name && strings.EqualFold(col.Native, "INTEGER") && c.isRowid(ctx, s, t, col.Name)
		if alias || strict && !strings.EqualFold(col.Native, "ANY") {
			col.Attrs[attrFixed] = "1"
		}
		c.applyPolicy(col)
	}
	return nil
}

// applyPolicy: with sqlite_type_mismatch: text a column whose values the engine does not
// hold to its type is read as text, all of it: a type is not chosen by looking at rows.
func (c *conn) applyPolicy(col *connectors.Column) {
	if c.d.policy != mismatchText || col.Attrs[attrFixed] != "" || col.Type.Kind == connectors.Blob {
		return
	}
	col.Type = connectors.T(connectors.Varchar)
}

// isRowid reports whether an INTEGER PRIMARY KEY column is the rowid: then it has no
// index of its own. "INTEGER PRIMARY KEY DESC" has one, and may hold texts and NULLs.
func (c *conn) isRowid(ctx context.Context, s *session, t *connectors.Table, column string) bool {
	alias := true
	err := s.rows(ctx, c.d.keyIndex(t.Relation), func(st *stmt) error {
		alias = false
		return nil
	})
	return err == nil && alias
}

// estimate fills t.RowEstimate by what ANALYZE counted, -1 if it never did, and t.Stats
// by the first columns of indexes: a line is the rows and how many of them have one value.
// Each index has a line of its own; a partial index counts fewer rows than the table.
func (c *conn) estimate(ctx context.Context, s *session, t *connectors.Table) error {
	type line struct {
		rows, each int64
		column     string
	}
	var lines []line
	err := s.rows(ctx, c.d.rowStatistics(t.Relation), func(st *stmt) error {
		words := strings.Fields(st.text(0))
		if len(words) == 0 {
			return nil
		}
		l := line{column: st.text(1)}
		var err error
		if l.rows, err = strconv.ParseInt(words[0], 10, 64); err != nil {
			return nil
		}
		if len(words) > 1 {
			l.each, _ = strconv.ParseInt(words[1], 10, 64)
		}
		lines = append(lines, l)
		t.RowEstimate = max(t.RowEstimate, l.rows)
		return nil
	})
	if err != nil && hasCode(err, codeAny) {
		return nil // never analyzed: there is no sqlite_stat1
	}
	t.Stats = make([]connectors.Stat, len(t.Columns))
	for _, l := range lines {
		if i := t.Index(l.column); i >= 0 && l.each > 0 && l.rows == t.RowEstimate {
			t.Stats[i].Distinct = max(1, l.rows/l.each)
		}
	}
	return err
}

// farApart rows are those of keys that are not counted up: hashes, moments.
const farApart = 1 << 40

// span is how far the first and the last rowid of a table are apart: no less than its
// rows, and found without reading them.
func (c *conn) span(ctx context.Context, s *session, rel connectors.Relation, key string) (int64, error) {
	rows := int64(-1)
	err := s.rows(ctx, c.d.rowSpan(rel, key), func(st *stmt) error {
		n := uint64(st.integer(1)) - uint64(st.integer(0)) // across the signs, too
		switch {
		case st.text(1) == "":
			rows = 0
		case n < farApart:
			rows = int64(n) + 1
		}
		return nil
	})
	return rows, err
}

// knows reports a schema that is no attached file by a message of its own.
func (c *conn) knows(rel connectors.Relation) error {
	schema := c.d.schemaOf(rel)
	if slices.ContainsFunc(c.attached, func(a attachment) bool { return strings.EqualFold(a.schema, schema) }) {
		return nil
	}
	var all []string
	for _, a := range c.attached {
		all = append(all, a.schema)
	}
	return fmt.Errorf("sqlite connection %q has no schema %q, only %s: name its file in schemas_and_paths: %w",
		c.name, schema, strings.Join(all, ", "), connectors.ErrNotFound)
}
