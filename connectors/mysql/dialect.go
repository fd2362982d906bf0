package mysql

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// dialect builds every statement that the package sends. Its answers follow what the
// server has told about itself.
type dialect struct{ c *Conn }

var _ connectors.Dialect = dialect{}

// sessionSetup brings a session into the state that the texts below are written for,
// whatever the server's configuration says.
var sessionSetup = []string{
	"SET SESSION" +
		// Quoting: no ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT. No
		// PAD_CHAR_TO_FULL_LENGTH: CHAR is read without padding. No NO_ZERO_DATE, which
		// makes comparing with a stored zero date an error.
		" sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'" +
		", time_zone = '+00:00'" + // TIMESTAMP columns arrive and leave as UTC
		", autocommit = 1, completion_type = 'NO_CHAIN'" +
		", sql_select_limit = 18446744073709551615, sql_big_selects = 1" + // either would cut a result short
		", sql_safe_updates = 0, sql_auto_is_null = 0, foreign_key_checks = 1, unique_checks = 1" +
		", sql_notes = 1, max_error_count = 64" + // warnings are how LOAD DATA LOCAL reports changed values
		", net_read_timeout = 3600, net_write_timeout = 3600, wait_timeout = 604800" + // a stream may wait for the other side
		", lock_wait_timeout = 3600",
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
}

const (
	// sessionFactsSQL yields the columns that session.prepare and Conn.learn read.
	sessionFactsSQL = "SELECT CONNECTION_ID(), VERSION(), @@lower_case_table_names, @@local_infile, @@max_allowed_packet"
	beginReadSQL    = "START TRANSACTION READ ONLY"
	snapshotSQL     = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
)

func useSQL(db string) string         { return "USE " + quote(db) }
func killSQL(id uint64) string        { return "KILL QUERY " + strconv.FormatUint(id, 10) }
func quote(ident string) string       { return "`" + strings.ReplaceAll(ident, "`", "``") + "`" }
func (dialect) Quote(i string) string { return quote(i) }

func quoteAll(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote(n)
	}
	return strings.Join(q, ", ")
}

var escaper = strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`, "\x1a", `\Z`)

// str is a text literal. The session never has NO_BACKSLASH_ESCAPES.
func str(s string) string { return "'" + escaper.Replace(s) + "'" }

func (d dialect) Relation(rel connectors.Relation) string { return relation(d.c.at(rel)) }

func relation(rel connectors.Relation) string {
	if rel.Schema == "" {
		return quote(rel.Name)
	}
	return quote(rel.Schema) + "." + quote(rel.Name)
}

// Select is the extract's statement, in the form that read.go decodes.
func (d dialect) Select(e connectors.Extract) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	if len(e.Columns) == 0 {
		b.WriteString("1")
	}
	for i, k := range e.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.output(&e.Table.Columns[k]))
	}
	b.WriteString(" FROM " + d.Relation(e.Table.Relation))
	if e.Where != "" {
		b.WriteString(" WHERE " + e.Where)
	}
	if len(e.OrderBy) > 0 {
		b.WriteString(" ORDER BY " + strings.Join(e.OrderBy, ", "))
	}
	if e.Limit >= 0 {
		b.WriteString(" LIMIT " + strconv.FormatInt(e.Limit, 10))
	}
	return b.String()
}

// output is a column as the select list names it.
func (d dialect) output(c *connectors.Column) string {
	q := quote(c.Name)
	if isGeometry(parseNative(c.Native).base) {
		// Stored as an SRID before the WKB. MySQL would turn the axes of geographic
		// systems round unless told not to; MariaDB has no such option.
		if d.c.server().engine == engineMySQL {
			return "ST_AsWKB(" + q + ", 'axis-order=long-lat') AS " + q
		}
		return "ST_AsWKB(" + q + ") AS " + q
	}
	cs := c.Attrs[attrCharset]
	if cs != "" && c.Type.Kind == connectors.Blob { // the project wants the bytes as stored
		return "CAST(" + q + " AS BINARY) AS " + q
	}
	if cs != "" && !whole(cs) {
		// A character without a counterpart becomes '?' without a warning: 0xE9 in an
		// ascii column. Such a value is sent as it is behind a byte that no UTF-8 has,
		// and read.go refuses it.
		utf8 := "CONVERT(" + q + " USING utf8mb4)"
		return "IF(CHAR_LENGTH(REPLACE(" + utf8 + ", '?', '')) = CHAR_LENGTH(REPLACE(" + q + ", '?', ''))" +
			", CAST(" + utf8 + " AS BINARY), CONCAT(X'FF', CAST(" + q + " AS BINARY))) AS " + q
	}
	return q
}

// whole: every value of the character set has a counterpart in utf8mb4.
func whole(charset string) bool {
	switch charset {
	case "utf8mb4", "utf8mb3", "utf8", "latin1", "ucs2", "utf16", "utf16le", "utf32", "binary":
		return true
	}
	return false
}

// OrderKey orders as DuckDB does. Text has none: the server sorts by the first
// max_sort_length bytes only, and a top-N over longer values would bring wrong rows.
func (d dialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	col := &t.Columns[k.Col]
	c, nullable := operand(col), col.Nullable
	isNull := c + " IS NULL"
	switch kindOf(col) {
	case classInt, classDecimal, classFloat, classBool, classTime:
	case classDate:
		// A zero or partial date is NULL to DuckDB and lowest to the server:
		// ORDER BY d LIMIT 1 would bring '0000-00-00' alone.
		isNull = nullDate(c)
		c = "IF(" + isNull + ", NULL, " + c + ")"
		nullable = true
	default:
		return "", false
	}
	dir := ""
	if k.Desc {
		dir = " DESC"
	}
	// The server puts NULL lowest.
	switch {
	case !nullable || k.NullsLast == k.Desc:
		return c + dir, true
	case k.NullsLast:
		return "(" + isNull + "), " + c + dir, true
	default:
		return "(" + isNull + ") DESC, " + c + dir, true
	}
}

// literal is the text of v for a comparison with a column of class cl; ok is false
// when the comparison would not mean what DuckDB's does.
func literal(v connectors.Value, cl class) (string, bool) {
	if v.Null {
		return "", false
	}
	switch k := v.Type.Kind; {
	case isText(k):
		if (cl != classText && cl != classEnum) || strings.ContainsRune(v.Text, 0) {
			return "", false
		}
		return str(v.Text), true
	case k == connectors.UUID:
		return str(v.Text), cl == classUUID
	case k == connectors.Float || k == connectors.Double:
		// The shortest text of the float64 reads back as the same float64, and a FLOAT
		// column is compared as DOUBLE: 0.1::FLOAT is sent as 1.0000000149011612e-01.
		// "f4 = 0.1" would match no row.
		if cl != classFloat || math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
			return "", false
		}
		return strconv.FormatFloat(v.Float, 'e', -1, 64), true
	}
	if v.Int == nil {
		return "", false
	}
	switch k := v.Type.Kind; {
	case k == connectors.Boolean:
		return v.Int.String(), cl == classBool
	case isInteger(k):
		return v.Int.String(), cl == classInt || cl == classDecimal
	case k == connectors.Decimal:
		return decimalText(v.Int, v.Type.Scale), cl == classDecimal
	}
	if cl != classDate && cl != classTime || !v.Int.IsInt64() {
		return "", false
	}
	return timeLiteral(v.Type.Kind, v.Int.Int64())
}

// timeLiteral is a literal of a date, time or timestamp. Dates before year 1 and after
// 9999, and so the infinities, have none.
func timeLiteral(k connectors.Kind, n int64) (string, bool) {
	switch k {
	case connectors.Date:
		if n < minDay || n > maxDay {
			return "", false
		}
		return "DATE '" + string(appendDate(nil, n)) + "'", true
	case connectors.Time:
		if n < 0 || n > dayMicros {
			return "", false
		}
		return "TIME '" + string(appendTime(nil, n)) + "'", true
	case connectors.Timestamp, connectors.TimestampTZ:
		if n < minDay*dayMicros || n >= (maxDay+1)*dayMicros {
			return "", false
		}
		return "TIMESTAMP '" + string(appendTimestamp(nil, n)) + "'", true
	}
	return "", false
}

// decimalText writes unscaled / 10^scale.
func decimalText(unscaled *big.Int, scale int) string {
	s := new(big.Int).Abs(unscaled).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale-len(s)+1) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if unscaled.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// probeSQL asks, for each decimal column, for the longest integer part and the
// longest fraction without its trailing zeros.
func (d dialect) probeSQL(t *connectors.Table, cols []int, where string) string {
	var parts []string
	for _, i := range cols {
		c := quote(t.Columns[i].Name)
		parts = append(parts,
			"MAX(CHAR_LENGTH(CAST(TRUNCATE(ABS("+c+"), 0) AS CHAR)))",
			"MAX(IF(LOCATE('.', CAST("+c+" AS CHAR)) = 0, 0, CHAR_LENGTH(TRIM(TRAILING '0' FROM SUBSTRING_INDEX(CAST("+c+" AS CHAR), '.', -1)))))")
	}
	sql := "SELECT " + strings.Join(parts, ", ") + " FROM " + d.Relation(t.Relation)
	if where != "" {
		sql += " WHERE " + where
	}
	return sql
}

// nameIs compares a column of information_schema. Its own collation ignores case,
// which servers that tell `T` from `t` do not; the plain comparison is kept because only
// that one spares the server opening every table.
func (d dialect) nameIs(column, name string) string {
	plain := column + " = " + str(name)
	if d.c.server().foldNames {
		return plain
	}
	return plain + " AND BINARY " + column + " = " + str(name)
}

func (d dialect) tableWhere(prefix string, rel connectors.Relation) string {
	return d.nameIs(prefix+"TABLE_SCHEMA", rel.Schema) + " AND " + d.nameIs(prefix+"TABLE_NAME", rel.Name)
}

func (d dialect) tableSQL(rel connectors.Relation) string {
	return "SELECT TABLE_TYPE, ENGINE, TABLE_ROWS, TABLE_COMMENT FROM information_schema.TABLES WHERE " + d.tableWhere("", rel)
}

func (d dialect) columnsSQL(rel connectors.Relation) string {
	return "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH," +
		" COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS WHERE " + d.tableWhere("", rel) + " ORDER BY ORDINAL_POSITION"
}

// jsonChecksSQL finds the checks by which MariaDB declares a JSON column.
func (d dialect) jsonChecksSQL(rel connectors.Relation) string {
	return "SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE " +
		d.nameIs("CONSTRAINT_SCHEMA", rel.Schema) + " AND " + d.nameIs("TABLE_NAME", rel.Name)
}

// indexesSQL lists the columns of indexes: column, whether it is of the primary key, its
// place, and about how many values the index has up to it, NULL where that is not known
// or counts beginnings of texts.
func (d dialect) indexesSQL(rel connectors.Relation) string {
	return "SELECT COLUMN_NAME, INDEX_NAME = 'PRIMARY', SEQ_IN_INDEX, IF(SUB_PART IS NULL, CARDINALITY, NULL) FROM information_schema.STATISTICS WHERE " +
		d.tableWhere("", rel) + " AND COLUMN_NAME IS NOT NULL ORDER BY SEQ_IN_INDEX"
}
