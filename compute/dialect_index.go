package compute

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// The tables of an index file, and the session's table of the rows that come to it.
const (
	indexRows  = "this"
	indexNote  = "note"
	indexDelta = `temp.main."__dvt_delta"`
	dropDelta  = "DROP TABLE " + indexDelta
)

func attachFile(path, alias string) string {
	return "ATTACH " + literal(path) + " AS " + quote(alias) + " (TYPE duckdb, READ_WRITE)"
}

func checkpoint(alias string) string { return "CHECKPOINT " + quote(alias) }

func noteIndex(table, note string) string {
	return "CREATE TABLE " + table + " AS SELECT " + literal(note) + " AS note"
}

func stageDelta(names []string, sql string) string {
	return "CREATE OR REPLACE TEMP TABLE \"__dvt_delta\" AS SELECT " + quoteAll(names) + " FROM (" + trimmed(sql) + "\n)"
}

// applyDelta are the statements of a delta. Keys match as on every target: NULL is NULL,
// texts by their bytes.
func applyDelta(table string, names []string, d connectors.Delta) []string {
	var on []string
	for _, k := range d.Key {
		on = append(on, "t."+quote(k)+" IS NOT DISTINCT FROM d."+quote(k))
	}
	match := strings.Join(on, " AND ")
	insert := "INSERT INTO " + table + " (" + quoteAll(names) + ") SELECT d.* FROM " + indexDelta + " AS d"
	switch {
	case d.Strategy == connectors.StrategyAppend && d.SkipExisting:
		return []string{insert + " ANTI JOIN " + table + " AS t ON " + match}
	case d.Strategy == connectors.StrategyAppend:
		return []string{insert}
	}
	return []string{"DELETE FROM " + table + " AS t USING " + indexDelta + " AS d WHERE " + match, insert}
}
