package main

import (
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
)

// TestSourceEmptied: a table that another session empties and fills again, after the
// snapshot of a model was taken and before the model reads it, is not empty in the result.
func TestSourceEmptied(t *testing.T) {
	p := newCase(t)
	for output, rule := range map[string]faultproxy.Rule{
		"pg": {Match: "pg_export_snapshot", Direction: faultproxy.ToClient},
		"my": {Match: "FROM `" + p.schema + "`.`b`", Direction: faultproxy.ToServer},
	} {
		t.Run(output, func(t *testing.T) {
			p.source(output, "a", "b")
			p.exec(output, "CREATE TABLE $S.a (k int, n int)", "CREATE TABLE $S.b (k int, v varchar(9))",
				"INSERT INTO $S.a VALUES (1, 1), (2, 2)", "INSERT INTO $S.b VALUES (1, 'old'), (2, 'old')")
			source := "{{ source('" + output + "', '"
			p.model("m", "materialized='f_table', target='lite'", "select a.k, b.v from "+source+"a') }} a left join "+source+"b') }} b using (k)")
			proxy := p.proxied(output, map[string]string{"pg": "postgres", "my": "mysql"}[output], "")
			rule.Do = func() { p.exec(output, "TRUNCATE TABLE $S.b", "INSERT INTO $S.b VALUES (1, 'new'), (2, 'new')") }
			proxy.Set(rule)
			out := p.run()
			if !strings.Contains(out, "another session emptied") || !strings.Contains(out, "trying again") {
				t.Errorf("nothing was tried again:\n%s", out)
			}
			p.is("lite", "SELECT k, v FROM m ORDER BY k", "1\tnew\n2\tnew")
		})
	}
}
