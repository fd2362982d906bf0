package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

var bg = context.Background()

// open gives a session whose batches must all have been released at the end.
func open(t testing.TB) *Conn {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	db, err := Open(Options{Settings: map[string]string{"threads": "2"}, SetUp: []string{"SET GLOBAL TimeZone = 'UTC'"}, Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	})
	return c
}

func exec(t testing.TB, c *Conn, sql string) {
	t.Helper()
	if err := c.Exec(bg, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// texts are the rows of a query of VARCHAR columns, "NULL" for NULL.
func texts(t testing.TB, c *Conn, sql string) (rows []string) {
	t.Helper()
	err := c.Query(bg, sql, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			var parts []string
			for _, col := range rec.Columns() {
				parts = append(parts, col.ValueStr(i))
			}
			rows = append(rows, strings.Join(parts, "|"))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

func TestColumns(t *testing.T) {
	c := open(t)
	cols, err := c.Columns(bg, `SELECT NULL n, 1::UTINYINT u, 1.5::DECIMAL(38,3) d, '{}'::JSON j, ['{}'::JSON] lj, {'a': 1, 'B c': '1'::BIT} s,
		map {'k': [now()]} m, 'a'::ENUM('a','b') e, '2020-01-01'::TIMESTAMP_S ts, '2020-01-01'::TIMESTAMP_NS tn, uuid() id, 1::HUGEINT h, TIMETZ '00:00+01' tz`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cols {
		got = append(got, c.Name+" "+c.Type.String())
	}
	want := `n INTEGER, u UTINYINT, d DECIMAL(38,3), j JSON, lj JSON[], s STRUCT("a" INTEGER, "B c" BIT), m MAP(VARCHAR, TIMESTAMP WITH TIME ZONE[]), e VARCHAR, ts TIMESTAMP, tn TIMESTAMP_NS, id UUID, h HUGEINT, tz TIME WITH TIME ZONE`
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	for _, bad := range []string{"1::UHUGEINT", "[1,2]::INTEGER[2]", "union_value(a := 1)", "[1::UHUGEINT]", "{'a': [1,2]::INT[2]}", "row(1, 2)", "map {1::UHUGEINT: 1}"} {
		_, err := c.Columns(bg, "SELECT "+bad+" AS col")
		var te *connectors.TypeError
		if !errors.As(err, &te) || te.Column != "col" {
			t.Errorf("%s: %v, want a TypeError that names col", bad, err)
		}
	}
}

func TestStatementErrors(t *testing.T) {
	c := open(t)
	for _, tt := range []struct {
		sql, want string
		pos       int
	}{
		{"SELEC 1", `Parser Error: syntax error at or near "SELEC"`, 0},
		{"SELECT 'ä', nope FROM range(3)", `Binder Error: Referenced column "nope" not found in FROM clause!`, 13},
		{"SELECT 1; SELECT 2", "there is more than one statement", -1},
		{"SELECT $1", "it is not one SELECT without parameters", -1},
		{"INSERT INTO x VALUES (1)", "", -1},
		{"-- nothing", "there is no statement", -1},
		{"SELECT 1\x00; DROP", "the statement has a NUL byte", 8},
		{"SELECT error('boom at ' || i) FROM range(3) r(i)", "Invalid Input Error: boom at 0", -1},
		{"SELECT CASE WHEN i = 300000 THEN 'x'::INT ELSE i END FROM range(600000) r(i)", "Conversion Error: Could not convert string 'x' to INT32", 36},
	} {
		err := c.Query(bg, tt.sql, func(arrow.RecordBatch) error { return nil })
		var se *connectors.StatementError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), tt.want) || se.Position != tt.pos || se.SQL != tt.sql {
			t.Errorf("%s: %v, %#v", tt.sql, err, se)
		}
	}
}

func TestPivotWithoutValues(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE z AS SELECT i, 'k' || i % 2 AS k FROM range(4) r(i)")
	got := texts(t, c, "SELECT k0::VARCHAR, k1::VARCHAR FROM (PIVOT (SELECT k, i FROM z) ON k USING sum(i))")
	if fmt.Sprint(got) != "[2|4]" {
		t.Error(got)
	}
}

func TestCount(t *testing.T) {
	c := open(t)
	for _, tt := range []struct {
		sql  string
		want int64
	}{
		{"CREATE TABLE t AS SELECT i FROM range(5000) r(i)", 5000},
		{"INSERT INTO t SELECT i FROM range(7) r(i)", 7},
		{"UPDATE t SET i = 1 WHERE i < 2", 4},
		{"DELETE FROM t WHERE i = 1", 4},
		{"SELECT count(*) FROM t", 5003},
	} {
		if got, err := c.Count(bg, tt.sql); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v", tt.sql, got, err)
		}
	}
	for _, sql := range []string{"SELECT NULL::BIGINT", "SELECT 1::INTEGER", "SELECT i FROM t", "SELECT 1::BIGINT WHERE false", "BEGIN"} {
		if n, err := c.Count(bg, sql); err == nil {
			t.Errorf("%s: %d, want an error", sql, n)
		}
	}
	_ = c.Exec(bg, "ROLLBACK")
}

// The statement itself must end, not only the wait for it; and the session must work on.
func TestCancel(t *testing.T) {
	c := open(t)
	long := "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range * b.range % 7 = 9"
	for name, run := range map[string]func(context.Context) error{
		"exec": func(ctx context.Context) error { return c.Exec(ctx, "CREATE OR REPLACE TABLE x AS "+long) },
		"query": func(ctx context.Context) error {
			return c.Query(ctx, long, func(arrow.RecordBatch) error { return nil })
		},
		"stream": func(ctx context.Context) error {
			return c.Query(ctx, "SELECT i FROM range(100000000000) r(i)", func(arrow.RecordBatch) error { return nil })
		},
	} {
		ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
		start := time.Now()
		err := run(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(start))
		}
		if n, err := c.Count(bg, "SELECT 42::BIGINT"); n != 42 || err != nil {
			t.Errorf("after %s: %d, %v", name, n, err)
		}
	}
}

func TestBusyAndClosed(t *testing.T) {
	c := open(t)
	err := c.Query(bg, "SELECT i FROM range(100000) r(i)", func(arrow.RecordBatch) error { return c.Exec(bg, "SELECT 1") })
	if err == nil || !strings.Contains(err.Error(), "busy") {
		t.Error(err)
	}
	other, err := c.db.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Exec(bg, "SELECT 1"); err == nil {
		t.Error("a closed session ran a statement")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestBatchBounds(t *testing.T) {
	c := open(t)
	total, n := 0, 0
	count := func(rec arrow.RecordBatch) error {
		n++
		total += int(rec.NumRows())
		if rec.NumRows() > connectors.BatchRows || rec.NumRows() == 0 {
			return fmt.Errorf("%d rows", rec.NumRows())
		}
		return nil
	}
	if err := c.Query(bg, "SELECT i FROM range(100001) r(i)", count); err != nil || total != 100001 || n > 8 {
		t.Errorf("%v: %d rows in %d batches", err, total, n)
	}
	// 3 MB values: two fit into a batch, three do not.
	total, n = 0, 0
	err := c.Query(bg, "SELECT repeat('x', 3000000) s, [i, i] l FROM range(9) r(i)", func(rec arrow.RecordBatch) error {
		if rec.NumRows() > 2 {
			return fmt.Errorf("%d rows of 3 MB", rec.NumRows())
		}
		return count(rec)
	})
	if err != nil || total != 9 {
		t.Errorf("%v: %d rows", err, total)
	}
}
