package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// readerPeriod: a reader looks 50 times a second.
const readerPeriod = 20 * time.Millisecond

// blind are the errors that a reader may see for a moment on engines whose files or
// servers have no other way; wrong content is never among them.
var blind = map[string][]string{
	// RENAME TABLE a TO old, s TO a is one statement but two steps to a reader of a
	// server older than 20.8.
	"ch": {"doesn't exist", "UNKNOWN_TABLE", "code: 60", "Code: 60", "is dropped", "Code: 218"},
	// One process may write a DuckDB file, and none may read it meanwhile.
	"duck": {"Could not set lock on file", "Conflicting lock"},
}

// TestAcceptanceReaders polls count and sums of a table from outside while it is rebuilt
// and merged over and over: each look sees one whole content, and never an older one than
// the look before it saw.
func TestAcceptanceReaders(t *testing.T) {
	bin := buildDVT(t)
	rounds := 4
	if full() {
		rounds = 40
	}
	for _, target := range faultTargets {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bin, target)
			for _, kind := range faultKinds[target] {
				if kind == "window" && !full() {
					continue
				}
				w.watch(t, kind, rounds)
			}
		})
	}
}

// watch runs a model rounds times under a reader's eyes.
func (w *world) watch(t *testing.T, kind string, rounds int) {
	w.upto[kind] = 4500
	first := w.advance(kind, "pg", "auto")
	if r := w.run(first, nil); r.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", kind, r.code, r.out)
	}
	var mu sync.Mutex
	history := []string{first.want} // contents, in the order in which they were landed
	stop := make(chan struct{})
	looks, blanks, seen := 0, 0, 0
	var faults []string
	var watching sync.WaitGroup
	watching.Go(func() {
		look, end := w.reader(kind)
		defer end()
		tick := time.NewTicker(readerPeriod)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			got, err := look()
			mu.Lock()
			looks++
			switch at := slices.Index(history[seen:], got); {
			case err != nil && tolerated(w.target, err):
				blanks++
			case err != nil:
				faults = append(faults, err.Error())
			case at < 0:
				faults = append(faults, fmt.Sprintf("a reader saw %s, which is none of the contents %s", got, strings.Join(history[seen:], "; ")))
			default:
				seen += at
			}
			mu.Unlock()
		}
	})
	for i := range rounds {
		if kind != "f_table" && w.upto[kind]+1500 > faultRows {
			break // all events have been merged
		}
		n := w.advance(kind, "pg", []string{"auto", "compute"}[i%2])
		mu.Lock()
		history = append(history, n.want)
		mu.Unlock()
		if r := w.run(n, nil); r.code != 0 {
			t.Errorf("%s: exit code %d\n%s", kind, r.code, r.out)
		}
	}
	close(stop)
	watching.Wait()
	t.Logf("%s %-7s %d looks, %d of them blind, %d contents", w.target, kind, looks, blanks, len(history))
	if len(faults) > 0 {
		t.Errorf("%s %s: %d bad looks, the first: %s", w.target, kind, len(faults), faults[0])
	}
	if looks-blanks < rounds {
		t.Errorf("%s %s: only %d looks saw anything", w.target, kind, looks-blanks)
	}
	if got := w.content(kind); got != history[len(history)-1] {
		t.Errorf("%s %s: at the end %s, not %s", w.target, kind, got, history[len(history)-1])
	}
}

func tolerated(target string, err error) bool {
	return slices.ContainsFunc(blind[target], func(s string) bool { return strings.Contains(err.Error(), s) })
}

// reader gives a look at a table: through one open connection where the engine has
// sessions, by opening the file each time where it has not.
func (w *world) reader(kind string) (look func() (string, error), end func()) {
	if w.target == "s3" {
		return func() (string, error) { return w.bucketContent(kind) }, func() {}
	}
	query := "SELECT " + contentSums + " FROM "
	engine, path, fresh := w.target, "", false
	switch w.target {
	case "lite":
		engine, path = "sqlite", filepath.Join(w.dir, "out.sqlite")
		query += "t_" + kind
	case "duck":
		engine, path, fresh = "duckdb", filepath.Join(w.dir, "out.duckdb")+"?access_mode=read_only", true
		query = "SELECT COLUMNS(*)::VARCHAR FROM (" + query + "t_" + kind + ")"
	case "lake":
		// A reader of a file reads what it opened. DuckDB opens a path twice, for the
		// footer and for the rows, and may meet two files: so it gets a copy.
		engine, fresh = "duckdb", false
		query = "SELECT COLUMNS(*)::VARCHAR FROM (" + query + "read_parquet('" + filepath.Join(w.dir, "copy.parquet") + "'))"
	default:
		query += w.schema + ".t_" + kind
	}
	var db *enginetest.DB
	closeDB := func() {
		if db != nil {
			_ = db.Close()
			db = nil
		}
	}
	return func() (string, error) {
		var err error
		if w.target == "lake" {
			file, err := os.ReadFile(filepath.Join(w.dir, "lake", "t_"+kind+".parquet"))
			if err == nil {
				err = os.WriteFile(filepath.Join(w.dir, "copy.parquet"), file, 0o600)
			}
			if err != nil {
				return "", err
			}
		}
		if db == nil {
			if db, err = enginetest.Open(engine, path); err != nil {
				return "", err
			}
		}
		_, rows, err := db.Query(query)
		if fresh {
			closeDB()
		}
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(enginetest.Text(rows)), nil
	}, closeDB
}
