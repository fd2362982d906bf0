package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var idName = []connectors.Column{
	{Name: "id", Type: connectors.T(connectors.BigInt)},
	{Name: "name", Type: connectors.T(connectors.Varchar)},
}

// What hangs on the old table survives the swap, twice.
func TestReplaceKeeps(t *testing.T) {
	c := newConn(t)
	run(t, c, `CREATE TABLE "T" (id INTEGER PRIMARY KEY CHECK (id < 100), name TEXT COLLATE NOCASE NOT NULL DEFAULT 'd', UNIQUE (name));
		CREATE INDEX ix ON t (name, id); CREATE UNIQUE INDEX "u x" ON t (lower(name)) WHERE id > 0;
		CREATE TABLE log (what TEXT); CREATE TABLE child (t_id INTEGER REFERENCES t (id));
		CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('in ' || new.name); END;
		CREATE TRIGGER other AFTER INSERT ON child BEGIN UPDATE t SET name = name || '!' WHERE id = new.t_id; END;
		CREATE VIEW v AS SELECT name FROM t; CREATE VIEW vv AS SELECT * FROM v; CREATE VIEW broken AS SELECT * FROM nowhere;
		INSERT INTO t VALUES (1, 'old'); DELETE FROM log`)
	catalog := "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name COLLATE NOCASE"
	before := engineRows(t, c, catalog)
	for _, name := range []string{"new", "newer"} {
		rec := record(t, idName, []any{"7", name})
		// The target's own spelling: its columns come from a source of this engine.
		cols := slices.Clone(idName)
		cols[1].Native, cols[1].Engine = "TEXT", engine
		if err := load(t, c, "t", cols, connectors.TargetOptions{UniqueKey: []string{"id"}}, rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		if got := engineRows(t, c, "SELECT * FROM vv"); !slices.Equal(got, []string{name}) {
			t.Errorf("through the views: %q", got)
		}
	}
	// The table goes by the name that the model gives it: t instead of T.
	norm := strings.NewReplacer("|T|T|", "|t|t|", "|T|", "|t|", `TABLE "T"`, "TABLE t", `TABLE "t"`, "TABLE t", "INDEX `main`.", "INDEX ", "TRIGGER `main`.", "TRIGGER ").Replace
	after := slices.DeleteFunc(engineRows(t, c, catalog), func(line string) bool {
		return strings.HasPrefix(line, "index|t__") // the model's own index on its key
	})
	for i := range before {
		if i >= len(after) || norm(before[i]) != norm(after[i]) {
			t.Errorf("catalog line %d\n before %s\n  after %s", i, before[i], after[min(i, len(after)-1)])
		}
	}
	if got := engineRows(t, c, "SELECT count(*) FROM log"); got[0] != "0" {
		t.Error("the load fired the trigger")
	}
	run(t, c, "INSERT INTO t (id, name) VALUES (8, 'x'); INSERT INTO child VALUES (8)")
	if got := engineRows(t, c, "SELECT (SELECT what FROM log), (SELECT name FROM t WHERE id = 8)"); got[0] != "in x|x!" {
		t.Errorf("triggers after the swap: %s", got)
	}
	for _, sql := range []string{"INSERT INTO t VALUES (8, 'y')", "INSERT INTO t VALUES (100, 'y')", "INSERT INTO t VALUES (9, NULL)", "INSERT INTO t VALUES (9, 'NEWER')"} {
		if err := c.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: the constraint is gone", sql)
		}
	}
	if got := engineRows(t, c, "SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_\\_dvt%' ESCAPE '\\'"); got[0] != "0" {
		t.Error("a staging table is left")
	}
}

// A load that fails at any point leaves the old content.
func TestReplaceFails(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER, name TEXT, gone TEXT); CREATE UNIQUE INDEX u ON t (name); CREATE VIEW v AS SELECT gone FROM t; INSERT INTO t VALUES (1, 'old', 'g')")
	old := func() {
		t.Helper()
		if got := engineRows(t, c, "SELECT *, (SELECT count(*) FROM sqlite_master) FROM t"); !slices.Equal(got, []string{"1|old|g|3"}) {
			t.Errorf("the old content is %q", got)
		}
	}
	rec := record(t, idName, []any{"1", "a"}, []any{"2", "a"})
	defer rec.Release()
	if err := load(t, c, "t", idName, connectors.TargetOptions{}, rec); err == nil || !strings.Contains(err.Error(), `"u"`) {
		t.Errorf("duplicates under a unique index: %v", err)
	}
	old()
	one := record(t, idName, []any{"1", "a"})
	defer one.Release()
	if err := load(t, c, "t", idName, connectors.TargetOptions{}, one); err == nil || !strings.Contains(err.Error(), `view "v"`) {
		t.Errorf("a view on a column that goes: %v", err)
	}
	old()
	run(t, c, "DROP VIEW v; CREATE TABLE uq (id INTEGER, name TEXT UNIQUE); INSERT INTO uq VALUES (5, 'kept')")
	if err := load(t, c, "uq", idName, connectors.TargetOptions{}, rec); err == nil || !strings.Contains(err.Error(), "row 2 of the load") {
		t.Errorf("duplicates under a kept constraint: %v", err)
	}
	if got := engineRows(t, c, "SELECT * FROM uq"); !slices.Equal(got, []string{"5|kept"}) {
		t.Errorf("uq holds %q", got)
	}
	// An index goes with its column, with a warning.
	var log bytes.Buffer
	c.env.Log = slog.New(slog.NewTextHandler(&log, nil))
	run(t, c, "CREATE INDEX g ON t (gone)")
	if err := load(t, c, "t", idName, connectors.TargetOptions{}, one); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "index=g") || len(engineRows(t, c, "SELECT 1 FROM sqlite_master WHERE name = 'u'")) != 1 {
		t.Errorf("log %q", log.String())
	}
}

func TestReplaceViewAndEmpty(t *testing.T) {
	c := newConn(t)
	empty := record(t, idName)
	defer empty.Release()
	opts := connectors.TargetOptions{UniqueKey: []string{"id"}, Watermark: "name", Indexes: []connectors.Index{{Columns: []string{"name", "id"}, Unique: true}}}
	if err := load(t, c, "t", idName, opts, empty); err != nil { // creates the file
		t.Fatal(err)
	}
	if got := engineRows(t, c, "SELECT count(*), (SELECT count(*) FROM sqlite_master WHERE type = 'index') FROM t"); got[0] != "0|3" {
		t.Errorf("rows|indexes %s, want 0|3", got)
	}
	run(t, c, "CREATE VIEW w AS SELECT 1 AS id; CREATE TRIGGER iw INSTEAD OF INSERT ON w BEGIN SELECT 1; END")
	rec := record(t, idName, []any{"1", "∅"})
	defer rec.Release()
	for range 2 {
		if err := load(t, c, "w", idName, opts, rec); err != nil {
			t.Fatal(err)
		}
	}
	table := describe(t, c, "w")
	if got, err := rows(t, c, table); err != nil || table.View || !slices.Equal(got, []string{"1|∅"}) {
		t.Errorf("%q, %v, view %v", got, err, table.View)
	}
}

// A reader that asks all the time sees the old or the new content, in either journal
// mode, and never an error.
func TestReplaceUnderReaders(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (id INTEGER, name TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t SELECT i, 'v0' FROM n")
		table := describe(t, c, "t")
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		seen := map[string]bool{}
		var versions atomic.Int64
		for _, reader := range []*conn{connAt(t, c.path), c} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				e, cols := extract(table, "")
				for ctx.Err() == nil {
					got, err := texts(t, reader, connectors.Query{SQL: reader.d.Select(e), Columns: cols})
					if err != nil || len(got) != 1000 {
						t.Errorf("%s: %d rows, %v", mode, len(got), err)
						return
					}
					version := got[0][strings.Index(got[0], "|")+1:]
					for _, row := range got {
						if !strings.HasSuffix(row, "|"+version) {
							t.Errorf("%s: %s beside %s", mode, row, version)
							return
						}
					}
					if reader == c {
						seen[version] = true
						versions.Store(int64(len(seen)))
					}
				}
			}()
		}
		// And one outside of this process's queue, as another program is.
		outside, err := openSession(c.path, false, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer outside.close()
			for ctx.Err() == nil {
				err := outside.rows(context.Background(), "SELECT count(*), count(DISTINCT name) FROM t", func(st *stmt) error {
					if st.integer(0) != 1000 || st.integer(1) != 1 {
						return fmt.Errorf("%d rows of %d versions", st.integer(0), st.integer(1))
					}
					return nil
				})
				if err != nil {
					t.Errorf("%s, outside: %v", mode, err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		for v := 0; v < 8 || v < 500 && versions.Load() < 2; v++ {
			var all [][]any
			for i := range 1000 {
				all = append(all, []any{fmt.Sprint(i), fmt.Sprintf("v%d", v+1)})
			}
			rec := record(t, idName, all...)
			if err := load(t, c, "t", idName, connectors.TargetOptions{}, rec); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			rec.Release()
		}
		stop()
		wg.Wait()
		if len(seen) < 2 {
			t.Errorf("%s: the reader saw only %v", mode, seen)
		}
	}
}

// Writers of one process queue, whatever outputs they come through.
func TestWritersQueue(t *testing.T) {
	c := newConn(t)
	link := filepath.Join(t.TempDir(), "link.db")
	run(t, c, "CREATE TABLE n (i INTEGER)")
	if err := os.Symlink(c.path, link); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := connAt(t, link)
			for i := range 5 {
				rec := record(t, idName, []any{fmt.Sprint(i), "x"})
				if err := load(t, mine, fmt.Sprintf("t%d", w), idName, connectors.TargetOptions{}, rec); err != nil {
					t.Error(err)
				}
				rec.Release()
				if err := mine.Exec(t.Context(), "INSERT INTO n VALUES (1)"); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if got := engineRows(t, c, "SELECT count(*) FROM n"); got[0] != "20" {
		t.Errorf("%s of 20 rows", got)
	}
}

func TestCleanStaging(t *testing.T) {
	c := newConn(t)
	target := connectors.Relation{Name: "t"}
	if err := c.CleanStaging(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.path); err == nil {
		t.Error("cleaning created the file")
	}
	dead, mine := stagingName("deadbeefcafe", target), "__dvt_notes"
	other := stagingName("deadbeefcafe", connectors.Relation{Name: "other"})
	for _, n := range []string{dead, mine, other} {
		run(t, c, "CREATE TABLE "+quote(n)+" (a)")
	}
	if err := c.CleanStaging(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	want := []string{mine, other}
	slices.Sort(want)
	if got := engineRows(t, c, "SELECT name FROM sqlite_master ORDER BY name"); !slices.Equal(got, want) {
		t.Errorf("left: %q, want %q", got, want)
	}
	if n := len(dead); n != 26 {
		t.Errorf("a staging name of %d characters", n)
	}
}

func TestLock(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (a)")
	rel := connectors.Relation{Name: "t"}
	release, err := c.Lock(t.Context(), rel, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var locked *connectors.LockedError
	waits := 0
	if _, err := connAt(t, c.path).Lock(t.Context(), connectors.Relation{Name: "T"}, 150*time.Millisecond, func() { waits++ }); !errors.As(err, &locked) || waits != 1 {
		t.Errorf("a second lock: %v, told %d times", err, waits)
	}
	if r, err := c.Lock(t.Context(), connectors.Relation{Name: "u"}, 0, nil); err != nil {
		t.Errorf("another relation: %v", err)
	} else {
		r()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Lock(ctx, rel, time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	release()
	// Many at once: one at a time, and none stuck on a removed file.
	var wg sync.WaitGroup
	held, most := 0, 0
	var mu sync.Mutex
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := c.Lock(t.Context(), rel, 20*time.Second, nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			held++
			most = max(most, held)
			mu.Unlock()
			time.Sleep(2 * time.Millisecond)
			mu.Lock()
			held--
			mu.Unlock()
			r()
		}()
	}
	wg.Wait()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path), ".*lock"))
	if most != 1 || len(left) > 0 {
		t.Errorf("%d held it at once, %v is left", most, left)
	}
}

// A process that holds a lock on the file is waited for, and a cancelled wait ends.
func TestForeignLock(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (a)")
	other, err := openSession(c.path, false, time.Second) // outside of this process's queue
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := c.Exec(ctx, "INSERT INTO t VALUES (1)"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	go func() {
		time.Sleep(100 * time.Millisecond)
		_ = other.exec(context.Background(), "COMMIT")
	}()
	if err := c.Exec(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
		t.Error(err)
	}
	impatient, err := openSession(c.path, false, 30*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.close()
	if err := other.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := impatient.exec(t.Context(), "INSERT INTO t VALUES (1)"); err == nil || !strings.Contains(err.Error(), "another process holds a lock on "+c.path) {
		t.Errorf("%v", err)
	}
	if err := c.Exec(t.Context(), "BEGIN"); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("a transaction left open: %v", err)
	}
}
