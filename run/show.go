package run

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/project"
)

// RowSink receives a small result as text: Columns once, then Row for each row, a nil
// value being NULL. Lists, structs, maps and JSON come as JSON text, everything else as
// DuckDB prints it.
type RowSink interface {
	Columns(cols []connectors.Column) error
	Row(values []*string) error
}

// Show runs a node's query federated and hands its first limit rows (all if negative)
// to sink. Nothing is written anywhere.
func (r *Runner) Show(ctx context.Context, n *project.Node, limit int64, sink RowSink) error {
	mode := planMode{live: true}
	if limit >= 0 {
		mode.wrap = func(sql string) string { return compute.LimitQuery(sql, limit) }
	}
	p, err := r.prepare(ctx, n, mode, nil)
	if err == nil {
		err = r.show(ctx, p, sink)
	}
	if err != nil {
		return r.explainError(n, err)
	}
	return nil
}

func (r *Runner) show(ctx context.Context, p *Prepared, sink RowSink) (err error) {
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(p.Node.Name)
	if err != nil {
		return err
	}
	defer func() {
		if e := m.Close(); e != nil && err == nil {
			err = e
		}
	}()
	ix, err := r.openIndex(ctx, p, m)
	if err != nil {
		return err
	}
	if ix != nil {
		defer r.closeIndex(p, m, ix)
	}
	if _, _, err := extract.Run(ctx, p.Plan, m, r.Conns.Get, r.limits, &extract.Progress{}); err != nil {
		return err
	}
	cols, err := resultColumns(ctx, m, p.Plan)
	if err != nil {
		return err
	}
	if err := sink.Columns(cols); err != nil {
		return err
	}
	return m.Query(ctx, compute.TextQuery(p.Plan.SQL, cols), true, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			if err := sink.Row(connectors.TextValues(rec, i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// runQueryRows bounds what run_query and statement bring into a template.
const runQueryRows = 100_000

// runQuery is Jinja's run_query: read-only DuckDB SQL, federated like a model.
func (r *Runner) runQuery(ctx context.Context, sql string) (*dbt.Table, error) {
	n, err := r.Project.Inline(sql)
	if err != nil {
		return nil, err
	}
	sink := &tableSink{}
	if err := r.Show(ctx, n, -1, sink); err != nil {
		return nil, err
	}
	return sink.table(), nil
}

// nativeQuery is run_query of a model or test that an engine runs: read-only SQL of that
// engine, as all its SQL is. It is nil where the connection runs no SQL of its own.
func nativeQuery(target connectors.Conn) func(context.Context, string) (*dbt.Table, error) {
	engine, ok := target.(connectors.Builder)
	if !ok {
		return nil
	}
	return func(ctx context.Context, sql string) (*dbt.Table, error) {
		sink := &tableSink{}
		if err := engine.Rows(ctx, sql, sink); err != nil {
			return nil, err
		}
		return sink.table(), nil
	}
}

// tableSink gathers rows with the values that templates see.
type tableSink struct {
	cols  []connectors.Column
	names []string
	rows  [][]dbt.V
}

func (t *tableSink) table() *dbt.Table { return &dbt.Table{Names: t.names, Rows: t.rows} }

func (t *tableSink) Columns(cols []connectors.Column) error {
	t.cols = cols
	for _, c := range cols {
		t.names = append(t.names, c.Name)
	}
	return nil
}

func (t *tableSink) Row(values []*string) error {
	if len(t.rows) == runQueryRows {
		return fmt.Errorf("run_query returned more than %d rows: select what the template needs", runQueryRows)
	}
	row := make([]dbt.V, len(values))
	for i, v := range values {
		if v != nil {
			row[i] = templateValue(t.cols[i].Type.Kind, *v)
		}
	}
	t.rows = append(t.rows, row)
	return nil
}
