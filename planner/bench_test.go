package planner

import (
	"context"
	"fmt"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// BenchmarkPlan plans a model of two joined relations.
func BenchmarkPlan(b *testing.B) {
	p := newPlanner(b)
	rels := testRelations()
	in := Input{Model: "m", Relations: rels, Now: testNow, SQL: refs(`SELECT o.id, c.name, sum(o.amount) AS total FROM {{ orders }} o
		JOIN {{ customers }} c ON o.customer_id = c.id WHERE o.created_at >= TIMESTAMP '2024-01-01' AND c.region = 'EU' GROUP BY ALL`, rels)}
	for b.Loop() {
		if _, err := p.Plan(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

// Benchmark200Models plans a project of 200 models over 200 relations of 60 columns.
func Benchmark200Models(b *testing.B) {
	p := newPlanner(b)
	var models []Input
	for i := range 200 {
		var cols []string
		for c := range 60 {
			cols = append(cols, fmt.Sprintf("c%d:%s", c, []string{"BIGINT", "VARCHAR", "TIMESTAMP", "DECIMAL(18,4)", "JSON"}[c%5]))
		}
		r := rel("pg", "public", fmt.Sprintf("t%d", i), testDialect{text: connectors.Exact}, cols...)
		d := rel("my", "shop", fmt.Sprintf("d%d", i), testDialect{text: connectors.Exact}, cols...)
		sql := fmt.Sprintf("SELECT a.*, b.c1 AS name FROM %s a LEFT JOIN %s b ON a.c0 = b.c0 WHERE a.c2 >= TIMESTAMP '2024-01-01' AND a.c5 IN (1, 2, %d)", viewName(&r), viewName(&d), i+3)
		models = append(models, Input{Model: r.Name, SQL: sql, Relations: []Relation{r, d}, Now: testNow})
	}
	for b.Loop() {
		for _, in := range models {
			if _, err := p.Plan(context.Background(), in); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkPlanSelfJoin plans a relation in two places that is read by two extracts: it is
// analysed twice.
func BenchmarkPlanSelfJoin(b *testing.B) {
	p := newPlanner(b)
	rels := testRelations()
	in := Input{Model: "m", Relations: rels, Now: testNow, SQL: refs("SELECT x.customer_id, y.note, y.payload FROM {{ sales }} x LEFT JOIN {{ sales }} y ON y.id = x.id AND y.channel = 'web'", rels)}
	for b.Loop() {
		plan, err := p.Plan(context.Background(), in)
		if err != nil || len(plan.Extracts) != 2 {
			b.Fatal(plan, err)
		}
	}
}
