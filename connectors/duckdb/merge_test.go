package duckdb

import (
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func bigInt(n int64) *big.Int { return big.NewInt(n) }

func TestApply(t *testing.T) {
	e := newEngine(t)
	delta := "SELECT * FROM (VALUES (1::BIGINT, 'one'), (3::BIGINT, 'three'), (NULL::BIGINT, 'null')) v(id, s)"
	cols := []string{"id", "s"}
	for name, tt := range map[string]struct {
		d    connectors.Delta
		want string
		out  connectors.Applied
	}{
		"append":        {connectors.Delta{Strategy: connectors.StrategyAppend, Columns: cols}, "[1|a|true 1|one|(null) 2|b|true 3|three|(null) (null)|n|true (null)|null|(null)]", connectors.Applied{Inserted: 3}},
		"append new":    {connectors.Delta{Strategy: connectors.StrategyAppend, Columns: cols, Key: []string{"id"}, SkipExisting: true}, "[1|a|true 2|b|true 3|three|(null) (null)|n|true]", connectors.Applied{Inserted: 1}},
		"merge":         {connectors.Delta{Strategy: connectors.StrategyMerge, Columns: cols, Key: []string{"id"}}, "[1|one|true 2|b|true 3|three|(null) (null)|null|true]", connectors.Applied{Inserted: 1, Updated: 2}},
		"merge nothing": {connectors.Delta{Strategy: connectors.StrategyMerge, Columns: cols, Key: []string{"id"}, Update: []string{}}, "[1|a|true 2|b|true 3|three|(null) (null)|n|true]", connectors.Applied{Inserted: 1}},
		"delete+insert": {connectors.Delta{Strategy: connectors.StrategyDeleteInsert, Columns: cols, Key: []string{"id"}}, "[1|one|(null) 2|b|true 3|three|(null) (null)|null|(null)]", connectors.Applied{Inserted: 3, Deleted: 2}},
	} {
		for _, filled := range []bool{false, true} {
			c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
			run(t, c, "CREATE TABLE t (s VARCHAR, id BIGINT, kept BOOLEAN); INSERT INTO t VALUES ('a', 1, true), ('b', 2, true), ('n', NULL, true)")
			st := stage(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}}, delta)
			if filled {
				if err := st.Discard(bg); err != nil {
					t.Fatal(err)
				}
				var err error
				if st, err = c.Stage(bg, connectors.StageSpec{RunID: "r", Target: connectors.Relation{Name: "t"}, Columns: st.(*staging).spec.Columns}); err != nil {
					t.Fatal(err)
				}
				if _, err := st.(connectors.Filler).Fill(bg, delta); err != nil {
					t.Fatal(err)
				}
			}
			out, err := c.Apply(bg, st, tt.d)
			if err != nil || out != tt.out {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			if err := st.Discard(bg); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(ask(t, c, "SELECT id, s, kept FROM t ORDER BY id NULLS LAST, s")); got != tt.want {
				t.Errorf("%s: got %s, want %s", name, got, tt.want)
			}
			if got := ask(t, c, "SELECT count(*) FROM duckdb_tables()"); got[0] != "1" {
				t.Errorf("%s: staging is left", name)
			}
		}
	}
}

func TestApplyAlters(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, "CREATE TABLE t (id BIGINT, n INTEGER, old VARCHAR); INSERT INTO t VALUES (1, 5, 'x'), (2, 6, 'y'); CREATE INDEX i1 ON t (id); CREATE UNIQUE INDEX i2 ON t (n)")
	d := connectors.Delta{
		Strategy: connectors.StrategyMerge, Key: []string{"id"}, Columns: []string{"id", "n", "fresh"},
		Alter: []connectors.Alteration{
			{Kind: connectors.AddColumn, Column: connectors.Column{Name: "fresh", Type: connectors.T(connectors.Date)}},
			{Kind: connectors.WidenColumn, Column: connectors.Column{Name: "n", Type: connectors.T(connectors.BigInt)}},
			{Kind: connectors.DropColumn, Column: connectors.Column{Name: "old"}},
		},
	}
	spec := connectors.StageSpec{Target: connectors.Relation{Name: "t"}}
	st := stage(t, e, c, spec, "SELECT * FROM (VALUES (1::BIGINT, 5000000000, DATE '2020-01-01'), (3, 7, NULL)) v(id, n, fresh)")
	if out, err := c.Apply(bg, st, d); err != nil || out.Inserted != 1 || out.Updated != 1 {
		t.Fatal(out, err)
	}
	if err := st.Discard(bg); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ask(t, c, "SELECT * FROM t ORDER BY id")); got != "[1|5000000000|2020-01-01 2|6|(null) 3|7|(null)]" {
		t.Error(got)
	}
	if got := fmt.Sprint(ask(t, c, "SELECT index_name FROM duckdb_indexes() ORDER BY 1")); got != "[i1 i2]" {
		t.Error(got)
	}
	// a failure undoes the alterations too
	d.Alter = []connectors.Alteration{{Kind: connectors.AddColumn, Column: connectors.Column{Name: "again", Type: connectors.T(connectors.Date)}}}
	d.Columns = []string{"id", "n"}
	st = stage(t, e, c, spec, "SELECT * FROM (VALUES (1::BIGINT, 6::BIGINT, 1)) v(id, n, other)")
	if _, err := c.Apply(bg, st, d); err == nil {
		t.Error("a duplicate in a unique index was accepted")
	}
	if err := st.Discard(bg); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "SELECT count(*) FROM duckdb_columns() WHERE table_name = 't'"); got[0] != "3" {
		t.Error(got)
	}
}

func TestKeysCompareByBytes(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, "CREATE TABLE t (k VARCHAR COLLATE NOCASE, n INTEGER); INSERT INTO t VALUES ('a', 1)")
	st := stage(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}}, "SELECT 'A' AS k, 2 AS n")
	out, err := c.Apply(bg, st, connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{"k"}, Columns: []string{"k", "n"}})
	if err != nil || out.Inserted != 1 || out.Updated != 0 {
		t.Error(out, err)
	}
}

func TestState(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	if all, err := c.ListState(bg, "st"); err != nil || all != nil {
		t.Error(all, err)
	}
	rec := connectors.StateRecord{Model: "m'1", Target: "db.main.t", UpdateKey: "at", Value: "2020-01-01T00:00:00+02:00", ColumnType: "timestamptz", UpdatedAt: time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC), RunID: "r"}
	if err := c.SaveState(bg, connectors.StateSave{Schema: "st", Record: rec}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.LoadState(bg, "st", rec.Model, rec.Target); err != nil || got == nil || *got != rec {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.SaveState(bg, connectors.StateSave{Schema: "st", Record: rec}); !errors.Is(err, connectors.ErrStateMoved) {
		t.Error(err)
	}
	old, next := rec.Value, rec
	next.Value = "2021"
	if err := c.SaveState(bg, connectors.StateSave{Schema: "st", Record: next, Previous: &old}); err != nil {
		t.Error(err)
	}
	if err := c.SaveState(bg, connectors.StateSave{Schema: "st", Record: rec, Previous: &old}); !errors.Is(err, connectors.ErrStateMoved) {
		t.Error(err)
	}
	// with a delta, in its transaction
	run(t, c, "CREATE TABLE t (id INTEGER)")
	for i, want := range []connectors.Applied{{Inserted: 1, StateSaved: true}, {Inserted: 1, StateMoved: true}} {
		st := stage(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}}, "SELECT 1 AS id")
		prev := "2021"
		moved := rec
		moved.Value = fmt.Sprint(2022 + i)
		out, err := c.Apply(bg, st, connectors.Delta{Columns: []string{"id"}, State: &connectors.StateSave{Schema: "st", Record: moved, Previous: &prev}})
		if err != nil || out != want {
			t.Errorf("%+v, %v", out, err)
		}
		if err := st.Discard(bg); err != nil {
			t.Error(err)
		}
	}
	if got, err := c.LoadState(bg, "st", rec.Model, rec.Target); err != nil || got.Value != "2022" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.DeleteState(bg, "st", rec.Model, rec.Target); err != nil {
		t.Error(err)
	}
	if all, err := c.ListState(bg, "st"); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}
