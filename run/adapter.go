package run

import (
	"context"
	"errors"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/project"
)

// describer answers adapter.get_columns_in_relation and adapter.get_relation: with the
// engine's own types for SQL that the engine runs, with DuckDB's for the rest.
func (r *Runner) describer(quote func(string) string, native bool) func(context.Context, project.RelationUse) ([]*dbt.Column, bool, error) {
	return func(ctx context.Context, u project.RelationUse) ([]*dbt.Column, bool, error) {
		table, err := r.Conns.Describe(ctx, u.Connection, u.Relation)
		if errors.Is(err, connectors.ErrNotFound) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		cols := make([]*dbt.Column, len(table.Columns))
		for i, c := range table.Columns {
			cols[i] = &dbt.Column{Name: c.Name, Type: c.Type.String(), Quoted: quote(c.Name)}
			if native {
				cols[i].Type = c.Native
			}
		}
		return cols, true, nil
	}
}
