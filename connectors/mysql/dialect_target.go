package mysql

import (
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

func createDatabaseSQL(db string) string { return "CREATE DATABASE IF NOT EXISTS " + quote(db) }

func schemaSQL(db string) string {
	return "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = " + str(db)
}

// createStagingSQL has no unique keys: LOAD DATA LOCAL would drop rows that repeat one.
func createStagingSQL(rel connectors.Relation, cols []*target) string {
	def := make([]string, len(cols))
	for i, t := range cols {
		def[i] = t.definition()
	}
	return "CREATE TABLE " + relation(rel) + " (" + strings.Join(def, ", ") + ") ENGINE=InnoDB"
}

func dropTableSQL(rel connectors.Relation) string { return "DROP TABLE IF EXISTS " + relation(rel) }
func dropViewSQL(rel connectors.Relation) string  { return "DROP VIEW IF EXISTS " + relation(rel) }
func countSQL(rel connectors.Relation) string     { return "SELECT COUNT(*) FROM " + relation(rel) }

// loadSQL reads the stream registered as name. Fields are tab-separated, lines end in a
// newline, \N is NULL: the escapes are those of escapeField.
func loadSQL(name string, rel connectors.Relation, fields []*field) string {
	var cols, set []string
	for i, f := range fields {
		c := quote(f.t.col.Name)
		if f.wrap == "" {
			cols = append(cols, c)
			continue
		}
		v := "@v" + strconv.Itoa(i)
		cols = append(cols, v)
		set = append(set, c+" = "+strings.Replace(f.wrap, "%s", v, 1))
	}
	sql := "LOAD DATA LOCAL INFILE " + str("Reader::"+name) + " INTO TABLE " + relation(rel) + " CHARACTER SET utf8mb4" +
		` FIELDS TERMINATED BY '\t' ENCLOSED BY '' ESCAPED BY '\\' LINES TERMINATED BY '\n' (` + strings.Join(cols, ", ") + ")"
	if len(set) > 0 {
		sql += " SET " + strings.Join(set, ", ")
	}
	return sql
}

// escapeField appends text as LOAD DATA reads it.
func escapeField(b []byte, text []byte) []byte {
	from := 0
	for i, c := range text {
		var e byte
		switch c {
		case '\t':
			e = 't'
		case '\n':
			e = 'n'
		case '\r':
			e = 'r'
		case 0:
			e = '0'
		case '\\':
			e = '\\'
		default:
			continue
		}
		b = append(append(b, text[from:i]...), '\\', e)
		from = i + 1
	}
	return append(b, text[from:]...)
}

// insertHead begins a multi-row INSERT; rows follow as appendRow writes them.
func insertHead(rel connectors.Relation, fields []*field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.t.col.Name
	}
	return "INSERT INTO " + relation(rel) + " (" + quoteAll(names) + ") VALUES "
}

// appendLiteral writes a value for INSERT: its text quoted, in f's expression.
func appendLiteral(b []byte, f *field, text []byte) []byte {
	if f.wrap == "" {
		return appendQuoted(b, text)
	}
	before, after, _ := strings.Cut(f.wrap, "%s")
	b = appendQuoted(append(b, before...), text)
	return append(b, after...)
}

// appendQuoted is str for bytes.
func appendQuoted(b []byte, text []byte) []byte {
	b = append(b, '\'')
	for _, c := range text {
		switch c {
		case '\\', '\'':
			b = append(b, c, c)
		case 0:
			b = append(b, '\\', '0')
		case 0x1a:
			b = append(b, '\\', 'Z')
		default:
			b = append(b, c)
		}
	}
	return append(b, '\'')
}

const (
	warningCountSQL = "SELECT @@warning_count"
	warningsSQL     = "SHOW WARNINGS LIMIT 1"
)

// leftoversSQL lists what runs have left beside rel.
func (d dialect) leftoversSQL(rel connectors.Relation, pattern string) string {
	return "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE " + d.nameIs("TABLE_SCHEMA", rel.Schema) +
		" AND TABLE_NAME LIKE " + str(pattern)
}

func renameSQL(pairs ...connectors.Relation) string {
	var part []string
	for i := 0; i+1 < len(pairs); i += 2 {
		part = append(part, relation(pairs[i])+" TO "+relation(pairs[i+1]))
	}
	return "RENAME TABLE " + strings.Join(part, ", ")
}

func lockSQL(name string, seconds int64) string {
	return "SELECT GET_LOCK(" + str(name) + ", " + strconv.FormatInt(seconds, 10) + ")"
}

func unlockSQL(name string) string { return "SELECT RELEASE_LOCK(" + str(name) + ")" }
