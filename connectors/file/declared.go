package file

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// declared is scan, a read of CSV whose columns have the types found, with the types
// that cols have: those of the project where it declares some. A declared column is read
// as text and cast only where its type says all that the text says; DuckDB alone would
// read 1.005 as a DECIMAL(12,2) of 1.01 and 1.5 as an INTEGER of 2.
func declared(scan string, cols []connectors.Column, found []string) string {
	text := append([]string(nil), found...)
	var casts []string
	for i, c := range cols {
		if c.Type.String() == found[i] || c.Type.Kind == connectors.Invalid {
			continue
		}
		text[i] = "VARCHAR"
		if c.Type.Kind != connectors.Varchar {
			casts = append(casts, checkedCast(c)+" AS "+quote(c.Name))
		}
	}
	all := names(cols)
	scan = strings.Replace(scan, columns(all, found), columns(all, text), 1)
	if len(casts) == 0 {
		return scan
	}
	return "(SELECT * REPLACE (" + strings.Join(casts, ", ") + ") FROM " + scan + ")"
}

// checkedCast casts a text to a declared type, or says which value it does not hold.
func checkedCast(c connectors.Column) string {
	col := quote(c.Name)
	cast := "CAST(" + col + " AS " + c.Type.String() + ")"
	form := ""
	switch k := c.Type.Kind; {
	case k >= connectors.TinyInt && k <= connectors.UBigInt:
		form = `\s*[-+]?\d+\s*`
	case k == connectors.Decimal:
		form = fmt.Sprintf(`\s*[-+]?(\d+(\.\d{0,%[1]d}0*)?|\.\d{0,%[1]d}0*)\s*`, c.Type.Scale)
	default:
		return cast
	}
	why := literal("column " + c.Name + ": the file says ")
	return "CASE WHEN " + col + " IS NULL OR regexp_full_match(" + col + ", " + literal(form) + ") THEN " + cast +
		" ELSE error(" + why + " || " + col + " || " + literal(", which "+c.Type.String()+" does not hold") + ") END"
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
