package mysql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// TestExtremesAgainstDuckDB: MIN and MAX that the server answers are DuckDB's.
func TestExtremesAgainstDuckDB(t *testing.T) {
	seed, _ := fuzzSeed(t)
	d := newDifferential(t, rand.New(rand.NewPCG(seed, 3)), 150)
	dia := d.c.Dialect().(connectors.Extremes)
	answered := map[string]bool{}
	ask := func(cols []int, greatest bool, where string) {
		t.Helper()
		e := connectors.Extract{Table: d.tab, Columns: cols, Where: where, Limit: -1}
		q := connectors.Query{}
		var exprs []string
		for _, i := range cols {
			x, ok := dia.Extreme(d.tab, i, greatest)
			if !ok {
				return
			}
			answered[d.tab.Columns[i].Name] = true
			exprs, q.Columns = append(exprs, x), append(q.Columns, d.tab.Columns[i])
		}
		q.SQL = dia.SelectExtremes(e, exprs)
		got := read(t, d.c, q)
		if len(got) != 1 {
			t.Fatalf("%s: %d rows", q.SQL, len(got))
		}
		if where == "" {
			where = "true"
		}
		for k, i := range cols {
			c := d.tab.Columns[i]
			v := "NULL"
			if got[0][k] != "NULL" {
				v = "CAST(" + duckText(got[0][k]) + " AS " + c.Type.String() + ")"
				if c.Type.Kind == connectors.TimestampTZ {
					v = "CAST(" + duckText(got[0][k]+"+00") + " AS TIMESTAMPTZ)"
				}
			}
			fn := strings.ToLower(strings.TrimSuffix(extremeSQL(greatest, ""), "()"))
			var same bool
			if err := d.duck.QueryRow(fmt.Sprintf(`SELECT %s("%s") IS NOT DISTINCT FROM %s FROM t WHERE %s`, fn, c.Name, v, where)).Scan(&same); err != nil || !same {
				t.Errorf("%s gives %s, DuckDB differs: %v", q.SQL, got[0][k], err)
			}
		}
	}
	for _, greatest := range []bool{true, false} {
		for _, where := range []string{"", "id < 0", "id < 12", "id BETWEEN 50 AND 60"} {
			for i := range d.tab.Columns {
				ask([]int{i}, greatest, where)
			}
			ask([]int{d.tab.Index("n"), d.tab.Index("ts"), d.tab.Index("s")}, greatest, where)
		}
	}
	for _, name := range []string{"id", "s", "sb", "sn", "sl", "s16", "c", "tx", "n", "u", "dc", "dx", "f", "f4", "ts", "tz", "d", "dn"} {
		if !answered[name] {
			t.Errorf("no extreme of %s", name)
		}
	}
	for _, name := range []string{"en", "st", "y", "bt", "t", "b", "id2", "js", "ip"} {
		if answered[name] {
			t.Errorf("an extreme of %s", name)
		}
	}
	// The watermark is found by its index, not by reading every row.
	x, _ := dia.Extreme(d.tab, d.tab.Index("ts"), true)
	sql := dia.SelectExtremes(connectors.Extract{Table: d.tab, Columns: []int{d.tab.Index("ts")}, Limit: -1}, []string{x})
	if plan := query(t, d.c, "EXPLAIN "+sql); len(plan) != 2 || plan[1][5] != "ts" {
		t.Errorf("%s: %v", sql, plan)
	}
}
