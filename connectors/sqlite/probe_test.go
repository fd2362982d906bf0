package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func TestProbe(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, v NUMERIC, w DECIMAL(50,2), x NUMBER)",
		"INSERT INTO t VALUES (1, 12.5, 1, 1e30), (2, NULL, 1.25, NULL), (3, 0.125, NULL, NULL), (4, 9223372036854775807, 0, 0), (5, 1e-30, NULL, NULL), (6, 1e300, NULL, NULL), (7, 'abc', NULL, NULL)")
	table := describe(t, c, "t")
	for _, k := range []struct {
		where string
		want  string
	}{
		{"id <= 2", "[DECIMAL(38,1) DECIMAL(38,2) DECIMAL(38,0)]"},
		{"id <= 4", "[DECIMAL(38,3) DECIMAL(38,2) DECIMAL(38,0)]"},
		{"id = 5", "[DECIMAL(38,30) DECIMAL(38,0) DECIMAL(38,0)]"},
		{"id > 100", "[DECIMAL(38,0) DECIMAL(38,0) DECIMAL(38,0)]"},
	} {
		got, err := c.Probe(t.Context(), table, []int{1, 2, 3}, k.where)
		if err != nil || fmt.Sprint(got) != k.want {
			t.Errorf("%s: %v, %v; want %s", k.where, got, err, k.want)
		}
	}
	var te *connectors.TypeError
	if _, err := c.Probe(t.Context(), table, []int{1}, "id IN (5, 6)"); !errors.As(err, &te) {
		t.Errorf("too many digits: %v", err)
	}
	var ve *connectors.ValueError
	if _, err := c.Probe(t.Context(), table, []int{1}, ""); !errors.As(err, &ve) || ve.Row != "rowid 7" {
		t.Errorf("a text: %v", err)
	}
	// What was probed is read.
	types, err := c.Probe(t.Context(), table, []int{1}, "id <= 4")
	if err != nil {
		t.Fatal(err)
	}
	table.Columns[1].Type = types[0]
	where := c.d.Leaf(&connectors.Pred{Kind: connectors.PCmp, Col: 1, Op: "<=", Vals: []connectors.Value{value(connectors.Dec(9, 2), "1250")}}, table)
	if where.Verdict != connectors.Superset {
		t.Errorf("a probed column: %+v", where)
	}
	e, cols := extract(table, "id <= 4", "v")
	got, err := texts(t, c, connectors.Query{SQL: c.d.Select(e), Columns: cols})
	if want := []string{"12.500", "∅", "0.125", "9223372036854775807.000"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := rows(t, c, describe(t, c, "t"), "v"); err == nil || !strings.Contains(err.Error(), "precision is not known") {
		t.Errorf("an unprobed column: %v", err)
	}
}

// In a UTF-16 file texts arrive as UTF-8 all the same; ranges on them are not sent.
func TestUTF16File(t *testing.T) {
	c := newConn(t)
	s, err := openSession(c.path, true, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = s.exec(t.Context(), "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('é😀'), ('\uffff'), (''), (NULL)")
	s.close()
	if err != nil {
		t.Fatal(err)
	}
	table := describe(t, c, "t")
	if got, err := rows(t, c, table); err != nil || !slices.Equal(got, []string{"é😀", "\uffff", "", "∅"}) {
		t.Errorf("%q, %v", got, err)
	}
	pred := func(kind connectors.PredKind, op string) connectors.Verdict {
		return c.d.Leaf(&connectors.Pred{Kind: kind, Op: op, Vals: []connectors.Value{value(connectors.T(connectors.Varchar), "\uffff")}}, table).Verdict
	}
	if pred(connectors.PCmp, "<") != connectors.No || pred(connectors.PLike, "suffix") != connectors.No || pred(connectors.PCmp, "=") == connectors.No {
		t.Errorf("verdicts %s %s %s", pred(connectors.PCmp, "<"), pred(connectors.PLike, "suffix"), pred(connectors.PCmp, "="))
	}
	cols := []connectors.Column{{Name: "v", Type: connectors.T(connectors.Varchar)}}
	rec := record(t, cols, []any{"😀\x00b"}, []any{""})
	defer rec.Release()
	if err := load(t, c, "t", cols, connectors.TargetOptions{}, rec); err != nil {
		t.Fatal(err)
	}
	if got, err := rows(t, c, describe(t, c, "t")); err != nil || !slices.Equal(got, []string{"😀\x00b", ""}) {
		t.Errorf("%q, %v", got, err)
	}
}
