// Package projectfiles writes dbt-style projects for tests and measurements.
package projectfiles

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write makes the files of a project, by their paths below dir.
func Write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Many is a project of n models, no two alike, over two declared sources; every fifth
// refers to the one before. No server is needed to plan them.
func Many(n int) map[string]string {
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
  where created_at >= timestamp '2024-01-%02d 00:%02d:%02d' and status <> 'void'
)
select c.country, o.day, count(*) as orders, sum(o.total) as total, rank() over (order by sum(o.total)) as r
from o join {{ source('b', 'customers') }} c on c.id = o.customer_id
group by 1, 2
`, i%28+1, i/60, i%60)
		if i%5 == 4 {
			sql = fmt.Sprintf("select country, sum(total) as total from {{ ref('m%04d') }} where orders > %d group by country\n", i-1, i)
		}
		files[fmt.Sprintf("models/g%02d/m%04d.sql", i/50, i)] = sql
	}
	return files
}
