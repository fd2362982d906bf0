package postgres

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// mergeColumnsQuery lists what a delta must know of a relation's columns: the type, what
// generates its values, the collation, and the base type below domains and arrays.
const mergeColumnsQuery = `
WITH RECURSIVE base(attnum, typid, depth) AS (
  SELECT a.attnum, a.atttypid, 0 FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END, b.depth + 1
    FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typid
   WHERE t.typtype = 'd' OR t.typelem <> 0 AND t.oid = (SELECT e.typarray FROM pg_catalog.pg_type e WHERE e.oid = t.typelem)
), last AS (
  SELECT DISTINCT ON (attnum) * FROM base ORDER BY attnum, depth DESC
)
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attidentity::text, a.attgenerated::text,
       quote_ident(n.nspname) || '.' || quote_ident(co.collname), coalesce(to_jsonb(co)->>'collisdeterministic', 'true'),
       t.typname, t.typnamespace = 'pg_catalog'::regnamespace, t.typcategory::text, (t.oid <> a.atttypid AND w.typcategory = 'A')::text,
       a.atttypmod::text
  FROM pg_catalog.pg_attribute a
  JOIN last l USING (attnum)
  JOIN pg_catalog.pg_type t ON t.oid = l.typid
  JOIN pg_catalog.pg_type w ON w.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = co.collnamespace
 WHERE a.attrelid = $1::oid AND NOT a.attisdropped AND a.attnum > 0
 ORDER BY a.attnum`

// mergeTargetQuery: whether anything may keep rows from being written in silence, and
// whether the planner knows nothing of the table though it is not small.
const mergeTargetQuery = `
SELECT (c.relhasrules OR c.relkind = 'p' OR EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal))::text,
       (c.relkind = 'r' AND pg_catalog.pg_relation_size(c.oid) > 1 << 18
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_stats s WHERE s.schemaname = $2::text AND s.tablename = $3::text AND s.attname = $4::text))::text
  FROM pg_catalog.pg_class c WHERE c.oid = $1::oid`

// mergeColumn is one column of the target or of the staging table.
type mergeColumn struct {
	name, typ     string
	identity      bool // GENERATED ALWAYS AS IDENTITY
	generated     bool // computed from other columns
	collation     string
	deterministic bool
	base          string // name of the type below domains and arrays, "" if not built in
	category      string // of that type
	array         bool
	padded        bool // char(n)
}

func scanMergeColumn(r []cell) mergeColumn {
	c := mergeColumn{name: r[0].s, typ: r[1].s, identity: r[2].s == "a", generated: r[3].s != "", collation: r[4].s,
		deterministic: r[5].s == "true", category: r[8].s, array: r[9].s == "true"}
	if r[7].s == "t" {
		c.base = r[6].s
	}
	c.padded = c.base == "bpchar" && r[10].int() >= 0
	return c
}

// noEquality are types without an operator = or with one that compares areas.
var noEquality = map[string]bool{"json": true, "xml": true, "point": true, "lseg": true, "path": true, "box": true, "polygon": true,
	"line": true, "circle": true}

// exactText are the types whose = under a deterministic collation is that of bytes.
var exactText = map[string]bool{"text": true, "varchar": true, "bpchar": true, "name": true, "char": true}

// equal compares the column of t with x, a value of the column's type, such that an
// index on the column serves. Where the type or its collation calls unequal bytes equal,
// a second comparison by bytes follows.
func (c *mergeColumn) equal(t, x string) string {
	t += "." + quoteIdent(c.name)
	switch {
	case noEquality[c.base]:
		return byBytes(t+"::text") + " = " + byBytes(x+"::text")
	case c.collation == "" && c.category != "S":
		return t + " = " + x
	}
	eq := t + " = " + x
	if c.collation != "" {
		eq += " COLLATE " + c.collation
	}
	form := "::text"
	if c.array {
		form = "::text[]"
	}
	switch {
	case c.base == "bpchar" && !c.padded && !c.array:
		// 'a' = 'a ' where nothing pads both, and a cast to text would cut the blank.
		eq += " AND pg_catalog.bpcharsend(" + t + ") = pg_catalog.bpcharsend(" + x + ")"
	case c.base == "bpchar" && !c.deterministic:
		eq += " AND " + byBytes(t) + " = " + byBytes(x)
	case !exactText[c.base] || !c.deterministic:
		eq += " AND " + byBytes(t+form) + " = " + byBytes(x+form)
	}
	return eq
}

func byBytes(x string) string { return "(" + x + `) COLLATE "C"` }

// group is a form of x, a value of the column's type, by which equal keys are one group.
func (c *mergeColumn) group(x string) string {
	switch {
	case noEquality[c.base]:
		return byBytes(x + "::text")
	case c.base == "bpchar" && !c.array:
		return "pg_catalog.bpcharsend(" + x + ")"
	case c.array && (c.collation != "" || c.category == "S"):
		return byBytes(x + "::text[]")
	case c.collation != "" || c.category == "S":
		return byBytes(x + "::text")
	}
	return x
}

// castSQL is a staged column as a value of the target's type.
func castSQL(alias string, from, to *mergeColumn) string {
	x := alias + "." + quoteIdent(from.name)
	if from.typ == to.typ {
		return x
	}
	return "(" + x + "::" + to.typ + ")"
}

// lossSQL holds for a staged value that the cast to the target's type changes; "" where
// it cannot. A cast rounds numbers and cuts texts without a word.
func lossSQL(alias string, from, to *mergeColumn) string {
	x := alias + "." + quoteIdent(from.name)
	if from.typ == to.typ || from.base == "json" || from.base == "jsonb" || from.base == "xml" {
		return ""
	}
	if from.category == "S" && to.category != "S" {
		return "" // the type's own spelling, read by the type
	}
	there := "(" + x + "::" + to.typ + ")"
	back := "(" + there + "::" + from.typ + ")"
	switch {
	case from.base == "numeric":
		return back + " IS DISTINCT FROM " + x // in text 1.5 is not 1.50
	case to.base == "bpchar" && !to.array && from.category == "S":
		return byBytes(there+"::text") + " IS DISTINCT FROM " + byBytes("rtrim("+x+"::text, ' ')")
	}
	return byBytes(back+"::text") + " IS DISTINCT FROM " + byBytes(x+"::text")
}

// mergeTexts builds the statements of one delta.
type mergeTexts struct {
	dialect
	target, staging connectors.Relation
	columns         []string // written
	exprs           []string // of s, in the target's types
	keys            []mergeColumn
	keyExprs        []string // of s, in the target's types
}

// nulls is a set of staged rows: per key column whether it is NULL in them. It makes a
// NULL-safe comparison out of two that an index serves, IS NULL and =.
type nulls []bool

// on compares the keys of t and s for the rows of p.
func (m *mergeTexts) on(p nulls) string {
	parts := make([]string, len(m.keys))
	for i := range m.keys {
		k := &m.keys[i]
		if p[i] {
			q := quoteIdent(k.name)
			parts[i] = "s." + q + " IS NULL AND t." + q + " IS NULL"
		} else {
			parts[i] = k.equal("t", m.keyExprs[i])
		}
	}
	return strings.Join(parts, " AND ")
}

// in says that a staged row is one of p.
func (m *mergeTexts) in(p nulls) string {
	parts := make([]string, len(m.keys))
	for i, k := range m.keys {
		parts[i] = "s." + quoteIdent(k.name) + " IS NOT NULL"
		if p[i] {
			parts[i] = "s." + quoteIdent(k.name) + " IS NULL"
		}
	}
	return strings.Join(parts, " AND ")
}

func (m *mergeTexts) from() string { return " FROM " + m.Relation(m.staging) + " AS s" }

func (m *mergeTexts) nullsQuery() string {
	parts := make([]string, len(m.keys))
	for i, k := range m.keys {
		parts[i] = "(s." + quoteIdent(k.name) + " IS NULL)::text"
	}
	return "SELECT DISTINCT " + strings.Join(parts, ", ") + m.from()
}

// repeatedQuery finds a key that stands in several staged rows.
func (m *mergeTexts) repeatedQuery() string {
	groups, texts := make([]string, len(m.keys)), make([]string, len(m.keys))
	for i := range m.keys {
		groups[i] = m.keys[i].group(m.keyExprs[i])
		texts[i] = "min(" + m.keyExprs[i] + "::text)"
	}
	return "SELECT " + strings.Join(texts, ", ") + m.from() + " GROUP BY " + strings.Join(groups, ", ") + " HAVING count(*) > 1 LIMIT 1"
}

// lossQuery finds a staged value that a cast changes, with the columns that name its row.
func (m *mergeTexts) lossQuery(column, loss string, named []string) string {
	sql := "SELECT s." + quoteIdent(column) + "::text"
	for _, c := range named {
		sql += ", s." + quoteIdent(c) + "::text"
	}
	return sql + m.from() + " WHERE " + loss + " LIMIT 1"
}

// insert adds the staged rows of p whose key the target lacks; all rows without a p.
// Identity columns get the staged values like any other.
func (m *mergeTexts) insert(p nulls) string {
	sql := "INSERT INTO " + m.Relation(m.target) + " (" + quoteIdents(m.columns) + ") OVERRIDING SYSTEM VALUE SELECT " + strings.Join(m.exprs, ", ")
	if p == nil {
		return sql + m.from()
	}
	return sql + m.missing(p)
}

func (m *mergeTexts) missing(p nulls) string {
	return m.from() + " WHERE " + m.in(p) + " AND NOT EXISTS (SELECT FROM " + m.Relation(m.target) + " AS t WHERE " + m.on(p) + ")"
}

func (m *mergeTexts) countMissing(p nulls) string { return "SELECT count(*)::text" + m.missing(p) }

func (m *mergeTexts) update(set, exprs []string, p nulls) string {
	parts := make([]string, len(set))
	for i, c := range set {
		parts[i] = quoteIdent(c) + " = " + exprs[i]
	}
	return "UPDATE " + m.Relation(m.target) + " AS t SET " + strings.Join(parts, ", ") + m.from() + " WHERE " + m.on(p)
}

// countPairs counts the matching pairs for which also holds and.
func (m *mergeTexts) countPairs(p nulls, and string) string {
	return "SELECT count(*)::text" + m.from() + ", " + m.Relation(m.target) + " AS t WHERE " + m.on(p) + and
}

// delete removes each matching row once, however often its key is staged.
func (m *mergeTexts) delete(p nulls) string {
	return "DELETE FROM " + m.Relation(m.target) + " AS t" + m.matched(p)
}

func (m *mergeTexts) countMatched(p nulls) string {
	return "SELECT count(*)::text FROM " + m.Relation(m.target) + " AS t" + m.matched(p)
}

func (m *mergeTexts) matched(p nulls) string {
	return " WHERE EXISTS (SELECT" + m.from() + " WHERE " + m.on(p) + ")"
}

// analyzeSQL tells the planner how many rows and keys there are.
func (d dialect) analyzeSQL(rel connectors.Relation, key []string) string {
	return "ANALYZE " + d.Relation(rel) + " (" + quoteIdents(key) + ")"
}

// alterSQL is one alteration; ddl is the new column's type.
func (d dialect) alterSQL(rel connectors.Relation, a connectors.Alteration, ddl string) string {
	head, q := "ALTER TABLE "+d.Relation(rel), quoteIdent(a.Column.Name)
	switch a.Kind {
	case connectors.AddColumn:
		return head + " ADD COLUMN " + q + " " + ddl
	case connectors.WidenColumn:
		return head + " ALTER COLUMN " + q + " TYPE " + ddl
	}
	return head + " DROP COLUMN " + q
}

// The table of state records.
func (d dialect) stateTable(schema string) connectors.Relation {
	if schema == "" {
		schema = d.schema
	}
	return connectors.Relation{Schema: schema, Name: "_sling_state"}
}

func (d dialect) createStateSQL(schema string) string {
	return "CREATE TABLE IF NOT EXISTS " + d.Relation(d.stateTable(schema)) + " (model text NOT NULL, target text NOT NULL, update_key text NOT NULL, " +
		"value text NOT NULL, column_type text NOT NULL, updated_at timestamp with time zone NOT NULL, run_id text NOT NULL, PRIMARY KEY (model, target))"
}

func (d dialect) selectStateSQL(schema, where string) string {
	return `SELECT model, target, update_key, value, column_type, to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), run_id FROM ` +
		d.Relation(d.stateTable(schema)) + where + ` ORDER BY model COLLATE "C", target COLLATE "C"`
}

// The parameters are the fields of a record in the order of the columns, then the
// previous value.
func (d dialect) insertStateSQL(schema string) string {
	return "INSERT INTO " + d.Relation(d.stateTable(schema)) + " (model, target, update_key, value, column_type, updated_at, run_id) " +
		"VALUES ($1, $2, $3, $4, $5, $6::timestamptz, $7) ON CONFLICT (model, target) DO NOTHING RETURNING 1"
}

func (d dialect) updateStateSQL(schema string) string {
	return "UPDATE " + d.Relation(d.stateTable(schema)) + " SET update_key = $3, value = $4, column_type = $5, updated_at = $6::timestamptz, run_id = $7 " +
		"WHERE model = $1 AND target = $2 AND value = $8 RETURNING 1"
}

func (d dialect) deleteStateSQL(schema string) string {
	return "DELETE FROM " + d.Relation(d.stateTable(schema)) + whereState
}

// whereState picks one record.
const whereState = " WHERE model = $1 AND target = $2"
