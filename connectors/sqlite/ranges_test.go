package sqlite

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

func TestCutRows(t *testing.T) {
	for _, x := range []struct {
		lo, hi int64
		n      int
	}{{1, 1, 16}, {0, 15, 16}, {-7, 1000, 16}, {math.MinInt64, math.MaxInt64, 16}, {math.MaxInt64 - 3, math.MaxInt64, 2}} {
		all := cutRows(x.lo, x.hi, x.n)
		at := x.lo
		for i, r := range all {
			if r.lo != at || r.hi < r.lo {
				t.Fatalf("%v: piece %d is %v, it begins at %d", x, i, r, at)
			}
			at = r.hi + 1 // wraps after the last one of all
		}
		if len(all) == 0 || len(all) > x.n || all[len(all)-1].hi != x.hi {
			t.Errorf("%v: %v", x, all)
		}
	}
}

// Two sessions read one table while another keeps moving an amount from its first row to
// its last: the sum tells whether both see the same rows.
func TestRangesOneView(t *testing.T) {
	const n = leastSpan + 1000
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			c := newConn(t)
			run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)",
				"WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 201000) INSERT INTO t SELECT i, 0 FROM r")
			table := describe(t, c, "t")
			e, cols := extract(table, "", "id", "v")
			q := connectors.Query{SQL: c.d.Select(e), Columns: cols}
			ctx, stop := context.WithCancel(context.Background())
			var writer sync.WaitGroup
			writer.Go(func() {
				for ctx.Err() == nil {
					if err := c.Exec(ctx, "BEGIN; UPDATE t SET v = v - 1 WHERE id = 1; UPDATE t SET v = v + 1 WHERE id = 201000; COMMIT"); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			})
			for range 5 {
				var rows, ids, sum int64
				err := c.Read(ctx, q, func(rec arrow.RecordBatch) error {
					rows += rec.NumRows()
					for i := range int(rec.NumRows()) {
						ids += rec.Column(0).(*array.Int64).Value(i)
						sum += rec.Column(1).(*array.Int64).Value(i)
					}
					return nil
				})
				if err != nil || rows != n || ids != n*(n+1)/2 || sum != 0 {
					t.Errorf("%d rows, ids %d, sum %d, %v", rows, ids, sum, err)
				}
			}
			stop()
			writer.Wait()
		})
	}
}

// In a write-ahead log a transaction that began before may see less than one that begins
// now; without one it keeps others from committing.
func TestSameView(t *testing.T) {
	for mode, want := range map[string]bool{"wal": false, "delete": true} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (v INTEGER)")
		ctx := context.Background()
		var s [2]*session
		for i := range s {
			var err error
			if s[i], err = c.open(ctx, false); err != nil {
				t.Fatal(err)
			}
			defer s[i].close()
		}
		if same, err := sameView(ctx, s[0], s[1]); !same || err != nil {
			t.Errorf("%s: two that begin together: %v %v", mode, same, err)
		}
		if err := s[1].exec(ctx, rollback); err != nil {
			t.Fatal(err)
		}
		if same, err := sameView(ctx, s[0], s[1]); same != want || err != nil {
			t.Errorf("%s: one that began before: %v %v", mode, same, err)
		}
	}
}

func TestWholeTable(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)", "CREATE TABLE w (id TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE VIEW x AS SELECT * FROM t")
	for name, want := range map[string]bool{"t": true, "w": false, "x": false} {
		e, _ := extract(describe(t, c, name), "", "id")
		if wholeTable(c.d.Select(e)) != want {
			t.Errorf("%s: %s", name, c.d.Select(e))
		}
		e.Limit = 5
		if wholeTable(c.d.Select(e)) {
			t.Error(c.d.Select(e))
		}
	}
}
