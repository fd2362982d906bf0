package clickhouse

import (
	"fmt"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

const newPrefix = "__dvt_new_" // the table that is to take the target's place

// Names of the columns inside the statements below, which no column of a table has.
const (
	keyAlias  = "__dvt_k" // of the key, in both sides of a join
	leftAlias = "__dvt_l" // of the target
	rowAlias  = "__dvt_r" // of staging
)

// storedColumn is a column of the table that is filled.
type storedColumn struct {
	name string
	t    *chType
	kind string // DEFAULT, MATERIALIZED or ""
	expr string // of kind
	from string // the kept rows' value, over the target; "": it is new
	// staged is the delta's value, over staging; "": the delta does not give it.
	staged string
	update bool // also in rows that exist
}

// keyColumn is a column of the unique key, with the type in which it is compared: the
// target's.
type keyColumn struct {
	name    string
	t       *chType
	widened bool // the target's own is narrower
}

// keyParts are what is compared of a key column: whether it is NULL, and its bytes. A
// NULL inside IN or USING would match nothing. The value under a NULL is whatever was
// once written there, so that it is replaced.
//
// Types that this server's sets might not take, or whose text is as good, go as text;
// an instant's text in UTC, for in other zones two of them share one.
func (k keyColumn) keyParts(convert bool) []string {
	x, t := quote(k.name), k.t.bare()
	isNull := "isNull(" + x + ")"
	if convert || k.widened || k.t.name == "LowCardinality" {
		x = "CAST(" + x + " AS Nullable(" + t.text + "))"
	}
	zero := ""
	switch t.name {
	case "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64":
		zero = "CAST(0 AS " + t.text + ")"
	case "String":
		zero = "''"
	case "Date":
		zero = "toDate(0)"
	case "DateTime":
		zero = "CAST(toDateTime(0) AS " + t.text + ")"
	case "DateTime64":
		x, zero = fmt.Sprintf("toString(CAST(%s AS Nullable(DateTime64(%d, 'UTC'))))", x, t.prec), "''"
	default:
		x, zero = "toString("+x+")", "''"
	}
	return []string{isNull, "ifNull(" + x + ", " + zero + ")"}
}

// keyTuple is the key as one value. convert brings staging's to the target's types.
func keyTuple(key []keyColumn, convert bool) string {
	return "(" + strings.Join(keyValues(key, convert), ", ") + ")"
}

func keyValues(key []keyColumn, convert bool) (all []string) {
	for _, k := range key {
		all = append(all, k.keyParts(convert)...)
	}
	return all
}

// fill is the statements of one delta.
type fill struct {
	target, source, fresh string
	cols                  []storedColumn
	key                   []keyColumn
	tail                  string // SETTINGS
}

// stagedKeys is the set that the server holds in memory.
func (m *fill) stagedKeys() string {
	return "SELECT " + strings.Join(keyValues(m.key, true), ", ") + " FROM " + m.source
}

// matched is the condition that a row of the target has a staged key.
func (m *fill) matched() string { return keyTuple(m.key, false) + " IN (" + m.stagedKeys() + ")" }

// unknown is the condition that the target lacks a staged row's key.
func (m *fill) unknown() string {
	return keyTuple(m.key, true) + " NOT IN (SELECT " + strings.Join(keyValues(m.key, false), ", ") + " FROM " + m.target + " WHERE " + m.matched() + ")"
}

func (m *fill) countMatchedSQL() string { return countSQL(m.target) + " WHERE " + m.matched() }
func (m *fill) countUnknownSQL() string { return countSQL(m.source) + " WHERE " + m.unknown() }

func (m *fill) insert(names, exprs []string, rest string) string {
	return "INSERT INTO " + m.fresh + " (" + quoteList(names) + ") SELECT " + strings.Join(exprs, ", ") + " FROM " + rest + m.tail
}

func quoteList(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote(n)
	}
	return strings.Join(q, ", ")
}

// keepSQL copies rows of the target: all, or those whose key is not staged.
func (m *fill) keepSQL(all bool) string {
	var names, exprs []string
	for _, c := range m.cols {
		if c.from != "" {
			names, exprs = append(names, c.name), append(exprs, c.from)
		}
	}
	rest := m.target
	if !all {
		rest += " WHERE NOT (" + m.matched() + ")"
	}
	return m.insert(names, exprs, rest)
}

// deltaSQL inserts staged rows: all, or those whose key the target lacks.
func (m *fill) deltaSQL(all bool) string {
	var names, exprs []string
	for _, c := range m.cols {
		if c.staged != "" {
			names, exprs = append(names, c.name), append(exprs, c.staged)
		}
	}
	rest := m.source
	if !all {
		rest += " WHERE " + m.unknown()
	}
	return m.insert(names, exprs, rest)
}

// updateSQL inserts the target's rows whose key is staged, with the staged values where
// these are to be taken. The staged rows are held in memory: of many, those of one
// bucket.
func (m *fill) updateSQL(bucket, buckets int) string {
	var keys, using, leftKeys, rightKeys, names, out, left, right []string
	for i, part := range keyValues(m.key, false) {
		k := fmt.Sprint(keyAlias, i)
		using = append(using, k)
		leftKeys = append(leftKeys, part+" AS "+k)
		keys = append(keys, part)
	}
	theirs := keyValues(m.key, true)
	for i, part := range theirs {
		rightKeys = append(rightKeys, part+" AS "+using[i])
	}
	for i, c := range m.cols {
		switch l, r := fmt.Sprint(leftAlias, i), fmt.Sprint(rowAlias, i); {
		case c.update:
			names, out, right = append(names, c.name), append(out, r), append(right, c.staged+" AS "+r)
		case c.from != "":
			names, out, left = append(names, c.name), append(out, l), append(left, c.from+" AS "+l)
		}
	}
	return m.insert(names, out, "(SELECT "+strings.Join(append(leftKeys, left...), ", ")+" FROM "+m.target+" WHERE "+m.matched()+inBucket(keys, bucket, buckets)+
		") ANY LEFT JOIN (SELECT "+strings.Join(append(rightKeys, right...), ", ")+" FROM "+m.source+" WHERE 1 = 1"+inBucket(theirs, bucket, buckets)+
		") USING ("+strings.Join(using, ", ")+")")
}

func inBucket(keys []string, bucket, buckets int) string {
	if buckets == 1 {
		return ""
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = "toString(" + k + ")"
	}
	return fmt.Sprintf(" AND cityHash64(%s) %% %d = %d", strings.Join(texts, ", "), buckets, bucket)
}

func (m *fill) deleteMatchedSQL() string {
	return "ALTER TABLE " + m.target + " DELETE WHERE " + m.matched()
}

// changed is the condition that the value of a staged column would not come back from
// the target's type; a NULL is one where that has none.
func changed(name string, staged, to *chType) string {
	x := quote(name)
	null := ""
	if staged.nullable() && !to.nullable() {
		null = "isNull(" + x + ")"
	}
	a, b := staged.bare(), to.bare()
	if a.text == b.text {
		return null
	}
	there, back := "CAST("+x+" AS "+orNull(staged, b)+")", orNull(staged, a)
	same := "CAST(" + there + " AS " + back + ") = " + x
	switch {
	case b.name == "FixedString": // filled up with zero bytes, which the way back cuts off
		same = fmt.Sprintf("length(%s) = %d", x, b.size)
	case a.compound():
		same = "toString(CAST(" + there + " AS " + back + ")) = toString(" + x + ")"
	}
	lost := "(isNull(" + x + ") = 0 AND ifNull(NOT (" + same + "), 1))"
	if null == "" {
		return lost
	}
	return "(" + null + " OR " + lost + ")"
}

// orNull is t, Nullable if the values of the column may be NULL.
func orNull(column, t *chType) string {
	if column.nullable() {
		return t.withNull()
	}
	return t.text
}

func countIfSQL(rel string, conditions []string) string {
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = "toString(countIf(" + c + "))"
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + rel
}

// exampleSQL gives some columns of a row as text.
func exampleSQL(rel string, names []string, condition string) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = "CAST(ifNull(toString(" + quote(n) + "), 'NULL') AS String)"
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + rel + " WHERE " + condition + " LIMIT 1"
}

func createAsSQL(rel, like string) string { return "CREATE TABLE " + rel + " AS " + like }

func addColumnSQL(rel, name, typ string) string {
	return "ALTER TABLE " + rel + " ADD COLUMN " + quote(name) + " " + typ
}

func dropColumnSQL(rel, name string) string {
	return "ALTER TABLE " + rel + " DROP COLUMN " + quote(name)
}

// modifyColumnSQL names the default again, which old servers drop otherwise.
func modifyColumnSQL(rel, name, typ, kind, expr string) string {
	s := "ALTER TABLE " + rel + " MODIFY COLUMN " + quote(name) + " " + typ
	if kind != "" {
		s += " " + kind + " " + expr
	}
	return s
}

// defaultsSQL lists the columns of rel with what they are computed from.
func defaultsSQL(rel connectors.Relation) string {
	return "SELECT CAST(name AS String), CAST(type AS String), CAST(default_kind AS String), CAST(default_expression AS String) FROM system.columns WHERE " + named(rel, "table")
}

func partitionsSQL(rel connectors.Relation) string {
	return "SELECT DISTINCT CAST(partition_id AS String) FROM system.parts WHERE active AND " + named(rel, "table")
}

func sizeSQL(rel connectors.Relation) string {
	return "SELECT CAST(toString(sum(data_uncompressed_bytes)) AS String) FROM system.parts WHERE active AND " + named(rel, "table")
}

func identitySQL(rel connectors.Relation) string {
	return "SELECT CAST(toString(uuid) AS String) FROM system.tables WHERE " + named(rel, "name")
}

func attachSQL(rel, partition, from string) string {
	return "ALTER TABLE " + rel + " ATTACH PARTITION ID " + literal(partition) + " FROM " + from
}

// ---- state ----

const stateTable = "_sling_state"

// createStateSQL: there is no UPDATE, so a record is a row more, of which the highest
// version holds. The engine clears the others away in its own time. Time stamps are text
// because old servers have none with fractions.
func createStateSQL(rel string) string {
	return "CREATE TABLE IF NOT EXISTS " + rel + " (model String, target String, update_key String, value String, column_type String, updated_at String, run_id String," +
		" version UInt64, deleted UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY (model, target)"
}

// selectStateSQL gives the latest rows, deleted ones too.
func selectStateSQL(rel, where string) string {
	return "SELECT model, target, update_key, value, column_type, updated_at, run_id, toString(version), toString(deleted) FROM " + rel + where +
		" ORDER BY model, target, version DESC LIMIT 1 BY model, target"
}

func whereState(model, target string) string {
	return " WHERE model = " + literal(model) + " AND target = " + literal(target)
}

func insertStateSQL(rel string, r connectors.StateRecord, version uint64, deleted bool) string {
	return "INSERT INTO " + rel + " (model, target, update_key, value, column_type, updated_at, run_id, version, deleted) SELECT " + strings.Join([]string{
		literal(r.Model), literal(r.Target), literal(r.UpdateKey), literal(r.Value), literal(r.ColumnType), literal(r.UpdatedAt.UTC().Format(time.RFC3339Nano)), literal(r.RunID)}, ", ") +
		fmt.Sprintf(", toUInt64(%d), toUInt8(%d)", version, b2i(deleted))
}
