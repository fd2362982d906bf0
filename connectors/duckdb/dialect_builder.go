package duckdb

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

const resultTable = `temp.main."__dvt_result"`

// createResult makes a table of the session with a result's columns.
func createResult(sql string) string {
	return "CREATE TEMP TABLE \"__dvt_result\" AS SELECT * FROM " + inParens(sql) + " LIMIT 0"
}

const resultColumns = "SELECT column_name, data_type, is_nullable::VARCHAR FROM duckdb_columns() WHERE database_name = 'temp' AND table_name = '__dvt_result' ORDER BY column_index"

func (d dialect) createEmpty(rel connectors.Relation, sql string) string {
	return "CREATE TABLE " + d.Relation(rel) + " AS SELECT * FROM " + inParens(sql) + " LIMIT 0"
}

// insertSelect keeps the SELECT outermost, so that its ORDER BY decides where rows lie.
func (d dialect) insertSelect(rel connectors.Relation, sql string) string {
	return "INSERT INTO " + d.Relation(rel) + " " + connectors.TrimSelect(sql)
}

func (d dialect) createView(rel connectors.Relation, sql string) string {
	return "CREATE VIEW " + d.Relation(rel) + " AS\n" + connectors.TrimSelect(sql)
}

func (d dialect) commentView(rel connectors.Relation, text string) string {
	return "COMMENT ON VIEW " + d.Relation(rel) + " IS " + literal(text)
}

func firstRow(sql string, columns []string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = "CAST(" + quote(c) + " AS VARCHAR)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + inParens(sql) + " LIMIT 1"
}

func textRows(sql string, cols []connectors.Column) string {
	texts := make([]string, len(cols))
	for i, c := range cols {
		texts[i] = "CAST(" + quote(c.Name) + " AS VARCHAR)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + inParens(sql)
}

// repeatedKey gives one key that repeats, as text.
func (d dialect) repeatedKey(rel connectors.Relation, key []string) string {
	texts := ""
	for i, k := range key {
		if i > 0 {
			texts += ", "
		}
		texts += "coalesce(CAST(" + quote(k) + " AS VARCHAR), 'NULL')"
	}
	return "SELECT " + texts + " FROM " + d.Relation(rel) + " GROUP BY " + quotes(key) + " HAVING count(*) > 1 LIMIT 1"
}
