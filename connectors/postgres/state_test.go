package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestState(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	schema := d.schema + `_st"ate`
	t.Cleanup(func() { d.exec("DROP SCHEMA IF EXISTS " + quoteIdent(schema) + " CASCADE") })
	if all, err := d.ListState(ctx, schema); err != nil || all != nil {
		t.Error(all, err)
	}
	if err := d.DeleteState(ctx, schema, "m", "t"); err != nil {
		t.Error(err)
	}
	rec := connectors.StateRecord{Model: `m'1\`, Target: "db.main.t", UpdateKey: "at", Value: "2020-01-01T00:00:00+02:00", ColumnType: "timestamptz",
		UpdatedAt: time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC), RunID: "r"}
	if err := d.SaveState(ctx, connectors.StateSave{Schema: schema, Record: rec}); err != nil {
		t.Fatal(err)
	}
	if got, err := d.LoadState(ctx, schema, rec.Model, rec.Target); err != nil || got == nil || *got != rec {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := d.LoadState(ctx, schema, "M'1\\", rec.Target); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	save := func(value string, previous *string) error {
		next := rec
		next.Value = value
		return d.SaveState(ctx, connectors.StateSave{Schema: schema, Record: next, Previous: previous})
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
	if err := d.SaveState(ctx, connectors.StateSave{Schema: schema, Record: other, Previous: &rec.Value}); !errors.Is(err, connectors.ErrStateMoved) {
		t.Errorf("a record that is not there was replaced: %v", err)
	}
	if err := d.SaveState(ctx, connectors.StateSave{Schema: schema, Record: other}); err != nil {
		t.Error(err)
	}
	if all, err := d.ListState(ctx, schema); err != nil || len(all) != 2 || all[0].Model != "a" || all[1].Value != "2021" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := d.DeleteState(ctx, schema, "a", rec.Target); err != nil {
		t.Error(err)
	}
	d.want("model,target", `SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND attnum = ANY (indkey)
		WHERE indrelid = ($1::text)::regclass AND indisprimary`, quoteIdent(schema)+"._sling_state")

	// What cannot be read is an error, not a reset.
	d.exec("ALTER TABLE " + quoteIdent(schema) + "._sling_state ALTER value DROP NOT NULL; UPDATE " + quoteIdent(schema) + "._sling_state SET value = NULL")
	if _, err := d.LoadState(ctx, schema, rec.Model, rec.Target); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
	d.exec("UPDATE " + quoteIdent(schema) + "._sling_state SET value = '', updated_at = 'infinity'")
	if _, err := d.ListState(ctx, schema); err == nil {
		t.Error("an infinite time was read")
	}
}

// TestStateRace: of many that move a record from one value, one does.
func TestStateRace(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	rec := connectors.StateRecord{Model: "m", Target: "t", UpdatedAt: time.Unix(0, 0)}
	var previous *string
	for round := range 5 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			wg.Go(func() {
				next := rec
				next.Value = strconv.Itoa(round*10 + i)
				err := d.SaveState(ctx, connectors.StateSave{Schema: d.schema, Record: next, Previous: previous})
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
		got, err := d.LoadState(ctx, d.schema, "m", "t")
		if err != nil || won != 1 {
			t.Fatalf("round %d: %d winners, %v", round, won, err)
		}
		previous = &got.Value
	}
}

// TestStateWithin: a delta's record is saved with the delta or not at all, and never
// fails it.
func TestStateWithin(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec("CREATE TABLE t (id int CHECK (id < 10))")
	cols := []connectors.Column{intCol}
	delta := func(value string, previous *string) connectors.Delta {
		return connectors.Delta{Columns: []string{"id"}, State: &connectors.StateSave{Schema: d.schema, Previous: previous,
			Record: connectors.StateRecord{Model: "m", Target: "t", Value: value, UpdatedAt: time.Unix(1, 0)}}}
	}
	one, nine := "1", "9"
	for _, tt := range []struct {
		rows, value string
		previous    *string
		want        connectors.Applied
		fails       bool
		state       string
	}{
		{`[{"id":1}]`, "1", nil, connectors.Applied{Inserted: 1, StateSaved: true}, false, "1"},
		{`[{"id":2}]`, "2", &one, connectors.Applied{Inserted: 1, StateSaved: true}, false, "2"},
		{`[{"id":11}]`, "3", &nine, connectors.Applied{}, true, "2"},
		{`[{"id":3}]`, "3", &nine, connectors.Applied{Inserted: 1, StateMoved: true}, false, "2"},
		{`[{"id":3}]`, "3", nil, connectors.Applied{Inserted: 1, StateMoved: true}, false, "2"},
	} {
		out, err := d.apply(cols, tt.rows, delta(tt.value, tt.previous))
		if out != tt.want || (err != nil) != tt.fails {
			t.Errorf("%+v: %+v, %v", tt, out, err)
		}
		if rec, err := d.LoadState(ctx, d.schema, "m", "t"); err != nil || rec.Value != tt.state {
			t.Errorf("%+v, %v", rec, err)
		}
	}
	d.exec("ALTER TABLE _sling_state ADD CHECK (value <> '4')")
	two := "2"
	if out, err := d.apply(cols, `[{"id":5}]`, delta("4", &two)); err != nil || out != (connectors.Applied{Inserted: 1}) {
		t.Error(out, err)
	}
	d.want("5", "SELECT count(*)::text FROM t")
}
