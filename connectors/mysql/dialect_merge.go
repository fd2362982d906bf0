package mysql

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	hitColumn = "__dvt_hit" // in staging: the target has the row's key
	hitIndex  = "__dvt_key"

	// What comes between the two names of a join decides the order in which the server
	// reads them.
	inOrder = " STRAIGHT_JOIN "
)

// mergeSetupSQL keeps the server from waiting long for a lock, and from turning the
// search for each staged key into one pass over the whole target.
func (d dialect) mergeSetupSQL() string {
	off := "semijoin=off,materialization=off"
	if d.c.server().engine == engineMariaDB {
		off += ",exists_to_in=off"
	}
	return "SET SESSION innodb_lock_wait_timeout = 10, lock_wait_timeout = 10, optimizer_switch = " + str(off)
}

// matching is how rows of the target (t) and of staging (s) are brought together.
type matching struct {
	target, source connectors.Relation
	on             string
	// index of the target by which a staged key is found. "": the target is read once,
	// and the rows of staging are found by hitIndex if seek is true.
	index string
	seek  bool
}

// pairs joins the two, reading the one without the index first.
func (m *matching) pairs() string {
	t, s := relation(m.target)+" AS t", relation(m.source)+" AS s"
	switch {
	case m.index != "":
		return s + inOrder + t + " FORCE INDEX (" + quote(m.index) + ") ON " + m.on
	case m.seek:
		return t + inOrder + s + " FORCE INDEX (" + quote(hitIndex) + ") ON " + m.on
	}
	return t + inOrder + s + " ON " + m.on
}

func (m *matching) updateSQL(columns []string) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = "t." + quote(c) + " = s." + quote(c)
	}
	return "UPDATE " + m.pairs() + " SET " + strings.Join(set, ", ")
}

func (m *matching) hitSQL() string {
	return "UPDATE " + m.pairs() + " SET s." + quote(hitColumn) + " = 1"
}
func (m *matching) deleteSQL() string { return "DELETE t FROM " + m.pairs() }

// insertSQL inserts staged rows, only those whose key the target lacks if missing is set.
func (m *matching) insertSQL(columns []string, missing bool) string {
	from := make([]string, len(columns))
	for i, c := range columns {
		from[i] = "s." + quote(c)
	}
	sql := "INSERT INTO " + relation(m.target) + " (" + quoteAll(columns) + ") SELECT " + strings.Join(from, ", ") + " FROM " + relation(m.source) + " AS s"
	switch {
	case !missing:
	case m.index != "":
		sql += " WHERE NOT EXISTS (SELECT 1 FROM " + relation(m.target) + " AS t FORCE INDEX (" + quote(m.index) + ") WHERE " + m.on + ")"
	default:
		sql += " WHERE s." + quote(hitColumn) + " IS NULL"
	}
	return sql
}

// sameKey is the condition that column k has the same bytes in t and s, NULL being the
// same as NULL. of is the side that is searched by an index, and col its column; seek is
// false where no index serves.
//
// Two texts with the same bytes are equal under every collation: so they are compared
// first under that of the searched column, by which the index goes, then by their bytes.
func sameKey(k string, of string, col *connectors.Column) (sql string, seek bool) {
	other := "s"
	if of == "s" {
		other = "t"
	}
	x, y := of+"."+quote(k), other+"."+quote(k)
	base := parseNative(col.Native).base
	if !isCharacter(base) && base != "json" || col.Attrs[attrCharset] == "binary" {
		return x + " <=> " + y, true
	}
	bytes := utf8Bytes(x) + " <=> " + utf8Bytes(y)
	cs := col.Attrs[attrCharset]
	switch base {
	case "enum", "set", "json":
		return bytes, false
	}
	if !whole(cs) && !beyondASCII(cs) {
		return bytes, false // one character may have two codes there, which differ for the index
	}
	under := x + " <=> CONVERT(" + y + " USING " + cs + ") COLLATE " + col.Collation
	if byteEqual(col.Collation) && cs == "utf8mb4" {
		return under, true
	}
	return under + " AND " + bytes, true
}

// beyondASCII: single-byte character sets whose characters each have one code.
func beyondASCII(charset string) bool {
	return slices.Contains([]string{"ascii", "latin2", "latin5", "latin7", "cp1250", "cp1251", "cp1256", "cp1257", "koi8r", "koi8u", "greek", "hebrew"}, charset)
}

func utf8Bytes(x string) string { return "CAST(CONVERT(" + x + " USING utf8mb4) AS BINARY)" }

// hitPart readies staging for a target that is read as a whole. Texts that an index
// cannot hold whole stand in it with as much as fits.
func hitPart(rel connectors.Relation, key []*target) string {
	parts := []string{"ADD COLUMN " + quote(hitColumn) + " tinyint NULL"}
	var cols []string
	for _, t := range key {
		col := quote(t.col.Name)
		if text := isCharacter(t.nat.base); text || isLong(t.nat.base) || strings.HasSuffix(t.nat.base, "binary") {
			most := indexBytes / len(key)
			if text {
				most /= 4
			}
			if size := t.nat.arg(0, 0); isLong(t.nat.base) || size > most {
				col += "(" + strconv.Itoa(min(most, longPrefix)) + ")"
			}
		}
		cols = append(cols, col)
	}
	if len(cols) > 0 {
		parts = append(parts, "ADD KEY "+quote(hitIndex)+" ("+strings.Join(cols, ", ")+")")
	}
	return alterSQL(rel, parts)
}

// losesSQL finds a staged value that the target's column would take in changed and without
// a word; "" if its type does not do that.
// named are the columns that name its row.
func losesSQL(rel connectors.Relation, name string, to, from native, named []string) string {
	c, lost := quote(name), ""
	switch to.base {
	case "datetime", "timestamp", "time":
		if from.base != to.base && from.base != "datetime" && from.base != "timestamp" || from.arg(0, 0) <= to.arg(0, 0) {
			return ""
		}
		lost = "MICROSECOND(" + c + ") % " + strconv.FormatInt(pow10(6-to.arg(0, 0)), 10) + " <> 0"
	case "char":
		lost = utf8Bytes(c) + " LIKE '% '"
	case "binary":
		if from.base == "binary" && from.arg(0, 1) == to.arg(0, 1) {
			return ""
		}
		lost = "LENGTH(" + c + ") <> " + strconv.Itoa(to.arg(0, 1))
	case "enum":
		if from == to {
			return ""
		}
		var labels []string
		for l := range parseLabels(to.args) {
			labels = append(labels, "CAST("+str(l)+" AS BINARY)")
		}
		slices.Sort(labels)
		lost = utf8Bytes(c) + " NOT IN (" + strings.Join(labels, ", ") + ")"
	case "set":
		if from == to {
			return ""
		}
		lost = "1 = 1"
	case "year":
		if from.base == "year" {
			return ""
		}
		lost = c + " <> 0 AND " + c + " < 1901"
	default:
		return ""
	}
	return "SELECT " + charsSQL(append([]string{name}, named...)) + " FROM " + relation(rel) + " WHERE " + c + " IS NOT NULL AND " + lost + " LIMIT 1"
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func usesIndexSQL(rel connectors.Relation, index string) string {
	return "SELECT 1 FROM " + relation(rel) + " FORCE INDEX (" + quote(index) + ") LIMIT 0"
}

// charsSQL is a list of columns as text, for messages.
func charsSQL(columns []string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = "CAST(" + quote(c) + " AS CHAR)"
	}
	return strings.Join(out, ", ")
}

// nullSQL finds a NULL, for columns that would give it a value of their own.
func nullSQL(rel connectors.Relation, name string, named []string) string {
	return "SELECT " + charsSQL(append([]string{name}, named...)) + " FROM " + relation(rel) + " WHERE " + quote(name) + " IS NULL LIMIT 1"
}

// cascadesSQL lists the foreign keys that change other tables when a row of rel goes.
func (d dialect) cascadesSQL(rel connectors.Relation) string {
	return "SELECT CONSTRAINT_NAME, TABLE_NAME, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE " +
		d.nameIs("UNIQUE_CONSTRAINT_SCHEMA", rel.Schema) + " AND " + d.nameIs("REFERENCED_TABLE_NAME", rel.Name) +
		" AND DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') ORDER BY 1"
}

const allWarningsSQL = "SHOW WARNINGS"

// markSQL takes one row out of staging within the transaction of the delta: what staging
// holds afterwards tells whether that was committed.
func markSQL(rel connectors.Relation) string { return "DELETE FROM " + relation(rel) + " LIMIT 1" }

// markedSQL waits for the transaction that holds the row.
func markedSQL(rel connectors.Relation) string { return countSQL(rel) + " LOCK IN SHARE MODE" }

func killSessionSQL(id uint64) string { return "KILL CONNECTION " + strconv.FormatUint(id, 10) }

func createLikeSQL(rel, like connectors.Relation) string {
	return "CREATE TABLE " + relation(rel) + " LIKE " + relation(like)
}

func addColumnPart(t *target) string       { return "ADD COLUMN " + t.definition() }
func dropColumnPart(name string) string    { return "DROP COLUMN " + quote(name) }
func autoIncrementPart(next string) string { return "AUTO_INCREMENT = " + next }

func (d dialect) autoIncrementSQL(rel connectors.Relation) string {
	return "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE " + d.tableWhere("", rel) + " AND AUTO_INCREMENT > 1"
}

// holdSQL keeps writers out of rel and lets readers in.
func holdSQL(rel connectors.Relation) string { return "LOCK TABLES " + relation(rel) + " READ" }

// waitsSQL asks whether a session waits for a table that another one holds.
func waitsSQL(id uint64) string {
	return "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = " + strconv.FormatUint(id, 10) + " AND STATE LIKE 'Waiting for table metadata lock%'"
}

const stateTable = "_sling_state"

const stateColumns = "`model`, `target`, `update_key`, `value`, `column_type`, `updated_at`, `run_id`"

func stateRelation(schema string) connectors.Relation {
	return connectors.Relation{Schema: schema, Name: stateTable}
}

func (d dialect) createStateSQL(schema string) string {
	return "CREATE TABLE IF NOT EXISTS " + relation(stateRelation(schema)) + " (`model` varchar(255) NOT NULL, `target` varchar(255) NOT NULL," +
		" `update_key` text NOT NULL, `value` longtext NOT NULL, `column_type` text NOT NULL, `updated_at` datetime(6) NOT NULL, `run_id` text NOT NULL," +
		" PRIMARY KEY (`model`, `target`)) ENGINE=InnoDB" + d.binaryText()
}

// selectStateSQL reads the record of a model and target, or all.
func selectStateSQL(schema, where string) string {
	return "SELECT `model`, `target`, `update_key`, `value`, `column_type`, DATE_FORMAT(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ'), `run_id` FROM " +
		relation(stateRelation(schema)) + where + " ORDER BY CAST(`model` AS BINARY), CAST(`target` AS BINARY)"
}

func whereState(model, target string) string {
	return " WHERE `model` = " + str(model) + " AND `target` = " + str(target)
}

func stateTime(t time.Time) string { return str(t.UTC().Format("2006-01-02 15:04:05.000000")) }

func insertStateSQL(schema string, r connectors.StateRecord) string {
	return "INSERT INTO " + relation(stateRelation(schema)) + " (" + stateColumns + ") VALUES (" + strings.Join([]string{
		str(r.Model), str(r.Target), str(r.UpdateKey), str(r.Value), str(r.ColumnType), stateTime(r.UpdatedAt), str(r.RunID)}, ", ") + ")"
}

func updateStateSQL(schema string, r connectors.StateRecord, previous string) string {
	return "UPDATE " + relation(stateRelation(schema)) + " SET `update_key` = " + str(r.UpdateKey) + ", `value` = " + str(r.Value) +
		", `column_type` = " + str(r.ColumnType) + ", `updated_at` = " + stateTime(r.UpdatedAt) + ", `run_id` = " + str(r.RunID) +
		whereState(r.Model, r.Target) + " AND CAST(`value` AS BINARY) = CAST(" + str(previous) + " AS BINARY)"
}

func deleteStateSQL(schema, model, target string) string {
	return "DELETE FROM " + relation(stateRelation(schema)) + whereState(model, target)
}
