package sqlite

import (
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// mergeKey is one column of a delta's key, as the target has it.
type mergeKey struct{ name, collation string }

// mergeTexts builds the statements of one delta. In them t is the target and s the
// staged rows.
type mergeTexts struct {
	dialect
	target  connectors.Relation
	source  string   // quoted
	columns []string // written
	keys    []mergeKey
	rowID   []string // columns that name a row of the target and are never NULL
}

// on compares the keys. IS is NULL-safe and an index serves it. The + says two things:
// the staged value takes the affinity of the target's column, as it will when inserted,
// and the planner may only look staged keys up in the target, never the other way round,
// which would read all of the target. An index has the column's collation, so that one
// comparison uses that; a second one by bytes follows where the two differ.
func (m *mergeTexts) on() string {
	var parts []string
	for _, k := range m.keys {
		t, s := "t."+quote(k.name), "+s."+quote(k.name)
		if builtIn[k.collation] {
			parts = append(parts, t+" IS "+s)
		}
		if k.collation != "BINARY" {
			parts = append(parts, t+" COLLATE BINARY IS "+s)
		}
	}
	return strings.Join(parts, " AND ")
}

func (m *mergeTexts) list(alias string, columns []string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = alias + quote(c)
	}
	return strings.Join(all, ", ")
}

// insert adds staged rows. OR ABORT overrules an ON CONFLICT REPLACE or IGNORE of the
// table's own constraints, which would lose rows without a word.
func (m *mergeTexts) insert(from string) string {
	return "INSERT OR ABORT INTO " + m.Relation(m.target) + " (" + m.list("", m.columns) + ") SELECT " + m.list("s.", m.columns) + from
}

func (m *mergeTexts) all() string { return " FROM " + m.source + " AS s" }

// missing are the staged rows whose key the target lacks. A join, for without an index
// on the key SQLite makes one for it, and not for NOT EXISTS.
func (m *mergeTexts) missing() string {
	if len(m.rowID) == 0 {
		return m.all() + " WHERE NOT EXISTS (SELECT 1 FROM " + m.Relation(m.target) + " AS t WHERE " + m.on() + ")"
	}
	return m.all() + " LEFT JOIN " + m.Relation(m.target) + " AS t ON " + m.on() + " WHERE t." + quote(m.rowID[0]) + " IS NULL"
}

func (m *mergeTexts) update(set []string) string {
	parts := make([]string, len(set))
	for i, c := range set {
		parts[i] = quote(c) + " = s." + quote(c)
	}
	return "UPDATE OR ABORT " + m.Relation(m.target) + " AS t SET " + strings.Join(parts, ", ") + m.all() + " WHERE " + m.on()
}

func (m *mergeTexts) pairs() string {
	return " FROM " + m.source + " AS s CROSS JOIN " + m.Relation(m.target) + " AS t WHERE " + m.on()
}

// matched are the target's rows whose key is staged: found by key, then by what names
// them.
func (m *mergeTexts) matched() string {
	from := " FROM " + m.Relation(m.target) + " AS t WHERE "
	if len(m.rowID) == 0 {
		return from + "EXISTS (SELECT 1" + m.all() + " WHERE " + m.on() + ")"
	}
	return from + "(" + m.list("t.", m.rowID) + ") IN (SELECT " + m.list("t.", m.rowID) + m.pairs() + ")"
}

func (m *mergeTexts) delete() string { return "DELETE" + m.matched() }

func countOf(from string) string { return "SELECT count(*)" + from }

// changed is how many rows the last statement changed, without those of triggers.
const changed = "SELECT changes()"

// repeated finds a key that stands in several staged rows, spelled as literals.
func (m *mergeTexts) repeated() string {
	groups, texts := make([]string, len(m.keys)), make([]string, len(m.keys))
	for i, k := range m.keys {
		groups[i] = "s." + quote(k.name) + " COLLATE BINARY"
		texts[i] = literal(k.name+" = ") + " || quote(s." + quote(k.name) + ")"
	}
	return "SELECT " + strings.Join(texts, " || ', ' || ") + m.all() + " GROUP BY " + strings.Join(groups, ", ") + " HAVING count(*) > 1 LIMIT 1"
}

// ---- landing --------------------------------------------------------------------------

// landing is a temporary table for staged rows under the target's own declared types.
var landing = connectors.Relation{Schema: "temp", Name: stagingPrefix + "landing"}

func (d dialect) land(from connectors.Relation, columns []string) string {
	names := (&mergeTexts{}).list("", columns)
	return "INSERT INTO " + d.Relation(landing) + " (" + names + ") SELECT " + names + " FROM " + d.Relation(from) + " ORDER BY rowid"
}

// moved are the staged and the landed value of a column, and the staged columns that name
// the row, where they are spelled differently. Both tables were filled in the same order, from empty.
func (d dialect) moved(from connectors.Relation, column string, named []string) string {
	c := quote(column)
	shown, kept := "", ""
	for i, name := range named {
		shown += ", s.k" + strconv.Itoa(i)
		kept += ", " + quote(name) + " AS k" + strconv.Itoa(i)
	}
	return "SELECT s." + c + ", l." + c + shown + " FROM (SELECT row_number() OVER (ORDER BY rowid) AS n, " + c + kept + " FROM " + d.Relation(from) + ") AS s JOIN " +
		d.Relation(landing) + " AS l ON l.rowid = s.n WHERE CAST(s." + c + " AS BLOB) IS NOT CAST(l." + c + " AS BLOB)"
}

// ---- alterations ----------------------------------------------------------------------

func (d dialect) addColumn(rel connectors.Relation, column, ddl string) string {
	return "ALTER TABLE " + d.Relation(rel) + " ADD COLUMN " + quote(column) + " " + ddl
}

func (d dialect) dropColumn(rel connectors.Relation, column string) string {
	return "ALTER TABLE " + d.Relation(rel) + " DROP COLUMN " + quote(column)
}

func (d dialect) copyRows(from, to connectors.Relation, columns []string) string {
	names := (&mergeTexts{}).list("", columns)
	return "INSERT INTO " + d.Relation(to) + " (" + names + ") SELECT " + names + " FROM " + d.Relation(from)
}

// sequence is where AUTOINCREMENT stands.
func (d dialect) sequence(rel connectors.Relation) string {
	return "SELECT seq FROM " + quote(d.schemaOf(rel)) + ".sqlite_sequence WHERE name = " + literal(rel.Name)
}

func (d dialect) setSequence(rel connectors.Relation, seq string) string {
	return "UPDATE " + quote(d.schemaOf(rel)) + ".sqlite_sequence SET seq = max(seq, " + seq + ") WHERE name = " + literal(rel.Name)
}

func (d dialect) broken(schema string) string {
	return "SELECT count(*) FROM pragma_foreign_key_check(NULL, " + literal(schema) + ")"
}

const (
	enforceKeys = "PRAGMA foreign_keys = ON"
	ignoreKeys  = "PRAGMA foreign_keys = OFF"
	// A row that is deleted and inserted again under its key leaves no child behind.
	deferKeys = "PRAGMA defer_foreign_keys = ON"
)

// retype puts another declared type into a stored CREATE TABLE; false if the column is
// not found there.
func retype(sql, column, ddl string) (string, bool) {
	toks := tokens(sql)
	depth, start := 0, false // start: the next token begins a column
	for i := 0; i < len(toks); i++ {
		t := sql[toks[i].from:toks[i].to]
		switch {
		case t == "(":
			depth++
			start = depth == 1
			continue
		case t == ")":
			depth--
			continue
		case t == "," && depth == 1:
			start = true
			continue
		case !start:
			continue
		}
		start = false
		if !strings.EqualFold(unquoted(t), column) {
			continue
		}
		from := toks[i].to
		to := from
		for k, inner := i+1, 0; k < len(toks); k++ {
			t := strings.ToUpper(sql[toks[k].from:toks[k].to])
			if inner == 0 && (t == "," || t == ")" || typeEnds[t]) {
				break
			}
			inner += map[string]int{"(": 1, ")": -1}[t]
			to = toks[k].to
		}
		return sql[:from] + " " + ddl + sql[to:], true
	}
	return sql, false
}

// typeEnds are the words that follow a column's type.
var typeEnds = map[string]bool{"CONSTRAINT": true, "PRIMARY": true, "NOT": true, "NULL": true, "UNIQUE": true, "CHECK": true,
	"DEFAULT": true, "COLLATE": true, "REFERENCES": true, "GENERATED": true, "AS": true}

type token struct{ from, to int }

// tokens cuts SQL into names, texts and single characters, without blanks and comments.
func tokens(sql string) []token {
	var all []token
	word := func(c byte) bool {
		return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	for i := 0; i < len(sql); {
		from := i
		switch c := sql[i]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			for i < len(sql) && sql[i] != '\n' {
				i++
			}
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			end := strings.Index(sql[i+2:], "*/")
			if end < 0 {
				return all
			}
			i += end + 4
			continue
		case strings.IndexByte("'\"`[", c) >= 0:
			if c == '[' {
				c = ']'
			}
			for i++; i < len(sql); i++ {
				if sql[i] == c {
					if c == ']' || i+1 == len(sql) || sql[i+1] != c {
						break
					}
					i++
				}
			}
			i = min(i+1, len(sql))
		case word(c):
			for i < len(sql) && word(sql[i]) {
				i++
			}
		default:
			i++
		}
		all = append(all, token{from, i})
	}
	return all
}

func unquoted(t string) string {
	if len(t) < 2 || strings.IndexByte("'\"`[", t[0]) < 0 {
		return t
	}
	q := t[len(t)-1:]
	if q == "]" {
		return t[1 : len(t)-1]
	}
	return strings.ReplaceAll(t[1:len(t)-1], q+q, q)
}

// ---- state ----------------------------------------------------------------------------

func (d dialect) stateTable(schema string) connectors.Relation {
	return connectors.Relation{Schema: d.schemaOf(connectors.Relation{Schema: schema}), Name: "_sling_state"}
}

func (d dialect) createState(schema string) string {
	return "CREATE TABLE IF NOT EXISTS " + d.Relation(d.stateTable(schema)) + " (model TEXT NOT NULL, target TEXT NOT NULL, update_key TEXT NOT NULL, " +
		"value TEXT NOT NULL, column_type TEXT NOT NULL, updated_at TEXT NOT NULL, run_id TEXT NOT NULL, PRIMARY KEY (model, target))"
}

func (d dialect) selectState(schema, where string) string {
	return "SELECT model, target, update_key, value, column_type, updated_at, run_id FROM " + d.Relation(d.stateTable(schema)) + where + " ORDER BY model, target"
}

func whereState(model, target string) string {
	return " WHERE model = " + text(model) + " AND target = " + text(target)
}

func (d dialect) insertState(schema string, r connectors.StateRecord) string {
	return "INSERT INTO " + d.Relation(d.stateTable(schema)) + " (model, target, update_key, value, column_type, updated_at, run_id) VALUES (" +
		strings.Join([]string{text(r.Model), text(r.Target), text(r.UpdateKey), text(r.Value), text(r.ColumnType), instant(r.UpdatedAt), text(r.RunID)}, ", ") +
		") ON CONFLICT (model, target) DO NOTHING"
}

func (d dialect) updateState(schema string, r connectors.StateRecord, previous string) string {
	return "UPDATE " + d.Relation(d.stateTable(schema)) + " SET update_key = " + text(r.UpdateKey) + ", value = " + text(r.Value) + ", column_type = " + text(r.ColumnType) +
		", updated_at = " + instant(r.UpdatedAt) + ", run_id = " + text(r.RunID) + whereState(r.Model, r.Target) + " AND value = " + text(previous)
}

func (d dialect) deleteState(schema, model, target string) string {
	return "DELETE FROM " + d.Relation(d.stateTable(schema)) + whereState(model, target)
}

// text is a literal that may hold NUL.
func text(s string) string {
	if !strings.Contains(s, "\x00") {
		return literal(s)
	}
	parts := strings.Split(s, "\x00")
	for i := range parts {
		parts[i] = literal(parts[i])
	}
	return "(" + strings.Join(parts, " || char(0) || ") + ")"
}

func instant(t time.Time) string { return literal(t.UTC().Format(time.RFC3339Nano)) }

// ---- extremes -------------------------------------------------------------------------

// extreme is max or min of the values of one class. A value of another class comes out
// in their place, for the reader to refuse as it would have refused its row; under the
// null policy such values do not count.
func (d dialect) extreme(name, column, class string) string {
	c := quote(column)
	agg := func(x string) string { return name + "(" + x + ")" }
	if d.policy == mismatchNull {
		return agg("CASE WHEN typeof(" + c + ") = " + literal(class) + " THEN " + c + " END")
	}
	return "coalesce(max(CASE WHEN typeof(" + c + ") NOT IN (" + literal(class) + ", 'null') THEN " + c + " END), " + agg(c) + ")"
}
