package file

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// rowsTable is the session's own table of the rows that were sent; it spills.
const rowsTable = `temp.main."__dvt_rows"`

// rowNumber is its column for the order in which rows were sent, where that matters.
var rowNumber = connectors.Column{Name: "__dvt_row", Type: connectors.T(connectors.BigInt)}

func createRows(cols []connectors.Column) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.Name) + " " + c.Type.String()
	}
	return "CREATE TEMP TABLE \"__dvt_rows\" (" + strings.Join(defs, ", ") + ")"
}

const dropRows = "DROP TABLE " + rowsTable

func inOrder(table string) string { return table + " ORDER BY " + quote(rowNumber.Name) }

// inParens makes a SELECT a source; a comment at its end is closed by the line break.
func inParens(sql string) string {
	return "(" + strings.TrimRight(sql, "; \t\r\n") + "\n) AS __dvt_result"
}

// TargetType is the type in which a Parquet file holds c: what Parquet would round or
// shift is text there, and HUGEINT a decimal that refuses what it cannot hold.
func (dialect) TargetType(c connectors.Column) (string, error) {
	if c.Type.Kind == connectors.Invalid || c.Type.Kind == connectors.Decimal && c.Type.Precision == 0 {
		return "", &connectors.TypeError{Column: c.Name, Native: c.Native, Reason: "files have no type for it"}
	}
	return stored(c.Type).String(), nil
}

func stored(t connectors.Type) connectors.Type {
	switch t.Kind {
	case connectors.HugeInt:
		return connectors.Dec(38, 0)
	case connectors.Interval, connectors.TimeTZ, connectors.Bit:
		return connectors.T(connectors.Varchar)
	case connectors.List:
		return connectors.ListOf(stored(*t.Elem))
	case connectors.Struct, connectors.Map:
		out := connectors.T(t.Kind)
		for _, f := range t.Fields {
			out.Fields = append(out.Fields, connectors.Field{Name: f.Name, Type: stored(f.Type)})
		}
		return out
	}
	return t
}

// written is a column as a file of the format holds it; row names the row in errors
// (ducksql.RowName).
func written(format string, c connectors.Column, override, row string) string {
	v := quote(c.Name)
	switch to := stored(c.Type); {
	case override != "":
		return checked(v, c, override, row)
	case format == parquet && !to.Equal(c.Type):
		return checked(v, c, to.String(), row)
	case format == csv && c.Type.Kind >= connectors.List:
		return jsonText(v, c, row)
	}
	return v
}

// jsonLine is a row as one JSON object. DuckDB's own writer would parse values of type
// JSON and spell their numbers anew, as doubles.
func jsonLine(cols []connectors.Column, types map[string]string, row string) string {
	var b strings.Builder
	for i, c := range cols {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		c, v := c, quote(c.Name)
		if to := types[c.Name]; to != "" {
			v = checked(v, c, to, row)
			c.Type = connectors.T(connectors.Varchar) // whatever it is, to_json knows
		}
		b.WriteString(literal(sep+jsonName(c.Name)+":") + " || coalesce(" + jsonText(v, c, row) + ", 'null') || ")
	}
	return b.String() + "'}'"
}

func jsonName(name string) string {
	var b bytes.Buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(name) // strings always encode
	return strings.TrimSpace(b.String())
}

// jsonText is a value as JSON text on one line, NULL for NULL. A line break in JSON text
// is never inside a string.
func jsonText(v string, c connectors.Column, row string) string {
	if c.Type.Kind == connectors.JSON {
		return "replace(replace(CAST(" + v + " AS VARCHAR), chr(13), ' '), chr(10), ' ')"
	}
	text := "CAST(to_json(" + v + ") AS VARCHAR)"
	if k := c.Type.Kind; k == connectors.Float || k == connectors.Double {
		return "CASE WHEN " + v + " IS NULL THEN NULL WHEN isfinite(" + v + ") THEN " + text + " ELSE " + ducksql.Fault(v, c.Name, notFinite, row) + " END"
	}
	if !has(c.Type, connectors.Float) && !has(c.Type, connectors.Double) {
		return "CASE WHEN " + v + " IS NOT NULL THEN " + text + " END"
	}
	bare := `regexp_replace(` + text + `, '"(\\.|[^"\\])*"', '', 'g')`
	return "CASE WHEN " + v + " IS NULL THEN NULL WHEN regexp_matches(" + bare + ", 'NaN|Infinity') THEN " +
		ducksql.Fault(v, c.Name, notFinite, row) + " ELSE " + text + " END"
}

const notFinite = "JSON has no NaN and no infinity: cast it to VARCHAR"

// has says that t is or contains a kind.
func has(t connectors.Type, k connectors.Kind) bool {
	if t.Kind == k || t.Elem != nil && has(*t.Elem, k) {
		return true
	}
	for _, f := range t.Fields {
		if has(f.Type, k) {
			return true
		}
	}
	return false
}

// checked casts, and refuses a value that does not come back from the cast as it was.
func checked(v string, c connectors.Column, to, row string) string {
	tried := "TRY_CAST(" + v + " AS " + to + ")"
	return "CASE WHEN CAST(" + tried + " AS " + c.Type.String() + ") IS NOT DISTINCT FROM " + v + " THEN " + tried + " ELSE " + ducksql.Fault(v, c.Name, "it does not fit the type "+to+" exactly", row) + " END"
}

// copyTo writes a file of the rows of source. JSON goes out as text lines without quoting.
func copyTo(path, format string, o csvOptions, cols []connectors.Column, to connectors.TargetOptions, source string) string {
	opts := []string{"FORMAT " + format, "PRESERVE_ORDER " + fmt.Sprint(to.Ordered)}
	row := ducksql.RowName("", connectors.Names(cols), to.RowKey())
	var exprs []string
	switch format {
	case parquet:
		opts = append(opts, "COMPRESSION zstd")
	case csv:
		opts = append(opts, "HEADER "+fmt.Sprint(!o.noHeader), "NULLSTR "+literal(o.null))
		for _, set := range [][2]string{{"DELIMITER ", o.delim}, {"QUOTE ", o.quote}, {"ESCAPE ", o.escape}} {
			if set[1] != "" {
				opts = append(opts, set[0]+literal(set[1]))
			}
		}
	case json:
		opts[0] = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x1f', NULLSTR ''"
		exprs = []string{jsonLine(cols, to.ColumnTypes, row)}
	}
	if format != json {
		for _, c := range cols {
			exprs = append(exprs, written(format, c, to.ColumnTypes[c.Name], row)+" AS "+quote(c.Name))
		}
	}
	return "COPY (SELECT " + strings.Join(exprs, ", ") + " FROM " + source + ") TO " + literal(path) + " (" + strings.Join(opts, ", ") + ")"
}
