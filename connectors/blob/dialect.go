package blob

import (
	"strings"
	"sync"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// This file holds the SQL text of the package.

var quote, literal = ducksql.Quote, ducksql.Literal

const spillSQL = "SELECT current_setting('temp_directory')"

// lookAttr is the attribute of a described column that names the look it comes from.
const lookAttr = "look"

// dialect is DuckDB's. The extract's SQL names the objects for people only: what is run
// is rendered anew for the files that were brought here, so the dialect remembers what
// each text stands for. OrderKey and Extremes are not there, for a read is made of
// several queries, one after another.
type dialect struct {
	c    *conn
	duck ducksql.Dialect

	mu     sync.Mutex
	leaves map[string]leaf     // by relation and text
	plans  map[string]*extract // by SQL
}

// leaf is a predicate that was rendered, and its columns by name.
type leaf struct {
	pred  *connectors.Pred
	names []string
}

// extract is what a text of Select stands for.
type extract struct {
	connectors.Extract
	pred *connectors.Pred // nil: not known, then nothing is skipped
}

func newDialect(c *conn) *dialect {
	d := &dialect{c: c, leaves: map[string]leaf{}, plans: map[string]*extract{}}
	d.duck.From = func(t *connectors.Table) string { return d.Relation(t.Relation) }
	return d
}

// Quote quotes one identifier.
func (d *dialect) Quote(ident string) string { return quote(ident) }

// Relation is the address of a relation's objects.
func (d *dialect) Relation(rel connectors.Relation) string {
	folder, name, err := d.c.place(rel)
	if err != nil {
		folder, name = "", rel.String()
	}
	return literal(d.c.url(folder + name))
}

// TargetType is what the file connection writes.
func (d *dialect) TargetType(col connectors.Column) (string, error) {
	return d.c.local.Dialect().TargetType(col)
}

// OrderKey: each query of a read would give the first rows of its own.
func (d *dialect) OrderKey(*connectors.Table, connectors.OrderKey) (string, bool) { return "", false }

// Leaf answers as DuckDB, and remembers the predicate by its text.
func (d *dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	a := d.duck.Leaf(p, t)
	if a.SQL != "" {
		l := leaf{pred: p, names: []string{t.Columns[p.Col].Name}}
		if p.Kind == connectors.PColCmp {
			l.names = append(l.names, t.Columns[p.Col2].Name)
		}
		d.mu.Lock()
		d.leaves[leafKey(t, a.SQL)] = l
		d.mu.Unlock()
	}
	return a
}

func leafKey(t *connectors.Table, text string) string {
	return t.Schema + "\x00" + t.Name + "\x00" + text
}

// Select remembers what the text stands for.
func (d *dialect) Select(e connectors.Extract) string {
	sql := d.duck.Select(e)
	x := &extract{Extract: e}
	x.pred = d.parse(e.Where, e.Table)
	d.mu.Lock()
	d.plans[sql] = x
	d.mu.Unlock()
	return sql
}

func (d *dialect) extractOf(sql string) *extract {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plans[sql]
}

// render is the extract's SQL over a text after FROM.
func render(x *extract, from string, limit int64) string {
	e := x.Extract
	e.Limit = limit
	return ducksql.Dialect{From: func(*connectors.Table) string { return from }}.Select(e)
}

// withParts adds the columns that folders give.
func withParts(from string, cols []connectors.Column, parts []part) string {
	if len(cols) == 0 {
		return from
	}
	exprs := []string{"*"}
	for i, c := range cols {
		value := literal(parts[i].value)
		if parts[i].null {
			value = "NULL"
		}
		exprs = append(exprs, "CAST("+value+" AS "+c.Type.String()+") AS "+quote(c.Name))
	}
	return "(SELECT " + strings.Join(exprs, ", ") + " FROM " + from + ")"
}
