package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dvt-dev/dvt/connectors"
)

func local(t *testing.T) (Store, string) {
	dir := t.TempDir()
	p, err := Open("marks", dir, []string{"pg"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Store, filepath.Join(dir, "marks")
}

// TestStores: state behaves alike wherever it is kept.
func TestStores(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStore(t, open(t))
		})
	}
}

func testStore(t *testing.T, s Store) {
	ctx := context.Background()
	if rec, err := s.Load(ctx, "m", "db.m"); rec != nil || err != nil {
		t.Fatal(rec, err)
	}
	first := connectors.StateRecord{Model: "m", Target: "db.m", UpdateKey: "at", Value: "2024-01-01 00:00:00", ColumnType: "TIMESTAMP", UpdatedAt: time.Unix(1700000000, 0).UTC(), RunID: "r1"}
	if err := s.Save(ctx, first, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, first, nil); !errors.Is(err, connectors.ErrStateMoved) {
		t.Fatal("a record was created twice:", err)
	}
	next := first
	next.Value = "2024-01-02 00:00:00"
	stale := "2023-01-01 00:00:00"
	if err := s.Save(ctx, next, &stale); !errors.Is(err, connectors.ErrStateMoved) {
		t.Fatal("a stale run moved the state:", err)
	}
	if err := s.Save(ctx, next, &first.Value); err != nil {
		t.Fatal(err)
	}
	other := connectors.StateRecord{Model: "a b/ü", Target: "x", Value: "1"}
	if err := s.Save(ctx, other, nil); err != nil {
		t.Fatal(err)
	}
	all, err := s.List(ctx)
	if diff := cmp.Diff([]connectors.StateRecord{other, next}, all); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if err := s.Delete(ctx, "m", "db.m"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, "m", "db.m"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(ctx); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}

// TestUnreadable: a record that cannot be read is an error, not a missing one.
func TestUnreadable(t *testing.T) {
	ctx := context.Background()
	s, folder := local(t)
	if err := s.Save(ctx, connectors.StateRecord{Model: "a b/ü", Target: "x", Value: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[0], []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, "a b/ü", "x"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Fatal("an unreadable record is an error, not a missing one:", err)
	}
}

// TestRace: of many that set the same record, exactly one wins each round.
func TestRace(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			race(t, open(t))
		})
	}
}

func race(t *testing.T, s Store) {
	ctx := context.Background()
	var previous *string
	for round := range 5 {
		var wins sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				value := string(rune('a'+round)) + string(rune('0'+i))
				err := s.Save(ctx, connectors.StateRecord{Model: "m", Target: "t", Value: value}, previous)
				switch {
				case err == nil:
					wins.Store(value, true)
				case !errors.Is(err, connectors.ErrStateMoved):
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		var won []string
		wins.Range(func(k, _ any) bool { won = append(won, k.(string)); return true })
		rec, err := s.Load(ctx, "m", "t")
		if err != nil || len(won) != 1 || rec.Value != won[0] {
			t.Fatal(won, rec, err)
		}
		previous = &rec.Value
	}
}
