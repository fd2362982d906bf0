package file

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// declared is scan, a read of CSV or JSON whose columns have the types found, with the
// types that cols have: those of the project where it declares some. A declared column is
// read as text and cast only where its type says all that the text says; DuckDB alone
// would read 1.005 as a DECIMAL(12,2) of 1.01, 1.5 as an INTEGER of 2, and drop the time
// of a DATE. Lists, structs and maps of JSON keep the type that was found.
func declared(scan string, cols []connectors.Column, found []string) string {
	text := append([]string(nil), found...)
	var casts []string
	row := ducksql.RowName("", connectors.Names(cols), nil)
	for i, c := range cols {
		if c.Type.String() == found[i] || c.Type.Kind == connectors.Invalid || c.Type.Kind >= connectors.List && !strings.HasPrefix(scan, csvScan) {
			continue
		}
		text[i] = "VARCHAR"
		if c.Type.Kind != connectors.Varchar {
			casts = append(casts, checkedCast(c, row)+" AS "+quote(c.Name))
		}
	}
	all := names(cols)
	scan = strings.Replace(scan, columns(all, found), columns(all, text), 1)
	if len(casts) == 0 {
		return scan
	}
	return "(SELECT * REPLACE (" + strings.Join(casts, ", ") + ") FROM " + scan + ")"
}

const csvScan = "read_csv("

// Texts that the temporal types say whole.
const (
	dateForm  = `\d{4,}-\d{1,2}-\d{1,2}( \(BC\))?`
	clockForm = `\d{1,2}:\d{2}(:\d{2}(\.\d{0,%d}0*)?)?`
	stampForm = dateForm + `([ T]` + clockForm + `)?`
)

// checkedCast casts a text to a declared type, or says which value it does not hold. row
// names the row (ducksql.RowName).
func checkedCast(c connectors.Column, row string) string {
	col := quote(c.Name)
	cast := "CAST(" + col + " AS " + c.Type.String() + ")"
	form := ""
	switch k := c.Type.Kind; {
	case k >= connectors.TinyInt && k <= connectors.UBigInt:
		form = `[-+]?\d+`
	case k == connectors.Decimal:
		form = fmt.Sprintf(`[-+]?(\d+(\.\d{0,%[1]d}0*)?|\.\d{0,%[1]d}0*)`, c.Type.Scale)
	case k == connectors.Date:
		form = dateForm + `([ T]00:00(:00(\.0*)?)?)?`
	case k == connectors.Time:
		form = fmt.Sprintf(clockForm, 6)
	case k == connectors.Timestamp: // another offset than UTC's would be dropped
		form = fmt.Sprintf(stampForm, 6) + `(Z|[+-]00(:?00)?)?`
	case k == connectors.TimestampNS:
		form = fmt.Sprintf(stampForm, 9) + `(Z|[+-]00(:?00)?)?`
	case k == connectors.TimestampTZ:
		form = fmt.Sprintf(stampForm, 6) + `\s*(Z|[+-]\d{2}(:?\d{2})?)?`
	default:
		return cast
	}
	switch c.Type.Kind {
	case connectors.Date, connectors.Timestamp, connectors.TimestampTZ:
		form = `(` + form + `|[-+]?infinity)`
	}
	holds := "regexp_full_match(" + col + ", " + literal(`\s*`+form+`\s*`) + ")"
	if c.Type.Kind == connectors.Decimal { // the form that JSON's small and large numbers get; a double holds so many digits
		holds += " OR regexp_full_match(" + col + ", " + literal(`[-+]?\d(\.\d{1,14})?[eE][-+]?\d+`) + ") AND CAST(" + cast + " AS DOUBLE) = CAST(" + col + " AS DOUBLE)"
	}
	why := literal("column " + c.Name + ": the file says ")
	return "CASE WHEN " + col + " IS NULL OR " + holds + " THEN " + cast +
		" ELSE error(" + why + " || " + col + " || " + literal(", which "+c.Type.String()+" does not hold, in row ") + " || " + row + ") END"
}

// foundTypes are the types that a described table's files have by themselves.
func foundTypes(cols []connectors.Column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		if out[i] = c.Native; c.Native == "" {
			out[i] = c.Type.String()
		}
	}
	return out
}
