package sqlite

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Extremes = dialect{}

// Extreme answers where values of one class have one order: integers, reals and texts.
// A column may hold values of other classes than it declares; those must not be skipped,
// so that a column which the engine does not hold to its class is guarded, at the price
// of an index: SQLite then reads all of its values, and still only one row travels.
// Dates and time stamps are texts of more than one form, decimals may be texts: both are
// left to the reader.
func (d dialect) Extreme(t *connectors.Table, col int, highest bool) (string, bool) {
	c := &t.Columns[col]
	if t.View || !declaredAs(c) {
		return "", false // a view's column may have any class, and no affinity
	}
	name := "min"
	if highest {
		name = "max"
	}
	q := quote(c.Name)
	fixed := c.Attrs[attrFixed] != ""
	switch c.Type.Kind {
	case connectors.BigInt:
		if fixed {
			return name + "(" + q + ")", true
		}
		return d.extreme(name, c.Name, "integer"), true
	case connectors.Double:
		if fixed {
			return name + "(" + q + ")", true
		}
		return d.extreme(name, c.Name, "real"), true
	case connectors.Varchar:
		// UTF-16 orders 4-byte characters before U+E000; which texts are valid UTF-8 only
		// the reader can tell.
		if affinityOf(c.Native) != affText || c.Attrs[attrEncoding] != "" || d.policy == mismatchNull {
			return "", false
		}
		if fixed {
			return name + "(" + q + " COLLATE BINARY)", true
		}
		if d.policy == mismatchText {
			return "", false // blobs are read as texts
		}
		return "coalesce(max(CASE WHEN typeof(" + q + ") = 'blob' THEN " + q + " END), " + name + "(" + q + " COLLATE BINARY))", true
	}
	return "", false
}

// SelectExtremes leaves out the row's key that Select adds: the one row is no row of the
// table.
func (d dialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	named := make([]string, len(exprs))
	for i, x := range exprs {
		named[i] = x + " AS " + quote(e.Table.Columns[e.Columns[i]].Name)
	}
	sql := "SELECT " + strings.Join(named, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	return sql
}
