package project

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// ephemeral renders an ephemeral model once and gives its CTE.
func (r *renderer) ephemeral(n *Node) (jinja.Value, error) {
	if name, ok := r.byID[n.UniqueID]; ok {
		return dbt.NewCTE(r.spelling, name), nil
	}
	if r.open[n.UniqueID] {
		return nil, compileError(fmt.Errorf("ephemeral model '%s' reads itself", n.Name))
	}
	r.open[n.UniqueID] = true
	sql, err := r.body(n)
	if err != nil {
		return nil, err
	}
	delete(r.open, n.UniqueID)
	name := dbt.CTEPrefix + n.Name
	for _, c := range r.ctes {
		if c.name == quoteCTE(name) {
			name = dbt.CTEPrefix + n.Package + "__" + n.Name
		}
	}
	name = quoteCTE(name)
	r.byID[n.UniqueID] = name
	r.ctes = append(r.ctes, cte{name, trimSQL(sql), n.UniqueID})
	return dbt.NewCTE(r.spelling, name), nil
}

// quoteCTE leaves plain names as dbt writes them and quotes the others.
func quoteCTE(name string) string {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return quoteIdent(name)
		}
	}
	return name
}

// withCTEs puts the ephemeral models in front of sql: into its own WITH clause, else
// as one of their own. What stands before the statement, comments above all, stays
// there.
func withCTEs(sql string, ctes []cte) string {
	if len(ctes) == 0 {
		return sql
	}
	parts := make([]string, len(ctes))
	for i, c := range ctes {
		parts[i] = c.name + " as (\n" + c.sql + "\n)"
	}
	text := strings.Join(parts, ", ")
	s := scanner{src: sql}
	t := s.next()
	if t.kind != tokWord || !strings.EqualFold(t.text, "with") {
		at := t.start
		if t.kind == tokEnd {
			at = len(sql)
		}
		return sql[:at] + "with " + text + "\n" + sql[at:]
	}
	at := t.start + len(t.text)
	if t = s.next(); t.kind == tokWord && strings.EqualFold(t.text, "recursive") {
		at = t.start + len(t.text)
	}
	return sql[:at] + " " + text + "," + sql[at:]
}

// trimSQL takes blanks and closing semicolons off SQL that goes into parentheses.
func trimSQL(s string) string { return strings.TrimRight(s, "; \t\r\n") }
