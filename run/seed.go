package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// seedRows is the name under which a seed's text is kept.
const seedRows = "seed"

// seed loads a CSV file onto its target.
func (r *Runner) seed(ctx context.Context, n *project.Node, res *Result) error {
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return err
	}
	if err := load.CanReplace(n.Connection, target); err != nil {
		return err
	}
	names, err := seedHeader(n)
	if err != nil {
		return err
	}
	release, err := r.lock(ctx, n, target, n.Relation())
	if err != nil {
		return err
	}
	defer release()
	if err := r.hooks(ctx, n, target, n.Config.PreHook); err != nil {
		return err
	}
	if err := r.loadSeed(ctx, n, target, names, res); err != nil {
		return err
	}
	r.Conns.Forget(n.Connection, n.Relation())
	return r.hooks(ctx, n, target, n.Config.PostHook)
}

func (r *Runner) loadSeed(ctx context.Context, n *project.Node, target connectors.Conn, names []string, res *Result) error {
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(n.Name)
	if err != nil {
		return err
	}
	defer r.closeModel(m, n.Name)
	start := time.Now()
	text := compute.CSV{Path: n.AbsPath, Delimiter: n.Config.Delimiter, Names: names}.Text()
	if r.Options.Empty {
		text = compute.LimitQuery(text, 0)
	}
	if _, err := m.Keep(ctx, seedRows, text); err != nil {
		var st *connectors.StatementError
		if errors.As(err, &st) { // the file is at fault, not the statement
			err = st.Err
		}
		return fmt.Errorf("reading %s: %w", n.Path, err)
	}
	types, asked, err := r.seedTypes(ctx, n, m, names)
	if err != nil {
		return err
	}
	res.Timings.Compute = time.Since(start)
	as := make([]string, len(names))
	options := targetOptions(n, &planner.Plan{})
	options.ColumnTypes = map[string]string{}
	cols := make([]connectors.Column, len(names))
	for i, name := range names {
		as[i] = seedName(n, target, name)
		cols[i] = connectors.Column{Name: as[i], Type: types[i], Nullable: true}
		if asked[i] != "" {
			options.ColumnTypes[as[i]] = asked[i]
		}
	}
	src := &computed{model: m, sql: compute.CSVColumns(compute.Kept(seedRows), names, as, types), res: res}
	start = time.Now()
	res.Loaded, err = load.Replace(ctx, target, connectors.StageSpec{RunID: r.RunID, Target: n.Relation(), Columns: cols, Options: options}, src)
	res.Timings.Load = time.Since(start) - src.busy
	res.Response = fmt.Sprintf("INSERT %d", res.RowsOut)
	r.measure(res)
	return res.landed(err)
}

// seedHeader reads the names of a seed's columns.
func seedHeader(n *project.Node) ([]string, error) {
	comma, size := utf8.DecodeRuneInString(n.Config.Delimiter)
	if size != len(n.Config.Delimiter) || comma == '"' || comma == '\r' || comma == '\n' || comma == utf8.RuneError {
		return nil, fmt.Errorf("delimiter %q: expected one character", n.Config.Delimiter)
	}
	f, err := os.Open(n.AbsPath)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", n.Path, err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReader(f)
	if head, _ := in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	c := csv.NewReader(in)
	c.Comma = comma
	names, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty: its first line must name the columns", n.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the header of %s: %w", n.Path, err)
	}
	seen := map[string]bool{}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if names[i] == "" {
			names[i] = letters(i)
		}
		if key := strings.ToLower(names[i]); seen[key] {
			return nil, fmt.Errorf("%s has two columns named %q", n.Path, names[i])
		} else {
			seen[key] = true
		}
	}
	return names, nil
}

// letters names a column without a name: a, b, …, z, aa, bb, as dbt's CSV reader does.
func letters(i int) string { return strings.Repeat(string(rune('a'+i%26)), i/26+1) }

// seedName is the name of a column on the target: as the file has it, unless
// quote_columns is false: then as the engine takes a name without quotes.
func seedName(n *project.Node, target connectors.Conn, name string) string {
	if b, ok := target.(connectors.Builder); ok && n.Config.QuoteColumns != nil && !*n.Config.QuoteColumns {
		return b.FoldName(name)
	}
	return name
}

// seedTypes finds the type of each column over all of its values; asked is the target's
// own type where column_types names one.
func (r *Runner) seedTypes(ctx context.Context, n *project.Node, m *compute.Model, names []string) (types []connectors.Type, asked []string, err error) {
	row, err := textRow(ctx, m, compute.CSVFacts(compute.Kept(seedRows), names))
	if err != nil {
		return nil, nil, err
	}
	if types, err = compute.CSVTypes(row); err != nil {
		return nil, nil, err
	}
	asked = make([]string, len(names))
	for column, typ := range n.Config.ColumnTypes {
		at := -1
		for i, name := range names {
			if name == column || at < 0 && strings.EqualFold(name, column) {
				at = i
			}
		}
		if at < 0 {
			return nil, nil, fmt.Errorf("column_types names %q, but the file has the columns %s", column, strings.Join(names, ", "))
		}
		asked[at] = typ
		if types[at], err = r.askedType(ctx, m, names[at], typ, connectors.NamingColumns(names, n.Config.UniqueKey)); err != nil {
			return nil, nil, err
		}
	}
	return types, asked, nil
}

// askedType is what a type of column_types means; a type that only the target knows gets
// the column's text. named are the columns that name a row.
func (r *Runner) askedType(ctx context.Context, m *compute.Model, column, typ string, named []string) (connectors.Type, error) {
	t, err := connectors.ParseType(typ)
	if err != nil || t.Kind == connectors.Varchar || t.Kind >= connectors.List {
		return connectors.T(connectors.Varchar), nil
	}
	if t.Kind == connectors.Decimal && t.Precision == 0 {
		t = connectors.Dec(38, 10)
	}
	bad, err := textRow(ctx, m, compute.CSVMisfit(compute.Kept(seedRows), column, t, named))
	if err == nil && bad != nil {
		err = &connectors.ValueError{Column: column, Value: connectors.Shorten(*bad[0]), Row: connectors.NamedRow(named, bad[1:]), Reason: "column_types asks for " + typ + ", which does not hold it exactly"}
	}
	return t, err
}
