package compute

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// This file holds all the DuckDB text that the package builds.

func quote(ident string) string { return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"` }

// settings are given when the instance is opened.
func settings(memory int64, threads int, spill, maxSpill string) map[string]string {
	s := map[string]string{
		"memory_limit":                 strconv.FormatInt(memory>>10, 10) + "KiB",
		"threads":                      strconv.Itoa(threads),
		"temp_directory":               spill,
		"preserve_insertion_order":     "false", // ORDER BY is kept all the same
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
	}
	if maxSpill != "" {
		s["max_temp_directory_size"] = maxSpill
	}
	return s
}

const memoryQuery = `SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT, coalesce(sum(temporary_storage_bytes), 0)::BIGINT FROM duckdb_memory()`

func attachMemory(catalog string) string { return "ATTACH ':memory:' AS " + quote(catalog) }
func detach(catalog string) string       { return "DETACH DATABASE IF EXISTS " + quote(catalog) }
func createSchema(catalog, schema string) string {
	return "CREATE SCHEMA IF NOT EXISTS " + quote(catalog) + "." + quote(schema)
}

// relationName is a staged relation's full name.
func relationName(catalog, schema, name string) string {
	return quote(catalog) + "." + quote(schema) + "." + quote(name)
}

func createTable(name string, cols []connectors.Column) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.Name) + " " + c.Type.String()
	}
	return "CREATE TABLE " + name + " (" + strings.Join(defs, ", ") + ")"
}

// createView shows all columns of a relation over a table that holds some of them.
func createView(name, table string, all []connectors.Column, extracted []int) string {
	stored := map[int]bool{}
	for _, i := range extracted {
		stored[i] = true
	}
	exprs := make([]string, len(all))
	for i, c := range all {
		exprs[i] = quote(c.Name)
		if !stored[i] {
			exprs[i] = "CAST(NULL AS " + unreadType(c.Type).String() + ") AS " + quote(c.Name)
		}
	}
	return "CREATE VIEW " + name + " AS SELECT " + strings.Join(exprs, ", ") + " FROM " + table
}

// replaceView is createView over another FROM.
func replaceView(name, from string, all []connectors.Column, extracted []int) string {
	return strings.Replace(createView(name, from, all, extracted), "CREATE VIEW", "CREATE OR REPLACE VIEW", 1)
}

// unreadType is the type of a column that no row carries: it only has to bind the way
// it did in the planner.
func unreadType(t connectors.Type) connectors.Type {
	switch {
	case t.Kind == connectors.Invalid:
		return connectors.T(connectors.Varchar)
	case t.Kind == connectors.Decimal && t.Precision == 0:
		return connectors.Dec(38, 10)
	}
	return t
}

// rowsTable holds a relation of which only the number of rows matters.
func createRowsTable(name string) string { return "CREATE TABLE " + name + " (row BOOLEAN)" }
func insertRows(table string, n int64) string {
	return "INSERT INTO " + table + " SELECT NULL FROM range(" + strconv.FormatInt(n, 10) + ")"
}
func insertRowsOf(table, sql string) string {
	return "INSERT INTO " + table + " SELECT NULL FROM (" + trimmed(sql) + "\n)"
}
func insertSelect(table, sql string) string {
	return "INSERT INTO " + table + " SELECT * FROM (" + trimmed(sql) + "\n)"
}

// LimitQuery is the first n rows of a SELECT.
func LimitQuery(sql string, n int64) string {
	return "SELECT * FROM (" + trimmed(sql) + "\n) LIMIT " + strconv.FormatInt(n, 10)
}

// TextQuery gives the columns cols of a SELECT as text: lists, structs and maps as JSON,
// everything else as DuckDB prints it.
func TextQuery(sql string, cols []connectors.Column) string {
	names, exprs := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		names[i] = fmt.Sprintf("c%d", i)
		exprs[i] = "CAST(" + names[i] + " AS VARCHAR)"
		switch c.Type.Kind {
		case connectors.List, connectors.Struct, connectors.Map:
			exprs[i] = "CAST(to_json(" + names[i] + ") AS VARCHAR)"
		}
		exprs[i] += " AS " + quote(c.Name)
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM (" + trimmed(sql) + "\n) AS shown(" + strings.Join(names, ", ") + ")"
}

// trimmed is a SELECT that can stand in parentheses; a comment at its end is closed by
// the line break that follows it there.
func trimmed(sql string) string { return strings.TrimRight(sql, "; \t\r\n") }

// marked puts a model's own suffix in the place of the planner's marker. The marker ends
// a quoted identifier, so a text that happens to have it stays.
func marked(sql, suffix string) string {
	return strings.ReplaceAll(sql, planner.Marker+`"`, suffix+`"`)
}

// unmarked is SQL as users see it, and where the byte pos of the marked one lies in it.
func unmarked(sql, suffix string, pos int) (string, int) {
	if pos >= 0 {
		pos -= len(suffix) * strings.Count(sql[:min(pos, len(sql))], suffix+`"`)
	}
	return strings.ReplaceAll(sql, suffix+`"`, `"`), pos
}
