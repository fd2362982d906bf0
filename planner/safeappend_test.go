package planner

import (
	"context"
	"testing"
)

func TestSafeAppend(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	const wm = "(select max(updated_at) from {{ this }})"
	for _, c := range []struct {
		sql  string
		safe bool
	}{
		{"select id, updated_at from {{ orders }} where updated_at > " + wm, true},
		{"select * from {{ orders }} where qty > 1 and Updated_At > (SELECT MAX(t.UPDATED_AT) FROM {{ this }} t)", true},
		{"select o.* from {{ orders }} o where " + wm + " < updated_at order by id", true},
		{"select o.id, o.updated_at from {{ orders }} o join {{ customers }} c on o.customer_id = c.id where o.updated_at > " + wm, true},
		{"select o.*, c.name from {{ orders }} o join {{ customers }} c on o.customer_id = c.id where o.updated_at > " + wm, true},
		{"with s as (select * from {{ orders }}) select id, updated_at as updated_at from s where updated_at > " + wm, true},
		{"select d, sum(qty) as q from {{ orders }} where d > (select max(d) from {{ this }}) group by d", true},
		// not a strict bound, not the maximum, not of this, or not alone
		{"select id, updated_at from {{ orders }} where updated_at >= " + wm, false},
		{"select id, updated_at from {{ orders }} where updated_at < " + wm, false},
		{"select id, updated_at from {{ orders }} where updated_at > (select min(updated_at) from {{ this }})", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select max(updated_at) from {{ events }})", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select max(updated_at) from {{ this }} where id > 1)", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select max(updated_at) filter (id > 1) from {{ this }})", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select max(updated_at) from {{ this }} group by id)", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select max(created_at) from {{ this }})", false},
		{"select id, updated_at from {{ orders }} where updated_at > (select coalesce(max(updated_at), '1970-01-01') from {{ this }})", false},
		{"select id, updated_at from {{ orders }} where updated_at + interval 1 day > " + wm, false},
		// not at the top level
		{"select id, updated_at from {{ orders }} where updated_at > " + wm + " or qty = 1", false},
		{"select id, updated_at from {{ orders }} where not (updated_at > " + wm + ")", false},
		{"select * from (select id, updated_at from {{ orders }} where updated_at > " + wm + ") q", false},
		{"select id, updated_at from {{ orders }} where updated_at > " + wm + " union all select id, updated_at from {{ orders }}", false},
		// rows would be held back
		{"select id, updated_at from {{ orders }} where updated_at > " + wm + " order by updated_at desc limit 10", false},
		{"select id, updated_at from {{ orders }} where updated_at > " + wm + " using sample 10 rows", false},
		// the column is not in the result, or is another one there
		{"select id from {{ orders }} where updated_at > " + wm, false},
		{"select id, updated_at as u from {{ orders }} where updated_at > " + wm, false},
		{"select id, created_at as updated_at from {{ orders }} where {{ orders }}.updated_at > " + wm, false},
		{"select id, date_trunc('day', updated_at) as updated_at from {{ orders }} where updated_at > " + wm, false},
		{"select * exclude (updated_at) from {{ orders }} where updated_at > " + wm, false},
		{"select * replace (now() as updated_at) from {{ orders }} where updated_at > " + wm, false},
		{"select o.id, t.updated_at from {{ orders }} o join {{ this }} t on o.id = t.id where o.updated_at > " + wm, false},
		{"select t.* from {{ orders }} o join {{ this }} t on o.id = t.id where o.updated_at > " + wm, false},
		{"select * from {{ orders }} o full join {{ this }} t using (updated_at) where o.updated_at > " + wm, false},
	} {
		got, err := p.SafeAppend(context.Background(), refs(c.sql, rels), Name{Catalog: "dw", Schema: "main", Name: "this"})
		if err != nil || got != c.safe {
			t.Errorf("%s: %v %v, want %v", c.sql, got, err, c.safe)
		}
	}
}
