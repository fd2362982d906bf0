package clickhouse

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var (
	_ connectors.Extremes = (*dialect)(nil)
	_ connectors.Stager   = (*conn)(nil)
	_ connectors.Swapper  = (*conn)(nil)
	_ connectors.Locker   = (*conn)(nil)
)

// Extreme: the classes that order alike have max and min alike. Over no rows a column
// that is not Nullable would give its type's zero, and 1970-01-01 for a date.
func (d *dialect) Extreme(t *connectors.Table, col int, max bool) (string, bool) {
	c := &t.Columns[col]
	if strings.HasPrefix(c.Native, "LowCardinality(") {
		// 18.16: over more than one block, min and max of a LowCardinality column compare
		// positions in dictionaries, and give "q" where '' is the least.
		return "", false
	}
	switch cl, _ := classOf(c); cl {
	case classInt, classDecimal, classDate, classTime, classText:
	default:
		return "", false
	}
	sql := "min(" + quote(c.Name) + ")"
	if max {
		sql = "max(" + quote(c.Name) + ")"
	}
	if !c.Nullable {
		sql = "if(count() = 0, NULL, " + sql + ")"
	}
	return sql, true
}

// SelectExtremes gives no aliases: see Select.
func (d *dialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	return sql
}
