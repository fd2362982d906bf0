package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var (
	_ connectors.Merger       = (*conn)(nil)
	_ connectors.DeltaChecker = (*conn)(nil)
)

// joinBytes is about how much of a delta one join holds in the server's memory.
const joinBytes int64 = 256 << 20

// endTimeout bounds the statement that brings a delta in, whatever becomes of ctx.
const endTimeout = 10 * time.Minute

// CheckDelta implements connectors.DeltaChecker.
func (c *conn) CheckDelta(ctx context.Context, t *connectors.Table, d connectors.Delta) error {
	f, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	eng, err := c.engineOf(ctx, f, c.inDatabase(t.Relation))
	if err != nil {
		return err
	}
	return c.takes(f, eng.name)
}

// takes refuses what cannot take a delta as a whole.
func (c *conn) takes(f *facts, engine string) error {
	if c.cfg.mutate && !f.atLeast(20, 8) {
		return fmt.Errorf("%w: clickhouse_merge: mutate needs ClickHouse 20.8, this is %s: leave that setting out", connectors.ErrTooOld, f.info.version())
	}
	switch family := engineFamily(engine); {
	case strings.HasSuffix(family, "MergeTree"), family == "Log", family == "StripeLog", family == "TinyLog", family == "Memory":
		return nil
	default:
		return fmt.Errorf("the target's engine is %s, which takes no delta: a new table of the same engine could not take its place", family)
	}
}

// Apply brings the staged rows into the target. Appended rows that lie in one partition
// are attached to it in one act: an INSERT shows each of its blocks by itself. All else
// makes a new table, of the rows that stay and those of the delta, which takes the
// target's place as in Replace; what others write meanwhile is lost. Materialized views
// on the target do not see the rows of a delta.
//
// A state record is not part of it: there are no transactions.
func (c *conn) Apply(ctx context.Context, s connectors.Staging, d connectors.Delta) (connectors.Applied, error) {
	st, ok := s.(*staging)
	if !ok || st.c != c || st.done || st.session != nil || st.rows > 0 {
		return connectors.Applied{}, errors.New("applying: the staging is not one of this connection, or not sealed")
	}
	out, err := st.apply(ctx, d)
	if err != nil {
		return connectors.Applied{}, fmt.Errorf("applying to %s: %w", st.target, err)
	}
	return out, nil
}

// merge is one delta on its way.
type merge struct {
	fill
	c      *conn
	st     *staging
	d      connectors.Delta
	table  *staging // fresh, as swap takes it
	engine string
	staged int64
}

func (st *staging) apply(ctx context.Context, d connectors.Delta) (out connectors.Applied, err error) {
	m := &merge{c: st.c, st: st, d: d}
	eng, err := st.c.engineOf(ctx, st.facts, st.target)
	if err != nil {
		return out, err
	}
	m.engine = eng.name
	if err := st.c.takes(st.facts, m.engine); err != nil {
		return out, err
	}
	m.table = &staging{c: st.c, facts: st.facts, target: st.target, table: beside(st.target, newPrefix, st.run), run: st.run, engine: m.engine}
	m.target, m.source, m.fresh = relation(st.target, ""), st.sqlName(), m.table.sqlName()
	if _, ok := st.facts.settings["max_partitions_per_insert_block"]; ok {
		m.tail = " SETTINGS max_partitions_per_insert_block = 0"
	}
	if m.staged, err = m.count(ctx, countSQL(m.source)); err != nil || m.staged == 0 && len(d.Alter) == 0 {
		return out, err
	}
	defer func() {
		if derr := m.table.Discard(ctx); derr != nil {
			st.c.log.Warn("could not drop a table; the next run does it", "table", m.table.table.String(), "error", derr)
		}
	}()
	if err := m.create(ctx); err != nil {
		return out, err
	}
	if err := m.prove(ctx); err != nil {
		return out, err
	}
	switch {
	case d.Strategy == connectors.StrategyAppend, d.Strategy == connectors.StrategyMerge && !m.updates():
		return m.append(ctx, d.Strategy == connectors.StrategyMerge || d.SkipExisting)
	case st.c.cfg.mutate && len(d.Alter) == 0:
		return m.mutate(ctx)
	}
	return m.rebuild(ctx)
}

// create makes the new table with the target's definition and the delta's alterations.
func (m *merge) create(ctx context.Context) error {
	stmts := []string{dropSQL(m.fresh), createAsSQL(m.fresh, m.target)}
	had := map[string][]string{}
	rows, err := m.c.text(ctx, defaultsSQL(m.st.target))
	if err != nil {
		return err
	}
	for _, r := range rows {
		had[r[0]] = r
	}
	for _, a := range m.d.Alter {
		sql, err := m.alterSQL(a, had[a.Column.Name])
		if err != nil {
			return err
		}
		stmts = append(stmts, sql)
	}
	if merges(m.engine) { // rows are counted; those of one key may be joined later
		stmts = append(stmts, stopMergesSQL(m.fresh))
	}
	for _, sql := range stmts {
		if err := m.c.run(ctx, false, sql, nil); err != nil {
			return err
		}
	}
	return m.columns(ctx, had)
}

// alterSQL changes a column of the new table, which has no rows yet. old is the column's
// row of defaultsSQL.
func (m *merge) alterSQL(a connectors.Alteration, old []string) (string, error) {
	name := a.Column.Name
	if a.Kind == connectors.DropColumn {
		return dropColumnSQL(m.fresh, name), nil
	}
	t := m.stagedType(name)
	if t == nil {
		return "", fmt.Errorf("column %q is to be changed but not staged", name)
	}
	if a.Kind == connectors.AddColumn {
		return addColumnSQL(m.fresh, name, t.withNull()), nil
	}
	if old == nil {
		return "", fmt.Errorf("column %q is to be widened but the table lacks it", name)
	}
	was, err := parseType(old[1])
	if err != nil {
		return "", err
	}
	text := t.withNull()
	if !was.nullable() {
		text = t.withoutNull()
	}
	return modifyColumnSQL(m.fresh, name, text, old[2], old[3]), nil
}

func (m *merge) stagedType(name string) *chType {
	for _, d := range m.st.defs {
		if d.name == name {
			return d.t
		}
	}
	return nil
}

// columns decides where each column of the new table comes from. What the table computes
// from other columns (MATERIALIZED) is copied for the rows that stay: the expression may
// give another value now.
func (m *merge) columns(ctx context.Context, had map[string][]string) error {
	rows, err := m.c.text(ctx, defaultsSQL(m.table.table))
	if err != nil {
		return err
	}
	if err := m.updatable(); err != nil {
		return err
	}
	have := map[string]*chType{}
	for _, r := range rows {
		t, err := parseType(r[1])
		if err != nil {
			return &connectors.TypeError{Column: r[0], Native: r[1], Reason: err.Error()}
		}
		have[r[0]] = t
		wanted := slices.Contains(m.d.Columns, r[0])
		if r[2] == "ALIAS" || r[2] == "EPHEMERAL" || wanted && r[2] == "MATERIALIZED" {
			if wanted {
				m.c.log.Warn("column "+r[0]+" of "+m.st.target.String()+" is computed by the table: the model's values are not written", "column", r[0])
			}
			if r[2] != "MATERIALIZED" {
				continue
			}
			wanted = false
		}
		col := storedColumn{name: r[0], t: t, kind: r[2], expr: r[3]}
		if old := had[r[0]]; old != nil {
			col.from = quote(r[0])
			if old[1] != r[1] {
				col.from = "CAST(" + col.from + " AS " + t.text + ")"
			}
		}
		if wanted {
			if err := m.stageColumn(&col); err != nil {
				return err
			}
		} else if !t.nullable() && r[2] == "" {
			return fmt.Errorf("column %q must not be NULL and the delta does not give it", r[0])
		}
		m.cols = append(m.cols, col)
	}
	for _, name := range m.d.Columns {
		if have[name] == nil {
			return fmt.Errorf("column %q is not in both the table and the delta", name)
		}
	}
	return m.keyColumns(have, had)
}

// updatable: what is set in rows that exist is staged.
func (m *merge) updatable() error {
	for _, name := range m.d.Update {
		if !slices.Contains(m.d.Columns, name) {
			return fmt.Errorf("column %q is updated but not staged", name)
		}
	}
	return nil
}

func (m *merge) stageColumn(col *storedColumn) error {
	t := m.stagedType(col.name)
	if t == nil {
		return fmt.Errorf("column %q is not in both the table and the delta", col.name)
	}
	col.staged = quote(col.name)
	if t.text != col.t.text {
		// Said, not left to the server: newer ones store a default in place of a NULL.
		col.staged = "CAST(" + col.staged + " AS " + col.t.text + ")"
	}
	col.update = !slices.Contains(m.d.Key, col.name) && (m.d.Update == nil || slices.Contains(m.d.Update, col.name))
	return nil
}

// keyColumns: keys are compared in the target's types, those before an alteration, or in
// the wider ones after it.
func (m *merge) keyColumns(have map[string]*chType, had map[string][]string) error {
	if m.d.Strategy == connectors.StrategyAppend && !m.d.SkipExisting {
		return nil
	}
	if len(m.d.Key) == 0 {
		return fmt.Errorf("strategy %s needs a key", m.d.Strategy)
	}
	for _, name := range m.d.Key {
		if have[name] == nil || m.stagedType(name) == nil || had[name] == nil {
			return fmt.Errorf("key column %q is not in both the table and the delta", name)
		}
		if have[name].bare().compound() {
			return fmt.Errorf("key column %q is of type %s, which no key is made of", name, have[name].text)
		}
		m.key = append(m.key, keyColumn{name: name, t: have[name], widened: had[name][1] != have[name].text})
	}
	return nil
}

func (m *merge) updates() bool {
	return slices.ContainsFunc(m.cols, func(c storedColumn) bool { return c.update })
}

// prove shows that no staged value changes in the target's types, and that none is NULL
// where there is no NULL.
func (m *merge) prove(ctx context.Context) error {
	var names, conditions []string
	for _, c := range m.cols {
		if c.staged == "" {
			continue
		}
		if cond := changed(c.name, m.stagedType(c.name), c.t); cond != "" {
			names, conditions = append(names, c.name), append(conditions, cond)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := m.c.text(ctx, countIfSQL(m.source, conditions))
	if err != nil || len(rows) == 0 {
		return err
	}
	for i, n := range rows[0] {
		if n == "0" {
			continue
		}
		e := &connectors.ValueError{Column: names[i], Value: "?", Reason: "the table's " + m.column(names[i]).t.text + " does not hold it exactly"}
		named := m.d.Naming(connectors.TargetOptions{UniqueKey: m.st.key})
		if example, err := m.c.text(ctx, exampleSQL(m.source, append([]string{names[i]}, named...), conditions[i])); err == nil && len(example) > 0 {
			e.Value = connectors.Shorten(example[0][0])
			var values []*string
			for j := range named {
				values = append(values, &example[0][1+j])
			}
			e.Row = connectors.NamedRow(named, values)
		}
		return e
	}
	return nil
}

func (m *merge) column(name string) *storedColumn {
	for i := range m.cols {
		if m.cols[i].name == name {
			return &m.cols[i]
		}
	}
	return nil
}

func (m *merge) count(ctx context.Context, sql string) (int64, error) {
	rows, err := m.c.text(ctx, sql)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("counting rows: no answer")
	}
	return strconv.ParseInt(rows[0][0], 10, 64)
}

// arrived checks that the new table holds what was sent to it.
func (m *merge) arrived(ctx context.Context, want int64) error {
	if merges(m.engine) { // want was counted while the target's rows became fewer
		return nil
	}
	got, err := m.count(ctx, countSQL(m.fresh))
	if err == nil && got != want {
		err = fmt.Errorf("the new table holds %d rows, not %d: others may have written to the target meanwhile", got, want)
	}
	return err
}
