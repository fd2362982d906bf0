package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestState(t *testing.T) {
	c := newConn(t)
	ctx := t.Context()
	if all, err := c.ListState(ctx, "main"); err != nil || all != nil {
		t.Error(all, err)
	}
	if err := c.DeleteState(ctx, "", "m", "t"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.path); err == nil {
		t.Error("the file was made")
	}
	rec := connectors.StateRecord{Model: "m'1\x00", Target: "db.main.t", UpdateKey: "at", Value: "2020-01-01T00:00:00+02:00", ColumnType: "timestamptz",
		UpdatedAt: time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC), RunID: "r"}
	if err := c.SaveState(ctx, connectors.StateSave{Record: rec}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.LoadState(ctx, "main", rec.Model, rec.Target); err != nil || got == nil || *got != rec {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.LoadState(ctx, "main", "M'1\x00", rec.Target); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	save := func(value string, previous *string) error {
		next := rec
		next.Value = value
		return c.SaveState(ctx, connectors.StateSave{Record: next, Previous: previous})
	}
	if err := save("x", nil); !errors.Is(err, connectors.ErrStateMoved) {
		t.Error(err)
	}
	if err := save("2021", &rec.Value); err != nil {
		t.Error(err)
	}
	if err := save("2022", &rec.Value); !errors.Is(err, connectors.ErrStateMoved) {
		t.Error(err)
	}
	other := rec
	other.Model = "a"
	if err := c.SaveState(ctx, connectors.StateSave{Record: other}); err != nil {
		t.Error(err)
	}
	if all, err := c.ListState(ctx, ""); err != nil || len(all) != 2 || all[0].Model != "a" || all[1].Value != "2021" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := c.DeleteState(ctx, "", "a", rec.Target); err != nil {
		t.Error(err)
	}
	if _, err := c.LoadState(ctx, "nowhere", "m", "t"); err == nil {
		t.Error("a schema that is no file: no error")
	}

	// What cannot be read is an error, not a reset.
	run(t, c, "UPDATE _sling_state SET updated_at = 'yesterday'")
	if _, err := c.LoadState(ctx, "main", rec.Model, rec.Target); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
}

// TestStateRace: of many that move a record from one value, one does.
func TestStateRace(t *testing.T) {
	c := newConn(t)
	ctx := t.Context()
	rec := connectors.StateRecord{Model: "m", Target: "t", UpdatedAt: time.Unix(0, 0)}
	var previous *string
	for round := range 3 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 6 {
			wg.Go(func() {
				next := rec
				next.Value = strconv.Itoa(round*10 + i)
				err := c.SaveState(ctx, connectors.StateSave{Record: next, Previous: previous})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, connectors.ErrStateMoved) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := c.LoadState(ctx, "", "m", "t")
		if err != nil || won != 1 {
			t.Fatalf("round %d: %d winners, %v", round, won, err)
		}
		previous = &got.Value
	}
}

// TestStateWithin: a delta's record is saved with the delta or not at all, and never
// fails it.
func TestStateWithin(t *testing.T) {
	dir := t.TempDir()
	out := connectors.Output{Name: "two", Type: engine, Keys: map[string]any{"schemas_and_paths": map[string]any{
		"main": filepath.Join(dir, "a.db"), "other": filepath.Join(dir, "b.db")}}}
	c, err := open(out, connectors.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	run(t, c, "CREATE TABLE t (id INTEGER CHECK (id < 10), s TEXT UNIQUE)")
	delta := func(schema, value string, previous *string) connectors.Delta {
		return connectors.Delta{State: &connectors.StateSave{Schema: schema, Previous: previous,
			Record: connectors.StateRecord{Model: "m", Target: "t", Value: value, UpdatedAt: time.Unix(1, 0)}}}
	}
	one, nine := "1", "9"
	for _, tt := range []struct {
		id, s, value string
		schema       string
		previous     *string
		want         connectors.Applied
		fails        bool
		state        string
	}{
		{"1", "a", "1", "main", nil, connectors.Applied{Inserted: 1, StateSaved: true}, false, "1"},
		{"2", "b", "2", "", &one, connectors.Applied{Inserted: 1, StateSaved: true}, false, "2"},
		{"3", "b", "3", "main", &nine, connectors.Applied{}, true, "2"},
		{"3", "c", "3", "main", &nine, connectors.Applied{Inserted: 1, StateMoved: true}, false, "2"},
		{"3", "d", "3", "main", nil, connectors.Applied{Inserted: 1, StateMoved: true}, false, "2"},
		// Another file is another transaction.
		{"4", "e", "4", "other", nil, connectors.Applied{Inserted: 1}, false, "2"},
	} {
		got, err := apply(t, c, []connectors.Column{idS[0], {Name: "s", Type: connectors.T(connectors.Varchar), Native: "CLOB", Engine: engine}}, [][]any{{tt.id, tt.s}}, delta(tt.schema, tt.value, tt.previous))
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
		if rec, err := c.LoadState(t.Context(), "main", "m", "t"); err != nil || rec.Value != tt.state {
			t.Errorf("%+v, %v", rec, err)
		}
	}
	run(t, c, "CREATE TRIGGER g BEFORE UPDATE ON _sling_state BEGIN SELECT RAISE(ABORT, 'no'); END")
	two := "2"
	if got, err := apply(t, c, idS, [][]any{{"5", "f"}}, delta("main", "5", &two)); err != nil || got != (connectors.Applied{Inserted: 1}) {
		t.Error(got, err)
	}
	if got := engineRows(t, c, "SELECT count(*) FROM t"); got[0] != "6" {
		t.Error(got)
	}
}
