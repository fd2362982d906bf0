package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// Rows implements connectors.Builder. A reading that ends early takes its session along,
// which stops the server.
func (c *conn) Rows(ctx context.Context, sql string, sink connectors.TextSink) error {
	return c.transaction(ctx, modeSnapshot, func(pc *pgconn.PgConn) error {
		r := pc.ExecParams(ctx, sql, nil, nil, nil, nil)
		var cols []connectors.Column
		for _, f := range r.FieldDescriptions() {
			t, _ := scalarType(f.DataTypeOID, f.TypeModifier)
			cols = append(cols, connectors.Column{Name: f.Name, Type: t, Nullable: true})
		}
		if cols != nil {
			if err := sink.Columns(cols); err != nil {
				return err
			}
		}
		for r.NextRow() {
			values := make([]*string, len(r.Values()))
			for i, v := range r.Values() {
				if v != nil {
					text := string(v)
					values[i] = &text
				}
			}
			if err := sink.Row(values); err != nil {
				return err
			}
		}
		_, err := r.Close()
		return c.statementError(sql, 0, err)
	})
}
