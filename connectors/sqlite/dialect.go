package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// mismatch is what happens to a value that does not match its declared column.
type mismatch string

const (
	mismatchError mismatch = "error"
	mismatchText  mismatch = "text" // such columns are read as text
	mismatchNull  mismatch = "null"
)

// dialect builds and judges SQL text for SQLite.
type dialect struct {
	schema string // where relations without a schema live
	policy mismatch
}

// Quote quotes with backticks: SQLite takes "name" for the text 'name' when there is no
// such column (any more), so that a column dropped since it was described would read as
// its own name, and "c" = 4 would find nothing. A backtick name is always a name.
func (dialect) Quote(ident string) string { return quote(ident) }

func quote(ident string) string { return "`" + strings.ReplaceAll(ident, "`", "``") + "`" }

// literal is a text literal. Callers keep NUL bytes out: SQL text ends at one.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (d dialect) Relation(rel connectors.Relation) string {
	return quote(d.schemaOf(rel)) + "." + quote(rel.Name)
}

func (d dialect) schemaOf(rel connectors.Relation) string {
	if rel.Schema == "" {
		return d.schema
	}
	return rel.Schema
}

// rowKeyColumn is the name of the extra last column by which an error names its row.
const rowKeyColumn = "__dvt_rowid"

func (d dialect) Select(e connectors.Extract) string {
	var cols []string
	for _, i := range e.Columns {
		c := e.Table.Columns[i]
		if name, _ := splitDeclared(c.Native); name == "JSONB" {
			// SQLite's own binary JSON; a text in such a column stays as it is.
			q := quote(c.Name)
			cols = append(cols, "iif(typeof("+q+") = 'blob', json("+q+"), "+q+")")
			continue
		}
		cols = append(cols, quote(c.Name))
	}
	if len(cols) == 0 {
		cols = []string{"1"}
	} else if key := e.Table.Columns[e.Columns[0]].Attrs[attrRowKey]; key != "" {
		cols = append(cols, key+" AS "+quote(rowKeyColumn))
	}
	sql := "SELECT " + strings.Join(cols, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	if len(e.OrderBy) > 0 {
		sql += " ORDER BY " + strings.Join(e.OrderBy, ", ")
	}
	if e.Limit >= 0 {
		sql += " LIMIT " + strconv.FormatInt(e.Limit, 10)
	}
	return sql
}

// probe reads one column as it is stored.
func (d dialect) probe(t *connectors.Table, col int, where string) string {
	return d.Select(connectors.Extract{Table: t, Columns: []int{col}, Where: where, Limit: -1})
}

// OrderKey answers only where the engine holds the values to one class: elsewhere
// ORDER BY puts numbers before texts before blobs, whatever the column declares.
func (d dialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	c := &t.Columns[k.Col]
	if c.Attrs[attrFixed] == "" || !declaredAs(c) {
		return "", false
	}
	sql := quote(c.Name)
	switch c.Type.Kind {
	case connectors.BigInt, connectors.Double: // no NaN here
	case connectors.Varchar:
		if c.Attrs[attrEncoding] != "" {
			return "", false // UTF-16 orders 4-byte characters before U+E000
		}
		sql += " COLLATE BINARY"
	default:
		return "", false
	}
	if k.Desc {
		sql += " DESC"
	}
	if k.NullsLast {
		return sql + " NULLS LAST", true
	}
	return sql + " NULLS FIRST", true
}

func (dialect) TargetType(c connectors.Column) (string, error) { return targetType(c) }

// ---- catalog ----------------------------------------------------------------------

func (d dialect) master(rel connectors.Relation) string {
	return quote(d.schemaOf(rel)) + ".sqlite_master"
}

// findRelation: type, name as stored, SQL. Names compare as SQLite compares them.
func (d dialect) findRelation(rel connectors.Relation) string {
	return "SELECT type, name, sql FROM " + d.master(rel) +
		" WHERE type IN ('table', 'view') AND name = " + literal(rel.Name) + " COLLATE NOCASE"
}

// tableInfo: name, declared type, not null, place in the primary key, hidden.
func (d dialect) tableInfo(rel connectors.Relation) string {
	return "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(" +
		literal(rel.Name) + ", " + literal(d.schemaOf(rel)) + ") ORDER BY cid"
}

// tableList: without rowid, strict.
func (d dialect) tableList(rel connectors.Relation) string {
	return "SELECT wr, strict FROM pragma_table_list(" + literal(rel.Name) + ") WHERE schema = " + literal(d.schemaOf(rel))
}

// keyIndex finds the index of a primary key that is not the rowid.
func (d dialect) keyIndex(rel connectors.Relation) string {
	return "SELECT 1 FROM pragma_index_list(" + literal(rel.Name) + ", " + literal(d.schemaOf(rel)) + ") WHERE origin = 'pk'"
}

// rowStatistics are what ANALYZE counted, if it ever ran, and the first column of the
// index that each line is about.
func (d dialect) rowStatistics(rel connectors.Relation) string {
	return "SELECT stat, (SELECT name FROM pragma_index_info(idx, " + literal(d.schemaOf(rel)) + ") WHERE seqno = 0) FROM " +
		quote(d.schemaOf(rel)) + ".sqlite_stat1 WHERE tbl = " + literal(rel.Name) + " COLLATE NOCASE"
}

// rowSpan: the first and the last rowid, each a look into the tree.
func (d dialect) rowSpan(rel connectors.Relation, key string) string {
	return "SELECT (SELECT min(" + key + ") FROM " + d.Relation(rel) + "), (SELECT max(" + key + ") FROM " + d.Relation(rel) + ")"
}

// dependents: type, name and SQL of the target's own indexes and triggers. Indexes of
// constraints have no SQL: they come with the table.
func (d dialect) dependents(rel connectors.Relation) string {
	return "SELECT type, name, sql FROM " + d.master(rel) +
		" WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name = " + literal(rel.Name) + " COLLATE NOCASE ORDER BY rowid"
}

func (d dialect) views(rel connectors.Relation) string {
	return "SELECT name FROM " + d.master(rel) + " WHERE type = 'view' ORDER BY rowid"
}

func (d dialect) indexColumns(rel connectors.Relation, index string) string {
	return "SELECT name FROM pragma_index_info(" + literal(index) + ", " + literal(d.schemaOf(rel)) + ") ORDER BY seqno"
}

func (d dialect) stagingLeftovers(rel connectors.Relation) string {
	return "SELECT name FROM " + d.master(rel) + " WHERE type = 'table' AND substr(name, 1, 6) = '__dvt_'"
}

func journalMode(schema string) string { return "PRAGMA " + quote(schema) + ".journal_mode" }

func attach(path, schema string) string {
	return "ATTACH DATABASE " + literal(path) + " AS " + quote(schema)
}

const (
	readOnly    = "PRAGMA query_only = ON"
	encoding    = "PRAGMA encoding"
	dataVersion = "PRAGMA data_version" // changes for a session when another has committed
	beginRead   = "BEGIN"
	beginWrite  = "BEGIN IMMEDIATE"
	commit      = "COMMIT"
	rollback    = "ROLLBACK"
	touchMaster = ".sqlite_master LIMIT 1"
	// A renamed table must not drag the views and triggers that name it along, and
	// those that name a table just dropped must not stop the rename.
	legacyAlter = "PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF"
)

// touch reads a page of schema, which is what starts a read transaction on it.
func touch(schema string) string { return "SELECT 1 FROM " + quote(schema) + touchMaster }

// ---- staging and swap ---------------------------------------------------------------

func (d dialect) createTable(rel connectors.Relation, cols []connectors.Column, types []string) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.Name) + " " + types[i]
	}
	return d.createDefined(rel, defs)
}

func (d dialect) insert(rel connectors.Relation, cols []connectors.Column) string {
	names, marks := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		names[i], marks[i] = quote(c.Name), "?"
	}
	return "INSERT INTO " + d.Relation(rel) + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

func (d dialect) count(rel connectors.Relation) string {
	return "SELECT count(*) FROM " + d.Relation(rel)
}

func (d dialect) drop(kind string, rel connectors.Relation) string {
	return "DROP " + kind + " IF EXISTS " + d.Relation(rel)
}

func (d dialect) rename(from connectors.Relation, to string) string {
	return "ALTER TABLE " + d.Relation(from) + " RENAME TO " + quote(to)
}

func (d dialect) createIndex(rel connectors.Relation, name string, x connectors.Index) string {
	unique := ""
	if x.Unique {
		unique = "UNIQUE "
	}
	cols := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		cols[i] = quote(c)
	}
	return fmt.Sprintf("CREATE %sINDEX %s.%s ON %s (%s)", unique, quote(d.schemaOf(rel)), quote(name), quote(rel.Name), strings.Join(cols, ", "))
}

// inSchema turns a stored "CREATE INDEX name …" into one for schema. SQLite stores the
// text from CREATE on, without the schema; only main's may be run as it stands.
func inSchema(sql, kind, schema string) string {
	at := strings.Index(strings.ToUpper(sql), kind)
	if at < 0 {
		return sql
	}
	at += len(kind)
	rest := strings.TrimLeft(sql[at:], " \t\r\n")
	return sql[:at] + " " + quote(schema) + "." + rest
}

func (d dialect) selectAll(schema, name string) string {
	return "SELECT * FROM " + quote(schema) + "." + quote(name)
}
