package compute

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// timeline plays a history in one model: the target is a kept table.
type timeline struct {
	t     *testing.T
	m     *Model
	h     History
	steps int
}

func (l *timeline) keep(sql string) string {
	l.t.Helper()
	l.steps++
	name := fmt.Sprintf("k%d", l.steps)
	if _, err := l.m.Keep(context.Background(), name, sql); err != nil {
		l.t.Fatalf("%v\n%s", err, sql)
	}
	return Kept(name)
}

func (l *timeline) count(sql string) int64 {
	l.t.Helper()
	n, err := l.m.Int(context.Background(), sql)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// run gives the target after a run over the state that sql selects, and the rows applied.
func (l *timeline) run(target, sql string) (string, int64) {
	l.t.Helper()
	current := l.keep(sql)
	if target == "" {
		next := l.keep(l.h.First(current))
		return next, l.count("SELECT count(*) FROM " + next)
	}
	open := l.keep(l.h.OpenVersions("SELECT * FROM " + target))
	l.h.Ended = l.keep("SELECT a, b, max(dbt_valid_to) AS dbt_valid_to FROM " + target + " WHERE dbt_valid_to IS NOT NULL GROUP BY a, b")
	changes := l.keep(l.h.Changes(current, open))
	if n := l.count("SELECT count(*) - count(DISTINCT dbt_scd_id) FROM " + changes); n != 0 {
		l.t.Errorf("%d versions are changed twice in one run", n)
	}
	next := l.keep("SELECT t.* FROM " + target + " AS t ANTI JOIN " + changes + " AS c ON c.dbt_scd_id = t.dbt_scd_id UNION ALL BY NAME SELECT * FROM " + changes)
	return next, l.count("SELECT count(*) FROM " + changes)
}

// faults are what no history may have.
func (l *timeline) faults(target, current string) map[string]int64 {
	sound := "SELECT *, lead(dbt_valid_from) OVER w AS next_from FROM " + target + " WINDOW w AS (PARTITION BY a, b ORDER BY dbt_valid_from, dbt_valid_to NULLS LAST)"
	live := "dbt_valid_to IS NULL"
	if l.h.Mark {
		live += " AND dbt_is_deleted = 'False'"
	}
	out := map[string]int64{
		"a version id stands twice":       l.count("SELECT count(*) - count(DISTINCT dbt_scd_id) FROM " + target),
		"a version ends before it begins": l.count("SELECT count(*) FROM " + target + " WHERE dbt_valid_to < dbt_valid_from"),
		"a key has two open versions":     l.count("SELECT count(*) FROM (SELECT 1 FROM " + target + " WHERE dbt_valid_to IS NULL GROUP BY a, b HAVING count(*) > 1)"),
	}
	out["a version begins before the last end"] = l.count("SELECT count(*) FROM (" + sound + ") WHERE next_from < dbt_valid_to")
	if l.h.UpdatedAt == "" && l.h.Close {
		out["the open versions are not the state"] = l.count("SELECT count(*) FROM ((SELECT a, b, v FROM "+target+" WHERE "+live+") EXCEPT ALL ("+current+")) ") +
			l.count("SELECT count(*) FROM (("+current+") EXCEPT ALL (SELECT a, b, v FROM "+target+" WHERE "+live+"))")
	}
	return out
}

// Random states under clocks that stand still, go back and jump, with times of rows that
// go back too, keys that collide when they are joined carelessly, and keys that go and
// come back: every history is sound, and a run of the same state applies nothing.
func TestHistory(t *testing.T) {
	m := csvModel(t, "x\n1\n", "x")
	keys := [][2]string{{"'ab'", "'c'"}, {"'a'", "'bc'"}, {"''", "'x'"}, {"NULL", "'x'"}, {"'x'", "''"}, {"'x'", "NULL"}, {"NULL", "NULL"}}
	rng := rand.New(rand.NewPCG(8, 8))
	l := &timeline{t: t, m: m}
	for _, digits := range []int{0, 6} {
		for _, updated := range []string{"", "ts"} {
			for _, deletes := range []string{"ignore", "invalidate", "new_record"} {
				name := fmt.Sprintf("%d digits, updated_at %q, deletes %s", digits, updated, deletes)
				l.h = History{Key: []string{"a", "b"}, UpdatedAt: updated, Digits: digits, Close: deletes != "ignore", Mark: deletes == "new_record", Columns: []string{"a", "b", "v", "ts"}}
				if updated == "" {
					l.h.Check = []string{"v"}
				}
				target, now := "", time.Date(2024, 11, 3, 6, 0, 0, 999_999_000, time.UTC)
				for range 8 {
					now = now.Add([]time.Duration{0, time.Microsecond, -time.Hour, 900 * time.Millisecond, time.Minute}[rng.IntN(5)])
					l.h.Now = now
					var rows []string
					for _, k := range keys {
						if rng.IntN(3) > 0 {
							rows = append(rows, fmt.Sprintf("(%s, %s, 'v%d', TIMESTAMP '2024-01-01' + INTERVAL %d SECOND)", k[0], k[1], rng.IntN(3), rng.IntN(4)))
						}
					}
					if len(rows) == 0 {
						continue
					}
					state := "SELECT a::VARCHAR AS a, b::VARCHAR AS b, v, ts FROM (VALUES " + strings.Join(rows, ", ") + ") AS s(a, b, v, ts)"
					target, _ = l.run(target, state)
					for fault, n := range l.faults(target, "SELECT a, b, v FROM ("+state+")") {
						if n != 0 {
							t.Fatalf("%s: %s (%d)\n%s", name, fault, n, l.text(target))
						}
					}
					if _, n := l.run(target, state); n != 0 {
						t.Fatalf("%s: a second run of the same state applies %d rows\n%s", name, n, l.text(target))
					}
				}
			}
		}
	}
}

// text shows a target.
func (l *timeline) text(target string) string {
	var b strings.Builder
	sql := "SELECT concat_ws(' | ', coalesce(a, 'NULL'), coalesce(b, 'NULL'), v, ts, dbt_valid_from, coalesce(dbt_valid_to::VARCHAR, 'open')) AS line FROM " + target + " ORDER BY a, b, dbt_valid_from"
	err := l.m.Query(context.Background(), sql, true, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			b.WriteString(rec.Column(0).(*array.String).Value(i) + "\n")
		}
		return nil
	})
	if err != nil {
		l.t.Error(err)
	}
	return b.String()
}
