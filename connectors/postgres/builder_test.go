package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dvt-dev/dvt/connectors"
)

// over puts the test's schema in front of the table a.
func (d *db) over(sql string) string { return strings.ReplaceAll(sql, "FROM a", "FROM "+d.schema+".a") }

func (d *db) mustView(name, sql string) {
	d.t.Helper()
	if err := d.CreateView(context.Background(), d.rel(name), d.over(sql)); err != nil {
		d.t.Fatal(err)
	}
}

// TestCreateView replaces views and tables, and refuses what it would break.
func TestCreateView(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE a (id int, name text); INSERT INTO a VALUES (1, 'x')")
	d.mustView("v", "SELECT id, name FROM a; -- a comment")
	d.exec("CREATE VIEW over AS SELECT name FROM v; GRANT SELECT ON over TO public; COMMENT ON VIEW v IS 'mine'; COMMENT ON COLUMN v.name IS 'n'")
	d.exec("ALTER VIEW v SET (security_barrier = true)")

	d.mustView("v", "SELECT id, upper(name) AS name FROM a") // the same columns
	if got := d.text("SELECT name FROM over"); got != "X" {
		t.Error(got)
	}
	if got := d.text("SELECT reloptions::text FROM pg_class WHERE oid = 'v'::regclass"); got != "{security_barrier=true}" {
		t.Error("options:", got)
	}
	d.mustView("v", "SELECT name, id::bigint AS id FROM a") // others
	if got := d.text("SELECT name || has_table_privilege('public', 'over', 'select')::text || obj_description('v'::regclass) || col_description('v'::regclass, 1) FROM over"); got != "xtruemine"+"n" {
		t.Error(got)
	}

	for _, c := range []struct{ about, prepare, view, want string }{ // in this order: the second's view stays
		{"a dependent's column", "", "SELECT id FROM a", "making the dependent view"},
		{"a materialized view", "CREATE MATERIALIZED VIEW m AS SELECT id FROM v", "SELECT id FROM a", "materialized view"},
		{"a bad query", "", "SELECT nope FROM a", `column "nope" does not exist`},
		{"two statements", "DROP VIEW IF EXISTS fresh", "SELECT 1 AS a; DROP TABLE a", "multiple commands"},
	} {
		if c.prepare != "" {
			d.exec(c.prepare)
		}
		name := "v"
		if c.about == "two statements" {
			name = "fresh"
		}
		if err := d.CreateView(context.Background(), d.rel(name), d.over(c.view)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.about, err)
		}
	}
	if got := d.text("SELECT name FROM over"); got != "x" {
		t.Error("after refusals:", got)
	}

	d.exec("CREATE TABLE k (id int PRIMARY KEY); CREATE TABLE f (id int REFERENCES k)")
	if err := d.CreateView(context.Background(), d.rel("k"), "SELECT 1 AS id"); err == nil || !strings.Contains(err.Error(), "foreign key f_id_fkey") {
		t.Error(err)
	}
	d.exec("DROP TABLE f")
	d.mustView("k", "SELECT 1 AS id")
	if got := d.text("SELECT relkind::text FROM pg_class WHERE oid = 'k'::regclass"); got != "v" {
		t.Error(got)
	}
}

// TestCreateViewWaits: a reader of the view holds its lock for a while; others who want to
// read meanwhile are not kept waiting for longer than one short attempt.
func TestCreateViewWaits(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.mustView("v", "SELECT 1 AS id")
	other, err := pgx.Connect(ctx, connString(d.settings))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(ctx) }()
	tx, err := other.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT * FROM "+d.schema+".v"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.CreateView(ctx, d.rel("v"), "SELECT 'x'::text AS name") }()
	select {
	case err := <-done:
		t.Fatal("it did not wait:", err)
	case <-time.After(700 * time.Millisecond):
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := d.text("SELECT name FROM v"); got != "x" {
		t.Error(got)
	}
}

func TestStageSelect(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec("CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE a (id int, m mood, n numeric(10,2)); INSERT INTO a VALUES (1, 'ok', 1.5), (NULL, 'ok', 2), (NULL, 'ok', 3)")
	target := connectors.StageSpec{RunID: "run", Target: d.rel("t")}
	stage := func(sql string, unique ...string) (connectors.Selected, error) {
		st, sel, err := d.StageSelect(ctx, connectors.StageSelect{StageSpec: target, SQL: d.over(sql), Unique: unique})
		if st != nil {
			defer func() { _ = st.Discard(ctx) }()
		}
		if err == nil {
			err = d.Replace(ctx, st)
		}
		return sel, err
	}
	sel, err := stage("SELECT * FROM a")
	if err != nil || sel.Rows != 3 || len(sel.Columns) != 3 || sel.Columns[2].Native != "numeric(10,2)" {
		t.Fatal(sel, err)
	}
	cols, err := d.ResultColumns(ctx, d.over("SELECT id, m, n FROM a"))
	if err != nil || len(cols) != 3 || cols[0].Native != "integer" || !strings.HasSuffix(cols[1].Native, "mood") || !cols[2].Type.Equal(connectors.Dec(10, 2)) {
		t.Fatal(cols, err)
	}
	var repeated *connectors.RepeatedKeyError
	if _, err = stage("SELECT * FROM a WHERE n > 1.5", "id", "m"); !errors.As(err, &repeated) || repeated.Values[0] != "NULL" || repeated.Values[1] != "ok" {
		t.Fatal(err)
	}
	if got := d.text("SELECT count(*)::text FROM t"); got != "3" {
		t.Error("the target after a refusal:", got)
	}
	if got := d.text("SELECT count(*)::text FROM pg_class WHERE relname LIKE '\\_\\_dvt%' AND relnamespace = $1::regnamespace", d.schema); got != "0" {
		t.Error("left behind:", got)
	}
	row, err := d.FirstRow(ctx, d.over("SELECT sum(n) AS n, NULL AS x FROM a"), []string{"n", "x"})
	if err != nil || *row[0] != "6.50" || row[1] != nil {
		t.Fatal(row, err)
	}
}
