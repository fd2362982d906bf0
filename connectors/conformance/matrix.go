package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Source is a source engine's table of edge values, staged.
type Source struct {
	Site    *Site
	Columns []*Column         // that could be read
	Refused []Refusal         // that gave their error
	Lacks   map[string]string // column → why it was not run
	staged  *Staged
	values  map[int][]*string // canonical texts by id, in the order of Columns
}

// Refusal is a column that cannot be read.
type Refusal struct {
	*Column
	Reason string
	Type   bool // no value of the type can be read
}

var sourceColumns = map[string]func() []*Column{
	"postgres": postgresColumns, "mysql": mysqlColumns, "clickhouse": clickhouseColumns,
	"sqlite": sqliteColumns, "duckdb": duckdbColumns, "file": fileColumns, "s3": fileColumns,
}

// Source writes the edge values of an engine that keep chooses (nil: all), reads them and
// checks what Describe and the reader say.
func (b *Bench) Source(engine string, keep func(*Column) bool) *Source {
	b.Helper()
	s := &Source{Site: b.Site(engine), Lacks: map[string]string{}}
	var refused []*Column
	for _, c := range sourceColumns[engine]() {
		if keep != nil && !keep(c) {
			continue
		}
		if why := s.Site.lacks(c); why != "" {
			s.Lacks[c.Name] = why
		} else if c.Refused != "" {
			refused = append(refused, c)
		} else {
			s.Columns = append(s.Columns, c)
		}
	}
	rel := s.Site.Create(s.Columns...)
	declared := map[string]connectors.Type{}
	for _, c := range s.Columns {
		if c.As != "" {
			declared[c.Name] = c.Type()
		}
	}
	var err error
	if s.staged, err = s.Site.Extract(rel, declared); err != nil {
		b.Fatalf("reading %s: %v", engine, err)
	}
	b.Cleanup(func() {
		if err := s.staged.Close(); err != nil {
			b.Error(err)
		}
	})
	s.readValues(rel)
	s.refuse(refused)
	return s
}

// readValues asks the source itself what it holds.
func (s *Source) readValues(rel connectors.Relation) {
	b := s.Site.bench
	b.Helper()
	var texts []TextOf
	for i, c := range s.Columns {
		got := s.staged.Columns[i+1]
		if got.Name != c.Name || !got.Type.Equal(c.Type()) {
			b.Errorf("%s %s: read as %s, want %s", s.Site.Engine, c.Native, got.Type, c.Type())
		}
		texts = append(texts, TextOf{c.Name, c.Native, c.Type()})
	}
	s.values = s.Site.Texts(rel, texts)
	if int64(len(s.values)) != s.staged.Rows {
		b.Fatalf("%s: %d of %d rows were read", s.Site.Engine, s.staged.Rows, len(s.values))
	}
	for _, row := range s.values {
		for i, v := range row {
			if v == nil {
				continue
			}
			text, err := Canon(s.staged.Columns[i+1].Type, *v)
			if err != nil {
				b.Errorf("%s %s: %v", s.Site.Engine, s.Columns[i].Name, err)
			}
			row[i] = &text
		}
	}
}

// refuse checks that each value is refused when its column is read, and only then.
func (s *Source) refuse(cols []*Column) {
	if len(cols) == 0 {
		return
	}
	b := s.Site.bench
	b.Helper()
	rel := s.Site.Create(cols...)
	for _, c := range cols {
		st, err := s.Site.extract(rel, nil, []string{"id", c.Name})
		if err == nil {
			_ = st.Close()
			b.Errorf("%s %s: %s was read; an error was due", s.Site.Engine, c.Name, c.Values[0])
			continue
		}
		var t *connectors.TypeError
		s.Refused = append(s.Refused, Refusal{c, reasonOf(err), errors.As(err, &t)})
		if why := faultOf(err, c.Name, c.Refused, false, slices.Contains(timeKinds, c.Type().Kind)); why != "" {
			b.Errorf("%s %s: %v: %s", s.Site.Engine, c.Name, err, why)
		}
	}
}

// reasonOf is what a user reads.
func reasonOf(err error) string {
	var v *connectors.ValueError
	var t *connectors.TypeError
	switch {
	case errors.As(err, &v):
		return v.Reason
	case errors.As(err, &t):
		return t.Reason
	}
	return err.Error()
}

// faultOf says what a *ValueError or *TypeError lacks.
func faultOf(err error, column, reason string, row, temporal bool) string {
	var v *connectors.ValueError
	var t *connectors.TypeError
	switch {
	case errors.As(err, &v):
		if v.Column != column {
			return fmt.Sprintf("it names column %q, not %q", v.Column, column)
		}
		if v.Value == "" || v.Reason == "" {
			return "value or reason are missing"
		}
		if row && v.Row == "" {
			return "the row is missing"
		}
		if number.MatchString(v.Value) && len(v.Value) > 9 && temporal {
			return "nobody can read this value"
		}
	case errors.As(err, &t):
		if t.Column != column {
			return fmt.Sprintf("it names column %q, not %q", t.Column, column)
		}
	default:
		return fmt.Sprintf("a *ValueError or *TypeError is due, not %T", err)
	}
	if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(reason)) {
		return fmt.Sprintf("%q is not in it", reason)
	}
	return ""
}

// number is a count of microseconds that an error must not show for a time.
var number = regexp.MustCompile(`^-?\d+$`)

// Cell is what became of one column of a source in one target.
type Cell struct {
	Native string // the target's own type
	Exact  int    // values that arrived as they were
	Notes  []*Rule
	Errors []*Rule
}

func (c *Cell) note(r *Rule) {
	list := &c.Notes
	if r.Fails != "" {
		list = &c.Errors
	}
	if !slices.Contains(*list, r) {
		*list = append(*list, r)
	}
}

// Pair lands everything of a source in a target and compares. It returns a cell per
// column of the source.
func (s *Source) Pair(engine string) []*Cell {
	b := s.Site.bench
	b.Helper()
	p := &pair{Source: s, to: b.Site(engine), probes: map[int][]int{}}
	p.cells, p.into = make([]*Cell, len(s.Columns)), make([]string, len(s.Columns))
	p.sort()
	rel := p.to.Name()
	if !p.land(rel) {
		return p.cells
	}
	p.compare(rel)
	for _, col := range p.cols {
		tried := map[*Rule]int{}
		for _, id := range p.probes[col] {
			// A staging table for each value costs; two show where the error comes from.
			if r := p.rule(col, id); full() || tried[r] < 2 {
				tried[r]++
				p.probe(col, id)
			}
		}
	}
	return p.cells
}

type pair struct {
	*Source
	to     *Site
	cells  []*Cell
	cols   []int         // positions in Columns that the target takes
	into   []string      // the target's type per column
	probes map[int][]int // column → ids of values that must fail
}

func (p *pair) name(col int) string {
	return p.Site.Engine + " → " + p.to.Engine + " " + p.Columns[col].Name
}

func (p *pair) rule(col, id int) *Rule {
	return ruleFor(p.Site.Engine, p.Columns[col], p.to.Engine, p.into[col], p.values[id][col])
}

// sort sets apart what must fail.
func (p *pair) sort() {
	b := p.Site.bench
	b.Helper()
	for col, c := range p.Columns {
		p.cells[col] = &Cell{}
		var err error
		if p.into[col], err = p.to.Conn.Dialect().TargetType(p.result(col + 1)); err != nil {
			r := typeRule(p.Site.Engine, c, p.to.Engine)
			if r == nil {
				b.Errorf("%s: %v", p.name(col), err)
				continue
			}
			p.cells[col].note(r)
			if why := faultOf(err, c.Name, r.Fails, false, false); why != "" {
				b.Errorf("%s: %v: %s", p.name(col), err, why)
			}
			continue
		}
		p.cols = append(p.cols, col)
		for id := range p.values {
			if r := p.rule(col, id); r != nil && r.Fails != "" {
				p.probes[col] = append(p.probes[col], id)
			}
		}
		slices.Sort(p.probes[col])
	}
}

// result is a column as the planner gives it to a target: results may be NULL.
func (p *pair) result(i int) connectors.Column {
	c := p.staged.Columns[i]
	c.Nullable = true
	return c
}

// land loads all values that the target takes, in one table.
func (p *pair) land(rel connectors.Relation) bool {
	b := p.Site.bench
	b.Helper()
	cols := []connectors.Column{p.result(0)}
	exprs := []string{"id"}
	for _, col := range p.cols {
		cols = append(cols, p.result(col+1))
		exprs = append(exprs, p.expr(col, p.probes[col]))
	}
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + p.staged.Table() + " ORDER BY id"
	err := p.staged.Land(p.to, rel, cols, sql, connectors.TargetOptions{}, true)
	if err == nil {
		return true
	}
	b.Errorf("%s → %s: %v", p.Site.Engine, p.to.Engine, err)
	for _, col := range p.cols { // who is it?
		if p.column(col) == nil {
			continue
		}
		for id, row := range p.values {
			if slices.Contains(p.probes[col], id) {
				continue
			}
			if err := p.alone(col, id); err != nil {
				b.Errorf("%s: value %s: %v", p.name(col), show(row[col]), err)
			}
		}
	}
	return false
}

// expr is a column of the staged table with something harmless in the rows of ids.
func (p *pair) expr(col int, ids []int) string {
	name := quoted(`"`)(p.Columns[col].Name)
	if len(ids) == 0 {
		return name
	}
	stead := "NULL"
	switch t := p.staged.Columns[col+1].Type; t.Kind {
	case connectors.List:
		stead = "CAST([] AS " + t.String() + ")"
	case connectors.Map:
		stead = "CAST(MAP {} AS " + t.String() + ")"
	case connectors.Struct:
		stead = "CAST(row(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(t.Fields)), ", ") + ") AS " + t.String() + ")"
	}
	return fmt.Sprintf("CASE WHEN id IN (%s) THEN %s ELSE %s END AS %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]"), stead, name, name)
}

// column stages all values of a column that must arrive.
func (p *pair) column(col int) error {
	cols := []connectors.Column{p.result(0), p.result(col + 1)}
	sql := "SELECT id, " + p.expr(col, p.probes[col]) + " FROM " + p.staged.Table() + " ORDER BY id"
	return p.staged.Land(p.to, connectors.Relation{Schema: p.to.Schema, Name: "alone"}, cols, sql, connectors.TargetOptions{}, false)
}

// alone stages one value and nothing else.
func (p *pair) alone(col, id int) error {
	cols := []connectors.Column{p.result(0), p.result(col + 1)}
	return p.staged.Land(p.to, connectors.Relation{Schema: p.to.Schema, Name: "alone"}, cols, p.staged.Select([]int{0, col + 1}, []int{id}), connectors.TargetOptions{}, false)
}

// probe wants the error that a rule documents.
func (p *pair) probe(col, id int) {
	b := p.Site.bench
	b.Helper()
	r, v := p.rule(col, id), show(p.values[id][col])
	p.cells[col].note(r)
	err := p.alone(col, id)
	if err == nil {
		b.Errorf("%s: %s was taken; an error was due: %s", p.name(col), v, r.Note)
	} else if why := faultOf(err, p.Columns[col].Name, r.Fails, !p.to.fills(), slices.Contains(timeKinds, p.staged.Columns[col+1].Type.Kind)); why != "" {
		b.Errorf("%s: %s: %v: %s", p.name(col), v, err, why)
	}
}

// compare asks the target itself what it holds.
func (p *pair) compare(rel connectors.Relation) {
	b := p.Site.bench
	b.Helper()
	made := p.to.Native(rel)
	var texts []TextOf
	for _, col := range p.cols {
		p.cells[col].Native = p.to.plainName(made[p.Columns[col].Name].Native)
		texts = append(texts, TextOf{p.Columns[col].Name, p.cells[col].Native, p.staged.Columns[col+1].Type})
	}
	got := p.to.Texts(rel, texts)
	if len(got) != len(p.values) {
		b.Errorf("%s → %s: %d rows arrived, %d were sent", p.Site.Engine, p.to.Engine, len(got), len(p.values))
	}
	for id, want := range p.values {
		row := got[id]
		if row == nil {
			b.Errorf("%s → %s: row %d is missing", p.Site.Engine, p.to.Engine, id)
			continue
		}
		for i, col := range p.cols {
			if !slices.Contains(p.probes[col], id) {
				p.compareValue(col, id, want[col], row[i])
			}
		}
	}
}

func (p *pair) compareValue(col, id int, want, got *string) {
	b := p.Site.bench
	b.Helper()
	cell := p.cells[col]
	var rule *Rule
	typ := p.staged.Columns[col+1].Type
	if want != nil {
		rule = p.rule(col, id)
	}
	if want == nil || got == nil {
		if want != nil || got != nil {
			b.Errorf("%s (%s) row %d: %s, want %s", p.name(col), cell.Native, id, show(got), show(want))
		}
		return
	}
	expect := *want
	if rule != nil {
		if rule.As != connectors.Invalid {
			typ = connectors.T(rule.As)
		}
		if rule.Becomes != nil {
			expect = rule.Becomes(expect)
		}
	}
	text, err := Canon(typ, *got)
	if err != nil {
		b.Errorf("%s (%s): %v, want %s", p.name(col), cell.Native, err, connectors.Shorten(expect))
		return
	}
	if text != expect && (rule == nil || rule.Or == "" || text != rule.Or) {
		at := 0
		for at < len(text) && at < len(expect) && text[at] == expect[at] {
			at++
		}
		b.Errorf("%s (%s): %q, want %q (from byte %d)", p.name(col), cell.Native, connectors.Shorten(text[max(0, at-10):]), connectors.Shorten(expect[max(0, at-10):]), at)
		return
	}
	if rule != nil {
		cell.note(rule)
	} else {
		cell.Exact++
	}
}

// plainName is a type's name without the schema of this run.
func (s *Site) plainName(native string) string {
	return strings.NewReplacer(`"`+s.Schema+`".`, "", s.Schema+".", "", "{schema}.", "").Replace(native)
}

// fills says that DuckDB itself writes to the target. Its errors do not tell the row.
func (s *Site) fills() bool { return s.Engine == "duckdb" || s.inFiles() }

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return fmt.Sprintf("%q", connectors.Shorten(*s))
}
