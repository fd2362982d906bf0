package clickhouse

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// dialect builds the SQL text of one connection.
type dialect struct {
	conn     *conn
	database string
}

// escaper makes a text safe inside any of ClickHouse's quotes: all of them know
// backslash escapes, and old servers do not know doubled quotes.
var escaper = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "\\`", "\x00", `\0`, "\n", `\n`, "\r", `\r`)

// quote quotes one identifier.
func quote(ident string) string { return "`" + escaper.Replace(ident) + "`" }

// literal quotes one text.
func literal(s string) string { return "'" + escaper.Replace(s) + "'" }

func (d *dialect) Quote(ident string) string { return quote(ident) }

func (d *dialect) Relation(rel connectors.Relation) string { return relation(rel, d.database) }

func relation(rel connectors.Relation, database string) string {
	if rel.Schema != "" {
		database = rel.Schema
	}
	return quote(database) + "." + quote(rel.Name)
}

// Select writes no alias: in ClickHouse an alias hides the column of that name from
// WHERE (SELECT toString(a) AS a … WHERE a > 9 compares texts).
func (d *dialect) Select(e connectors.Extract) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range e.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(selected(&e.Table.Columns[c]))
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

// selected is a column in the form that Read decodes. A column whose type the project
// overrides with text is turned into text by the server.
func selected(c *connectors.Column) string {
	t, err := parseType(c.Native)
	if err != nil || c.Native == "" {
		return quote(c.Name)
	}
	natural := t.logical()
	if t.bare().name == "JSON" || c.Type.Kind == connectors.Varchar && natural.Kind != connectors.Varchar {
		return "toString(" + quote(c.Name) + ")"
	}
	return quote(c.Name)
}

// OrderKey: numbers, dates, times and text order alike; NULLs are placed explicitly.
// NaN is with the NULLs in ClickHouse and greatest in DuckDB, enums order by number,
// UUIDs by their second half first.
func (d *dialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	col := &t.Columns[k.Col]
	switch c, _ := classOf(col); c {
	case classInt, classDecimal, classDate, classTime, classText:
	default:
		return "", false
	}
	s := quote(col.Name) + " ASC"
	if k.Desc {
		s = quote(col.Name) + " DESC"
	}
	if k.NullsLast {
		return s + " NULLS LAST", true
	}
	return s + " NULLS FIRST", true
}

// TargetType is the type of c as a column of a table that dvt creates.
func (d *dialect) TargetType(c connectors.Column) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.conn.cfg.connectTimeout)
	defer cancel()
	f, err := d.conn.capabilities(ctx)
	if err != nil {
		f = modern
	}
	return f.columnType(c)
}

// columnType is the target type of a result column; Nullable wherever ClickHouse
// allows it, because a result may hold NULL where its source could not.
func (f *facts) columnType(c connectors.Column) (string, error) {
	text := ""
	if c.Engine == engineName && c.Native != "" {
		if t, err := parseType(c.Native); err == nil && t.logical().Kind != connectors.Invalid && t.logical().Equal(c.Type) {
			text = c.Native
		}
	}
	if text == "" {
		var err error
		if text, err = f.targetType(c.Type); err != nil {
			return "", &connectors.TypeError{Column: c.Name, Native: c.Type.String(), Reason: err.Error()}
		}
	}
	t, err := parseType(text)
	if err != nil {
		return "", err
	}
	if t.name == "Array" && t.args[0].name == "Tuple" && !f.elementNames() {
		// It makes the columns x.1, x.2 … of Array(Tuple(…)).
		return "", &connectors.TypeError{Column: c.Name, Native: c.Type.String(), Reason: "ClickHouse " + f.info.version() + " has no column that is an array of tuples or a map"}
	}
	return t.withNull(), nil
}

// ---- statements ----

const factsSQL = `SELECT 'type', CAST(name AS String), '' FROM system.data_type_families
UNION ALL SELECT 'setting', CAST(name AS String), CAST(value AS String) FROM system.settings
UNION ALL SELECT 'column', concat(CAST(table AS String), '.', CAST(name AS String)), '' FROM system.columns WHERE database = 'system' AND table IN ('tables', 'columns', 'parts')`

const versionSQL = "SELECT version()"

func useSQL(database string) string { return "USE " + quote(database) }

func killSQL(id string) string { return "KILL QUERY WHERE query_id = " + literal(id) + " ASYNC" }

func setSQL(all []setting) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = quote(s.name) + " = " + settingText(s.value)
	}
	return "SET " + strings.Join(parts, ", ")
}

// settingText: old servers take a number only as a number.
func settingText(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.Itoa(int(b2i(v)))
	case string:
		if _, err := strconv.ParseInt(v, 10, 64); err == nil {
			return v
		}
		return literal(v)
	}
	return fmt.Sprint(v)
}

func databaseSQL(name string) string {
	return "SELECT CAST(name AS String) FROM system.databases WHERE name = " + literal(name)
}

// named is the condition that finds rel in a system table.
func named(rel connectors.Relation, tableColumn string) string {
	return "database = " + literal(rel.Schema) + " AND " + tableColumn + " = " + literal(rel.Name)
}

func tableSQL(f *facts, rel connectors.Relation) string {
	rows := "''"
	if f.columns["tables.total_rows"] {
		rows = "ifNull(toString(total_rows), '')"
	}
	return "SELECT CAST(engine AS String), CAST(" + rows + " AS String) FROM system.tables WHERE " + named(rel, "name")
}

func partsSQL(rel connectors.Relation) string {
	return "SELECT CAST(toString(sum(rows)) AS String) FROM system.parts WHERE active AND " + named(rel, "table")
}

func columnsSQL(f *facts, rel connectors.Relation) string {
	comment, position := "''", ""
	if f.columns["columns.comment"] {
		comment = "comment"
	}
	if f.columns["columns.position"] {
		position = " ORDER BY position"
	}
	return "SELECT CAST(name AS String), CAST(type AS String), CAST(default_kind AS String), CAST(" + comment + " AS String) FROM system.columns WHERE " + named(rel, "table") + position
}

func countSQL(rel string) string { return "SELECT toString(count()) FROM " + rel }

// day and clock write UTC times in ClickHouse's own form.
func day(t time.Time) string   { return t.Format("2006-01-02") }
func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
