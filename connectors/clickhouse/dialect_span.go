package clickhouse

import "github.com/dvt-dev/dvt/connectors"

var _ connectors.Spanner = (*dialect)(nil)

// SelectSpan implements connectors.Spanner.
func (d *dialect) SelectSpan(e connectors.Extract, col int) (connectors.Query, bool) {
	least, ok := d.Extreme(e.Table, col, false)
	greatest, ok2 := d.Extreme(e.Table, col, true)
	if !ok || !ok2 {
		return connectors.Query{}, false
	}
	c := e.Table.Columns[col]
	sql := "SELECT toInt64(count()), toInt64(count()) - toInt64(count(" + quote(c.Name) + ")), " + least + ", " + greatest + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	number := connectors.Column{Type: connectors.T(connectors.BigInt), Native: "Int64"}
	return connectors.Query{SQL: sql, Columns: connectors.SpanColumns(number, c)}, true
}
