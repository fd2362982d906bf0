package project

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/jinja/dbt"
)

// RelationMarker ends the catalog of every relation in a federated model's SQL. It is
// the planner's Marker, which this package must not import.
const RelationMarker = "__dvtcat"

// computeDialect is the language of federated models, as macros dispatch on it.
const computeDialect = "duckdb"

// Display is compiled SQL as users see it: without the marker.
func Display(sql string) string { return strings.ReplaceAll(sql, RelationMarker, "") }

// plainTexts takes the marker out of the strings of sql: a relation there is data.
func plainTexts(sql string) string {
	if !strings.Contains(sql, RelationMarker) {
		return sql
	}
	var b strings.Builder
	s := scanner{src: sql}
	done := 0
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind == tokOther {
			b.WriteString(sql[done:t.start])
			b.WriteString(Display(sql[t.start:t.end]))
			done = t.end
		}
	}
	b.WriteString(sql[done:])
	return b.String()
}

func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// RelationName is how artifacts name what n lands as: "connection"."schema"."name".
func (n *Node) RelationName() string { return quotedName(n.Connection, n.Schema, n.Alias) }

// quotedName is a name of parts, of which an engine may have no schema.
func quotedName(parts ...string) string {
	var quoted []string
	for _, p := range parts {
		if p != "" {
			quoted = append(quoted, quoteIdent(p))
		}
	}
	return strings.Join(quoted, ".")
}

// marked spells a relation as the planner wants it: "<catalog><marker>"."schema"."name".
func marked(catalog, schema, name string) string {
	var parts []string
	if catalog != "" {
		parts = append(parts, quoteIdent(catalog+RelationMarker))
		if schema == "" && name != "" {
			schema = noSchema
		}
	}
	for _, p := range []string{schema, name} {
		if p != "" {
			parts = append(parts, quoteIdent(p))
		}
	}
	return strings.Join(parts, ".")
}

// relationSpelling is how relations print. Those that the project knows always print
// marked, for run_query wants DuckDB SQL whatever the dialect; where the rendering has
// a quote of its own, native puts its spelling in at the end.
func relationSpelling(dialect string, quote func(database, schema, name string) string) *dbt.Spelling {
	s := &dbt.Spelling{Relation: marked, Catalog: marked, Ident: quoteIdent, Type: relationType(dialect)}
	if quote != nil {
		s.Relation = quote
		s.Ident = func(name string) string { return quote("", "", name) }
	}
	return s
}

var markedForm = regexp.MustCompile(`"((?:[^"]|"")*)` + RelationMarker + `"\."((?:[^"]|"")*)"\."((?:[^"]|"")*)"`)

// native puts the engine's own spelling of relations into sql, in its strings and
// comments too. A relation of another connection is an error: the engine that gets
// the SQL could not reach it.
func (r *renderer) native(n *Node, sql string) (string, error) {
	var bad error
	out := markedForm.ReplaceAllStringFunc(sql, func(m string) string {
		parts := markedForm.FindStringSubmatch(m)
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], `""`, `"`)
		}
		u, _ := r.p.use(n, parts[1], parts[2], parts[3])
		if u.Connection != n.Connection && bad == nil {
			bad = &Error{File: n.Path, Msg: fmt.Sprintf("%s '%s' runs SQL on '%s', which cannot read %s on '%s'", n.ResourceType, n.Name, n.Connection, u.Label, u.Connection)}
		}
		return r.rc.Quote(str(r.database(u.Connection)), u.Relation.Schema, u.Relation.Name)
	})
	return out, bad
}

// relationType is the class name that packages look at in metadata.type.
func relationType(dialect string) string {
	if dialect == "" {
		return "Relation"
	}
	return strings.ToUpper(dialect[:1]) + dialect[1:] + "Relation"
}

func sorted(s []string) []string {
	sort.Strings(s)
	return s
}

func sortedKeys[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return sorted(out)
}
