package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Builder = (*Conn)(nil)

// SQLName implements connectors.Builder.
func (c *Conn) SQLName(rel connectors.Relation) string { return dialect{c}.Relation(rel) }

// FoldName implements connectors.Builder: names of columns stay as they are written.
func (c *Conn) FoldName(name string) string { return name }

// writer opens a session for a statement that writes into rel's database, which is
// created if it is missing.
func (c *Conn) writer(ctx context.Context, rel connectors.Relation) (*session, error) {
	if rel.Schema == "" {
		return nil, fmt.Errorf("%s: no schema (database) is set for %s", c.where, rel.Name)
	}
	s, err := c.acquire(ctx)
	if isCode(err, errUnknownDatabase) {
		if err = c.ensureDatabase(ctx, c.schema); err == nil {
			s, err = c.acquire(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	err = c.server().checkTarget()
	if err == nil && rel.Schema != c.schema {
		err = s.ensureDatabase(ctx, rel.Schema)
	}
	if err != nil {
		c.release(s)
		return nil, err
	}
	return s, nil
}

// ResultColumns implements connectors.Builder.
func (c *Conn) ResultColumns(ctx context.Context, sql string) (cols []connectors.Column, err error) {
	s, err := c.writer(ctx, c.at(connectors.Relation{Name: resultTable}))
	if err != nil {
		return nil, err
	}
	defer c.release(s)
	rel := connectors.Relation{Schema: c.schema, Name: resultTable}
	if _, err := s.exec(ctx, createResultSQL(rel, sql)); err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, showColumnsSQL(rel))
	if err == nil {
		_, err = s.exec(ctx, dropResultSQL(rel))
	}
	s.bad = s.bad || err != nil // the temporary table is gone with its session
	for _, r := range rows {
		// name, type, collation, nullable
		charset, _, _ := strings.Cut(r[2].s, "_")
		n := parseNative(r[1].s)
		cols = append(cols, c.column([]cell{r[0], r[1], r[3], {s: charset, null: r[2].null}, r[2], {s: strconv.Itoa(n.arg(0, 0))}}, false))
	}
	return cols, err
}

// FirstRow implements connectors.Builder.
func (c *Conn) FirstRow(ctx context.Context, sql string, columns []string) (row []*string, err error) {
	err = c.with(ctx, func(s *session) error {
		rows, err := s.rows(ctx, firstRowSQL(sql, columns))
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return connectors.ErrNoRow
		}
		values := make([]string, len(columns))
		for i, v := range rows[0] {
			values[i] = v.s
		}
		row = connectors.TextRow(values)
		return nil
	})
	return row, err
}

// StageSelect implements connectors.Builder.
func (c *Conn) StageSelect(ctx context.Context, sel connectors.StageSelect) (connectors.Staging, connectors.Selected, error) {
	var out connectors.Selected
	target := c.at(sel.Target)
	s, err := c.writer(ctx, target)
	if err != nil {
		return nil, out, err
	}
	st := &staging{c: c, spec: sel.StageSpec, target: target, s: s, sink: noSink{}, sealed: true,
		rel: connectors.Relation{Schema: target.Schema, Name: c.stagingName(sel.RunID, target)}}
	if _, err := s.exec(ctx, dropTableSQL(st.rel)); err != nil {
		return st, out, fmt.Errorf("creating staging for %s: %w", target, err)
	}
	if _, err := s.exec(ctx, createSelectedSQL(st.rel, sel.SQL)); err != nil {
		return st, out, err
	}
	rows, err := s.rows(ctx, countSQL(st.rel))
	if err != nil {
		return st, out, err
	}
	if out.Rows, err = strconv.ParseInt(rows[0][0].s, 10, 64); err != nil {
		return st, out, err
	}
	table, _, err := s.describe(ctx, st.rel)
	if err != nil {
		return st, out, err
	}
	st.written = out.Rows
	out.Columns = table.Columns
	st.spec.Columns = table.Columns
	for _, col := range table.Columns {
		st.cols = append(st.cols, asCreated(col))
	}
	if len(sel.Unique) > 0 {
		if err := st.repeated(ctx, sel.Unique); err != nil {
			return st, out, err
		}
	}
	return st, out, nil
}

// asCreated is a staging column that the server has typed.
func asCreated(col connectors.Column) *target {
	t := &target{col: col, ddl: col.Native, nat: parseNative(col.Native)}
	if col.Collation != "" {
		t.ddl += " COLLATE " + col.Collation
	}
	switch t.nat.base {
	case "char", "varchar":
		t.chars = t.nat.arg(0, 1)
	case "enum", "set":
		t.labels = parseLabels(t.nat.args)
	}
	return t
}

func (st *staging) repeated(ctx context.Context, key []string) error {
	rows, err := st.s.rows(ctx, repeatedKeySQL(st.rel, key))
	if err != nil || len(rows) == 0 {
		return err
	}
	e := &connectors.RepeatedKeyError{Key: key}
	for _, v := range rows[0] {
		if v.null {
			v.s = "NULL"
		}
		e.Values = append(e.Values, v.s)
	}
	return e
}

// noSink stands in a staging table that the server filled itself.
type noSink struct{}

func (noSink) put(b []byte, _ int, _ *field, _ []byte, _ bool) []byte { return b }
func (noSink) end(b []byte) []byte                                    { return b }
func (noSink) write(context.Context, []byte) error {
	return errors.New("writing to staging: it is filled already")
}
func (noSink) finish(context.Context) (int64, error) {
	return 0, errors.New("sealing staging: it is sealed")
}
func (noSink) abort() {}

// CreateView implements connectors.Builder. A table of that name makes room in one
// RENAME, which is atomic.
func (c *Conn) CreateView(ctx context.Context, rel connectors.Relation, sql string) error {
	rel = c.at(rel)
	s, err := c.writer(ctx, rel)
	if err != nil {
		return err
	}
	defer c.release(s)
	kind, err := s.kind(ctx, rel)
	switch {
	case err != nil:
		return err
	case kind == "" || kind == "VIEW":
		_, err = s.exec(ctx, createViewSQL(rel, sql))
		return err
	case kind != "BASE TABLE":
		return fmt.Errorf("%s is a %s, which dvt does not replace", rel, strings.ToLower(kind))
	}
	refs, err := s.references(ctx, rel)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		return fmt.Errorf("%s is a table that the foreign key %s of %s points to: drop that first", rel, refs[0].name, refs[0].table)
	}
	fresh := connectors.Relation{Schema: rel.Schema, Name: c.stagingName("view", rel)}
	old := connectors.Relation{Schema: rel.Schema, Name: fresh.Name + suffixOld}
	if _, err := s.exec(ctx, createViewSQL(fresh, sql)); err != nil {
		return err
	}
	_, err = s.exec(ctx, swapWaitSQL)
	if err == nil {
		_, err = s.exec(ctx, renameSQL(rel, old, fresh, rel))
	}
	// Whatever happened, what is not in place is dropped: the next run would do it too.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	left := old
	if err != nil {
		left = fresh
	}
	if e := s.dropAny(after, left); e != nil {
		c.log.Warn("the replaced relation could not be dropped; the next run does it", "table", left.Name, "error", e)
	}
	s.settle(after)
	return err
}
