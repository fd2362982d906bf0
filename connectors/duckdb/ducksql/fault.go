package ducksql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Marks in the text of an error that Fault makes.
const (
	faultMark = "dvt-value\x1f"
	faultEnd  = "\x1f"
)

// Fault is an expression that ends the query with an error, which ValueError reads: value,
// an expression, cannot be stored in column for a reason. row is an expression that names
// the row (see RowName).
func Fault(value, column, reason, row string) string {
	return "error(" + Literal(faultMark+column+faultEnd+reason+faultEnd) + " || " + row + " || " + Literal(faultEnd) + " || left(CAST(" + value + " AS VARCHAR), 200))"
}

// RowName is an expression that names a row of a relation with these columns, as
// connectors.RowName does: by its key, else by its first columns, for rows of a relation
// have no numbers. alias is the relation's, "" where it needs none.
func RowName(alias string, columns, key []string) string {
	if alias != "" {
		alias += "."
	}
	named := connectors.Naming(columns, key)
	parts := make([]string, len(named))
	for i, at := range named {
		c := columns[at]
		// The mark must not come from a value.
		parts[i] = Literal(c+" = ") + " || coalesce(replace(left(CAST(" + alias + Quote(c) + " AS VARCHAR), 80), chr(31), ''), 'NULL')"
	}
	if len(parts) == 0 {
		return "''"
	}
	return strings.Join(parts, " || ', ' || ")
}

// ValueError is the value that a Fault in a failed query found; other errors stay as they
// are.
func ValueError(err error) error {
	if err == nil {
		return nil
	}
	_, rest, ok := strings.Cut(err.Error(), faultMark)
	if !ok {
		return err
	}
	parts := strings.SplitN(rest, faultEnd, 4)
	if len(parts) != 4 {
		return err
	}
	return &connectors.ValueError{Column: parts[0], Value: connectors.Shorten(parts[3]), Row: connectors.Shorten(parts[2]), Reason: parts[1]}
}
