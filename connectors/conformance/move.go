package conformance

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// Column is a column of a source, in the engine's own words.
type Column struct {
	Name   string
	Native string   // its type in CREATE TABLE
	Want   string   // the type that it is read as, in DuckDB's spelling
	Values []string // in the engine's own SQL, one row each; NULL follows the last
	As     string   // the type that the project declares for it (column_types), "" = none
	// Refused is part of the error that each value gives when it is read.
	Refused string
	Full    bool // no NULL follows
	// Setup is run before the table is made, whether it succeeds or not. In it and in
	// Native {schema} is the schema of the run.
	Setup string
	// Newer names the type where not every server has it.
	Newer string
}

// Type is the type that values arrive with in the compute engine.
func (c *Column) Type() connectors.Type {
	want := c.Want
	if c.As != "" {
		want = c.As
	}
	t, err := connectors.ParseType(want)
	if err != nil {
		panic(err)
	}
	return t
}

// Create makes a table of a source in the engine's own SQL. Row i has value i of each
// column; columns with fewer values are NULL.
func (s *Site) Create(cols ...*Column) connectors.Relation {
	s.bench.Helper()
	rel := s.Name()
	s.CreateAs(rel, cols...)
	return rel
}

// CreateAs is Create with a name.
func (s *Site) CreateAs(rel connectors.Relation, cols ...*Column) {
	s.bench.Helper()
	defer s.shut()
	ddl := rel
	if s.inFiles() {
		ddl.Schema = "main"
	}
	db := s.open()
	s.setUp(cols)
	run := func(sql string) {
		s.bench.Helper()
		if err := db.Exec(sql); err != nil {
			s.bench.Fatalf("%s: %s: %v", s.Engine, connectors.Shorten(sql), err)
		}
	}
	if err := s.create(s.inSchema(s.createTable(ddl, cols))); err != nil {
		s.bench.Fatalf("%s: %v", s.Engine, err)
	}
	rows := 1
	for _, c := range cols {
		n := len(c.Values) + 1
		if c.Full {
			n--
		}
		rows = max(rows, n)
	}
	var values []string
	for i := range rows {
		row := []string{strconv.Itoa(i + 1)}
		for _, c := range cols {
			v := "NULL"
			if i < len(c.Values) {
				v = c.Values[i]
			} else if s.Engine == "clickhouse" && !nullable(c.Native) {
				v = c.Values[0]
			}
			row = append(row, v)
		}
		values = append(values, "("+strings.Join(row, ", ")+")")
	}
	for len(values) > 0 {
		n := min(len(values), 500)
		run(s.insertRows(ddl, values[:n]))
		values = values[n:]
	}
	if s.inFiles() {
		run(copyTo(ddl, s.file(rel), "FORMAT parquet"))
		s.put(rel)
	}
}

func (s *Site) setUp(cols []*Column) {
	for _, c := range cols {
		if c.Setup != "" {
			_ = s.open().Exec(s.inSchema(c.Setup)) // it may be there already
		}
	}
}

func (s *Site) inSchema(sql string) string {
	return strings.ReplaceAll(sql, "{schema}", s.quote(s.Schema))
}

// nullable: columns of ClickHouse are not, unless they say so.
func nullable(native string) bool {
	return strings.HasPrefix(native, "Nullable(") || strings.HasPrefix(native, "LowCardinality(Nullable(")
}

// file is where a relation of a folder is.
func (s *Site) file(rel connectors.Relation) string {
	return filepath.Join(s.path, rel.Schema, rel.Name+".parquet")
}

// Texts reads columns of a relation in the engine's own text, by the value of id.
func (s *Site) Texts(rel connectors.Relation, cols []TextOf) map[int][]*string {
	s.bench.Helper()
	exprs := make([]string, len(cols))
	for i, c := range cols {
		exprs[i] = s.text(s.quote(c.Name), c.Native, c.Type)
	}
	from := s.relation(rel)
	if s.inFiles() {
		s.fetch(rel)
		from = readParquet(s.file(rel))
	}
	out := map[int][]*string{}
	for _, row := range s.Query(s.selectTexts(from, exprs)) {
		id, err := strconv.Atoi(*row[0])
		if err != nil {
			s.bench.Fatal(err)
		}
		if out[id] != nil {
			s.bench.Errorf("%s: %s holds row %d twice", s.Engine, rel, id)
		}
		out[id] = row[1:]
	}
	return out
}

// TextOf is a column to be read as text.
type TextOf struct {
	Name, Native string
	Type         connectors.Type
}

// Staged is a relation of a source in the compute engine.
type Staged struct {
	From    *Site
	Rel     connectors.Relation
	Columns []connectors.Column
	Rows    int64
	bench   *Bench
	model   *compute.Model
	catalog string
	query   connectors.Query

	relation  []connectors.Column // all columns of the relation
	extracted []int               // those that were read
}

const stagedCatalog = "src"

// Extract reads a relation as extracts are: Describe, Probe, Select, then Read or
// Inline. as are the types that the project declares for columns.
func (s *Site) Extract(rel connectors.Relation, as map[string]connectors.Type) (*Staged, error) {
	return s.extract(rel, as, nil)
}

func (s *Site) extract(rel connectors.Relation, as map[string]connectors.Type, only []string) (*Staged, error) {
	b := s.bench
	b.models++
	model, err := b.Compute.Model("m" + strconv.Itoa(b.models))
	if err != nil {
		return nil, err
	}
	st, err := s.extractTo(model, stagedCatalog, rel, as, only)
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	return st, nil
}

// extractTo stages into a model, beside what it has under other catalogs.
func (s *Site) extractTo(model *compute.Model, catalog string, rel connectors.Relation, as map[string]connectors.Type, only []string) (*Staged, error) {
	b := s.bench
	table, err := s.Conn.Describe(b.ctx, rel)
	if err != nil {
		return nil, err
	}
	e := connectors.Extract{Table: table, Limit: -1}
	var open []int
	for i := range table.Columns {
		c := &table.Columns[i]
		if only != nil && !slices.Contains(only, c.Name) {
			continue
		}
		if t, ok := as[c.Name]; ok {
			c.Type = t
		}
		if c.Type.Kind == connectors.Invalid {
			return nil, &connectors.TypeError{Column: c.Name, Native: c.Native, Reason: "dvt cannot carry this type: leave the column out, or convert it in a view on the source"}
		}
		if c.Type.Kind == connectors.Decimal && c.Type.Precision == 0 {
			open = append(open, i)
		}
		e.Columns = append(e.Columns, i)
	}
	if len(open) > 0 {
		types, err := s.Conn.(connectors.Prober).Probe(b.ctx, table, open, "")
		if err != nil {
			return nil, err
		}
		for i, c := range open {
			table.Columns[c].Type = types[i]
		}
	}
	st := &Staged{From: s, Rel: rel, bench: b, model: model, catalog: catalog, relation: table.Columns, extracted: e.Columns}
	for _, i := range e.Columns {
		st.Columns = append(st.Columns, table.Columns[i])
	}
	st.query = connectors.Query{SQL: s.Conn.Dialect().Select(e), Columns: st.Columns}
	st.Rows, err = st.fill(st.query)
	return st, err
}

func (st *Staged) fill(q connectors.Query) (rows int64, err error) {
	ctx, conn := st.bench.ctx, st.From.Conn
	if in, ok := conn.(connectors.Inliner); ok {
		sql, release, err := in.Inline(ctx, q)
		if err != nil {
			return 0, err
		}
		defer release()
		return st.model.StageSQL(ctx, st.catalog, "main", "t", st.relation, st.extracted, sql)
	}
	a, err := st.model.Stage(ctx, st.catalog, "main", "t", st.relation, st.extracted)
	if err != nil {
		return 0, err
	}
	err = conn.Read(ctx, q, func(rec arrow.RecordBatch) error {
		rows += rec.NumRows()
		return a.Append(rec)
	})
	return rows, errors.Join(err, a.Close())
}

// Close drops what is staged.
func (st *Staged) Close() error { return st.model.Close() }

// Select is the SQL of some columns, and of the rows with ids (nil: all).
func (st *Staged) Select(cols []int, ids []int) string {
	q := quoted(`"`)
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = q(st.Columns[c].Name)
	}
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + st.Table()
	if ids != nil {
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = strconv.Itoa(id)
		}
		sql += " WHERE id IN (" + strings.Join(append(list, "-1"), ", ") + ")"
	}
	return sql + " ORDER BY id"
}

// Table is the staged relation's name in the compute engine.
func (st *Staged) Table() string { return `"` + st.catalog + planner.Marker + `"."main"."t"` }

// Result are the columns as the planner gives them to a target: results may be NULL.
func (st *Staged) Result() []connectors.Column {
	out := slices.Clone(st.Columns)
	for i := range out {
		out[i].Nullable = true
	}
	return out
}

// Land makes the rows of a query over what is staged the content of a relation, as
// results land: staging, count, swap. replace false stops before the swap.
func (st *Staged) Land(to *Site, rel connectors.Relation, cols []connectors.Column, sql string, o connectors.TargetOptions, replace bool) error {
	return to.land(rel, cols, o, replace, func(staging connectors.Staging) (sent int64, err error) {
		ctx := st.bench.ctx
		if f, ok := staging.(connectors.Filler); ok {
			return st.model.Fill(ctx, f, sql)
		}
		err = st.model.Query(ctx, sql, true, func(rec arrow.RecordBatch) error {
			sent += rec.NumRows()
			return staging.Write(ctx, rec)
		})
		return sent, err
	})
}

// Stream makes the rows of the source the content of a relation without a stop in the
// compute engine.
func (st *Staged) Stream(to *Site, rel connectors.Relation) error {
	return to.land(rel, st.Result(), connectors.TargetOptions{}, true, func(staging connectors.Staging) (sent int64, err error) {
		err = st.From.Conn.Read(st.bench.ctx, st.query, func(rec arrow.RecordBatch) error {
			sent += rec.NumRows()
			return staging.Write(st.bench.ctx, rec)
		})
		return sent, err
	})
}

func (s *Site) land(rel connectors.Relation, cols []connectors.Column, o connectors.TargetOptions, replace bool, fill func(connectors.Staging) (int64, error)) (err error) {
	ctx := s.bench.ctx
	if s.inFiles() && o.Format == "" {
		o.Format = "parquet"
	}
	staging, err := s.Conn.(connectors.Stager).Stage(ctx, connectors.StageSpec{RunID: "conformance", Target: rel, Columns: cols, Options: o})
	if err != nil {
		return fmt.Errorf("staging: %w", err)
	}
	defer func() { err = errors.Join(err, staging.Discard(ctx)) }()
	sent, err := fill(staging)
	if err != nil {
		return err
	}
	held, err := staging.Seal(ctx)
	if err == nil && held != sent {
		err = fmt.Errorf("%d rows were sent but %s holds %d", sent, s.Engine, held)
	}
	if err != nil || !replace {
		return err
	}
	return s.Conn.(connectors.Swapper).Replace(ctx, staging)
}

// Native gives the target's own types of a relation's columns, by name.
func (s *Site) Native(rel connectors.Relation) map[string]connectors.Column {
	s.bench.Helper()
	table, err := s.Conn.Describe(s.bench.ctx, rel)
	if err != nil {
		s.bench.Fatalf("%s: describing the target: %v", s.Engine, err)
	}
	out := map[string]connectors.Column{}
	for _, c := range table.Columns {
		out[c.Name] = c
	}
	return out
}
