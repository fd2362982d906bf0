package conformance

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// dialect is how the suite itself speaks to an engine through its own driver. All SQL
// text of the package but the values is here.
type dialect struct {
	session []string // statements for each session
	quote   func(name string) string
	tail    string // after CREATE TABLE (…)
	// text is the engine's own text of a column of the native type, read as t.
	text func(column, native string, t connectors.Type) string
	// drop is how a schema is dropped.
	drop string
}

func quoted(sign string) func(string) string {
	return func(name string) string { return sign + strings.ReplaceAll(name, sign, sign+sign) + sign }
}

var dialects = map[string]*dialect{
	"postgres": {
		session: []string{"SET TimeZone = 'UTC'", "SET extra_float_digits = 3", "SET IntervalStyle = 'postgres'"},
		quote:   quoted(`"`), text: postgresText, drop: "DROP SCHEMA %s CASCADE",
	},
	"mysql": {quote: quoted("`"), text: mysqlText, drop: "DROP DATABASE %s"},
	"clickhouse": {
		quote: quoted("`"), text: clickhouseText, tail: " ENGINE = Memory", drop: "DROP DATABASE %s",
	},
	"sqlite": {quote: quoted(`"`), text: sqliteText},
	"duckdb": {session: []string{"SET TimeZone = 'UTC'"}, quote: quoted(`"`), text: duckdbText},
	"s3":     {session: []string{"SET TimeZone = 'UTC'"}, quote: quoted(`"`), text: duckdbText},
	"file":   {session: []string{"SET TimeZone = 'UTC'"}, quote: quoted(`"`), text: duckdbText},
}

func (d *dialect) createSchema(name string) string {
	if strings.Contains(d.drop, "DATABASE") {
		return "CREATE DATABASE " + d.quote(name)
	}
	return "CREATE SCHEMA " + d.quote(name)
}

func (d *dialect) dropSchema(name string) string {
	return strings.Replace(d.drop, "%s", d.quote(name), 1)
}

func (d *dialect) relation(rel connectors.Relation) string {
	return d.quote(rel.Schema) + "." + d.quote(rel.Name)
}

// createTable makes a table of a key "id" and the columns.
func (d *dialect) createTable(rel connectors.Relation, cols []*Column) string {
	defs := []string{d.quote("id") + " " + d.idType()}
	for _, c := range cols {
		defs = append(defs, d.quote(c.Name)+" "+d.definition(c.Native))
	}
	return "CREATE TABLE " + d.relation(rel) + " (" + strings.Join(defs, ", ") + ")" + d.tail
}

func (d *dialect) idType() string {
	if d == dialects["clickhouse"] {
		return "Int32"
	}
	return "INTEGER"
}

// definition lets values be NULL where that must be said.
func (d *dialect) definition(native string) string {
	if d == dialects["mysql"] && strings.HasPrefix(native, "timestamp") {
		return native + " NULL DEFAULT NULL"
	}
	return native
}

func (d *dialect) insertRows(rel connectors.Relation, rows []string) string {
	return "INSERT INTO " + d.relation(rel) + " VALUES " + strings.Join(rows, ", ")
}

// selectTexts reads columns as the engine's own text, in the order of id.
func (d *dialect) selectTexts(from string, cols []string) string {
	return "SELECT " + strings.Join(append([]string{d.quote("id")}, cols...), ", ") + " FROM " + from + " ORDER BY " + d.quote("id")
}

// copyTo writes a table of an own DuckDB session to a file.
func copyTo(rel connectors.Relation, path, format string) string {
	return "COPY " + quoted(`"`)(rel.Name) + " TO '" + strings.ReplaceAll(path, "'", "''") + "' (" + format + ")"
}

func readParquet(path string) string {
	return "read_parquet('" + strings.ReplaceAll(path, "'", "''") + "')"
}

// postgresText: format uses the types' output functions, as psql does; a cast to text
// would cut the padding of char(n).
func postgresText(q, native string, _ connectors.Type) string {
	if strings.HasSuffix(native, "[]") {
		return "to_json(" + q + ")::text"
	}
	return "CASE WHEN " + q + " IS DISTINCT FROM NULL THEN format('%s', " + q + ") END" // a row of NULLs is NULL to IS NULL
}

func mysqlText(q, native string, t connectors.Type) string {
	native = strings.ToLower(native)
	switch {
	case t.Kind == connectors.Blob && isGeometry(native):
		return "HEX(ST_AsWKB(" + q + "))"
	case strings.HasPrefix(native, "bit"):
		return "CAST(" + q + " AS UNSIGNED)"
	case strings.Contains(native, "blob") || strings.Contains(native, "binary"):
		return "HEX(" + q + ")"
	case strings.HasPrefix(native, "timestamp"):
		return "CONCAT(" + q + ", '+00')" // the session's zone
	case strings.HasPrefix(native, "float"):
		return "CAST(" + q + " AS DOUBLE)" // six digits are shown of a float
	}
	return "CAST(" + q + " AS CHAR CHARACTER SET utf8mb4)"
}

func isGeometry(native string) bool {
	for _, g := range []string{"geometry", "point", "linestring", "polygon"} {
		if strings.Contains(native, g) {
			return true
		}
	}
	return false
}

func clickhouseText(q, native string, t connectors.Type) string {
	switch {
	case t.Kind == connectors.Blob:
		return "hex(" + q + ")"
	case strings.HasPrefix(native, "Array(") && strings.Contains(native, "DateTime") && t.Elem.Kind == connectors.TimestampTZ:
		return "toString(arrayMap(x -> concat(toString(x, 'UTC'), '+00'), " + q + "))"
	case strings.HasPrefix(native, "Array(") || strings.HasPrefix(native, "Tuple(") || strings.HasPrefix(native, "Map("):
		return "toString(" + q + ")"
	case strings.Contains(native, "DateTime64(9"):
		return "toString(" + q + ", 'UTC')"
	case strings.Contains(native, "DateTime"):
		return "concat(toString(" + q + ", 'UTC'), '+00')"
	}
	return q
}

// sqliteText: an expression has no declared type, by which the driver would convert.
func sqliteText(q, native string, t connectors.Type) string {
	if strings.Contains(native, "UNIX") {
		seconds := q
		if strings.HasSuffix(native, "MS") {
			seconds += " / 1000.0"
		}
		return "strftime('%Y-%m-%d %H:%M:%f', " + seconds + ", 'unixepoch')"
	}
	switch t.Kind {
	case connectors.Blob:
		return "CASE WHEN " + q + " IS NOT NULL THEN hex(" + q + ") END"
	case connectors.Float, connectors.Double:
		return "CASE typeof(" + q + ") WHEN 'real' THEN printf('%!.20g', " + q + ") ELSE CAST(" + q + " AS TEXT) END"
	}
	return "CAST(" + q + " AS TEXT)"
}

func duckdbText(q, native string, t connectors.Type) string {
	switch t.Kind {
	case connectors.Blob:
		return "hex(" + q + ")"
	case connectors.List, connectors.Struct, connectors.Map:
		if t.Elem != nil && (t.Elem.Kind == connectors.Double || t.Elem.Kind == connectors.Float) { // NaN has no JSON
			return "CAST(to_json(list_transform(" + q + ", lambda x: CAST(x AS VARCHAR))) AS VARCHAR)"
		}
		if native != "JSON" && native != "VARCHAR" {
			return "CAST(to_json(" + q + ") AS VARCHAR)"
		}
	}
	return "CAST(" + q + " AS VARCHAR)"
}

// create runs DDL. On ClickHouse only the connection's sessions allow all types that the
// server has.
func (s *Site) create(ddl string) error {
	if s.Engine == "clickhouse" {
		return s.Conn.Exec(s.bench.ctx, ddl)
	}
	return s.open().Exec(ddl)
}

// lacks tries a type that only newer servers have.
func (s *Site) lacks(c *Column) string {
	if c.Newer == "" {
		return ""
	}
	s.bench.Helper()
	rel := s.Name()
	s.setUp([]*Column{c})
	if err := s.create(s.inSchema(s.createTable(rel, []*Column{c}))); err != nil {
		return c.Newer
	}
	s.Exec("DROP TABLE " + s.relation(rel))
	return ""
}
