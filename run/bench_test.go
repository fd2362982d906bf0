package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/dvt-dev/dvt/project"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

type nowhere struct{}

func (nowhere) Event(Event) {}

// writeProject writes a project of n models over two declared sources; every fifth model
// refers to the one before.
func writeProject(tb testing.TB, n int) string {
	dir := tb.TempDir()
	files := map[string]string{
		"dbt_project.yml": "name: many\nprofile: many\nmodels: {many: {+materialized: f_table}}\n",
		"profiles.yml":    "many: {target: pg, outputs: {pg: {type: postgres, host: 127.0.0.1, port: 1, user: u, password: none, dbname: d, schema: public}, my: {type: mysql, server: 127.0.0.1, port: 1, username: u, password: none, schema: shop}}}\n",
		"models/sources.yml": `version: 2
sources:
  - {name: a, meta: {connection: pg}, tables: [{name: orders, columns: [{name: id, data_type: bigint}, {name: customer_id, data_type: bigint}, {name: total, data_type: "decimal(12,2)"}, {name: created_at, data_type: timestamp}, {name: status, data_type: varchar}]}]}
  - {name: b, meta: {connection: my}, tables: [{name: customers, columns: [{name: id, data_type: bigint}, {name: country, data_type: varchar}, {name: name, data_type: varchar}]}]}
`,
	}
	for i := range n {
		sql := fmt.Sprintf(`with o as (
  select id, customer_id, total, date_trunc('day', created_at) as day from {{ source('a', 'orders') }}
  where created_at >= timestamp '2024-01-%02d 00:00:00' and status <> 'void'
)
select c.country, o.day, count(*) as orders, sum(o.total) as total, rank() over (order by sum(o.total)) as r
from o join {{ source('b', 'customers') }} c on c.id = o.customer_id
group by 1, 2
`, i%28+1)
		if i%5 == 4 {
			sql = fmt.Sprintf("select country, sum(total) as total from {{ ref('m%04d') }} where orders > %d group by country\n", i-1, i)
		}
		files[fmt.Sprintf("models/g%02d/m%04d.sql", i/50, i)] = sql
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// planProject loads a project and plans every model without touching a server.
func planProject(tb testing.TB, dir string, n int) {
	ctx := context.Background()
	p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "explain"})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := New(ctx, p, Options{}, nowhere{}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	nodes, _, err := p.Select(nil, nil, "model")
	if err != nil || len(nodes) != n {
		tb.Fatal(len(nodes), err)
	}
	for _, node := range nodes {
		plan, err := r.ExplainOffline(ctx, node)
		if err != nil {
			tb.Fatal(err)
		}
		if len(plan.Plan.Extracts) == 0 || len(plan.Plan.Columns) == 0 {
			tb.Fatal(node.Name, "has an empty plan")
		}
	}
}

func TestPlanOffline(t *testing.T) { planProject(t, writeProject(t, 25), 25) }

func BenchmarkPlanProject(b *testing.B) {
	for _, n := range []int{200, 1000} {
		dir := writeProject(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				planProject(b, dir, n)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/model")
		})
	}
}
