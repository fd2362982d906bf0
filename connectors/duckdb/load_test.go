package duckdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestReplaceKeepsWhatHangsOn(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, `CREATE TABLE "T x" (id BIGINT PRIMARY KEY, g INTEGER NOT NULL DEFAULT 7, CHECK (g < 100)); INSERT INTO "T x" VALUES (1, 1);
		CREATE INDEX gi ON "T x" (g); COMMENT ON TABLE "T x" IS 'it''s kept'; COMMENT ON COLUMN "T x".g IS 'col'; CREATE VIEW v AS SELECT sum(g) s FROM "T x"`)
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t X"}}, "SELECT i AS id, (i % 50)::INTEGER AS g FROM range(100000) r(i)")
	if got := ask(t, c, "SELECT s::BIGINT FROM v"); got[0] != "2450000" {
		t.Error(got)
	}
	if got := ask(t, c, "SELECT index_name FROM duckdb_indexes()"); fmt.Sprint(got) != "[gi]" {
		t.Error(got)
	}
	if got := ask(t, c, "SELECT comment || (SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL) FROM duckdb_tables()"); got[0] != "it's keptcol" {
		t.Error(got)
	}
	if err := c.Exec(bg, `INSERT INTO "T x" VALUES (1, 1)`); err == nil {
		t.Error("the primary key is gone")
	}
	if err := c.Exec(bg, `INSERT INTO "T x" VALUES (-1, 100)`); err == nil {
		t.Error("the check is gone")
	}
	// a row that breaks the kept constraint leaves the old content
	st := stage(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "T x"}}, "SELECT 5::BIGINT AS id, 200 AS g")
	if err := c.Replace(bg, st); err == nil {
		t.Error("a row against the check was loaded")
	}
	if err := st.Discard(bg); err != nil {
		t.Error(err)
	}
	if got := ask(t, c, `SELECT count(*) FROM "T x"`); got[0] != "100000" {
		t.Error(got)
	}
	// other columns: the constraints go, the view binds anew
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "T x"}, Options: connectors.TargetOptions{Indexes: []connectors.Index{{Columns: []string{"id"}, Unique: true}}}}, "SELECT 1::BIGINT AS id, 2 AS g, 'new' AS more")
	if got := ask(t, c, `SELECT * FROM "T x"`); got[0] != "1|2|new" {
		t.Error(got)
	}
	if got := ask(t, c, "SELECT is_unique FROM duckdb_indexes() ORDER BY 1"); fmt.Sprint(got) != "[false true]" {
		t.Error(got)
	}
	// a view of the name is replaced by the table; an empty result has its columns
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "v"}}, "SELECT 1.5::DECIMAL(5,2) AS d, [1] AS l WHERE false")
	if got := ask(t, c, "SELECT column_name || ' ' || data_type FROM duckdb_columns() WHERE table_name = 'v'"); fmt.Sprint(got) != "[d DECIMAL(5,2) l INTEGER[]]" {
		t.Error(got)
	}
	if got := ask(t, c, "SELECT table_name FROM duckdb_tables() ORDER BY 1"); fmt.Sprint(got) != "[T x v]" {
		t.Error("staging is left:", got)
	}
}

func TestTypesOfItsOwn(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	cols := []connectors.Column{
		{Name: "e", Type: connectors.T(connectors.Varchar), Native: "ENUM('a', 'b')", Engine: "duckdb"},
		{Name: "s", Type: connectors.T(connectors.Timestamp), Native: "TIMESTAMP_S", Engine: "duckdb"},
		{Name: "n", Type: connectors.T(connectors.Double)},
	}
	opts := connectors.TargetOptions{ColumnTypes: map[string]string{"n": "SMALLINT"}}
	spec := connectors.StageSpec{Target: connectors.Relation{Name: "t"}, Columns: cols, Options: opts}
	replace(t, e, c, spec, "SELECT * FROM (VALUES ('b', TIMESTAMP '2020-01-01 00:00:01', 3.0::DOUBLE), (NULL, NULL, NULL))")
	if got := ask(t, c, "SELECT typeof(e), typeof(s), typeof(n), e::VARCHAR, n::VARCHAR FROM t"); got[0] != "ENUM('a', 'b')|TIMESTAMP_S|SMALLINT|b|3" {
		t.Error(got)
	}
	for column, row := range map[string]string{"e": "'c', NULL, NULL", "s": "'a', '2020-01-01 00:00:01.5', NULL", "n": "'a', NULL, 2.5"} {
		st := stage(t, e, c, spec, "SELECT x::VARCHAR, y::TIMESTAMP, z::DOUBLE FROM (VALUES ("+row+")) v(x, y, z)")
		err := c.Replace(bg, st)
		var bad *connectors.ValueError
		if !errors.As(err, &bad) || bad.Column != column {
			t.Errorf("%s: %v", row, err)
		}
		if err := st.Discard(bg); err != nil {
			t.Error(err)
		}
	}
	if got := ask(t, c, "SELECT count(*) FROM t"); got[0] != "2" {
		t.Error(got)
	}
}

func TestFill(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	m, err := e.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	cols := []connectors.Column{{Name: "id", Type: connectors.T(connectors.BigInt)}}
	if _, err := m.StageSQL(bg, "src", "main", "t", cols, []int{0}, "SELECT i FROM range(300000) r(i)"); err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"DESC", "ASC"} {
		st, err := c.Stage(bg, connectors.StageSpec{RunID: "r", Target: connectors.Relation{Name: "t"}, Columns: cols})
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.Fill(bg, st.(connectors.Filler), `SELECT id FROM "src__dvtcat".main.t WHERE id < 250000 ORDER BY id `+last+` -- end`)
		if err != nil || n != 250000 {
			t.Fatal(n, err)
		}
		if n, err := st.Seal(bg); err != nil || n != 250000 {
			t.Fatal(n, err)
		}
		if err := c.Replace(bg, st); err != nil {
			t.Fatal(err)
		}
		if err := st.Discard(bg); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, c, "SELECT count(*), count(*) FILTER (WHERE id <> rowid) FROM t"); got[0] != "250000|0" {
		t.Error("rows are not in the order of the query:", got)
	}
	// one that is given up leaves the old table
	st, err := c.Stage(bg, connectors.StageSpec{RunID: "r", Target: connectors.Relation{Name: "t"}, Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fill(bg, st.(connectors.Filler), `SELECT CASE WHEN id > 1000 THEN error('boom') ELSE id END AS id FROM "src__dvtcat".main.t`); err == nil || err.Error() != "Invalid Input Error: boom" {
		t.Error(err)
	}
	if err := st.Discard(bg); err != nil {
		t.Error(err)
	}
	if got := ask(t, c, "SELECT count(*), (SELECT count(*) FROM duckdb_tables() WHERE database_name = '"+c.file.alias+"') FROM t"); got[0] != "250000|1" {
		t.Error(got)
	}
}

func TestOrderedLoad(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}, Options: connectors.TargetOptions{Ordered: true}}, "SELECT i FROM range(600000) r(i) ORDER BY i DESC")
	if got := ask(t, c, "SELECT count(*), count(*) FILTER (WHERE i <> 599999 - rowid) FROM t"); got[0] != "600000|0" {
		t.Error(got, ask(t, c, "SELECT rowid, i FROM t LIMIT 5"))
	}
}

// A run that is killed in the middle of a load leaves the old content and no lock.
func TestKilledLoad(t *testing.T) {
	if path := os.Getenv("DVT_TEST_KILL"); path != "" {
		e := newEngine(t)
		c := at(t, e, path)
		st, err := c.Stage(bg, connectors.StageSpec{RunID: "dead", Target: connectors.Relation{Name: "t"}, Columns: []connectors.Column{{Name: "i", Type: connectors.T(connectors.BigInt)}}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("begun")
		_, err = st.(connectors.Filler).Fill(bg, "SELECT i FROM range(2000000000) r(i)")
		t.Fatal("not killed", err)
	}
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, "CREATE TABLE t AS SELECT 'old' AS v")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledLoad$")
	cmd.Env = append(os.Environ(), "DVT_TEST_KILL="+c.file.path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := fmt.Sprint(ask(t, c, "SELECT v, (SELECT count(*) FROM duckdb_tables()) FROM t")); got != "[old|1]" {
		t.Error(got)
	}
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}}, "SELECT 1 AS i")
}
