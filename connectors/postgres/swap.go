package postgres

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// Replace implements connectors.Swapper.
func (c *conn) Replace(ctx context.Context, s connectors.Staging) error {
	st, ok := s.(*staging)
	if !ok || st.c != c || st.session == nil || !st.sealed {
		return fmt.Errorf("replacing a relation: the staging table is not sealed or not of this connection")
	}
	for _, sql := range []string{c.dialect.dropTableSQL(st.target), c.dialect.renameTableSQL(st.rel, st.target.Name), "COMMIT"} {
		if err := c.exec(ctx, st.conn(), sql); err != nil {
			return err
		}
	}
	st.session.Release()
	st.session = nil
	return nil
}
