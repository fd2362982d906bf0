package project

import (
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/jinja/dbt"
)

// RelationMarker ends the catalog of every relation in a federated model's SQL. It is
// the planner's Marker, which this package must not import.
const RelationMarker = "__dvtcat"

// Display is compiled SQL as users see it: without the marker.
func Display(sql string) string { return strings.ReplaceAll(sql, RelationMarker, "") }

func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// relationSpelling is how relations print. quote nil is DuckDB's way: each part in
// double quotes, the catalog with its marker.
func relationSpelling(dialect string, quote func(database, schema, name string) string) *dbt.Spelling {
	s := &dbt.Spelling{Relation: quote, Ident: quoteIdent, Type: relationType(dialect)}
	if quote != nil {
		// The name alone, as the engine quotes it.
		s.Ident = func(name string) string { return quote("", "", name) }
		return s
	}
	s.Relation = func(database, schema, name string) string {
		var parts []string
		if database != "" {
			parts = append(parts, quoteIdent(database+RelationMarker))
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
	return s
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
