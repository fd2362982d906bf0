package conformance

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// moved is what a target holds after a move: its own types and texts by column.
type moved struct {
	t      testing.TB
	site   *Site
	native map[string]string
	texts  map[string][]*string // rows in the order of id
}

// attempt moves a table of one source to a target. The same columns are written and
// read once per bench.
func attempt(from, to *Site, o connectors.TargetOptions, cols ...*Column) (*moved, error) {
	b := from.bench
	b.Helper()
	key := from.Schema + from.path
	for _, c := range cols {
		key += fmt.Sprintf("\x00%s\x00%s\x00%s\x00%v", c.Name, c.Native, c.As, c.Full)
		for _, v := range c.Values {
			key += "\x00" + v
		}
	}
	st := b.read[key]
	if st == nil {
		var err error
		if st, err = extract(from, from.Create(cols...), cols); err != nil {
			return nil, err
		}
		b.read[key] = st
	}
	return st.to(to, to.Name(), o)
}

func attemptFrom(from *Site, rel connectors.Relation, to *Site, target connectors.Relation, o connectors.TargetOptions, cols ...*Column) (m *moved, err error) {
	from.bench.Helper()
	st, err := extract(from, rel, cols)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return st.to(to, target, o)
}

func extract(from *Site, rel connectors.Relation, cols []*Column) (*Staged, error) {
	declared := map[string]connectors.Type{}
	for _, c := range cols {
		if c.As != "" {
			declared[c.Name] = c.Type()
		}
	}
	return from.Extract(rel, declared)
}

func (st *Staged) to(to *Site, target connectors.Relation, o connectors.TargetOptions) (*moved, error) {
	b := st.bench
	b.Helper()
	if err := st.Land(to, target, st.Result(), "SELECT * FROM "+st.Table()+" ORDER BY id", o, true); err != nil {
		return nil, err
	}
	m := &moved{t: b, site: to, native: map[string]string{}, texts: map[string][]*string{}}
	made := to.Native(target)
	var texts []TextOf
	for _, c := range st.Columns[1:] {
		m.native[c.Name] = made[c.Name].Native
		texts = append(texts, TextOf{c.Name, made[c.Name].Native, c.Type})
	}
	rows := to.Texts(target, texts)
	for id := 1; id <= len(rows); id++ {
		for i, c := range texts {
			m.texts[c.Name] = append(m.texts[c.Name], rows[id][i])
		}
	}
	return m, nil
}

// move is an attempt that must succeed.
func move(from, to *Site, cols ...*Column) *moved {
	from.bench.Helper()
	m, err := attempt(from, to, connectors.TargetOptions{}, cols...)
	if err != nil {
		from.bench.Fatalf("%s → %s: %v", from.Engine, to.Engine, err)
	}
	return m
}

// want compares a column's texts, each in the canonical form of typ.
func (m *moved) want(column, typ string, want ...string) {
	m.t.Helper()
	t := (&Column{Want: typ}).Type()
	got := m.texts[column]
	if len(got) < len(want) {
		m.t.Fatalf("%s: %d rows, want %d", m.site.Engine, len(got), len(want))
	}
	for i, w := range want {
		text := "NULL"
		if got[i] != nil {
			var err error
			shown := *got[i]
			if m.site.Engine == "clickhouse" && t.Kind == connectors.Timestamp {
				shown = strings.TrimSuffix(shown, "+00") // a column in UTC shows a naive time's digits
			}
			if text, err = Canon(t, shown); err != nil {
				m.t.Errorf("%s %s row %d: %v", m.site.Engine, column, i+1, err)
				continue
			}
		}
		if text != w {
			m.t.Errorf("%s %s (%s) row %d: %q, want %q", m.site.Engine, column, m.native[column], i+1, connectors.Shorten(text), connectors.Shorten(w))
		}
	}
}

// refused wants a *ValueError or *TypeError about column with all parts in its text.
func refused(t testing.TB, err error, column string, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	if why := faultOf(err, column, "", false, false); why != "" {
		t.Errorf("%v: %s", err, why)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%v: %q is not in it", err, p)
		}
	}
}

// col is a column with values.
func col(name, native, want string, values ...string) *Column {
	return &Column{Name: name, Native: native, Want: want, Values: values}
}

// everywhere runs check on every engine as a target.
func everywhere(t *testing.T, b *Bench, check func(to *Site)) {
	t.Helper()
	for _, e := range Engines {
		check(b.Site(e))
	}
}

// countSince reads the rows of a relation whose instant is at or after micros, by the
// predicate that the engine itself applies.
func (s *Site) countSince(rel connectors.Relation, column string, micros int64) (n int) {
	b := s.bench
	b.Helper()
	table, err := s.Conn.Describe(b.ctx, rel)
	if err != nil {
		b.Fatal(err)
	}
	at := table.Index(column)
	pred := &connectors.Pred{Kind: connectors.PCmp, Col: at, Op: ">=", Vals: []connectors.Value{{Type: connectors.T(connectors.TimestampTZ), Int: big.NewInt(micros)}}}
	where := connectors.RenderPred(s.Conn.Dialect(), pred, table)
	if where.Verdict != connectors.Exact {
		return 1 // the compute engine applies it, again or alone
	}
	e := connectors.Extract{Table: table, Columns: []int{0}, Where: where.SQL, Limit: -1}
	q := connectors.Query{SQL: s.Conn.Dialect().Select(e), Columns: table.Columns[:1]}
	st := &Staged{From: s, Columns: q.Columns, bench: b, catalog: stagedCatalog, relation: table.Columns, extracted: e.Columns}
	b.models++
	if st.model, err = b.Compute.Model(fmt.Sprint("count", b.models)); err != nil {
		b.Fatal(err)
	}
	rows, err := st.fill(q)
	if err = errors.Join(err, st.Close()); err != nil {
		b.Fatal(err)
	}
	return int(rows)
}
