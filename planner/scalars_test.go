package planner

import (
	"context"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func TestFindScalars(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	cases := []struct {
		sql  string
		want []string // SQL where alone, else "not: " and the reason's beginning
	}{
		{"select id from {{ orders }} where updated_at > (SELECT max(updated_at) FROM {{ this }})",
			[]string{"SELECT (SELECT max(updated_at) FROM {{ this }}) AS value"}},
		{"select id from {{ orders }} where updated_at > coalesce((select max(updated_at) from {{ this }} where id > 3), '1970-01-01') -- (x\n and qty < ( select /* ) */ min(qty) from {{ orders }} where note <> ')')",
			[]string{"SELECT (select max(updated_at) from {{ this }} where id > 3) AS value", "SELECT ( select /* ) */ min(qty) from {{ orders }} where note <> ')') AS value"}},
		{"select c.id, (select max(o.created_at) from {{ orders }} o where o.customer_id = c.id) as last from {{ customers }} c",
			[]string{"not: it does not stand alone: Binder Error: Referenced table \"c\" not found"}},
		{"select c.id, (select max(o.created_at) from {{ orders }} o where o.customer_id = c.id and o.qty > (select min(qty) from {{ orders }})) as last from {{ customers }} c",
			[]string{"not: it does not stand alone", "SELECT (select min(qty) from {{ orders }}) AS value"}},
		{"select id from {{ orders }} where qty > (select random() * count(*) from {{ this }})", []string{"not: random() may differ each time"}},
		{"select id from {{ orders }} where qty > (select 3)", []string{"not: it reads no relation"}},
		{"select id, (select max(id) from {{ this }}) from {{ orders }}", []string{"not: a result column is named after it"}},
		{"select id, (select max(id) from {{ this }}) as m from {{ orders }}", []string{"SELECT (select max(id) from {{ this }}) AS value"}},
		{"select * from (select id, 1 + (select max(id) from {{ this }}) from {{ orders }}) q", []string{"not: a result column is named after it"}},
		{"with a as (select 1 as x), b as materialized (select max(id) as m from {{ this }}), c(y) as (select m from b) select id from {{ orders }} where id > (select y from c)",
			[]string{"WITH b as materialized (select max(id) as m from {{ this }}), c(y) as (select m from b) SELECT (select y from c) AS value"}},
		{"with r as (select * from {{ orders }} where id > (select max(id) from {{ this }})) select id from r",
			[]string{"SELECT (select max(id) from {{ this }}) AS value"}},
		{"select id from (with z as (select max(id) as m from {{ this }}) select id from {{ orders }} where id > (select m from z)) q",
			[]string{"not: it uses a common table expression of an inner query"}},
		{"select id from {{ orders }} where id in (select id from {{ this }}) and exists (select 1 from {{ this }}) and tags = array(select 'a' from {{ this }})", nil},
		{"select id from {{ orders }} order by (select max(id) from {{ this }}) limit (select count(*) from {{ this }})",
			[]string{"SELECT (select max(id) from {{ this }}) AS value", "SELECT (select count(*) from {{ this }}) AS value"}},
		{"select id from {{ orders }} where id > (select max(id) from {{ this }}) union all select id from {{ this }} where id < (select min(id) from {{ orders }})",
			[]string{"SELECT (select max(id) from {{ this }}) AS value", "SELECT (select min(id) from {{ orders }}) AS value"}},
	}
	for _, c := range cases {
		in := Input{SQL: refs(c.sql, rels), Relations: rels, Now: testNow}
		got, err := p.FindScalars(context.Background(), in)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d scalars, want %d: %+v", c.sql, len(got), len(c.want), got)
			continue
		}
		for i, s := range got {
			if text := in.SQL[s.From:s.To]; text[0] != '(' || !strings.HasSuffix(text, ")") {
				t.Errorf("%s: place of scalar %d: %q", c.sql, i, text)
			}
			if why, not := strings.CutPrefix(c.want[i], "not: "); not {
				if s.Alone || s.SQL != "" || !strings.HasPrefix(s.Reason, why) {
					t.Errorf("%s: scalar %d: %+v, want %s", c.sql, i, s, c.want[i])
				}
				continue
			}
			if want := refs(c.want[i], rels); !s.Alone || s.SQL != want || len(s.Relations) == 0 {
				t.Errorf("%s: scalar %d: %+v, want %s", c.sql, i, s, want)
				continue
			}
			// It is a model of its own, of one column.
			plan, err := p.Plan(context.Background(), Input{SQL: s.SQL, Relations: rels, Now: testNow})
			if err != nil || len(plan.Columns) != 1 || plan.Columns[0].Name != "value" {
				t.Errorf("%s: planning scalar %d: %v %+v", c.sql, i, err, plan)
			}
		}
	}
}

func TestSplicedScalarIsPushed(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	in := Input{SQL: refs("select id, 'é (' as a from {{ orders }} where updated_at > (select max(updated_at) from {{ this }}) and qty > (select count(*) from {{ this }})", rels),
		Relations: rels, Now: testNow}
	scalars, err := p.FindScalars(context.Background(), in)
	if err != nil || len(scalars) != 2 {
		t.Fatalf("%v %v", scalars, err)
	}
	at, err := ScalarLiteral(connectors.T(connectors.TimestampTZ), "2024-05-01 12:34:56.789012+00")
	if err != nil {
		t.Fatal(err)
	}
	in.SQL = Splice(in.SQL, scalars, []string{at, "CAST('7' AS BIGINT)"})
	plan := mustPlan(t, p, in)
	if want := `"updated_at" > TIMESTAMPTZ '2024-05-01 12:34:56.789012+00' AND "qty" > 7`; len(plan.Extracts) != 1 || plan.Extracts[0].Where != want {
		t.Errorf("extracts %+v, want %s", plan.Extracts, want)
	}
}

// TestScalarLiterals: each literal is the value whose text it was made of.
func TestScalarLiterals(t *testing.T) {
	s, err := openShadow(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	for _, expr := range []string{
		"9223372036854775807", "170141183460469231731687303715884105727::HUGEINT", "18446744073709551615::UBIGINT", "-12.3400::DECIMAL(38,4)",
		"0.1::DOUBLE", "1e300", "'nan'::DOUBLE", "'-inf'::DOUBLE", "16777217::FLOAT", "0.1::FLOAT", "'it''s \\ é'", "true", "DATE '2024-02-29'", "'infinity'::DATE",
		"TIMESTAMP '2024-01-02 03:04:05.678901'", "'-infinity'::TIMESTAMP", "TIMESTAMPTZ '2024-01-02 03:04:05.678901+05:30'", "TIMESTAMP_NS '2024-01-02 03:04:05.678901234'",
		"TIME '23:59:59.999999'", "TIMETZ '12:00:00.5+05:30'", "INTERVAL '1 year 2 months 3 days 04:05:06.789'", `'\x00\xFFab\x5C'::BLOB`,
		"'00000000-0000-0000-0000-00000000000f'::UUID", "'10101'::BIT", "'{\"a\": [1, \"x\"]}'::JSON",
	} {
		var typ, text string
		if err := s.conn.QueryRowContext(context.Background(), "SELECT typeof(v), CAST(v AS VARCHAR) FROM (SELECT "+expr+" AS v)").Scan(&typ, &text); err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		lt, err := connectors.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		lit, err := ScalarLiteral(lt, text)
		if err != nil {
			t.Fatal(err)
		}
		var same bool
		q := "SELECT (" + lit + ") IS NOT DISTINCT FROM (" + expr + ") AND typeof(" + lit + ") = " + literal(typ)
		if err := s.conn.QueryRowContext(context.Background(), q).Scan(&same); err != nil || !same {
			t.Errorf("%s became %s: %v", expr, lit, err)
		}
	}
	if _, err := ScalarLiteral(connectors.ListOf(connectors.T(connectors.Varchar)), "[a, b]"); err == nil {
		t.Error("a list has a literal")
	}
}
