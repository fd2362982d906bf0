package mysql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Extremes = dialect{}

// Extreme implements connectors.Extremes. It leaves out TIME, whose values beyond a day
// would be refused in the rows but not seen behind their extreme, as would a boolean of 2;
// BIT and YEAR, which change their type in an aggregate; enums, which are ordered by
// position, and UUIDs, by their time.
func (d dialect) Extreme(t *connectors.Table, col int, greatest bool) (string, bool) {
	value, ok := d.ordered(&t.Columns[col])
	if !ok {
		return "", false
	}
	return extremeSQL(greatest, value), true
}

// ordered is a column's value with the order, and the NULLs, that DuckDB gives it.
func (d dialect) ordered(c *connectors.Column) (value string, ok bool) {
	value = quote(c.Name)
	switch kindOf(c) {
	case classInt:
		if operand(c) != value {
			return "", false
		}
	case classDecimal, classFloat:
	case classDate:
		if d.c.zeroDates == zeroError {
			return "", false
		}
		// A zero date is NULL to DuckDB and the lowest to the server.
		value = "IF(" + nullDate(value) + ", NULL, " + value + ")"
	case classText:
		switch cs := c.Attrs[attrCharset]; {
		case !whole(cs): // such values may be refused when they are read
			return "", false
		case cs != "utf8mb4" || !byteEqual(c.Collation):
			value = binaryForm(c)
		}
	default:
		return "", false
	}
	return value, true
}

func extremeSQL(greatest bool, value string) string {
	if greatest {
		return "MAX(" + value + ")"
	}
	return "MIN(" + value + ")"
}

// SelectExtremes implements connectors.Extremes. A date alone is looked for in order, so
// that an index on it serves: MAX over the expression would read every row.
func (d dialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	if len(exprs) == 1 {
		c := &e.Table.Columns[e.Columns[0]]
		if kindOf(c) == classDate {
			return d.firstDateSQL(e, c, strings.HasPrefix(exprs[0], "MAX("))
		}
	}
	parts := make([]string, len(exprs))
	for i, x := range exprs {
		parts[i] = x + " AS " + quote(e.Table.Columns[e.Columns[i]].Name)
	}
	sql := "SELECT " + strings.Join(parts, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	return sql
}

func (d dialect) firstDateSQL(e connectors.Extract, c *connectors.Column, greatest bool) string {
	q := quote(c.Name)
	where, order := q+" IS NOT NULL AND "+notNullDate(q), q
	if e.Where != "" {
		where = "(" + e.Where + ") AND " + where
	}
	if greatest {
		order += " DESC"
	}
	return "SELECT (SELECT " + q + " FROM " + d.Relation(e.Table.Relation) + " WHERE " + where + " ORDER BY " + order + " LIMIT 1) AS " + q
}
