package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestStageRefusals(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	long := strings.Repeat("é", 32)
	for _, spec := range []connectors.StageSpec{
		{Target: d.rel(long), Columns: []connectors.Column{intCol}},
		{Target: connectors.Relation{Schema: long, Name: "t"}, Columns: []connectors.Column{intCol}},
		{Target: d.rel("t"), Columns: []connectors.Column{{Name: long, Type: intCol.Type}}},
		{Target: d.rel("t"), Columns: []connectors.Column{intCol}, Options: connectors.TargetOptions{ColumnTypes: map[string]string{"id": "int); DROP TABLE x; --"}}},
		{Target: d.rel("t"), Columns: []connectors.Column{intCol}, Options: connectors.TargetOptions{ColumnTypes: map[string]string{"id": "int, y int"}}},
		{Target: d.rel("t"), Columns: []connectors.Column{intCol}, Options: connectors.TargetOptions{ColumnTypes: map[string]string{"id": "inet"}}},
	} {
		if st, err := d.Stage(ctx, spec); err == nil {
			t.Errorf("%v: no error", spec)
			_ = st.Discard(ctx)
		}
	}
	// A schema that is missing is made; Discard leaves nothing and may be repeated.
	extra := d.schema + "_x"
	t.Cleanup(func() { d.exec("DROP SCHEMA IF EXISTS " + extra + " CASCADE") })
	recs := rows(d, 3, "a")
	defer release(recs)
	spec := d.spec("t", connectors.TargetOptions{})
	spec.Target.Schema = extra
	st, n, err := d.stage(spec, recs)
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for range 2 {
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
	}
	if err := d.Replace(ctx, st); err == nil {
		t.Error("a discarded staging table was swapped in")
	}
	d.want("0", "SELECT count(*)::text FROM pg_class WHERE relnamespace = $1::text::regnamespace", extra)
}

func TestCleanStaging(t *testing.T) {
	d := open(t, nil)
	mine, other := stagingName("deadbeef", d.rel("t")), stagingName("deadbeef", d.rel("u"))
	d.exec("CREATE TABLE " + mine.Name + " ()")
	d.exec("CREATE TABLE " + other.Name + " ()")
	d.exec("CREATE TABLE __dvt_mine ()")
	if len(mine.Name) != len("__dvt_")+8+12 {
		t.Errorf("staging name %s", mine.Name)
	}
	if err := d.CleanStaging(context.Background(), d.rel("t")); err != nil {
		t.Fatal(err)
	}
	d.want(other.Name+",__dvt_mine", "SELECT string_agg(relname, ',' ORDER BY length(relname) DESC) FROM pg_class WHERE relnamespace = $1::text::regnamespace", d.schema)
}

// TestStageCancelled: a load whose context ends stops, and Discard still cleans up.
func TestStageCancelled(t *testing.T) {
	d := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	recs := rows(d, 20000, strings.Repeat("x", 100))
	defer release(recs)
	st, err := d.Stage(ctx, d.spec("t", connectors.TargetOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Write(ctx, recs[0]); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 3 {
		if err = st.Write(ctx, recs[0]); err != nil {
			break
		}
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("writing after the end: %v", err)
	}
	if err := st.Discard(ctx); err != nil {
		t.Error(err)
	}
	d.leftovers()
	d.gone(d.schema)
}

// gone waits until no other session runs a statement with that text.
func (d *db) gone(text string) {
	d.t.Helper()
	sql := "SELECT count(*)::text FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() AND strpos(query, $1) > 0"
	for range 100 {
		if d.text(sql, text) == "0" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Errorf("a statement with %q still runs", text)
}
