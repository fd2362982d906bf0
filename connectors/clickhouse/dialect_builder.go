package clickhouse

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

func describeSelectSQL(sql string) string {
	return "DESCRIBE TABLE (\n" + connectors.TrimSelect(sql) + ")"
}

// createSelectedSQL is createSQL whose columns come from a SELECT.
func createSelectedSQL(rel string, defs []columnDef, o connectors.TargetOptions, sql string) string {
	cols := make([]string, len(defs))
	for i, d := range defs {
		cols[i] = quote(d.name) + " " + d.text
	}
	engine := strings.TrimPrefix(createSQL(rel, defs, o), "CREATE TABLE "+rel+" ("+strings.Join(cols, ", ")+")")
	return "CREATE TABLE " + rel + engine + " AS\n" + connectors.TrimSelect(sql)
}

func createViewSQL(rel, sql string) string {
	return "CREATE VIEW " + rel + " AS\n" + connectors.TrimSelect(sql)
}

func firstRowSQL(sql string, columns []string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = "CAST(ifNull(toString(" + quote(c) + "), '') AS String)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM (\n" + connectors.TrimSelect(sql) + ") AS q LIMIT 1"
}

// textRowsSQL gives the rows of sql as texts, each behind a sign: NULL is ”.
func textRowsSQL(sql string, cols []connectors.Column) string {
	texts := make([]string, len(cols))
	for i, c := range cols {
		q := quote(c.Name)
		texts[i] = "CAST(ifNull(concat('=', toString(" + q + ")), '') AS String)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM (\n" + connectors.TrimSelect(sql) + ") AS q"
}

// repeatedKeySQL gives one key that repeats, as text.
func repeatedKeySQL(rel string, key []string) string {
	texts, by := make([]string, len(key)), make([]string, len(key))
	for i, k := range key {
		by[i] = quote(k)
		texts[i] = "CAST(ifNull(toString(" + by[i] + "), 'NULL') AS String)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + rel + " GROUP BY " + strings.Join(by, ", ") + " HAVING count() > 1 LIMIT 1"
}
