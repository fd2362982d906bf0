package mysql

import "github.com/dvt-dev/dvt/connectors"

var _ connectors.Spanner = dialect{}

// SelectSpan implements connectors.Spanner. A zero date counts as NULL.
func (d dialect) SelectSpan(e connectors.Extract, col int) (connectors.Query, bool) {
	value, ok := d.ordered(&e.Table.Columns[col])
	if !ok {
		return connectors.Query{}, false
	}
	sql := "SELECT COUNT(*), COUNT(*) - COUNT(" + value + "), " + extremeSQL(false, value) + ", " + extremeSQL(true, value) + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	number := connectors.Column{Type: connectors.T(connectors.BigInt), Native: "bigint(21)"}
	return connectors.Query{SQL: sql, Columns: connectors.SpanColumns(number, e.Table.Columns[col])}, true
}
