package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var (
	_ connectors.Merger       = (*Conn)(nil)
	_ connectors.DeltaChecker = (*Conn)(nil)
)

// CheckDelta implements connectors.DeltaChecker.
func (c *Conn) CheckDelta(_ context.Context, t *connectors.Table, _ connectors.Delta) error {
	for _, col := range t.Columns {
		if storage := col.Attrs[attrStorage]; storage != "" {
			return fmt.Errorf("%s takes no delta: %s", t.Relation, notTransactional(storage))
		}
	}
	return nil
}

// Apply brings the staged rows into the target in one transaction, which holds no DDL:
// that would commit it. A change of columns goes through a copy of the table (copy.go).
func (c *Conn) Apply(ctx context.Context, staged connectors.Staging, d connectors.Delta) (connectors.Applied, error) {
	st, ok := staged.(*staging)
	switch {
	case !ok || st.c != c:
		return connectors.Applied{}, errors.New("applying: the staging is of another connection")
	case !st.sealed || st.done || st.swapped:
		return connectors.Applied{}, errors.New("applying: the staging is not sealed")
	}
	out, err := st.apply(ctx, d)
	if err != nil {
		return connectors.Applied{}, fmt.Errorf("applying to %s: %w", st.target, err)
	}
	return out, nil
}

// merge is one delta on its way into its target.
type merge struct {
	matching
	st    *staging
	d     connectors.Delta
	s     *session // has the transaction; ends with the delta
	table *connectors.Table
	info  *details

	columns []string // that are written
	update  []string // in rows that exist
}

func (st *staging) apply(ctx context.Context, d connectors.Delta) (out connectors.Applied, err error) {
	m := &merge{st: st, d: d}
	if m.s, err = st.c.open(ctx, st.target.Schema, false); err != nil {
		return out, err
	}
	defer func() { m.s.close() }()
	if _, err := m.s.exec(ctx, dialect{st.c}.mergeSetupSQL()); err != nil {
		return out, err
	}
	m.target, m.source = st.target, st.rel
	if m.table, m.info, err = m.s.describe(ctx, st.target); err != nil {
		return out, err
	}
	if err := m.takes(ctx); err != nil {
		return out, err
	}
	if len(d.Alter) > 0 {
		return m.applyToCopy(ctx)
	}
	if d.State != nil {
		if err := m.s.ensureState(ctx, d.State.Schema); err != nil {
			return out, err
		}
	}
	if err := m.ready(ctx); err != nil {
		return out, err
	}
	return m.run(ctx)
}

// takes refuses targets that cannot take a delta as a whole or not at all.
func (m *merge) takes(ctx context.Context) error {
	if m.info.kind != "BASE TABLE" && m.info.kind != "SYSTEM VERSIONED" {
		return fmt.Errorf("the target is a %s, which takes no delta", strings.ToLower(m.info.kind))
	}
	if why := notTransactional(m.info.engine); why != "" {
		return errors.New(why)
	}
	if m.d.Strategy != connectors.StrategyDeleteInsert {
		return nil
	}
	refs, err := m.s.references(ctx, m.st.target)
	if err != nil || len(refs) == 0 {
		return err
	}
	rows, err := m.s.rows(ctx, dialect{m.st.c}.cascadesSQL(m.st.target))
	if err != nil || len(rows) == 0 {
		return err
	}
	return fmt.Errorf("delete+insert would change table %s, whose foreign key %s has ON DELETE %s: use the merge strategy, which deletes no row", rows[0][1].s, rows[0][0].s, rows[0][2].s)
}

// notTransactional says why a table of that storage engine takes no delta.
func notTransactional(engine string) string {
	switch strings.ToLower(engine) {
	case "innodb", "rocksdb", "ndbcluster", "tokudb":
		return ""
	}
	return "its storage engine " + engine + " has no transactions, so that a failure would leave part of a delta: convert it with ALTER TABLE … ENGINE=InnoDB"
}

// ready decides on columns and the order of the join, and proves that no value changes
// on its way. All that needs DDL is done here, on staging alone.
func (m *merge) ready(ctx context.Context) error {
	if err := m.chooseColumns(); err != nil {
		return err
	}
	for _, name := range m.columns {
		if err := m.provenColumn(ctx, name); err != nil {
			return err
		}
	}
	if m.d.Strategy == connectors.StrategyAppend && !m.d.SkipExisting {
		return nil
	}
	if len(m.d.Key) == 0 {
		return fmt.Errorf("strategy %s needs a key", m.d.Strategy)
	}
	if err := m.chooseIndex(ctx); err != nil {
		return err
	}
	if m.index == "" {
		return m.readWhole(ctx)
	}
	m.on, _ = m.conditions("t", m.table)
	return nil
}

// chooseIndex skips indexes that the server may not use: those set to be ignored.
func (m *merge) chooseIndex(ctx context.Context) error {
	all, err := m.s.indexes(ctx, m.target)
	if err != nil {
		return err
	}
	key := m.seekable()
	for {
		if m.index = keyIndex(all, key); m.index == "" {
			return nil
		}
		_, err := m.s.rows(ctx, usesIndexSQL(m.target, m.index))
		if !isCode(err, errNoSuchIndex) {
			return err
		}
		all = slices.DeleteFunc(all, func(ix index) bool { return ix.name == m.index })
	}
}

// chooseColumns leaves out what the target computes itself.
func (m *merge) chooseColumns() error {
	for _, name := range m.d.Columns {
		i := m.table.Index(name)
		if i < 0 || m.st.column(name) == nil {
			return fmt.Errorf("column %q is not in both the table and the delta", name)
		}
		if isGenerated(m.info.columns[i].attribute) {
			m.st.c.log.Warn("column "+name+" of "+m.st.target.String()+" is generated: the model's values are not written", "column", name)
			continue
		}
		m.columns = append(m.columns, name)
	}
	set := m.d.Update
	if set == nil {
		set = m.columns
	}
	for _, name := range set {
		switch {
		case slices.Contains(m.d.Key, name): // equal already
		case slices.Contains(m.columns, name):
			m.update = append(m.update, name)
		case !slices.Contains(m.d.Columns, name):
			return fmt.Errorf("column %q is updated but not staged", name)
		}
	}
	for _, name := range m.d.Key {
		if m.table.Index(name) < 0 || m.st.column(name) == nil {
			return fmt.Errorf("key column %q is not in both the table and the delta", name)
		}
	}
	if len(m.columns) == 0 {
		return errors.New("there is no column to write")
	}
	return nil
}

// column is a staged column.
func (st *staging) column(name string) *target {
	for _, t := range st.cols {
		if strings.EqualFold(t.col.Name, name) {
			return t
		}
	}
	return nil
}

// provenColumn refuses a value that the column would change without a word. What the
// server does tell, an error or a warning, fails the statement later.
func (m *merge) provenColumn(ctx context.Context, name string) error {
	i := m.table.Index(name)
	col, staged := m.table.Columns[i], m.st.column(name)
	to := parseNative(col.Native)
	named := m.d.Naming(m.st.spec.Options)
	if sql := losesSQL(m.source, name, to, staged.nat, named); sql != "" {
		rows, err := m.s.rows(ctx, sql)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return &connectors.ValueError{Column: name, Value: connectors.Shorten(rows[0][0].s), Row: rowName(named, rows[0][1:]), Reason: "the table's " + col.Native + " does not hold it exactly"}
		}
	}
	if col.Nullable || to.base != "timestamp" && !strings.Contains(m.info.columns[i].attribute, "auto_increment") {
		return nil
	}
	rows, err := m.s.rows(ctx, nullSQL(m.source, name, named))
	if err == nil && len(rows) > 0 {
		err = &connectors.ValueError{Column: name, Value: "NULL", Row: rowName(named, rows[0][1:]), Reason: "the table would put a value of its own in its place"}
	}
	return err
}

// seekable are the key's columns that an index of the target can find.
func (m *merge) seekable() map[string]bool {
	out := map[string]bool{}
	for _, k := range m.d.Key {
		_, seek := sameKey(k, "t", &m.table.Columns[m.table.Index(k)])
		out[strings.ToLower(k)] = seek
	}
	return out
}

// keyIndex finds the index that leads from a key to few rows: one over all of the key's
// columns, or a unique one over some. An index over part of a key may hold most of the
// table under one value.
func keyIndex(all []index, key map[string]bool) string {
	best, rank := "", 0
	for _, ix := range all {
		if ix.kind != "BTREE" {
			continue
		}
		n := 0
		for n < len(ix.columns) && key[strings.ToLower(ix.columns[n].name)] {
			n++
		}
		r := 0
		switch {
		case ix.unique && n == len(ix.columns):
			r = 2
		case n == len(key):
			r = 1
		}
		if r > rank {
			best, rank = ix.name, r
		}
	}
	return best
}

// conditions compare the keys of both sides; of is the side that an index searches.
func (m *merge) conditions(of string, table *connectors.Table) (on string, seek []string) {
	var parts []string
	for _, k := range m.d.Key {
		sql, ok := sameKey(k, of, &table.Columns[table.Index(k)])
		if ok {
			seek = append(seek, k)
		}
		parts = append(parts, sql)
	}
	return strings.Join(parts, " AND "), seek
}

// readWhole readies a delta for a target without an index on the key: it is read once,
// and staging gets the index.
func (m *merge) readWhole(ctx context.Context) error {
	m.st.c.log.Warn(m.st.target.String()+" has no index on the unique_key: the whole table is read for each delta", "key", strings.Join(m.d.Key, ", "))
	staged, _, err := m.s.describe(ctx, m.source)
	if err != nil {
		return err
	}
	key := make([]*target, 0, len(m.d.Key))
	on, seek := m.conditions("s", staged)
	for _, k := range seek {
		key = append(key, m.st.column(k))
	}
	m.on, m.seek = on, len(key) > 0
	_, err = m.s.exec(ctx, hitPart(m.source, key))
	return err
}

// rowName is a row's name made of columns and their values.
func rowName(columns []string, values []cell) string {
	texts := make([]*string, len(values))
	for i := range values {
		if !values[i].null {
			texts[i] = &values[i].s
		}
	}
	return connectors.NamedRow(columns, texts)
}
