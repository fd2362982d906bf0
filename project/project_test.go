package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimpleProject(t *testing.T) {
	p := load(t, map[string]string{
		"models/sources.yml": sourcesYML,
		"models/staging/stg_customers.sql": `{{ config(materialized='view', target='crm_mysql') }}
select * from {{ source('crm', 'customers') }}`,
		"models/marts/by_country.sql": `{{ config(materialized='f_table', schema='marts') }}
select country, count(*) as n
from {{ ref('stg_customers') }} c
join {{ source('raw', 'events') }} e on e.customer = c.id
group by country
`,
	})
	n := p.Nodes["model.shop.by_country"]
	if n.Schema != "analytics_marts" || n.Alias != "by_country" || n.Connection != "pg" || !n.Federated {
		t.Errorf("by_country is %+v", n)
	}
	if want := []string{"model.shop.stg_customers", "source.shop.raw.events"}; !cmp.Equal(n.DependsOn, want) {
		t.Errorf("DependsOn = %v, want %v", n.DependsOn, want)
	}
	c := compile(t, p, n.UniqueID, run)
	want := `
select country, count(*) as n
from "crm_mysql__dvtcat"."crm"."stg_customers" c
join "pg__dvtcat"."raw_data"."events" e on e.customer = c.id
group by country`
	if c.SQL != want {
		t.Errorf("SQL:\n%s\nwant:\n%s", c.SQL, want)
	}
	if len(c.Relations) != 2 || c.Relations[0].Label != "stg_customers" || c.Relations[1].Label != "raw.events" ||
		c.Relations[1].Schema != "raw_data" || c.Relations[1].NodeID != "source.shop.raw.events" {
		t.Errorf("Relations = %+v", c.Relations)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("warnings: %q", p.Warnings)
	}
}
