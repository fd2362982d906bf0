package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// dialect implements connectors.Dialect. All SQL text whose parts vary is built in the
// dialect files, through quoteIdent and quoteText alone.
type dialect struct {
	schema string // where relations without a schema live
}

var (
	_ connectors.Dialect  = dialect{}
	_ connectors.Extremes = dialect{}
)

// quoteIdent quotes one identifier. A NUL, which no name in PostgreSQL can have, would
// end the statement early: it becomes a character that matches no name.
func quoteIdent(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", "\uFFFD"), `"`, `""`) + `"`
}

// quoteText is the one literal function. The E form with doubled backslashes means the
// same whatever standard_conforming_strings says. Callers refuse NUL before.
func quoteText(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\x00", "\uFFFD"), `'`, `''`)
	if strings.Contains(s, `\`) {
		return `E'` + strings.ReplaceAll(s, `\`, `\\`) + `'`
	}
	return `'` + s + `'`
}

// Quote implements connectors.Dialect.
func (d dialect) Quote(ident string) string { return quoteIdent(ident) }

// Relation implements connectors.Dialect.
func (d dialect) Relation(rel connectors.Relation) string {
	if rel.Schema == "" {
		rel.Schema = d.schema
	}
	return quoteIdent(rel.Schema) + "." + quoteIdent(rel.Name)
}

func quoteIdents(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quoteIdent(n)
	}
	return strings.Join(q, ", ")
}

// Select implements connectors.Dialect.
func (d dialect) Select(e connectors.Extract) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range e.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(selectColumn(&e.Table.Columns[c]))
	}
	if len(e.Columns) == 0 {
		b.WriteString("1")
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

// selectColumn is a column in the form that the decoders read: as it is where the
// binary form is one of theirs, else in the engine's own spelling.
func selectColumn(c *connectors.Column) string {
	q := quoteIdent(c.Name)
	form := c.Attrs[attrForm]
	switch {
	case form == "":
		return q
	case c.Type.Kind == connectors.List && c.Attrs[attrAddress] != "":
		return q + "::text::text[]" // of an array's text, elements are in their own spelling
	case c.Type.Kind == connectors.List:
		return q + "::" + form + "[]"
	case form == formText:
		return ownText(c)
	}
	return q + "::" + form
}

// OrderKey implements connectors.Dialect. NULLS is always said: DuckDB puts NULL last
// in either direction, PostgreSQL first when descending.
func (d dialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	c := &t.Columns[k.Col]
	q := quoteIdent(c.Name)
	switch classOf(c) {
	case classInt, classDecimal, classDouble, classFloat, classBool, classDate, classTimestamp, classTimestampTZ, classTime, classUUID:
	case classText, classAsText:
		// By the collation of the column 'a' sorts before 'B', by bytes after it.
		if c.Attrs[attrEncoding] != "" {
			return "", false
		}
		q = byteText(c)
	default:
		return "", false
	}
	dir, nulls := " ASC", " NULLS FIRST"
	if k.Desc {
		dir = " DESC"
	}
	if k.NullsLast {
		nulls = " NULLS LAST"
	}
	return q + dir + nulls, true
}

// Extreme implements connectors.Extremes for the types that have max and min here and
// order as DuckDB does. Text goes by bytes: by a collation max of 'a', 'B' is 'B'.
func (d dialect) Extreme(t *connectors.Table, col int, greatest bool) (string, bool) {
	c := &t.Columns[col]
	value := quoteIdent(c.Name)
	switch classOf(c) {
	case classInt, classDecimal, classDouble, classFloat, classDate, classTimestamp, classTimestampTZ, classTime:
	case classText, classAsText:
		if c.Attrs[attrEncoding] != "" {
			return "", false
		}
		value = byteText(c)
	default:
		return "", false
	}
	if greatest {
		return "max(" + value + ")", true
	}
	return "min(" + value + ")", true
}

// SelectExtremes implements connectors.Extremes.
func (d dialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	parts := make([]string, len(exprs))
	for i, x := range exprs {
		parts[i] = x + " AS " + quoteIdent(e.Table.Columns[e.Columns[i]].Name)
	}
	sql := "SELECT " + strings.Join(parts, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	return sql
}

// sessionSQL sets what every session needs; with local, for the current transaction
// only.
func sessionSQL(set [][2]string, local bool) string {
	parts := make([]string, len(set))
	for i, kv := range set {
		parts[i] = fmt.Sprintf("set_config(%s, %s, %t)", quoteText(kv[0]), quoteText(kv[1]), local)
	}
	return "SELECT " + strings.Join(parts, ", ")
}

// The modes of transactions.
const (
	modeRead     = "READ ONLY"
	modeSnapshot = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
	modeWrite    = "ISOLATION LEVEL READ COMMITTED READ WRITE"
)

func beginSQL(mode string, set [][2]string) string {
	return "BEGIN " + mode + "; " + sessionSQL(set, true)
}

func snapshotSQL(id string) string { return "SET TRANSACTION SNAPSHOT " + quoteText(id) }

// changedSQL lists the relations that a transaction has read and that are not what they
// were in its snapshot. TRUNCATE, DROP, an ALTER that rewrites and a partition that is
// detached heed locks and no snapshot: what is read after them lacks rows that the snapshot
// has, and no error says so. The rows of the catalogs are the snapshot's here, while the
// functions tell what is now, which the transaction's locks keep as it was read. Indexes
// may come and go.
const changedSQL = `
SELECT DISTINCT l.relation::pg_catalog.regclass::pg_catalog.text
  FROM pg_catalog.pg_locks l
  LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE l.locktype = 'relation' AND l.pid = pg_catalog.pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
   AND CASE WHEN c.oid IS NULL THEN pg_catalog.pg_get_indexdef(l.relation) IS NULL
            WHEN c.relkind NOT IN ('r', 'm', 'p', 'v', 'f') THEN false
            ELSE c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)
              OR l.relation::pg_catalog.regclass::pg_catalog.text NOT IN (pg_catalog.quote_ident(c.relname),
                   pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname))
              OR c.relkind = 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i
                   WHERE i.inhparent = c.oid AND pg_catalog.pg_partition_root(i.inhrelid) IS NULL)
       END
 ORDER BY 1`

func copyToSQL(query string) string { return copyToPrefix + query + ") TO STDOUT (FORMAT binary)" }

const copyToPrefix = "COPY ("

// planSQL goes before a read whose transaction has no snapshot yet. The read takes its own
// first and then waits for the locks of partitions: one that is emptied and filled
// meanwhile would be empty. The plan has these locks before.
func planSQL(query string) string { return "EXPLAIN (COSTS off) " + query + "; " }

// probeSQL asks, for each column, for the greatest magnitude before the point and the
// most digits after it that are not trailing zeros. NaN and the infinities are greater
// than every number, so they come out as the magnitude.
func (d dialect) probeSQL(t *connectors.Table, cols []int, where string) string {
	var parts []string
	for _, i := range cols {
		q := quoteIdent(t.Columns[i].Name)
		parts = append(parts, "max(abs(trunc("+q+")))::text",
			"max(length(rtrim(split_part("+q+"::text, '.', 2), '0')))::text")
	}
	sql := "SELECT " + strings.Join(parts, ", ") + " FROM " + d.Relation(t.Relation)
	if where != "" {
		sql += " WHERE " + where
	}
	return sql
}
