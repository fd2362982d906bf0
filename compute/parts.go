package compute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// A relation that is read in chunks is staged as one Parquet file for each chunk: memory
// holds one chunk at most, and finished ones outlive a failure. Columns are named c0, c1,
// … in the files.

// Part is one chunk being staged. It is used by one goroutine.
type Part struct {
	model   *Model
	table   stored
	session *duck.Conn
	rows    connectors.Appender
	path    string
}

// CheckPart reports a column whose values no file keeps exactly.
func CheckPart(cols []connectors.Column) error {
	for _, c := range cols {
		if nested(c.Type.Kind) && holds(c.Type, asText) {
			return &connectors.TypeError{Column: c.Name, Native: c.Type.String(), Reason: "it cannot be kept in the files of a load in chunks: leave out chunk_column"}
		}
	}
	return nil
}

// asText are the kinds that Parquet has no exact type for: HUGEINT becomes a double there,
// an interval loses its microseconds, a time its zone.
func asText(k connectors.Kind) bool {
	switch k {
	case connectors.HugeInt, connectors.Interval, connectors.TimeTZ, connectors.Bit:
		return true
	}
	return false
}

func nested(k connectors.Kind) bool {
	return k == connectors.List || k == connectors.Struct || k == connectors.Map
}

func holds(t connectors.Type, kind func(connectors.Kind) bool) bool {
	if kind(t.Kind) || t.Elem != nil && holds(*t.Elem, kind) {
		return true
	}
	for _, f := range t.Fields {
		if holds(f.Type, kind) {
			return true
		}
	}
	return false
}

// NewPart begins the file path, which appears when Finish succeeds. The caller must call
// Drop, whatever happens.
func (m *Model) NewPart(ctx context.Context, path string, cols []connectors.Column) (*Part, error) {
	m.mu.Lock()
	m.hidden++
	t := stored{catalog: keptCatalog + m.suffix, schema: "main", name: fmt.Sprintf("part%d", m.hidden), cols: cols}
	err := m.define(ctx, t.catalog, []string{t.schema}, createTable(t.String(), cols))
	m.mu.Unlock()
	if err != nil {
		return nil, m.failed("staging a chunk of", m.name, err)
	}
	p := &Part{model: m, table: t, path: path}
	if p.session, err = m.db.Connect(ctx); err == nil {
		p.rows, err = p.session.Stream(ctx, t.catalog, t.schema, t.name, cols)
	}
	if err != nil {
		return nil, errors.Join(m.failed("staging a chunk of", m.name, err), p.Drop())
	}
	return p, nil
}

// Append adds rows; their columns are those of NewPart.
func (p *Part) Append(rec arrow.RecordBatch) error { return p.model.unmark(p.rows.Append(rec)) }

// Insert adds the rows of a SELECT that DuckDB runs itself, in place of Append.
func (p *Part) Insert(ctx context.Context, sql string) (int64, error) {
	if err := sameTypes(ctx, p.session, sql, p.table.cols); err != nil {
		return 0, p.model.failed("staging a chunk of", p.model.name, err)
	}
	rows, err := p.session.Count(ctx, insertSelect(p.table.String(), sql))
	return rows, p.model.unmark(err)
}

// Finish writes the rows that keep holds for to the file and returns how many they are.
// Columns of keep are indexes into cols.
func (p *Part) Finish(ctx context.Context, keep *connectors.Pred) (rows int64, err error) {
	if err := p.rows.Close(); err != nil {
		return 0, p.model.unmark(err)
	}
	p.rows = nil
	tmp := p.path + ".tmp"
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", p.path, p.model.unmark(err))
			_ = os.Remove(tmp)
		}
	}()
	if rows, err = p.session.Count(ctx, copyPart(p.table, keep, tmp)); err != nil {
		return 0, err
	}
	return rows, os.Rename(tmp, p.path)
}

// Drop frees what the part holds in memory.
func (p *Part) Drop() error {
	var errs []error
	if p.rows != nil {
		errs = append(errs, p.rows.Close())
		p.rows = nil
	}
	if p.session != nil {
		errs = append(errs, p.session.Close())
		p.session = nil
	}
	p.model.mu.Lock()
	defer p.model.mu.Unlock()
	if p.model.session != nil {
		errs = append(errs, p.model.session.Exec(context.Background(), "DROP TABLE IF EXISTS "+p.table.String()))
	}
	return errors.Join(errs...)
}

// PartRows counts the rows of a finished part, and fails if the file is not whole.
func (m *Model) PartRows(ctx context.Context, path string) (int64, error) {
	return m.Int(ctx, "SELECT count(*) FROM "+readParts([]string{path}))
}

// StageParts makes a relation like Stage whose rows are those of parts: files that were
// made with the extracted columns.
func (m *Model) StageParts(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int, parts []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil {
		return errors.New("the model's staging is closed")
	}
	catalog += m.suffix
	if err := m.define(ctx, catalog, []string{schema}, createPartsView(relationName(catalog, schema, name), all, extracted, parts)); err != nil {
		return m.failed("staging", name, err)
	}
	return nil
}

// The text of parts.

func partColumn(i int) string { return fmt.Sprintf("c%d", i) }

// engineDialect renders predicates for DuckDB itself.
type engineDialect struct{ ducksql.Dialect }

func (engineDialect) Relation(connectors.Relation) string { return "" }

func copyPart(t stored, keep *connectors.Pred, path string) string {
	exprs := make([]string, len(t.cols))
	for i, c := range t.cols {
		exprs[i] = quote(c.Name)
		if asText(c.Type.Kind) {
			exprs[i] = "CAST(" + exprs[i] + " AS VARCHAR)"
		}
		exprs[i] += " AS " + partColumn(i)
	}
	where := ""
	if r := connectors.RenderPred(engineDialect{}, keep, &connectors.Table{Columns: t.cols}); r.SQL != "" {
		where = " WHERE " + r.SQL
	}
	return "COPY (SELECT " + strings.Join(exprs, ", ") + " FROM " + t.String() + where + ") TO " + ducksql.Literal(path) + " (FORMAT parquet)"
}

func readParts(paths []string) string {
	escape := strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = ducksql.Literal(escape.Replace(p))
	}
	return "read_parquet([" + strings.Join(list, ", ") + "], hive_partitioning = false)"
}

func createPartsView(name string, all []connectors.Column, extracted []int, parts []string) string {
	at := map[int]int{}
	for i, c := range extracted {
		at[c] = i
	}
	exprs := make([]string, len(all))
	for i, c := range all {
		value, typ := "NULL", unreadType(c.Type)
		if p, ok := at[i]; ok {
			value, typ = partColumn(p), c.Type
		}
		exprs[i] = "CAST(" + value + " AS " + typ.String() + ") AS " + quote(c.Name)
	}
	return "CREATE VIEW " + name + " AS SELECT " + strings.Join(exprs, ", ") + " FROM " + readParts(parts)
}

// Span gives one row over a SELECT: its rows, those where a column is NULL, and the
// column's least and greatest value.
func Span(sql, column string) string {
	c := quote(column)
	return "SELECT count(*) AS rows, count(*) - count(" + c + ") AS nulls, min(" + c + ") AS least, max(" + c + ") AS greatest FROM (" + trimmed(sql) + "\n)"
}

// Collect makes an empty kept result (see Kept) and returns what fills it.
func (m *Model) Collect(ctx context.Context, name string, cols []connectors.Column) (connectors.Appender, error) {
	t := stored{catalog: keptCatalog + m.suffix, schema: "main", name: name, cols: cols}
	m.mu.Lock()
	err := m.define(ctx, t.catalog, []string{t.schema}, createTable(t.String(), cols))
	m.mu.Unlock()
	if err != nil {
		return nil, m.failed("keeping", name, err)
	}
	session, err := m.db.Connect(ctx)
	if err != nil {
		return nil, m.failed("keeping", name, err)
	}
	a := &stageAppender{ctx: ctx, model: m, table: t, session: session}
	if a.rows, err = session.Stream(ctx, t.catalog, t.schema, t.name, cols); err != nil {
		return nil, errors.Join(m.failed("keeping", name, err), session.Close())
	}
	return a, nil
}
