package duckdb

import (
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// rowsTable is the session's own table of the rows that were sent: in the compute
// engine, where it spills, not in the file.
const rowsTable = `temp.main."__dvt_rows"`

// rowNumber is its column for the order in which rows were sent, where that matters: an
// appender's rows are inserted by several threads.
var rowNumber = connectors.Column{Name: "__dvt_row", Type: connectors.T(connectors.BigInt)}

func createRows(cols []connectors.Column) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.Name) + " " + c.Type.String()
	}
	return "CREATE TEMP TABLE \"__dvt_rows\" (" + strings.Join(defs, ", ") + ")"
}

// inOrder reads the rows table in the order in which it was filled.
func inOrder(table string) string { return table + " ORDER BY " + quote(rowNumber.Name) }

// rowTypes are the types of the rows table in the catalog's spelling.
const rowTypes = "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'temp' AND table_name = '__dvt_rows' ORDER BY column_index"

func countOf(source string) string { return "SELECT count(*) FROM " + source }

func (d dialect) createSchema(rel connectors.Relation) string {
	return "CREATE SCHEMA IF NOT EXISTS " + quote(d.alias) + "." + quote(d.schemaOf(rel))
}

func (d dialect) createTable(rel connectors.Relation, cols []connectors.Column, types []string) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.Name) + " " + types[i]
	}
	return d.createDefined(rel, defs)
}

// createLike is a catalog's CREATE TABLE text under another name; ok is false when the
// text is not understood.
func (d dialect) createLike(ddl string, rel connectors.Relation) (sql string, ok bool) {
	rest, ok := strings.CutPrefix(ddl, "CREATE TABLE ")
	for i := 0; ok && i < 3; i++ {
		rest = afterName(rest)
		if strings.HasPrefix(rest, "(") {
			return "CREATE TABLE " + d.Relation(rel) + " " + rest, true
		}
		rest, ok = strings.CutPrefix(rest, ".")
	}
	return "", false
}

// afterName is what follows an identifier at the start of s.
func afterName(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				i++
				continue
			}
			return s[i+1:]
		}
	}
	return ""
}

// cast is a value of type from in a column of type to. Where they differ, each value must
// come back from the cast as it was: a cast rounds, cuts and fails in ways of its own.
// row names the row in the error (ducksql.RowName).
func cast(expr, column, from, to, row string) string {
	if from == to {
		return expr
	}
	tried := "TRY_CAST(" + expr + " AS " + to + ")"
	return "CASE WHEN CAST(" + tried + " AS " + from + ") IS NOT DISTINCT FROM " + expr + " THEN " + tried +
		" ELSE " + ducksql.Fault(expr, column, "it does not fit the target's type "+to+" exactly", row) + " END"
}

func (d dialect) insert(target string, columns []string, exprs []string, source string) string {
	return "INSERT INTO " + target + " (" + quotes(columns) + ") SELECT " + strings.Join(exprs, ", ") + " FROM " + source
}

// inParens makes a SELECT a source; a comment at its end is closed by the line break.
func inParens(sql string) string {
	return "(" + strings.TrimRight(sql, "; \t\r\n") + "\n) AS __dvt_result"
}

func (d dialect) drop(rel connectors.Relation, view bool) string {
	if view {
		return "DROP VIEW " + d.Relation(rel)
	}
	return "DROP TABLE " + d.Relation(rel)
}

func (d dialect) dropIfExists(rel connectors.Relation) string {
	return "DROP TABLE IF EXISTS " + d.Relation(rel)
}

func (d dialect) rename(from connectors.Relation, to string) string {
	return "ALTER TABLE " + d.Relation(from) + " RENAME TO " + quote(to)
}

func (d dialect) commentTable(rel connectors.Relation, text string) string {
	return "COMMENT ON TABLE " + d.Relation(rel) + " IS " + literal(text)
}

func (d dialect) commentColumn(rel connectors.Relation, column, text string) string {
	return "COMMENT ON COLUMN " + d.Relation(rel) + "." + quote(column) + " IS " + literal(text)
}

// indexesQuery: names and texts of the indexes that are not constraints.
func (d dialect) indexesQuery(rel connectors.Relation) string {
	return "SELECT index_name, sql FROM duckdb_indexes() WHERE sql IS NOT NULL AND " + d.in(rel, "table_name") + " ORDER BY index_oid"
}

// createIndex names an index for its table and columns.
func (d dialect) createIndex(rel connectors.Relation, ix connectors.Index) string {
	kind := "INDEX "
	if ix.Unique {
		kind = "UNIQUE INDEX "
	}
	key := connectors.Relation{Schema: d.schemaOf(rel), Name: rel.Name + "\x00" + strings.Join(ix.Columns, "\x00")}
	return "CREATE " + kind + "IF NOT EXISTS " + quote("dvt_"+d.hash12(key)) + " ON " + d.Relation(rel) + " (" + quotes(ix.Columns) + ")"
}

// leftoversQuery: staging tables of rel that a dead run left.
func (d dialect) leftoversQuery(rel connectors.Relation) string {
	return "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = " + literal(d.alias) +
		" AND " + is("schema_name", d.schemaOf(rel)) + " AND starts_with(table_name, " + literal(stagingPrefix) + ") AND suffix(table_name, " + literal(d.hash12(rel)) + ")"
}

func (d dialect) schemaQuery(rel connectors.Relation) string {
	return "SELECT schema_name FROM duckdb_schemas() WHERE database_name = " + literal(d.alias) + " AND " + is("schema_name", d.schemaOf(rel))
}

// constraintsQuery: whether a table has constraints or defaults worth keeping, and that
// the same columns can be filled.
func (d dialect) constraintsQuery(rel connectors.Relation) string {
	return "SELECT constraint_type FROM duckdb_constraints() WHERE " + d.in(rel, "table_name") +
		" UNION ALL SELECT 'DEFAULT' FROM duckdb_columns() WHERE column_default IS NOT NULL AND " + d.in(rel, "table_name")
}

// matches compares keys by bytes, NULL-safe.
func matches(left, right string, keys []string, collated bool, text map[string]bool) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		l, r := left+"."+quote(k), right+"."+quote(k)
		if collated && text[k] {
			l, r = "encode("+l+")", "encode("+r+")"
		}
		parts[i] = l + " IS NOT DISTINCT FROM " + r
	}
	return strings.Join(parts, " AND ")
}

func (d dialect) updateFrom(target string, set []string, exprs []string, source, on string) string {
	parts := make([]string, len(set))
	for i, c := range set {
		parts[i] = quote(c) + " = " + exprs[i]
	}
	return "UPDATE " + target + " AS t SET " + strings.Join(parts, ", ") + " FROM " + source + " AS s WHERE " + on
}

func (d dialect) deleteMatching(target, source, on string) string {
	return "DELETE FROM " + target + " AS t WHERE EXISTS (SELECT 1 FROM " + source + " AS s WHERE " + on + ")"
}

func whereMissing(source, target, on string) string {
	return source + " AS s WHERE NOT EXISTS (SELECT 1 FROM " + target + " AS t WHERE " + on + ")"
}

func (d dialect) alter(rel connectors.Relation, a connectors.Alteration, ddl string) string {
	head := "ALTER TABLE " + d.Relation(rel)
	switch a.Kind {
	case connectors.AddColumn:
		return head + " ADD COLUMN " + quote(a.Column.Name) + " " + ddl
	case connectors.WidenColumn:
		return head + " ALTER COLUMN " + quote(a.Column.Name) + " TYPE " + ddl
	}
	return head + " DROP COLUMN " + quote(a.Column.Name)
}

// The table of state records.
const stateColumns = "model, target, update_key, value, column_type, updated_at, run_id"

func (d dialect) stateTable(schema string) connectors.Relation {
	return connectors.Relation{Schema: schema, Name: "_sling_state"}
}

func (d dialect) createState(schema string) string {
	return "CREATE TABLE IF NOT EXISTS " + d.Relation(d.stateTable(schema)) +
		" (model VARCHAR NOT NULL, target VARCHAR NOT NULL, update_key VARCHAR, value VARCHAR, column_type VARCHAR, updated_at TIMESTAMPTZ, run_id VARCHAR)"
}

func (d dialect) selectState(schema, where string) string {
	return "SELECT model, target, update_key, value, column_type, strftime(updated_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ'), run_id FROM " + d.Relation(d.stateTable(schema)) + where + " ORDER BY model, target"
}

func whereState(model, target string) string {
	return " WHERE model = " + literal(model) + " AND target = " + literal(target)
}

func (d dialect) insertState(schema string, r connectors.StateRecord) string {
	return "INSERT INTO " + d.Relation(d.stateTable(schema)) + " (" + stateColumns + ") SELECT " + strings.Join([]string{
		literal(r.Model), literal(r.Target), literal(r.UpdateKey), literal(r.Value), literal(r.ColumnType), instant(r.UpdatedAt), literal(r.RunID),
	}, ", ") + " WHERE NOT EXISTS (SELECT 1 FROM " + d.Relation(d.stateTable(schema)) + whereState(r.Model, r.Target) + ")"
}

func (d dialect) updateState(schema string, r connectors.StateRecord, previous string) string {
	return "UPDATE " + d.Relation(d.stateTable(schema)) + " SET update_key = " + literal(r.UpdateKey) + ", value = " + literal(r.Value) + ", column_type = " + literal(r.ColumnType) +
		", updated_at = " + instant(r.UpdatedAt) + ", run_id = " + literal(r.RunID) + whereState(r.Model, r.Target) + " AND value = " + literal(previous)
}

func (d dialect) deleteState(schema, model, target string) string {
	return "DELETE FROM " + d.Relation(d.stateTable(schema)) + whereState(model, target)
}

func instant(t time.Time) string {
	return "TIMESTAMPTZ " + literal(t.UTC().Format("2006-01-02 15:04:05.000000+00"))
}

var _ connectors.Fingerprinter = dialect{}

// SelectFingerprint implements connectors.Fingerprinter.
func (d dialect) SelectFingerprint(t *connectors.Table, cols []int) (connectors.Query, bool) {
	which := t.Pick(cols)
	if slices.ContainsFunc(which, func(c connectors.Column) bool { return c.Collation != "" }) {
		return connectors.Query{}, false
	}
	sql, ok := ducksql.Fingerprint(d.Relation(t.Relation), which)
	return connectors.Query{SQL: sql, Columns: connectors.FingerprintColumns(connectors.Column{Native: "VARCHAR", Engine: engine})}, ok
}
