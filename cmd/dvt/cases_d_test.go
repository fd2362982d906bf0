package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// keyed is an incremental model over source pg.delta whose delta is all of it.
const keyed = "select * from {{ source('pg', 'delta') }}{% if is_incremental() %} where true{% endif %}"

func TestCaseD1(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (NULL, 'x'), (1, 'a')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k'", keyed)
		p.run()
		p.exec("pg", "UPDATE $S.delta SET v = v || '2'")
		p.run()
		p.run()
		p.is(out, "SELECT count(*), max(v) FROM $S.m WHERE k IS NULL", "1\tx2")
		p.is(out, "SELECT count(*), max(v) FROM $S.m WHERE k = 1", "1\ta2")
	})
}

func TestCaseD3(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text, ts int)", "INSERT INTO $S.delta VALUES (1, 'z', 1)")
		p.model("plain", "materialized='f_incremental', target='"+out+"', unique_key='k'", keyed)
		p.model("latest", "materialized='f_incremental', target='"+out+"', unique_key='k', watermark_column='ts'", "select * from {{ source('pg', 'delta') }}")
		p.run()
		p.exec("pg", "DELETE FROM $S.delta", "INSERT INTO $S.delta VALUES (1, 'b', 3), (1, 'a', 2)")
		p.fails([]string{"k = 1", "the target is unchanged"}, "-s", "plain")
		p.is(out, "SELECT k, v FROM $S.plain", "1\tz")
		if text := p.run("-s", "latest"); !strings.Contains(text, "1 row of the delta left out, their keys have a newer ts") {
			t.Error(text)
		}
		p.is(out, "SELECT k, v FROM $S.latest", "1\tb")
	})
}

// A key may repeat under delete+insert, as a day that is replaced; running it twice
// changes nothing.
func TestCaseD4(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a'), (1, 'b'), (2, 'c')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', incremental_strategy='delete+insert'", keyed)
		p.run()
		p.exec("pg", "DELETE FROM $S.delta WHERE k = 2", "UPDATE $S.delta SET v = upper(v)")
		p.run()
		p.run()
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k, v", "1\tA\n1\tB\n2\tc")
	})
}

func TestCaseD5(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'old'), (2, 'old')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', merge_strategy='insert'", keyed)
		p.run()
		p.exec("pg", "UPDATE $S.delta SET v = 'new'", "INSERT INTO $S.delta VALUES (3, 'new')")
		p.run()
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k", "1\told\n2\told\n3\tnew")
	})
}

// A target that refuses its deletes keeps everything.
func TestCaseD7(t *testing.T) {
	block := map[string][]string{
		"pg": {"CREATE FUNCTION $S.no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no deletes''; END'",
			"CREATE TRIGGER no BEFORE DELETE ON $S.m FOR EACH ROW EXECUTE FUNCTION $S.no()"},
		"my":   {"CREATE TRIGGER $S.no BEFORE DELETE ON $S.m FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no deletes'"},
		"lite": {"CREATE TRIGGER no BEFORE DELETE ON m BEGIN SELECT RAISE(ABORT, 'no deletes'); END"},
	}
	each(t, []string{"pg", "my", "lite"}, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'old'), (2, 'old')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', incremental_strategy='delete+insert'", keyed)
		p.run()
		p.exec(out, block[out]...)
		p.exec("pg", "UPDATE $S.delta SET v = 'new'", "INSERT INTO $S.delta VALUES (3, 'new')")
		p.fails([]string{"no deletes"})
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k", "1\told\n2\told")
	})
}

// The same delta twice: the second one must not be taken for a block that is there.
func TestCaseD9(t *testing.T)  { sameDeltaTwice(t, "ReplacingMergeTree ORDER BY k") }
func TestCaseD10(t *testing.T) { sameDeltaTwice(t, "MergeTree ORDER BY k") }

func sameDeltaTwice(t *testing.T, engine string) {
	p := newCase(t)
	p.source("pg", "delta")
	p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta SELECT i, 'v' || i FROM generate_series(1, 1000) i")
	p.model("m", "materialized='f_incremental', target='ch', unique_key='k', incremental_strategy='delete+insert', engine='"+strings.Fields(engine)[0]+"', order_by=['k']", keyed)
	p.run()
	p.exec("ch", "INSERT INTO $S.m VALUES (5000, 'mine')")
	p.run()
	p.run()
	p.is("ch", "SELECT count(), sum(k) FROM $S.m", "1001\t505500")
}

// A merge that would leave a gap on an old server is refused before anything is read.
func TestCaseD12(t *testing.T) {
	p := newCase(t)
	p.source("pg", "delta")
	p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a')")
	p.model("m", "materialized='f_incremental', target='ch', unique_key='k'", keyed)
	text, err := os.ReadFile(p.dir + "/profiles.yml")
	if err != nil {
		t.Fatal(err)
	}
	p.run()
	p.write("profiles.yml", strings.Replace(string(text), p.output("ch", "clickhouse", ""), p.output("ch", "clickhouse", ", clickhouse_merge: mutate"), 1))
	if strings.HasPrefix(p.rows("ch", "SELECT version()"), "18.") {
		p.fails([]string{"clickhouse_merge: mutate needs ClickHouse 20.8"})
	} else {
		p.exec("pg", "UPDATE $S.delta SET v = 'b'")
		p.run()
		p.is("ch", "SELECT k, v FROM $S.m", "1\tb")
	}
}

// A reader never sees fewer rows while ClickHouse merges.
func TestCaseD13(t *testing.T) {
	newWorld(t, buildDVT(t), "ch").watch(t, "merge", 2)
}

// Names keep the case that the source gives them, on both sides.
func TestCaseD15(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "Orders")
		p.exec("pg", `CREATE TABLE $S."Orders" ("OrderID" int, "UnitPrice" int)`, `INSERT INTO $S."Orders" VALUES (1, 10)`)
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='OrderID'", `select "OrderID", "UnitPrice" from {{ source('pg', 'Orders') }}{% if is_incremental() %} where true{% endif %}`)
		p.run()
		p.exec("pg", `UPDATE $S."Orders" SET "UnitPrice" = 11`)
		p.run()
		db := p.open(out)
		defer func() { _ = db.Close() }()
		names, rows := mustQuery(t, db, p.sql(out, "SELECT * FROM $S.m"))
		if strings.Join(names, ",") != "OrderID,UnitPrice" || len(rows) != 1 || *rows[0][1] != "11" {
			t.Error(names, rows)
		}
	})
}

func TestCaseD16(t *testing.T) {
	for out, ddl := range map[string]string{
		"pg": "CREATE TABLE $S.m (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)",
		"my": "CREATE TABLE $S.m (id int AUTO_INCREMENT PRIMARY KEY, v varchar(20))",
	} {
		t.Run(out, func(t *testing.T) {
			p := newCase(t)
			p.source("pg", "delta")
			p.exec(out, ddl, "INSERT INTO $S.m (v) VALUES ('one'), ('two')")
			p.exec("pg", "CREATE TABLE $S.delta (id int, v varchar(20))", "INSERT INTO $S.delta VALUES (2, 'zwei'), (7, 'sieben')")
			p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='id'", "select * from {{ source('pg', 'delta') }}{% if is_incremental() %} where true{% endif %}")
			p.run()
			p.is(out, "SELECT id, v FROM $S.m ORDER BY id", "1\tone\n2\tzwei\n7\tsieben")
		})
	}
}

// Merges at once into one server whose sessions are serializable by default.
func TestCaseD17(t *testing.T) {
	p := newCase(t)
	role := "r" + p.schema[1:]
	p.exec("pg", fmt.Sprintf("CREATE ROLE %s LOGIN SUPERUSER PASSWORD '%s'", role, os.Getenv("DVT_TEST_PG_PASSWORD")), "ALTER ROLE "+role+" SET default_transaction_isolation = 'serializable'")
	t.Cleanup(func() { p.exec("pg", "DROP OWNED BY "+role+" CASCADE", "DROP ROLE "+role) })
	text, err := os.ReadFile(p.dir + "/profiles.yml")
	if err != nil {
		t.Fatal(err)
	}
	line := p.output("pg", "postgres", ", threads: 4")
	p.write("profiles.yml", strings.Replace(string(text), p.output("pg", "postgres", ""), strings.Replace(line, "user: "+os.Getenv("DVT_TEST_PG_USER"), "user: "+role, 1), 1))
	p.source("pg", "delta")
	p.exec("pg", "CREATE TABLE $S.delta (k int, v int)", "INSERT INTO $S.delta SELECT i, i FROM generate_series(1, 5000) i")
	for i := range 4 {
		p.model(fmt.Sprintf("m%d", i), "materialized='f_incremental', unique_key='k'", keyed)
	}
	p.run()
	for range 3 {
		p.exec("pg", "UPDATE $S.delta SET v = v + 1")
		p.run()
	}
	for i := range 4 {
		p.is("pg", fmt.Sprintf("SELECT count(*), sum(v - k) FROM $S.m%d", i), "5000\t15000")
	}
}

// Of several states of a key in one batch the last one stays.
func TestCaseD21(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "log")
		p.exec("pg", "CREATE TABLE $S.log (k int, seq int, deleted boolean, v text)", "INSERT INTO $S.log VALUES (1, 1, false, 'first'), (2, 2, false, 'two')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', watermark_column='seq'", "select * from {{ source('pg', 'log') }}")
		p.run()
		p.exec("pg", "INSERT INTO $S.log VALUES (1, 3, true, NULL), (1, 4, false, 'again'), (2, 5, true, NULL)")
		p.run()
		p.is(out, "SELECT k, seq, coalesce(v, '-') FROM $S.m ORDER BY k", "1\t4\tagain\n2\t5\t-")
	})
}

// What is deleted at the source stays in an incremental target until it is rebuilt.
func TestCaseD22(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a'), (2, 'b')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k'", keyed)
		p.run()
		p.exec("pg", "DELETE FROM $S.delta WHERE k = 2")
		p.run()
		p.is(out, "SELECT count(*) FROM $S.m", "2")
		p.run("--full-refresh")
		p.is(out, "SELECT k, v FROM $S.m", "1\ta")
	})
}

// stagingAway runs do when the target's server is first asked for the number of staged rows,
// with the name of the staging table.
func (p *caseProject) stagingAway(do func(db *enginetest.DB, staging string)) {
	proxy := p.proxied("ch", "clickhouse", "")
	db := p.open("ch")
	p.t.Cleanup(func() { _ = db.Close() })
	proxy.Set(faultproxy.Rule{Match: "SELECT toString(count())", Direction: faultproxy.ToServer, Do: func() {
		_, rows, err := db.Query("SELECT name FROM system.tables WHERE database = '" + p.schema + "' AND name LIKE '\\_\\_dvt%' AND name NOT LIKE '%lock%'")
		if err != nil || len(rows) != 1 {
			p.t.Errorf("looking for the staging table: %d, %v", len(rows), err)
			return
		}
		do(db, p.schema+"."+*rows[0][0])
	}})
}

// A staging table whose rows another replica does not show (yet) is never applied: the
// model waits for them, and fails if they do not come.
func TestCaseD11(t *testing.T) {
	p := newCase(t)
	p.source("pg", "delta")
	p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a'), (2, 'b')")
	p.model("m", "materialized='f_incremental', target='ch', unique_key='k'", keyed)
	p.run()
	p.exec("pg", "UPDATE $S.delta SET v = 'new'")
	p.stagingAway(func(db *enginetest.DB, staging string) {
		if err := db.Exec("TRUNCATE TABLE " + staging); err != nil {
			t.Error(err)
		}
	})
	p.fails([]string{"2 rows were sent but the target holds 0; the target is unchanged"})
	p.is("ch", "SELECT k, v FROM $S.m ORDER BY k", "1\ta\n2\tb")
	p.run()
	p.is("ch", "SELECT k, v FROM $S.m ORDER BY k", "1\tnew\n2\tnew")
}

// One row of the target is stale: it goes, in each engine's own form of DELETE.
func TestCaseD18(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'stale'), (2, 'b')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', incremental_strategy='delete+insert'", keyed)
		p.run()
		p.exec("pg", "UPDATE $S.delta SET v = 'fresh' WHERE k = 1", "INSERT INTO $S.delta VALUES (1, 'twin')", "DELETE FROM $S.delta WHERE k = 2")
		p.run()
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k, v", "1\tfresh\n1\ttwin\n2\tb")
	})
}

// Statements end where the engine wants it, also when the model's own text ends in a
// comment or a semicolon.
func TestCaseD19(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a')")
		for i, end := range []string{" -- the end", ";"} {
			p.exec("pg", "TRUNCATE $S.delta", "INSERT INTO $S.delta VALUES (1, 'a')")
			name := fmt.Sprintf("m%d", i)
			p.write("models/"+name+".sql", "{{ config(materialized='f_incremental', target='"+out+"', unique_key='k') }}\n"+keyed+end)
			p.run("-s", name)
			p.exec("pg", "UPDATE $S.delta SET v = 'b'", "INSERT INTO $S.delta VALUES (2, 'c')")
			p.run("-s", name)
			p.is(out, "SELECT k, v FROM $S."+name+" ORDER BY k", "1\tb\n2\tc")
		}
	})
}
