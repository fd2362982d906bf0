package mysql

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Spanner = dialect{}

// SelectSpan implements connectors.Spanner. A zero date counts as NULL.
func (d dialect) SelectSpan(e connectors.Extract, col int) (connectors.Query, bool) {
	least, ok := d.Extreme(e.Table, col, false)
	greatest, ok2 := d.Extreme(e.Table, col, true)
	if !ok || !ok2 {
		return connectors.Query{}, false
	}
	value := strings.TrimSuffix(strings.TrimPrefix(least, "MIN("), ")")
	sql := "SELECT COUNT(*), COUNT(*) - COUNT(" + value + "), " + least + ", " + greatest + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	number := connectors.Column{Type: connectors.T(connectors.BigInt), Native: "bigint(21)"}
	return connectors.Query{SQL: sql, Columns: connectors.SpanColumns(number, e.Table.Columns[col])}, true
}
