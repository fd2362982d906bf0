package planner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func TestRelations(t *testing.T) {
	p := newPlanner(t)
	sql := "-- été\n" + `with "orders" as (select 1 as a), x as (select * from "orders", "pg__dvtcat"."public"."orders" o)
select * from x join "my__dvtcat"."shop"."it""s" using (id), range(3) r(i) where 'é' <> '' and id in (select id from "pg__dvtcat"."public"."orders")`
	got, err := p.Relations(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	want := []Name{
		{"pg", "public", "orders", strings.Index(sql, `"pg__`)},
		{"my", "shop", `it"s`, strings.Index(sql, `"my__`)},
		{"pg", "public", "orders", strings.LastIndex(sql, `"pg__`)},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	p := newPlanner(t)
	cases := []struct{ sql, want string }{
		{"", "line 1, column 1 of the rendered SQL: a model is one SELECT: there is no statement here"},
		{"  -- nothing\n;", "line 1, column 1 of the rendered SQL: a model is one SELECT: there is no statement here"},
		{"-- a\n create table x (i int)", "line 2, column 2 of the rendered SQL: a model is one SELECT, and this is another statement"},
		{"select 1;\n  select 2", "line 2, column 3 of the rendered SQL: a model is one SELECT: there are 2 statements"},
		{"create table x as select 1", "line 1, column 1 of the rendered SQL: a model is one SELECT, and this is another statement"},
		{"drop table x", "line 1, column 1 of the rendered SQL: a model is one SELECT, and this is another statement"},
		{"select id\n from from {{ orders }}", `line 2, column 7 of the rendered SQL: Parser Error: syntax error at or near "from"`},
		{"select 'é', nosuch from {{ orders }}", `line 1, column 13 of the rendered SQL: Binder Error: Referenced column "nosuch" not found in FROM clause!`},
		{"select id from {{ orders }} o join {{ customers }} c using (id)\nwhere o.nosuch = 1", `line 2, column 7 of the rendered SQL: Binder Error: Values list "o" does not have a column named "nosuch"`},
		{"select id from orders", `line 1, column 16 of the rendered SQL: table "orders": name tables with source() or ref()`},
		{"select id from {{ orders }}, public.orders", `table "public.orders": name tables with source() or ref()`},
		{`select id from "pg__dvtcat"."public"."other"`, `line 1, column 16 of the rendered SQL: table "pg.public.other": name tables with source() or ref()`},
		{"select * from 'x.parquet'", `line 1, column 15 of the rendered SQL: table "x.parquet": name tables with source() or ref()`},
		{"select * from read_csv('x.csv')", `table function read_csv is not allowed: name tables with source() or ref()`},
		{"select * from glob('*')", `table function glob is not allowed`},
		{"select * from duckdb_settings()", `table function duckdb_settings is not allowed`},
		{"select * from query('select 1')", `table function query is not allowed`},
		{"from information_schema.tables", `table "information_schema.tables": name tables with source() or ref()`},
		{"with a as (select * from duckdb_tables), duckdb_tables as (select 1) select * from a", `table "duckdb_tables": name tables`},
		{"with duckdb_tables as (select * from duckdb_tables) select * from duckdb_tables", `table "duckdb_tables": name tables`},
		{"select (select max(id) from orders) from {{ orders }}", `table "orders": name tables`},
		{"describe {{ orders }}", "DESCRIBE, SHOW and SUMMARIZE are not"},
		{"from (summarize {{ orders }})", "DESCRIBE, SHOW and SUMMARIZE are not"},
		{"select * from {{ orders }} where id = $1", "parameters have no value in a model"},
		{"select * from {{ orders }} where id = ?", "parameters have no value in a model"},
		{"pivot {{ orders }} on status using sum(qty)", "a PIVOT is one too, unless it names its values with IN"},
		{"select id, qty as ID from {{ orders }}", `the result has more than one column called "id" and "ID": give them names of their own with AS`},
		{"select * from {{ orders }} a join {{ this }} b on a.id = b.id", `more than one column called "id", "customer_id", "updated_at"`},
		{"select 1::uhugeint as big", `result column "big" has DuckDB's type UHUGEINT, or contains it, which targets cannot hold: cast it to HUGEINT`},
		{"select 'a'::enum('a', 'b') as e", `result column "e" has DuckDB's type ENUM`},
		{"select [1, 2]::integer[2] as arr", `result column "arr" has DuckDB's type ARRAY`},
		{"select {'a': [1, 2]::integer[2]} as s", `result column "s" has DuckDB's type STRUCT, or contains it`},
		{"select union_value(a := 1) as u", `result column "u" has DuckDB's type UNION`},
		{"select '2024-01-01'::timestamp_s as s", `result column "s" has DuckDB's type TIMESTAMP_S, or contains it, which targets cannot hold: cast it to TIMESTAMP`},
	}
	for _, c := range cases {
		got := planText(p, c.sql)
		if !strings.HasPrefix(got, "error models/m.sql: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %s\nwant … %s", c.sql, got, c.want)
		}
		if strings.Contains(got, Marker) {
			t.Errorf("%s: the marker shows: %s", c.sql, got)
		}
	}
	// a refusal leaves the planner usable
	if got := planText(p, "select id from {{ orders }}"); !strings.Contains(got, "columns id") {
		t.Errorf("after refusals: %s", got)
	}
}

func mustPlan(t *testing.T, p *Planner, in Input) *Plan {
	t.Helper()
	in.Now = testNow
	plan, err := p.Plan(context.Background(), in)
	if err != nil {
		t.Fatalf("%s: %v", in.SQL, err)
	}
	return plan
}

func TestPlanSQLIsOneStatementToBuildOn(t *testing.T) {
	p := newPlanner(t)
	for sql, want := range map[string]string{
		"select 1 as a;":                 "select 1 as a ",
		"select ';' as a; -- end;":       "select ';' as a  -- end;\n",
		"select $$;$$ as a /* ; */ ; ;":  "select $$;$$ as a /* ; */    ",
		"select 1 as \";\" -- ' open\n;": "select 1 as \";\" -- ' open\n ",
	} {
		if got := mustPlan(t, p, Input{SQL: sql}).SQL; got != want {
			t.Errorf("%q: got %q, want %q", sql, got, want)
		}
	}
}

func TestTypesOfRelations(t *testing.T) {
	p := newPlanner(t)
	all := rel("pg", "s", "t", testDialect{text: connectors.Exact}, "a:BOOLEAN", "b:TINYINT", "c:SMALLINT", "d:HUGEINT", "e:UTINYINT", "f:USMALLINT",
		"g:UINTEGER", "h:FLOAT", "i:BLOB", "j:TIME", "k:TIMETZ", "l:TIMESTAMP_NS", "m:INTERVAL", "n:UUID", "o:BIT", "p:JSON[]",
		`q:STRUCT("x y" JSON, z MAP(VARCHAR, DECIMAL(38,3)))`, "r:MAP(INTEGER, JSON)", "s:DECIMAL(4,4)")
	plan := mustPlan(t, p, Input{SQL: `select * from "pg__dvtcat"."s"."t"`, Relations: []Relation{all}})
	if len(plan.Columns) != len(all.Table.Columns) || !plan.PlainScan() {
		t.Fatalf("columns %v, plain %v", plan.Columns, plan.Plain)
	}
	for i, c := range plan.Columns {
		want := all.Table.Columns[i]
		if c.Name != want.Name || !c.Type.Equal(want.Type) || c.Native != want.Native || c.Engine != "pg" || !c.Nullable {
			t.Errorf("column %+v, want %+v", c, want)
		}
	}
}

func TestColumnsThatCannotBeCarried(t *testing.T) {
	p := newPlanner(t)
	r := rel("pg", "s", "t", testDialect{text: connectors.Exact}, "geo:VARCHAR", "id:INTEGER", "n:DECIMAL(1,0)")
	r.Table.Columns[0].Type, r.Table.Columns[0].Native = connectors.Type{}, "geometry"
	r.Table.Columns[2].Type = connectors.Dec(0, 0)
	in := Input{SQL: `select count(*) as n, max(id) as m from "pg__dvtcat"."s"."t"`, Relations: []Relation{r}, Now: testNow}
	for _, sql := range []string{`select count(*) as n from "pg__dvtcat"."s"."t"`, `select max(id) as m from "pg__dvtcat"."s"."t"`, `select id from (select * from "pg__dvtcat"."s"."t")`} {
		in.SQL = sql
		plan := mustPlan(t, p, in)
		for _, c := range plan.Extracts[0].Query.Columns {
			if c.Name != "id" {
				t.Errorf("%s reads %s", sql, c.Name)
			}
		}
	}
	for _, sql := range []string{`select * from "pg__dvtcat"."s"."t"`, `select id from "pg__dvtcat"."s"."t" where geo is null`} {
		in.SQL = sql
		_, err := p.Plan(context.Background(), in)
		var typ *connectors.TypeError
		if !errors.As(err, &typ) || typ.Column != "geo" || typ.Native != "geometry" {
			t.Errorf("%s: %v, want a TypeError about geo", sql, err)
		}
	}
	// A decimal that is not known yet is planned wide, and planned again when it is.
	in.SQL = `select n from "pg__dvtcat"."s"."t" where n > 1.5`
	plan := mustPlan(t, p, in)
	if c := plan.Extracts[0].Query.Columns[0]; c.Type.Precision != 0 || !plan.Columns[0].Type.Equal(connectors.Dec(38, 10)) || plan.PlainScan() {
		t.Errorf("unknown decimal: %+v, plain %v", plan.Columns[0], plan.PlainScan())
	}
	in.Relations[0].Table.Columns[2].Type = connectors.Dec(20, 4)
	plan = mustPlan(t, p, in)
	if !plan.Columns[0].Type.Equal(connectors.Dec(20, 4)) || !plan.PlainScan() {
		t.Errorf("known decimal: %+v", plan.Columns[0])
	}
}

func TestNamesThatDifferInCase(t *testing.T) {
	p := newPlanner(t)
	r := rel("pg", "s", "t", testDialect{}, "ID:INTEGER", "id:INTEGER")
	_, err := p.Plan(context.Background(), Input{SQL: `select 1 as a from "pg__dvtcat"."s"."t"`, Relations: []Relation{r}})
	if err == nil || !strings.Contains(err.Error(), `relation pg.t has the columns "ID" and "id", which DuckDB cannot tell apart`) {
		t.Error(err)
	}
	a, b := rel("pg", "s", "T", testDialect{}, "a:INTEGER"), rel("pg", "s", "t", testDialect{}, "b:INTEGER")
	sql := `select * from "pg__dvtcat"."s"."T", "pg__dvtcat"."s"."t"`
	_, err = p.Plan(context.Background(), Input{SQL: sql, Relations: []Relation{a, b}})
	if err == nil || !strings.Contains(err.Error(), `differ only in the case of their names`) {
		t.Error(err)
	}
	// Each alone is fine, one after the other.
	for _, r := range []Relation{a, b} {
		plan := mustPlan(t, p, Input{SQL: "select * from " + viewName(&r), Relations: []Relation{a, b}})
		if plan.Columns[0].Name != r.Table.Columns[0].Name {
			t.Errorf("columns of %s: %v", r.Name, plan.Columns)
		}
	}
}

// TestUnstableFunctions: what DuckDB folds when it plans may not decide what is read
// when the value can be another when the model runs.
func TestUnstableFunctions(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	plan := mustPlan(t, p, Input{SQL: refs("select id from {{ orders }} where current_database() = 'x' and qty > 1", rels), Relations: rels})
	x := plan.Extracts[0]
	if x.Pruned || x.Where != "" || len(x.Columns) != len(rels[0].Table.Columns) {
		t.Errorf("extract %+v", x)
	}
}

func TestClockIsFrozen(t *testing.T) {
	p := newPlanner(t)
	for _, f := range []string{"now()", "current_timestamp", "transaction_timestamp()", "get_current_timestamp()", "current_date", "today()",
		"localtimestamp", "current_localtimestamp()"} {
		got := planText(p, "select id from {{ orders }} where updated_at > "+f)
		if !strings.Contains(got, `orders pushed "updated_at" > TIMESTAMPTZ '2026-03-10 `) {
			t.Errorf("%s: %s", f, got)
		}
	}
}

func TestRulesCanBeSwitchedOff(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	in := Input{Relations: rels, Now: testNow}
	for _, c := range []struct{ rule, sql, with, without string }{
		{rulePushdown, "select id from {{ orders }} where qty = 1 limit 3", `WHERE "qty" = 1 LIMIT 3`, `"orders"`},
		{ruleColumns, "select sum(price) as m from {{ prices }}", `SELECT "price"`, `SELECT "item_id", "ts", "price"`},
		{rulePrune, "select id from {{ this }} where false", ``, `SELECT "id", "customer_id", "updated_at", "total"`},
		{ruleLimit, "select id from {{ this }} limit 3", ` LIMIT 3`, `"this"`},
		{ruleTopN, "select id from {{ this }} order by id limit 3", ` ORDER BY "id" NULLS LAST LIMIT 3`, `"this"`},
		{ruleMultiScan, "select a.id from {{ this }} a, {{ this }} b where a.id = 1 and b.total > 2", ` WHERE ("id" = 1 OR "total" > 2.00)`, `"this"`},
		{ruleEqual, "select id from {{ this }} where id = 1", ` WHERE "id" = 1`, `"this"`},
		{ruleRange, "select id from {{ this }} where id > 1", ` WHERE "id" > 1`, `"this"`},
		{ruleIn, "select id from {{ this }} where id in (1, 2)", ` WHERE "id" IN (1, 2)`, `"this"`},
		{ruleLike, "select id from {{ orders }} where note like 'a_%'", ` WHERE "note" LIKE 'a_%'`, `"orders"`},
		{ruleNull, "select id from {{ this }} where total is null", ` WHERE "total" IS NULL`, `"this"`},
		{ruleBool, "select id from {{ orders }} where flag", ` WHERE "flag"`, `"orders"`},
		{ruleOr, "select id from {{ this }} where id = 1 or total > 2", ` WHERE ("id" = 1 OR "total" > 2.00)`, `"this"`},
		{ruleNot, "select id from {{ orders }} where not flag", ` WHERE NOT "flag"`, `"orders"`},
		{ruleDistinct, "select id from {{ this }} where id is not distinct from 4", ` WHERE "id" = 4`, `"this"`},
		{ruleCoalesce, "select id from {{ this }} where coalesce(id, 0) > 1", ` WHERE "id" > 1`, `"this"`},
		{ruleColumnPair, "select id from {{ this }} where id < customer_id", ` WHERE "id" < "customer_id"`, `"this"`},
		{ruleCast, "select id from {{ orders }} where amount > 1.555", ` WHERE "amount" > 1.555`, `"orders"`},
		{ruleExtremes, "select max(total) as m from {{ this }} where id > 3 and total < 5", `SELECT min("id") AS "id", max("total") AS "total" FROM`, `SELECT "id", "total"`},
		{ruleCTE, "with c as materialized (select * from {{ this }}) select id from c where id = 1", ` WHERE "id" = 1`, `"this"`},
		{ruleRewrite, "select id from {{ this }} where id + 1 = 5", ` WHERE "id" = 4`, `"this"`},
		{ruleOptimize, "select id from {{ this }} where id = 1", ` WHERE "id" = 1`, `"this"`},
	} {
		in.SQL = refs(c.sql, rels)
		in.DisabledRules = nil
		if got := mustPlan(t, p, in).Extracts[0].Query.SQL; !strings.Contains(got, c.with) {
			t.Errorf("%s on: %s lacks %s", c.rule, got, c.with)
		}
		in.DisabledRules = map[string]bool{c.rule: true}
		if got := mustPlan(t, p, in).Extracts[0].Query.SQL; !strings.HasSuffix(got, c.without) && !strings.HasPrefix(got, c.without) {
			t.Errorf("%s off: %s is not %s", c.rule, got, c.without)
		}
	}
}

func TestConcurrentPlans(t *testing.T) {
	p := newPlanner(t)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rel(fmt.Sprintf("c%d", g%2), "s", "t", testDialect{text: connectors.Exact}, fmt.Sprintf("a%d:INTEGER", g))
			for i := range 20 {
				sql := fmt.Sprintf("select a%d from %s where a%d > %d", g, viewName(&r), g, i)
				plan, err := p.Plan(context.Background(), Input{SQL: sql, Relations: []Relation{r}, Now: testNow.AddDate(0, 0, g)})
				if err != nil || plan.Extracts[0].Where != fmt.Sprintf(`"a%d" > %d`, g, i) {
					t.Errorf("%s: %v %v", sql, plan, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCancelledPlan(t *testing.T) {
	p := newPlanner(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Plan(ctx, Input{SQL: "select 1 as a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	mustPlan(t, p, Input{SQL: "select 1 as a"})
}
