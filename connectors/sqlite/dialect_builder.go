package sqlite

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

func (d dialect) insertFrom(rel connectors.Relation, source string) string {
	return "INSERT INTO " + d.Relation(rel) + " SELECT * FROM " + source
}

func (d dialect) createView(rel connectors.Relation, sql string) string {
	return "CREATE VIEW " + d.Relation(rel) + " AS\n" + connectors.TrimSelect(sql)
}

// storedClasses gives for each column without a declared type the lowest and highest
// storage class of its values, and whether a REAL would lose one of its integers.
func (d dialect) storedClasses(rel connectors.Relation, cols []connectors.Column) string {
	var parts []string
	for _, c := range cols {
		if c.Native != "" {
			continue
		}
		q := quote(c.Name)
		class := "CASE WHEN " + q + " IS NOT NULL THEN typeof(" + q + ") END"
		parts = append(parts, "min("+class+")", "max("+class+")",
			"coalesce(max(typeof("+q+") = 'integer' AND CAST(CAST("+q+" AS REAL) AS INTEGER) <> "+q+"), 0)")
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + d.Relation(rel)
}

func firstRow(sql string, columns []string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = quote(c)
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM (\n" + connectors.TrimSelect(sql) + ") AS q LIMIT 1"
}

func (d dialect) repeatedKey(rel connectors.Relation, key []string) string {
	by := make([]string, len(key))
	for i, k := range key {
		by[i] = quote(k) + " COLLATE BINARY"
	}
	names := make([]string, len(key))
	for i, k := range key {
		names[i] = quote(k)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + d.Relation(rel) + " GROUP BY " + strings.Join(by, ", ") + " HAVING count(*) > 1 LIMIT 1"
}
