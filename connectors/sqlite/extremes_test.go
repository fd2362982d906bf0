package sqlite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

// TestExtremes compares MAX and MIN with those of the rows as they are read, over columns
// that hold values of any class: a value that reading refuses is refused here too.
func TestExtremes(t *testing.T) {
	values := []string{"NULL", "1", "-5", "9007199254740993", "9223372036854775807", "-9223372036854775808.0", "1.5", "-0.0", "9e999", "1e300", "'a'", "'B'", "''", "'é'", "'12'", "x'61'", "x''"}
	kinds := []string{"INTEGER", "INTEGER", "REAL", "DOUBLE", "TEXT", "VARCHAR(9) COLLATE NOCASE", "DATE", "DECIMAL(10,2)", "MONEY", "BLOB", "DATETIME"}
	for _, policy := range []string{"error", "text", "null"} {
		c := newConn(t, "sqlite_type_mismatch", policy)
		rapid.Check(t, func(rt *rapid.T) {
			decl := rapid.SampledFrom(kinds).Draw(rt, "decl")
			few := rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 4, rapid.ID).Draw(rt, "classes")
			vals := rapid.SliceOfN(rapid.SampledFrom(few), 0, 6).Draw(rt, "values")
			sql := "BEGIN; DROP TABLE IF EXISTS t; CREATE TABLE t (v " + decl + ", n INTEGER PRIMARY KEY)"
			for _, v := range vals {
				sql += "; INSERT INTO t (v) VALUES (" + v + ")"
			}
			run(t, c, sql+"; COMMIT")
			table := describe(t, c, "t")
			highest := rapid.Bool().Draw(rt, "max")
			expr, ok := c.d.Extreme(table, 0, highest)
			if !ok {
				return
			}
			e := connectors.Extract{Table: table, Columns: []int{0}, Where: "`n` > 1", Limit: -1}
			cols := table.Columns[:1]
			all, readErr := texts(t, c, connectors.Query{SQL: c.d.Select(e), Columns: cols})
			got, err := texts(t, c, connectors.Query{SQL: c.d.SelectExtremes(e, []string{expr}), Columns: cols})
			if readErr != nil {
				if err == nil {
					rt.Fatalf("%s %v: reading fails (%v), %s is %s", decl, vals, readErr, expr, got)
				}
				return
			}
			want := extremeOf(all, table.Columns[0].Type.Kind, highest)
			if err != nil || len(got) != 1 || got[0] != want && !(want == "-0" && got[0] == "0") && !(want == "0" && got[0] == "-0") {
				rt.Fatalf("%s %v: %s is %v, %v; want %s", decl, vals, expr, got, err, want)
			}
		})
	}
}

func extremeOf(all []string, k connectors.Kind, highest bool) string {
	all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "∅" })
	if len(all) == 0 {
		return "∅"
	}
	less := func(a, b string) int {
		switch k {
		case connectors.BigInt:
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			if x < y {
				return -1
			}
			return 1
		case connectors.Double:
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	}
	if highest {
		return slices.MaxFunc(all, less)
	}
	return slices.MinFunc(all, less)
}

// TestExtremesFixed: where the engine holds a column to its class, an index answers.
func TestExtremesFixed(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, s TEXT COLLATE NOCASE, b BLOB) STRICT; CREATE INDEX i ON t (r); INSERT INTO t VALUES (1, 2.5, 'a', x''), (-3, 1e300, 'B', x'')",
		"CREATE VIEW v AS SELECT id FROM t")
	table := describe(t, c, "t")
	var exprs []string
	e := connectors.Extract{Table: table, Columns: []int{0, 1, 2}, Limit: -1}
	for i := range 3 {
		expr, ok := c.d.Extreme(table, i, i != 0)
		if !ok {
			t.Fatal(i)
		}
		exprs = append(exprs, expr)
	}
	got, err := texts(t, c, connectors.Query{SQL: c.d.SelectExtremes(e, exprs), Columns: table.Columns[:3]})
	if err != nil || fmt.Sprint(got) != "[-3|1e+300|a]" {
		t.Error(got, err)
	}
	for i := range 2 {
		plan := engineRows(t, c, "EXPLAIN QUERY PLAN "+c.d.SelectExtremes(connectors.Extract{Table: table, Columns: []int{i}}, exprs[i:i+1]))
		if !strings.Contains(fmt.Sprint(plan), "SEARCH") {
			t.Errorf("%s: %q", exprs[i], plan)
		}
	}
	if _, ok := c.d.Extreme(table, 3, true); ok {
		t.Error("a blob")
	}
	if _, ok := c.d.Extreme(describe(t, c, "v"), 0, true); ok {
		t.Error("a view")
	}
}
