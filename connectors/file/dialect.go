package file

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// This file holds all the SQL text of the package.

var quote, literal, queryTexts = ducksql.Quote, ducksql.Literal, ducksql.Texts

// scanAttr is the attribute of a described column that holds the text after FROM: types
// and spelling of the files as they were found.
const scanAttr = "scan"

type dialect struct {
	ducksql.Dialect
	c *conn
}

func newDialect(c *conn) dialect {
	d := dialect{c: c}
	d.From = d.from
	return d
}

// Relation is a relation as a hook may name it.
func (d dialect) Relation(rel connectors.Relation) string {
	f, err := d.c.resolve(rel)
	if err != nil {
		return d.missing(rel)
	}
	return d.readFiles(f)
}

// missing gives DuckDB something to say that there is no file, by name.
func (d dialect) missing(rel connectors.Relation) string {
	name := rel.String()
	if dir, base, err := d.c.place(rel); err == nil {
		name = dir + "/" + base
	}
	return "read_parquet(" + literal(escapeGlob(name)) + ")"
}

// from is a described relation, or one whose columns the project declares.
func (d dialect) from(t *connectors.Table) string {
	if len(t.Columns) > 0 && t.Columns[0].Attrs[scanAttr] != "" {
		scan := t.Columns[0].Attrs[scanAttr]
		if strings.HasPrefix(scan, "read_parquet(") {
			return scan
		}
		return declared(scan, t.Columns, foundTypes(t.Columns))
	}
	f, err := d.c.resolve(t.Relation)
	if err != nil {
		return d.missing(t.Relation)
	}
	if f.format == parquet {
		return d.readFiles(f)
	}
	text := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		text[i] = "VARCHAR"
		if f.format == json && c.Type.Kind >= connectors.List {
			text[i] = c.Type.String()
		}
	}
	if f.format == json {
		return declared(readJSON(d.c.json(f.files), names(t.Columns), text), t.Columns, text)
	}
	return declared(readCSV(f.files, d.c.spelling(f), names(t.Columns), text), t.Columns, text)
}

// spelling is that of CSV files which nobody has looked at.
func (c *conn) spelling(f found) csvOptions {
	o := c.csv
	if o.delim == "" {
		o.delim = ","
		if strings.HasSuffix(strings.ToLower(f.files[0]), ".tsv") {
			o.delim = "\t"
		}
	}
	return o
}

func names(cols []connectors.Column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// readFiles lets DuckDB find columns and types.
func (d dialect) readFiles(f found) string {
	switch f.format {
	case csv:
		return "read_csv(" + list(f.files) + ", all_varchar = true)"
	case json:
		return "read_json(" + list(f.files) + ")"
	}
	return readParquet(f.files)
}

// list is a list of paths, none of which is a pattern for DuckDB.
func list(files []string) string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = literal(escapeGlob(f))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func escapeGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// readParquet: hive_partitioning would guess types from the names of folders.
func readParquet(files []string) string {
	opts := ", hive_partitioning = false"
	if len(files) > 1 {
		opts += ", union_by_name = true"
	}
	return "read_parquet(" + list(files) + opts + ")"
}

func parquetRows(files []string) string {
	return "SELECT sum(num_rows)::VARCHAR FROM parquet_file_metadata(" + list(files) + ")"
}

// readCSV reads with everything fixed. Only an unquoted empty field is NULL.
func readCSV(files []string, o csvOptions, names, types []string) string {
	if o.quote == "" {
		o.quote = `"`
	}
	if o.escape == "" {
		o.escape = o.quote
	}
	opts := []string{
		"auto_detect = false", "delim = " + literal(o.delim), "quote = " + literal(o.quote), "escape = " + literal(o.escape),
		"header = " + fmt.Sprint(!o.noHeader), "nullstr = " + literal(o.null), "allow_quoted_nulls = false",
		"columns = " + columns(names, types),
	}
	if o.newLine != "" {
		opts = append(opts, "new_line = "+literal(strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(o.newLine)))
	}
	return "read_csv(" + list(files) + ", " + strings.Join(opts, ", ") + ")"
}

func columns(names, types []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = literal(n) + ": " + literal(types[i])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// csvTypes are the types that CSV columns may have, narrowest first. A text has a type
// only if the value of that type says all that the text says.
var csvTypes = []struct{ name, holds string }{
	{"BOOLEAN", "lower(%[1]s) IN ('true', 'false')"},
	{"BIGINT", "CAST(TRY_CAST(%[1]s AS BIGINT) AS VARCHAR) IS NOT DISTINCT FROM %[1]s"},
	{"DOUBLE", doubleHolds},
	{"DATE", `regexp_full_match(%[1]s, '\d{4}-\d{2}-\d{2}') AND TRY_CAST(%[1]s AS DATE) IS NOT NULL`},
	{"TIMESTAMP", `regexp_full_match(%[1]s, '\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?') AND TRY_CAST(%[1]s AS TIMESTAMP) IS NOT NULL`},
	{"TIMESTAMP WITH TIME ZONE", `regexp_full_match(%[1]s, '\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}(:?\d{2})?)') AND TRY_CAST(%[1]s AS TIMESTAMPTZ) IS NOT NULL`},
}

// doubleHolds: DuckDB's own spelling of a double, or a decimal number of up to 15 digits,
// which a double always holds.
const doubleHolds = `(CAST(TRY_CAST(%[1]s AS DOUBLE) AS VARCHAR) IS NOT DISTINCT FROM %[1]s AND NOT regexp_full_match(%[1]s, '-?\d{16,}\.0')
	OR regexp_full_match(%[1]s, '-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?') AND isfinite(TRY_CAST(%[1]s AS DOUBLE))
	AND length(ltrim(regexp_replace(regexp_replace(%[1]s, '[eE].*', ''), '\D', '', 'g'), '0')) <= 15)`

// csvProbe asks for each column whether it has values and which types hold them all.
func csvProbe(scan string, names []string) string {
	var exprs []string
	for _, n := range names {
		exprs = append(exprs, "CAST(count("+quote(n)+") > 0 AS VARCHAR)")
		for _, t := range csvTypes {
			exprs = append(exprs, "CAST(bool_and("+fmt.Sprintf(t.holds, quote(n))+") FILTER (WHERE "+quote(n)+" IS NOT NULL) AS VARCHAR)")
		}
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + scan
}

// jsonFiles are the files of one scan, and the bytes that one row of them may have.
type jsonFiles struct {
	files    []string
	rowLimit int64
}

// options are those of each reader of the files. Each thread of each reader holds twice
// the size of the largest row, or 32 MiB, whatever the rows are in truth.
func (f jsonFiles) options() string {
	return fmt.Sprintf("%s, format = 'auto', maximum_object_size = %d", list(f.files), f.rowLimit)
}

func (f jsonFiles) objects() string { return "read_json_objects(" + f.options() + ")" }

// jsonStructure is the shape of all rows of JSON files: no row is left out, and texts
// that look like dates stay texts.
func jsonStructure(files jsonFiles) string {
	return "SELECT CAST(json_group_structure(json) AS VARCHAR) FROM " + files.objects()
}

// jsonProbe asks for each number column whether BIGINT, or DOUBLE, holds all its values.
func jsonProbe(files jsonFiles, fields []string) string {
	var exprs []string
	for _, f := range fields {
		v := "CAST(json -> " + literal(jsonPath(f)) + " AS VARCHAR)"
		v = "nullif(" + v + ", 'null')"
		exprs = append(exprs, "CAST(bool_and("+fmt.Sprintf(csvTypes[1].holds, v)+") AS VARCHAR)", "CAST(bool_and("+fmt.Sprintf(doubleHolds, v)+" OR "+v+" IS NULL) AS VARCHAR)")
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + files.objects()
}

func jsonPath(field string) string { return `$."` + strings.ReplaceAll(field, `"`, `\"`) + `"` }

// readJSON reads rows, or is an error if a number in the files has more digits than a
// double: DuckDB makes doubles of all numbers with a point or an exponent, also on the
// way into a DECIMAL, a VARCHAR or JSON.
func readJSON(files jsonFiles, names, types []string) string {
	const (
		text    = `"(\\.|[^"\\])*"`
		numbers = `-?\d+(\.\d+)?([eE][-+]?\d+)?`
	)
	found := "SELECT unnest(regexp_extract_all(regexp_replace(CAST(json AS VARCHAR), " + literal(text) + ", '', 'g'), " + literal(numbers) + ")) AS n FROM " + files.objects()
	digits := func(n string) string {
		return "trim(regexp_replace(regexp_replace(" + n + `, '[eE].*', ''), '\D', '', 'g'), '0')`
	}
	long := "SELECT min(n) FROM (" + found + ") WHERE length(n) > 15 AND regexp_matches(n, '[.eE]') AND isfinite(TRY_CAST(n AS DOUBLE)) AND " +
		digits("n") + " <> " + digits("CAST(CAST(n AS DOUBLE) AS VARCHAR)")
	return "(SELECT * FROM read_json(" + files.options() + ", columns = " + columns(names, types) +
		") WHERE CASE WHEN (" + long + ") IS NULL THEN true ELSE error(" + literal("a number in the JSON has more digits than a double holds, write it as a text: ") + " || (" + long + ")) END)"
}

func selectColumn(scan, column string) string { return "SELECT " + quote(column) + " FROM " + scan }
func selectAll(scan string) string            { return "SELECT * FROM " + scan }
