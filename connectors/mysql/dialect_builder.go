package mysql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

const resultTable = "__dvt_result"

func createSelectedSQL(rel connectors.Relation, sql string) string {
	return "CREATE TABLE " + relation(rel) + " ENGINE=InnoDB AS\n" + connectors.TrimSelect(sql)
}

func createViewSQL(rel connectors.Relation, sql string) string {
	return "CREATE OR REPLACE VIEW " + relation(rel) + " AS\n" + connectors.TrimSelect(sql)
}

// createResultSQL makes a temporary table with the result's columns and no rows.
func createResultSQL(rel connectors.Relation, sql string) string {
	return "CREATE TEMPORARY TABLE " + relation(rel) + " AS SELECT * FROM (\n" + connectors.TrimSelect(sql) + ") AS q LIMIT 0"
}

func showColumnsSQL(rel connectors.Relation) string { return "SHOW FULL COLUMNS FROM " + relation(rel) }
func dropResultSQL(rel connectors.Relation) string {
	return "DROP TEMPORARY TABLE " + relation(rel)
}

func firstRowSQL(sql string, columns []string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = "CAST(" + quote(c) + " AS CHAR)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM (\n" + connectors.TrimSelect(sql) + ") AS q LIMIT 1"
}

// repeatedKeySQL gives one key that repeats..
func repeatedKeySQL(rel connectors.Relation, key []string) string {
	texts, by := make([]string, len(key)), make([]string, len(key))
	for i, k := range key {
		by[i] = "CAST(" + quote(k) + " AS BINARY)"
		texts[i] = "CONVERT(" + by[i] + " USING utf8mb4)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + relation(rel) + " GROUP BY " + strings.Join(by, ", ") + " HAVING COUNT(*) > 1 LIMIT 1"
}
