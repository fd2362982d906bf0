package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// newConn opens a connection on a new file, with a checked allocator.
func newConn(t *testing.T, keys ...string) *conn {
	t.Helper()
	return connAt(t, filepath.Join(t.TempDir(), "it's a `file`.db"), keys...)
}

func connAt(t *testing.T, path string, keys ...string) *conn {
	t.Helper()
	out := connectors.Output{Name: "lite", Type: engine, Keys: map[string]any{"path": path}}
	for i := 0; i < len(keys); i += 2 {
		out.Keys[keys[i]] = keys[i+1]
	}
	c, err := open(out, connectors.Env{ProjectDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	c.alloc = alloc
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		alloc.AssertSize(t, 0)
	})
	return c
}

func run(t *testing.T, c *conn, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func describe(t *testing.T, c *conn, name string) *connectors.Table {
	t.Helper()
	table, err := c.Describe(t.Context(), connectors.Relation{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// extract reads some columns of a table (all without names) as a query of the dialect.
func extract(table *connectors.Table, where string, names ...string) (connectors.Extract, []connectors.Column) {
	e := connectors.Extract{Table: table, Where: where, Limit: -1}
	var cols []connectors.Column
	for i, c := range table.Columns {
		if len(names) == 0 || strings.Contains(" "+strings.Join(names, " ")+" ", " "+c.Name+" ") {
			e.Columns = append(e.Columns, i)
			cols = append(cols, c)
		}
	}
	return e, cols
}

type reads interface {
	Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error
}

// rows reads a table as text, a row a string: values separated by |, NULL as ∅.
func rows(t *testing.T, c *conn, table *connectors.Table, names ...string) ([]string, error) {
	t.Helper()
	e, cols := extract(table, "", names...)
	return texts(t, c, connectors.Query{SQL: c.d.Select(e), Columns: cols})
}

func texts(t *testing.T, c reads, q connectors.Query) ([]string, error) {
	t.Helper()
	var out []string
	err := c.Read(t.Context(), q, func(rec arrow.RecordBatch) error {
		if rec.NumRows() > connectors.BatchRows {
			t.Errorf("a batch of %d rows", rec.NumRows())
		}
		for r := range int(rec.NumRows()) {
			var vals []string
			for _, col := range rec.Columns() {
				vals = append(vals, textOf(col, r))
			}
			out = append(out, strings.Join(vals, "|"))
		}
		return nil
	})
	return out, err
}

func textOf(col arrow.Array, r int) string {
	if col.IsNull(r) {
		return "∅"
	}
	switch a := col.(type) {
	case *array.String:
		return a.Value(r)
	case *array.Decimal128:
		return decimalText(a.Value(r).BigInt(), int(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Timestamp:
		typ := a.DataType().(*arrow.TimestampType)
		if typ.Unit == arrow.Nanosecond {
			return a.Value(r).ToTime(typ.Unit).Format("2006-01-02 15:04:05.000000000")
		}
		return a.Value(r).ToTime(typ.Unit).Format("2006-01-02 15:04:05.000000") + strings.Replace(typ.TimeZone, "UTC", "Z", 1)
	case *array.MonthDayNanoInterval:
		return string(appendInterval(nil, a.Value(r)))
	}
	return col.ValueStr(r)
}

// engineRows are the rows as SQLite itself spells them, with their storage class.
func engineRows(t *testing.T, c *conn, sql string) []string {
	t.Helper()
	s, release, err := c.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var out []string
	err = s.rows(t.Context(), sql, func(st *stmt) error {
		var vals []string
		for i := range st.columns() {
			if st.null(i) {
				vals = append(vals, "∅")
			} else {
				vals = append(vals, st.text(i))
			}
		}
		out = append(out, strings.Join(vals, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}
