package compute

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// grow makes a relation t of batches, each of 1,000 rows, that query is to read, and runs it
// as soon as it may. It returns whether the rows still came then, and how both sides ended.
func grow(t *testing.T, query string, batches int, how error) (live bool, got []string, failed, brought error) {
	t.Helper()
	m := model(t, open(t, Config{Threads: 4}))
	ready := make(chan struct{})
	g, err := m.StageGrowing(bg, "lake", "main", "t", columns, []int{0, 1}, Growth{Query: query, Context: bg, Rows: int64(batches) * 1000, Staged: 2500, Live: func() { close(ready) }})
	if err != nil {
		t.Fatal(err)
	}
	g.Want()
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < batches && err == nil; i++ {
			rec := batch(i*1000, 1000)
			err = g.Append(rec)
			rec.Release()
		}
		switch {
		case err == nil && how == nil:
			err = g.Close()
		case err == nil:
			err = how
			fallthrough
		default:
			err = g.Abort(err)
		}
		done <- err
	}()
	select {
	case <-ready:
		live = true
	case brought = <-done:
	}
	failed = m.Query(bg, query, false, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			row := ""
			for c := range int(rec.NumCols()) {
				row += " " + rec.Column(c).ValueStr(i)
			}
			got = append(got, row[1:])
		}
		return nil
	})
	g.End()
	if live {
		brought = <-done
	}
	return live, got, failed, brought
}

const grown = `FROM "lake__dvtcat"."main"."t"`

// TestGrowing: a query over rows that still come sees each once, and is not asked to where
// it would read them twice.
func TestGrowing(t *testing.T) {
	for _, c := range []struct {
		name, query, want string
		batches           int
		live              bool
	}{
		{"read once", "SELECT count(*), count(DISTINCT id), sum(id)::BIGINT, count(\"Odd \"\"name\"\"\") " + grown, "[30000 30000 449985000 30000]", 30, true},
		{"a filter", "SELECT count(*) " + grown + " WHERE id % 3 = 0", "[10000]", 30, true},
		{"joined", "SELECT count(*) " + grown + " JOIN range(100) r(i) ON id = i", "[100]", 30, true},
		{"few rows", "SELECT count(*) " + grown, "[2000]", 2, false},
		{"shared by DuckDB", "SELECT count(*) " + grown + " JOIN (SELECT id AS i " + grown + " WHERE id < 10) ON id = i", "[10]", 30, true},
		{"read twice", "SELECT (SELECT count(*) " + grown + " WHERE id < 10) + (SELECT count(*) " + grown + " WHERE id > 29980)", "[29]", 30, false},
		{"read twice, grouped", "SELECT count(*) FROM (SELECT id % 7 AS k, count(*) AS n " + grown + " GROUP BY 1) JOIN (SELECT id " + grown + ") ON id = k", "[7]", 30, false},
		{"enough", "SELECT count(*) FROM (SELECT id " + grown + " LIMIT 4000)", "[4000]", 30, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			live, got, failed, brought := grow(t, c.query, c.batches, nil)
			if failed != nil || brought != nil || fmt.Sprint(got) != c.want || live != c.live {
				t.Errorf("got %v, want %s; live %t; errors %v, %v", got, c.want, live, failed, brought)
			}
		})
	}
}

// TestGrowingFails: rows that do not come are an error of the query, with its cause.
func TestGrowingFails(t *testing.T) {
	lost := errors.New("the source is gone")
	live, got, failed, brought := grow(t, "SELECT count(*) "+grown, 30, lost)
	if !live || got != nil || !errors.Is(failed, lost) || !errors.Is(brought, lost) {
		t.Errorf("got %v; live %t; errors %v, %v", got, live, failed, brought)
	}
}

// TestGrowingAgain: what a plan does not show, a query that reads its rows again and again,
// says that it needs them all.
func TestGrowingAgain(t *testing.T) {
	query := "WITH RECURSIVE r(n) AS (SELECT 0::BIGINT UNION ALL SELECT r.n + 1 FROM r JOIN (SELECT id::BIGINT AS id " + grown + ") AS t ON t.id = r.n WHERE r.n < 5) SELECT count(*) FROM r"
	live, got, failed, brought := grow(t, query, 30, nil)
	if !live || !errors.Is(failed, ErrReadTwice) || got != nil || brought != nil {
		t.Errorf("got %v; live %t; errors %v, %v", got, live, failed, brought)
	}
}
