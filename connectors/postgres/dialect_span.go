package postgres

import "github.com/dvt-dev/dvt/connectors"

var _ connectors.Spanner = dialect{}

// SelectSpan implements connectors.Spanner.
func (d dialect) SelectSpan(e connectors.Extract, col int) (connectors.Query, bool) {
	least, ok := d.Extreme(e.Table, col, false)
	greatest, ok2 := d.Extreme(e.Table, col, true)
	if !ok || !ok2 {
		return connectors.Query{}, false
	}
	c := e.Table.Columns[col]
	sql := "SELECT count(*), count(*) - count(" + quoteIdent(c.Name) + "), " + least + ", " + greatest + " FROM " + d.Relation(e.Table.Relation)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	number := connectors.Column{Type: connectors.T(connectors.BigInt), Native: "bigint", Engine: engineName}
	return connectors.Query{SQL: sql, Columns: connectors.SpanColumns(number, c)}, true
}
