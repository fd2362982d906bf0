package duckdb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// This file and dialect_target.go hold all the SQL text of the package.

var quote, literal, quotes, queryTexts = ducksql.Quote, ducksql.Literal, ducksql.Quotes, ducksql.Texts

// dialect is DuckDB's text for one attached file.
type dialect struct {
	ducksql.Dialect
	alias, schema string
}

func newDialect(alias, schema string) dialect {
	d := dialect{alias: alias, schema: schema}
	d.From = func(t *connectors.Table) string { return d.Relation(t.Relation) }
	return d
}

func (d dialect) schemaOf(rel connectors.Relation) string {
	if rel.Schema == "" {
		return d.schema
	}
	return rel.Schema
}

// Relation is the three-part name: the compute engine has other databases beside.
func (d dialect) Relation(rel connectors.Relation) string {
	return quote(d.alias) + "." + quote(d.schemaOf(rel)) + "." + quote(rel.Name)
}

func attach(path, alias string, writable bool) string {
	opts := "TYPE duckdb, READ_ONLY"
	if writable {
		opts = "TYPE duckdb, READ_WRITE"
	}
	return "ATTACH " + literal(path) + " AS " + quote(alias) + " (" + opts + ")"
}

func detach(alias string) string { return "DETACH " + quote(alias) }

// use keeps memory.main in the search path: there the functions are that all sessions of
// the engine share, such as the run's now().
func use(alias string) string {
	return "SET search_path = " + literal(quote(alias)+".main,memory.main")
}

const versionQuery = "SELECT ltrim(version(), 'v')"

func settingScope(name string) string {
	return "SELECT scope::VARCHAR FROM duckdb_settings() WHERE name = lower(" + literal(name) + ")"
}
func setLocal(name, value string) string {
	return "SET SESSION " + quote(name) + " = " + literal(value)
}

// is compares a catalog column with a name as DuckDB compares names.
func is(column, name string) string { return "lower(" + column + ") = lower(" + literal(name) + ")" }

func (d dialect) in(rel connectors.Relation, nameColumn string) string {
	return "database_name = " + literal(d.alias) + " AND " + is("schema_name", d.schemaOf(rel)) + " AND " + is(nameColumn, rel.Name)
}

// findQuery: a view may show a column of any table, so a collation anywhere in the
// database makes its texts suspect.
func (d dialect) findQuery(rel connectors.Relation) string {
	return "SELECT schema_name, table_name, 'table', estimated_size::VARCHAR, sql, comment, (sql ILIKE '% COLLATE %')::VARCHAR FROM duckdb_tables() WHERE " + d.in(rel, "table_name") +
		" UNION ALL SELECT schema_name, view_name, 'view', NULL, sql, comment, (sql ILIKE '% COLLATE %' OR EXISTS (SELECT 1 FROM duckdb_tables() WHERE database_name = " +
		literal(d.alias) + " AND sql ILIKE '% COLLATE %'))::VARCHAR FROM duckdb_views() WHERE " + d.in(rel, "view_name")
}

func (d dialect) columnsQuery(rel connectors.Relation) string {
	return "SELECT column_name, data_type, is_nullable::VARCHAR, column_default, comment FROM duckdb_columns() WHERE " + d.in(rel, "table_name") + " ORDER BY column_index"
}

func (d dialect) primaryKeyQuery(rel connectors.Relation) string {
	return "SELECT unnest(constraint_column_names) FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY' AND " + d.in(rel, "table_name")
}

func (d dialect) selectColumn(rel connectors.Relation, column string) string {
	return "SELECT " + quote(column) + " FROM " + d.Relation(rel)
}

// statsQuery asks, without reading rows, for the statistics that the file keeps of each
// column. There is no row for an empty table.
func (d dialect) statsQuery(rel connectors.Relation, cols []connectors.Column) string {
	exprs := make([]string, len(cols))
	for i, c := range cols {
		exprs[i] = "stats(" + quote(c.Name) + ")"
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + d.Relation(rel) + " LIMIT 1"
}

// hash12 is the part of a staging or lock name that says which relation it is for.
func (d dialect) hash12(rel connectors.Relation) string {
	sum := sha256.Sum256([]byte(strings.ToLower(d.schemaOf(rel)) + "\x00" + strings.ToLower(rel.Name)))
	return hex.EncodeToString(sum[:6])
}

const stagingPrefix = "__dvt_"

func (d dialect) stagingName(run string, target connectors.Relation) connectors.Relation {
	id := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, run)
	return connectors.Relation{Schema: d.schemaOf(target), Name: fmt.Sprintf("%s%.8s%s", stagingPrefix, id, d.hash12(target))}
}
