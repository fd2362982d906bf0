package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// Probe implements connectors.Prober.
func (c *conn) Probe(ctx context.Context, t *connectors.Table, cols []int, where string) ([]connectors.Type, error) {
	if len(cols) == 0 {
		return nil, nil
	}
	for _, i := range cols {
		if k := t.Columns[i].Type.Kind; k != connectors.Decimal {
			return nil, fmt.Errorf("probing column %q: it is a %s, not a numeric", t.Columns[i].Name, k)
		}
	}
	var rows [][]cell
	err := c.transaction(ctx, modeRead, func(pc *pgconn.PgConn) (err error) {
		rows, err = c.query(ctx, pc, c.dialect.probeSQL(t, cols, where))
		return err
	})
	if err != nil {
		return nil, err
	}
	types := make([]connectors.Type, len(cols))
	for n, i := range cols {
		if types[n], err = probedType(&t.Columns[i], rows[0][2*n], rows[0][2*n+1]); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// probedType is the widest decimal with the scale that the rows need: the digits left
// over serve rows that arrive between the probe and the read.
func probedType(c *connectors.Column, magnitude, scale cell) (connectors.Type, error) {
	switch magnitude.s {
	case "NaN", "Infinity":
		return connectors.Type{}, &connectors.ValueError{Column: c.Name, Value: magnitude.s, Reason: "a decimal cannot hold it: " +
			"filter it out, or cast the column to double precision in a view"}
	}
	before := len(strings.TrimLeft(magnitude.s, "0"))
	after := scale.int()
	if before+after > 38 {
		return connectors.Type{}, &connectors.TypeError{Column: c.Name, Native: c.Native, Reason: fmt.Sprintf(
			"its values need %d digits before the point and %d after it, more than the 38 that DECIMAL has: "+
				"declare the column's data_type, or round or cast it in a view", before, after)}
	}
	return connectors.Dec(38, after), nil
}
