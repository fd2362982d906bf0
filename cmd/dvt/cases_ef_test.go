package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCaseE1(t *testing.T) {
	each(t, tableOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("ch", "hits")
		p.exec("ch", "CREATE TABLE $S.hits (id Int64, seen DateTime, name String) ENGINE = MergeTree ORDER BY id", "INSERT INTO $S.hits VALUES (1, '2024-01-01 00:00:00', 'a')")
		p.model("fresh", "target='"+out+"'", "select * from {{ source('ch', 'hits') }} where seen > timestamp '2100-01-01'")
		p.run()
		if out == "lake" {
			p.is(out, "SELECT count(*) FROM "+p.parquet("fresh.parquet"), "0")
			return
		}
		p.is(out, "SELECT count(*) FROM $S.fresh", "0")
		p.model("inc", "materialized='f_incremental', target='"+out+"', unique_key='id', watermark_column='id'", "select * from {{ source('ch', 'hits') }}")
		p.run("-s", "inc")
		p.run("-s", "inc") // nothing is new
		p.is(out, "SELECT count(*), max(name) FROM $S.inc", "1\ta")
	})
}

func TestCaseE4(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", "CREATE TABLE $S.t (id int)")
	p.model("m", "target='duck'", "select * from {{ source('pg', 't') }}")
	p.run()
	text, err := os.ReadFile(filepath.Join(p.dir, "target", "run_results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Results []struct {
			Adapter map[string]any `json:"adapter_response"`
			DVT     struct {
				Inserted *int64                  `json:"rows_inserted"`
				Sources  []struct{ Rows *int64 } `json:"sources"`
			} `json:"dvt"`
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Results) != 1 {
		t.Fatal(err, string(text))
	}
	r := doc.Results[0]
	if n, ok := r.Adapter["rows_affected"].(float64); !ok || n != 0 || r.DVT.Inserted == nil || *r.DVT.Inserted != 0 || r.DVT.Sources[0].Rows == nil {
		t.Errorf("rows are 0, not null: %s", text)
	}
}

func TestCaseE5(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", "CREATE TABLE $S.t (id int, price numeric(10,2), at timestamptz, name text)")
	p.model("empty", "target='lake'", "select * from {{ source('pg', 't') }}")
	p.run()
	p.is("lake", "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+p.parquet("empty.parquet")+")",
		"id\tINTEGER\nprice\tDECIMAL(10,2)\nat\tTIMESTAMP WITH TIME ZONE\nname\tVARCHAR")
	p.model("again", "target='pg'", "select * from {{ ref('empty') }}")
	p.run("-s", "again")
	p.is("pg", "SELECT count(*) FROM $S.again", "0")
	p.is("pg", "SELECT data_type FROM information_schema.columns WHERE table_schema || '.' = '"+p.schema+".' AND table_name = 'again' AND column_name = 'price'", "numeric")
}

func TestCaseE6(t *testing.T) {
	each(t, tableOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE TABLE $S.t (id int, v text)", "INSERT INTO $S.t SELECT i, 'v' FROM generate_series(1, 100) i")
		p.model("m", "target='"+out+"', chunk_column='id', chunk_size=25", "select * from {{ source('pg', 't') }} where id <= 100 or id >= 200")
		p.exec("pg", "UPDATE $S.t SET id = 300 WHERE id = 100") // the chunks between hold nothing
		p.run()
		from := "$S.m"
		if out == "lake" {
			from = p.parquet("m.parquet")
		}
		p.is(out, "SELECT count(*), min(id), max(id) FROM "+from, "100\t1\t300")
	})
}

func TestCaseE7(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE TABLE $S.t (id int)", "INSERT INTO $S.t VALUES (1)")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='id', watermark_column='id'", "select * from {{ source('pg', 't') }}")
		p.run()
		p.is(out, "SELECT count(*) FROM $S.m", "1")
	})
}

func TestCaseF1(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a')")
		for _, policy := range []string{"ignore", "append_new_columns", "fail"} {
			p.model("m_"+policy, "materialized='f_incremental', target='"+out+"', unique_key='k', on_schema_change='"+policy+"'", keyed)
		}
		p.run()
		p.exec("pg", "ALTER TABLE $S.delta ADD COLUMN extra int", "INSERT INTO $S.delta VALUES (2, 'b', 7)")
		if text := p.run("-s", "m_ignore"); !strings.Contains(text, "the target lacks extra: left out (on_schema_change is 'ignore')") {
			t.Error("the column that is left out is not named:\n" + text)
		}
		p.is(out, "SELECT k, v FROM $S.m_ignore ORDER BY k", "1\ta\n2\tb")
		p.run("-s", "m_append_new_columns")
		p.is(out, "SELECT k, v, coalesce(extra, -1) FROM $S.m_append_new_columns ORDER BY k", "1\ta\t-1\n2\tb\t7")
		p.fails([]string{"new extra", "--full-refresh"}, "-s", "m_fail")
		p.is(out, "SELECT count(*) FROM $S.m_fail", "1")
	})
}

// TestCaseF5: target-only columns keep their values in rows that are updated and are NULL
// in new ones; what the delta adds is named.
func TestCaseF5(t *testing.T) {
	each(t, []string{"pg", "my", "lite", "duck"}, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k'", keyed)
		p.run()
		p.exec(out, "ALTER TABLE $S.m ADD COLUMN mine int", "UPDATE $S.m SET mine = 5")
		p.exec("pg", "UPDATE $S.delta SET v = 'b'", "INSERT INTO $S.delta VALUES (2, 'c')")
		p.run()
		p.is(out, "SELECT k, v, coalesce(mine, -1) FROM $S.m ORDER BY k", "1\tb\t5\n2\tc\t-1")
	})
}

func TestCaseF6(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "delta")
		p.exec("pg", "CREATE TABLE $S.delta (k int, v text)", "INSERT INTO $S.delta VALUES (1, 'a')")
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='k', on_schema_change='append_new_columns'", keyed)
		p.run()
		if out == "pg" {
			p.exec(out, "ALTER TABLE $S.m ADD PRIMARY KEY (k)")
		}
		p.exec("pg", "ALTER TABLE $S.delta ALTER COLUMN k TYPE bigint", "INSERT INTO $S.delta VALUES (5000000000, 'big')")
		p.run()
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k", "1\ta\n5000000000\tbig")
		if out == "pg" {
			p.is(out, "SELECT count(*) FROM pg_constraint WHERE conrelid = '$S.m'::regclass AND contype = 'p'", "1")
		}
		// Narrower again: the values that are there stay, the delta is cast and checked.
		p.exec("pg", "DELETE FROM $S.delta WHERE k > 10", "ALTER TABLE $S.delta ALTER COLUMN k TYPE int", "UPDATE $S.delta SET v = 'b'")
		p.run()
		p.is(out, "SELECT k, v FROM $S.m ORDER BY k", "1\tb\n5000000000\tbig")
	})
}

func TestCaseF8(t *testing.T) {
	p := newCase(t)
	p.source("pg", "people")
	p.exec("pg", "CREATE TABLE $S.people (id int, name text, age int)", "INSERT INTO $S.people VALUES (1, 'ann', 30)", "CREATE TABLE $S.m (id int, name text)", "INSERT INTO $S.m VALUES (9, 'old')")
	p.model("m", "materialized='f_incremental', unique_key='id', on_schema_change='ignore'", "select * from {{ source('pg', 'people') }}{% if is_incremental() %} where true{% endif %}")
	if text := p.run(); !strings.Contains(text, "the target lacks age") {
		t.Error(text)
	}
	p.is("pg", "SELECT id, name FROM $S.m ORDER BY id", "1\tann\n9\told")
}

func TestCaseF10(t *testing.T) {
	each(t, tableOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", `CREATE TABLE $S.t ("Total %" int, "a b" int, "1st" int, "quo""te" int, "ünï" int, "semi;--" int)`, `INSERT INTO $S.t VALUES (1, 2, 3, 4, 5, 6)`)
		p.model("m", "target='"+out+"'", "select * from {{ source('pg', 't') }}")
		p.run()
		from := "$S.m"
		if out == "lake" {
			from = p.parquet("m.parquet")
		}
		db := p.open(out)
		defer func() { _ = db.Close() }()
		names, rows := mustQuery(t, db, p.sql(out, "SELECT * FROM "+from))
		if got := strings.Join(names, "|"); got != `Total %|a b|1st|quo"te|ünï|semi;--` || *rows[0][5] != "6" {
			t.Error(got, rows)
		}
	})
}

func TestCaseF11(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", "CREATE TABLE $S.t (id int, secret text, v int)", "INSERT INTO $S.t VALUES (1, 'x', 2)")
	p.model("m", "target='my'", "select * exclude (secret) from {{ source('pg', 't') }}")
	p.run()
	p.is("my", "SELECT group_concat(COLUMN_NAME ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '"+p.schema+"' AND TABLE_NAME = 'm'", "id,v")
	// What the model leaves out does not leave the source.
	if text, _ := dvtIn(t, p.dir, "explain", "-s", "m"); strings.Contains(text, `"secret"`) {
		t.Error(text)
	}
}

func TestCaseF12(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", `CREATE TABLE $S.t ("ID" int, "DateAdded" date)`, `INSERT INTO $S.t VALUES (1, '2024-01-01'), (2, '2024-02-01')`)
	p.model("m", "target='duck'", "select id, year(dateadded) as y from {{ source('pg', 't') }} where DATEADDED < date '2024-01-15'")
	p.run()
	p.is("duck", `SELECT "ID"::VARCHAR, y::VARCHAR FROM $S.m`, "1\t2024")
}

func TestCaseF13(t *testing.T) {
	p := newCase(t)
	p.source("ch", "t")
	p.exec("ch", "CREATE TABLE $S.t (id Int32, `nested.a` Array(Int32), `x.y` String) ENGINE = MergeTree ORDER BY id", "INSERT INTO $S.t VALUES (1, [1, 2], 'dot')")
	p.model("m", "target='duck'", "select * from {{ source('ch', 't') }} where \"x.y\" = 'dot'")
	p.model("back", "target='ch'", "select id, \"x.y\" from {{ ref('m') }}")
	p.run()
	p.is("duck", `SELECT id::VARCHAR, "nested.a"::VARCHAR, "x.y" FROM $S.m`, "1\t[1, 2]\tdot")
	p.is("ch", "SELECT `x.y` FROM $S.back", "dot")
}

func TestCaseF14(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "select")
		p.exec("pg", `CREATE TABLE $S."select" ("order" int, "user" text, "key" int, "group" date)`, `INSERT INTO $S."select" VALUES (1, 'a', 10, '2024-01-01'), (2, 'b', 20, '2024-01-02')`)
		p.model("table", "materialized='f_incremental', target='"+out+"', unique_key=['user', 'key'], watermark_column='order'", "select * from {{ source('pg', 'select') }}")
		p.run()
		p.exec("pg", `INSERT INTO $S."select" VALUES (3, 'b', 20, '2024-02-02')`)
		p.run()
		quoted := map[string]string{"pg": `"`, "my": "`", "ch": "`", "lite": `"`, "duck": `"`}[out]
		q := func(s string) string { return quoted + s + quoted }
		p.is(out, "SELECT "+q("order")+", "+q("user")+" FROM $S."+q("table")+" ORDER BY "+q("order"), "1\ta\n3\tb")
	})
}

func TestCaseF15(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE TABLE $S.t (id int)", "INSERT INTO $S.t VALUES (1)")
		if out == "duck" || out == "lite" {
			p.exec(out, "CREATE TABLE seed (id int)", "CREATE VIEW m AS SELECT * FROM seed", "CREATE VIEW n AS SELECT * FROM seed")
		} else {
			engine := ""
			if out == "ch" {
				engine = " ENGINE = Memory"
			}
			p.exec(out, "CREATE TABLE $S.seed (id "+map[bool]string{true: "Int32", false: "int"}[out == "ch"]+")"+engine, "CREATE VIEW $S.m AS SELECT * FROM $S.seed", "CREATE VIEW $S.n AS SELECT * FROM $S.seed")
		}
		p.model("m", "materialized='f_incremental', target='"+out+"', unique_key='id', watermark_column='id'", "select * from {{ source('pg', 't') }}")
		p.model("n", "target='"+out+"'", "select * from {{ source('pg', 't') }}")
		p.run()
		p.is(out, "SELECT count(*) FROM $S.m", "1")
		p.is(out, "SELECT count(*) FROM $S.n", "1")
	})
}
