package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// TestAcceptanceSelfJoinSeesOneState joins a table with itself by two extracts, while
// another session moves all its rows from one state to the next: no row of the result may
// be of two states.
func TestAcceptanceSelfJoinSeesOneState(t *testing.T) {
	p := newCase(t)
	rows := size(40_000, 100_000)
	numbers := map[string]string{"pg": "(SELECT i AS n FROM generate_series(1, %d) i) s", "my": "(SELECT seq AS n FROM seq_1_to_%d) s",
		"lite": "(WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < %d) SELECT n FROM r) s"}
	padding := map[string]string{"pg": "repeat('x', 60)", "my": "repeat('x', 20)", "lite": "hex(zeroblob(10))"}
	for output, from := range numbers {
		t.Run(output, func(t *testing.T) {
			p.exec(output, "CREATE TABLE $S.t (id int PRIMARY KEY, version int, padding varchar(500))",
				fmt.Sprintf("INSERT INTO $S.t SELECT n, 0, "+padding[output]+" FROM "+from, rows))
			if output != "my" {
				p.exec(output, "ANALYZE")
			}
			p.source(output, "t")
			src := "{{ source('" + output + "', 't') }}"
			p.model("m_"+output, "materialized='f_table'", "SELECT x.id, x.version, y.version AS other, y.padding FROM "+src+" x CROSS JOIN "+src+" y WHERE y.id = 7")
			if out, code := dvtIn(t, p.dir, "explain", "-s", "m_"+output); code != 0 || !strings.Contains(out, "apart: about") {
				t.Fatalf("not by two extracts:\n%s", out)
			}
			end := p.nextStates(output)
			for range size(3, 30) {
				p.run("-s", "m_"+output)
				if n := p.rows("pg", "SELECT count(*) FROM $S.m_"+output+" WHERE version <> other"); n != "0" {
					t.Errorf("%s rows are of two states", n)
				}
			}
			if moves := end(); moves < 2 {
				t.Errorf("%d states in all that time", moves)
			}
		})
	}
}

// nextStates moves the rows of table t on, again and again; end stops it and says how
// often it did.
func (p *caseProject) nextStates(output string) (end func() int) {
	db := p.open(output)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		defer func() { _ = db.Close() }()
		moves := 0
		for {
			select {
			case <-stop:
				done <- moves
				return
			case <-time.After(time.Millisecond):
			}
			if move(db, p.sql(output, "UPDATE $S.t SET version = version + 1")) {
				moves++
			}
		}
	}()
	return func() int { close(stop); return <-done }
}

// move reports whether it could: SQLite refuses a writer while it is read.
func move(db *enginetest.DB, stmt string) bool { return db.Exec(stmt) == nil }
