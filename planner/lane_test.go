package planner

import (
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// TestStreamedColumns: the read has the names and types of the result, and what is
// needed to decode it.
func TestStreamedColumns(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	rels[0].Table.Columns[3].Type.Length, rels[0].Table.Columns[3].Collation = 20, "de_DE"
	in := Input{SQL: refs(`SELECT status AS "Status", id, js, addr FROM {{ orders }} WHERE qty = 1`, rels), Relations: rels, TargetConnection: "dw"}
	plan := mustPlan(t, p, in)
	if plan.Lane != LaneStreamed || plan.Streamed == nil || plan.LaneReason != "one relation of pg, projected and filtered there" {
		t.Fatalf("%s: %s", plan.Lane, plan.LaneReason)
	}
	if want := `SELECT "status", "id", "js", "addr" FROM "public"."orders" WHERE "qty" = 1`; plan.Streamed.SQL != want {
		t.Errorf("%s, want %s", plan.Streamed.SQL, want)
	}
	for i, c := range plan.Streamed.Columns {
		src := rels[0].Table.Columns[plan.Plain[i]]
		if c.Name != plan.Columns[i].Name || c.Type.String() != plan.Columns[i].Type.String() || c.Type.Length != src.Type.Length || c.Native != src.Native || c.Collation != src.Collation {
			t.Errorf("column %+v of %+v as %+v", c, src, plan.Columns[i])
		}
	}
	in.ForceCompute = true
	if plan := mustPlan(t, p, in); plan.Lane != LaneCompute || plan.Streamed != nil || plan.LaneReason != "asked for" {
		t.Errorf("%s: %s", plan.Lane, plan.LaneReason)
	}
	in.ForceCompute, in.TargetConnection = false, "pg"
	if plan := mustPlan(t, p, in); plan.Lane != LaneStreamed {
		t.Errorf("to the same connection: %s: %s", plan.Lane, plan.LaneReason)
	}
}

// TestRulesOffNeverStream: a filter that was not sent is not exact.
func TestRulesOffNeverStream(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	for _, rule := range []string{rulePushdown, ruleEqual, ruleOptimize} {
		in := Input{SQL: refs("SELECT id FROM {{ orders }} WHERE qty = 1", rels), Relations: rels, DisabledRules: map[string]bool{rule: true}}
		if plan := mustPlan(t, p, in); plan.Streamed != nil || plan.PlainScan() {
			t.Errorf("without %s: %s", rule, plan.Streamed.SQL)
		}
	}
}

func TestEstimates(t *testing.T) {
	p := newPlanner(t)
	for _, c := range []struct {
		rows int64
		sql  string
		want int64
	}{
		{-1, "SELECT k FROM {{ t }}", -1},
		{70, "SELECT k FROM {{ t }}", 70},
		{70, "SELECT k FROM {{ t }} WHERE k = 1", 70},
		{70, "SELECT k FROM {{ t }} LIMIT 5", 5},
		{-1, "SELECT k FROM {{ t }} LIMIT 5", 5},
		{3, "SELECT k FROM {{ t }} LIMIT 5", 3},
		{70, "SELECT max(k) AS m FROM {{ t }}", 1},
		{70, "SELECT k FROM {{ t }} WHERE false", 0},
	} {
		rels := []Relation{rel("x", "s", "t", testDialect{text: connectors.Exact}, "k:BIGINT")}
		rels[0].Table.RowEstimate = c.rows
		plan := mustPlan(t, p, Input{SQL: refs(c.sql, rels), Relations: rels})
		if got := plan.Extracts[0].Estimate(); got != c.want {
			t.Errorf("%d rows, %s: %d, want %d", c.rows, c.sql, got, c.want)
		}
	}
}
