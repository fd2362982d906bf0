package duckdb

import (
	"sync"
	"testing"
)

// A file may be held for a moment after it was detached by sessions that have nothing to
// do with it: their transactions look at every database.
func TestAttachBesideOtherSessions(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, "a.duckdb")
	run(t, c, "CREATE TABLE t AS SELECT 1 AS x")
	stop := make(chan struct{})
	var beside sync.WaitGroup
	for range 4 {
		beside.Add(1)
		go func() {
			defer beside.Done()
			s, err := e.Session(bg)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.Exec(bg, "CREATE OR REPLACE TEMP TABLE seen AS SELECT table_name FROM duckdb_tables()"); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for range 60 {
		if err := c.Exec(bg, "SELECT 1"); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	beside.Wait()
}
