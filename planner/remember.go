package planner

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// Memory keeps what DuckDB's analysis gave, by the hash of all that it depends on besides
// the program itself: a Memory must not give one program what another kept. Get returns
// nil for what is not there; what it returns is checked by the Memory to be what was put.
type Memory interface {
	Get(key [sha256.Size]byte) []byte
	Put(key [sha256.Size]byte, value []byte)
}

// maxKept bounds one entry. Expressions that share their parts are written as often as
// they are shared.
const maxKept = 1 << 20

// Remember makes p ask m before DuckDB. It is called before anything is planned.
func (p *Planner) Remember(m Memory) { p.memory = m }

// parse is shadow.parse without the tree of the query, which is not always needed.
func (p *Planner) parse(ctx context.Context, sql string) (*query, error) {
	if q := p.known.get(sql); q != nil {
		return q, nil
	}
	var key [sha256.Size]byte
	if p.memory != nil {
		key = parseKey(sql)
		q := &query{}
		if p.recall(key, nil, func(c *codec) { c.parsedQuery(q) }) {
			return q, nil
		}
	}
	var q *query
	err := p.with(ctx, func(s *shadow) (err error) {
		q, err = s.parse(ctx, sql)
		return err
	})
	if err == nil && p.memory != nil {
		p.keep(key, nil, func(c *codec) { c.parsedQuery(q) })
	}
	return q, err
}

// analyze is shadow.analyze, and describes the columns of the result as DuckDB binds them.
func (p *Planner) analyze(ctx context.Context, q *query, used []*Relation, in Input, rules ruleSet) (a *analysis, cols []connectors.Column, err error) {
	remembered := p.memory != nil && q.steady()
	var key [sha256.Size]byte
	if remembered {
		key = analysisKey(q, used, rules)
		a = &analysis{}
		if p.recall(key, used, func(c *codec) { c.analysis(a, &cols) }) {
			return a, cols, nil
		}
		cols = nil
	}
	err = p.with(ctx, func(s *shadow) (err error) {
		a, cols, err = s.analyzeShown(ctx, q, used, in.Now, rules)
		return err
	})
	if err == nil && remembered {
		p.keep(key, used, func(c *codec) { c.analysis(a, &cols) })
	}
	return a, cols, err
}

func (p *Planner) recall(key [sha256.Size]byte, rels []*Relation, do func(*codec)) bool {
	value := p.memory.Get(key)
	if value == nil {
		return false
	}
	c := &codec{in: string(value), rels: rels}
	do(c)
	return !c.bad && c.in == ""
}

func (p *Planner) keep(key [sha256.Size]byte, rels []*Relation, do func(*codec)) {
	c := &codec{writing: true, rels: rels}
	if do(c); !c.bad && len(c.out) <= maxKept {
		p.memory.Put(key, c.out)
	}
}

// steady reports whether the analysis of q is the same at any time.
func (q *query) steady() bool { return q.unstable == "" && q.volatile == "" && q.clock == "" }

func parseKey(sql string) [sha256.Size]byte {
	return keyOf("parse", func(c *codec) { c.string(&sql) })
}

// analysisKey covers the SQL, each relation as it is shown to DuckDB and all that the
// walker could see of it, and the rules. The clock is no part: only steady queries have a
// key. Settings are the program's own.
func analysisKey(q *query, used []*Relation, rules ruleSet) [sha256.Size]byte {
	return keyOf("analysis", func(c *codec) {
		c.string(&q.sql)
		off := slices.Sorted(maps.Keys(rules.off))
		off = slices.DeleteFunc(off, func(rule string) bool { return !rules.off[rule] })
		each(c, &off, c.string)
		without := string(rules.without)
		c.string(&without)
		each(c, &used, func(r **Relation) {
			c.string(&(*r).Catalog)
			c.string(&(*r).Schema)
			c.string(&(*r).Name)
			pointer(c, &(*r).Table, func(t *connectors.Table) { each(c, &t.Columns, c.tableColumn) })
		})
	})
}

func keyOf(what string, do func(*codec)) [sha256.Size]byte {
	c := &codec{writing: true}
	engine := bindings.LibraryVersion()
	c.string(&what)
	c.string(&engine)
	do(c)
	return sha256.Sum256(c.out)
}
