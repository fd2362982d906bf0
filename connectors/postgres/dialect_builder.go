package postgres

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

const resultView = "pg_temp.__dvt_result"

func resultViewSQL(sql string) string {
	return "CREATE TEMPORARY VIEW __dvt_result AS\n" + connectors.TrimSelect(sql)
}

func (d dialect) createSelectedSQL(rel connectors.Relation, sql string) string {
	return "CREATE TABLE " + d.Relation(rel) + " AS\n" + connectors.TrimSelect(sql)
}

func (d dialect) newViewSQL(rel connectors.Relation, sql string) string {
	return "CREATE VIEW " + d.Relation(rel) + " AS\n" + connectors.TrimSelect(sql)
}

// replaceViewSQL gives the options again: without them they would be taken away.
func (d dialect) replaceViewSQL(rel connectors.Relation, options, sql string) string {
	with := ""
	if options != "" {
		with = " WITH (" + options + ")"
	}
	return "CREATE OR REPLACE VIEW " + d.Relation(rel) + with + " AS\n" + connectors.TrimSelect(sql)
}

func firstRowSQL(sql string, columns []string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = quoteIdent(c) + "::text"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM (\n" + connectors.TrimSelect(sql) + ") AS q LIMIT 1"
}

// repeatedKeySQL gives one key that repeats, as text.
func (d dialect) repeatedKeySQL(rel connectors.Relation, key []string) string {
	texts := make([]string, len(key))
	for i, k := range key {
		texts[i] = quoteIdent(k) + "::text"
	}
	by := quoteIdents(key)
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + d.Relation(rel) + " GROUP BY " + by + " HAVING count(*) > 1 LIMIT 1"
}
