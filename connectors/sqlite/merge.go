package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Merger = (*conn)(nil)

// Apply brings the staged rows into the target in one transaction, in which the staging
// table is dropped too. The foreign keys that the file declares are enforced, when all is
// done: a row that is deleted and inserted again under its key harms no child.
func (c *conn) Apply(ctx context.Context, s connectors.Staging, d connectors.Delta) (connectors.Applied, error) {
	st, ok := s.(*staging)
	if !ok || st.c != c {
		return connectors.Applied{}, errors.New("applying a delta: the staging table is not of this connection")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.s == nil || st.swapped || st.unlock != nil || st.failed != nil {
		return connectors.Applied{}, errors.New("applying a delta: the staging table is not sealed, or was used already")
	}
	if st.insert != nil { // an open statement would hold up the drop
		st.insert.close()
		st.insert = nil
	}
	m := &merge{st: st, delta: d}
	out, err := m.run(ctx)
	if err != nil {
		st.rollback()
	}
	// Outside of a transaction only, and so not in run.
	if off := st.s.exec(context.WithoutCancel(ctx), ignoreKeys); off != nil && st.c.env.Log != nil {
		st.c.env.Log.Debug("the session keeps enforcing foreign keys", "error", off)
	}
	if err != nil {
		return connectors.Applied{}, fmt.Errorf("applying to %s: %w", st.spec.Target, err)
	}
	st.swapped = true
	return out, nil
}

// merge is one delta being applied.
type merge struct {
	st     *staging
	delta  connectors.Delta
	table  *connectors.Table
	texts  mergeTexts
	guards bool // triggers may keep rows out: counts are checked
}

func (m *merge) run(ctx context.Context) (out connectors.Applied, err error) {
	st := m.st
	widens := slices.ContainsFunc(m.delta.Alter, func(a connectors.Alteration) bool { return a.Kind == connectors.WidenColumn })
	keys := enforceKeys
	if widens {
		keys = ignoreKeys // the table is dropped and made again; its keys are checked after that
	}
	if err := st.s.exec(ctx, keys); err != nil {
		return out, err
	}
	if err := st.begin(ctx); err != nil {
		return out, err
	}
	if err := st.s.exec(ctx, deferKeys); err != nil {
		return out, err
	}
	broken := int64(0)
	if widens {
		if broken, err = st.s.number(ctx, st.c.d.broken(st.target.Schema)); err != nil {
			return out, err
		}
	}
	if out, err = m.apply(ctx); err != nil {
		return out, err
	}
	if widens {
		now, err := st.s.number(ctx, st.c.d.broken(st.target.Schema))
		if err != nil {
			return out, err
		}
		if now > broken {
			return out, fmt.Errorf("FOREIGN KEY constraint failed: %d rows", now-broken)
		}
	}
	return out, st.commit(ctx)
}

func (m *merge) apply(ctx context.Context) (out connectors.Applied, err error) {
	st, d := m.st, m.delta
	if m.matches() && len(d.Key) == 0 {
		return out, fmt.Errorf("strategy %s needs a key", d.Strategy)
	}
	if err := m.describe(ctx); err != nil {
		return out, err
	}
	if len(d.Alter) > 0 {
		if err := m.alter(ctx); err != nil {
			return out, err
		}
		if err := m.describe(ctx); err != nil {
			return out, err
		}
	}
	if err := m.prepare(ctx); err != nil {
		return out, err
	}
	switch d.Strategy {
	case connectors.StrategyAppend:
		if d.SkipExisting {
			out.Inserted, err = m.insertMissing(ctx)
			break
		}
		out.Inserted, err = m.insertAll(ctx)
	case connectors.StrategyMerge:
		if out.Updated, err = m.update(ctx); err == nil {
			out.Inserted, err = m.insertMissing(ctx)
		}
	case connectors.StrategyDeleteInsert:
		if out.Deleted, err = m.checked(ctx, m.texts.delete(), m.texts.matched(), "deleted"); err == nil {
			out.Inserted, err = m.insertAll(ctx)
		}
	default:
		err = fmt.Errorf("unknown strategy %d", d.Strategy)
	}
	if err != nil {
		return out, err
	}
	for _, rel := range []connectors.Relation{st.rel, landing} {
		if err := st.s.exec(ctx, st.c.d.drop("TABLE", rel)); err != nil {
			return out, err
		}
	}
	return out, m.state(ctx, &out)
}

// matches says that the strategy looks for rows by their key.
func (m *merge) matches() bool {
	return m.delta.Strategy != connectors.StrategyAppend || m.delta.SkipExisting
}

func (m *merge) describe(ctx context.Context) (err error) {
	st := m.st
	if m.table, err = st.c.describe(ctx, st.s, st.target); err != nil {
		return err
	}
	if m.table.View {
		return errors.New("it is a view or a virtual table, not a table")
	}
	deps, err := st.dependents(ctx)
	m.guards = slices.ContainsFunc(deps, func(d dependent) bool { return d.kind == "TRIGGER" })
	return err
}

// column is the target's column of that name, nil without one.
func (m *merge) column(name string) *connectors.Column {
	for i := range m.table.Columns {
		if strings.EqualFold(m.table.Columns[i].Name, name) {
			return &m.table.Columns[i]
		}
	}
	return nil
}

// stagedType is the declared type of a staged column, false without one.
func (m *merge) stagedType(name string) (string, bool) {
	i := slices.IndexFunc(m.st.spec.Columns, func(c connectors.Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return "", false
	}
	return m.st.types[i], true
}

// prepare builds the texts. Where a staged column has another affinity than the target's,
// all rows pass through a table that has the target's types, and what that changed is
// looked at.
func (m *merge) prepare(ctx context.Context) error {
	st, d := m.st, m.st.c.d
	m.texts = mergeTexts{dialect: d, target: st.target, source: d.Relation(st.rel)}
	generated := map[string]bool{}
	err := st.s.rows(ctx, d.tableInfo(m.table.Relation), func(r *stmt) error {
		generated[r.text(0)] = r.integer(4) != 0
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range m.delta.Key {
		c := m.column(k)
		if _, ok := m.stagedType(k); c == nil || !ok {
			return fmt.Errorf("key column %q is not in both the table and the delta", k)
		}
		m.texts.keys = append(m.texts.keys, mergeKey{c.Name, c.Collation})
	}
	var cross []string // columns of another affinity
	used := slices.Clone(m.delta.Columns)
	for _, k := range m.delta.Key {
		if !slices.Contains(used, k) {
			used = append(used, k)
		}
	}
	for _, name := range used {
		c := m.column(name)
		staged, ok := m.stagedType(name)
		if c == nil || !ok {
			return fmt.Errorf("column %q is not in both the table and the delta", name)
		}
		if affinityOf(staged) != affinityOf(c.Native) {
			cross = append(cross, name)
		}
		if slices.Contains(m.delta.Columns, name) && !generated[c.Name] {
			m.texts.columns = append(m.texts.columns, c.Name)
		}
	}
	if len(m.texts.columns) == 0 {
		return errors.New("the delta has no column to write")
	}
	m.rowID()
	if len(cross) > 0 {
		if err := m.land(ctx, used, cross); err != nil {
			return err
		}
	}
	return m.unique(ctx)
}

// rowID finds what names a row: its rowid, or the primary key of a table without one.
// Elsewhere the key of a primary key may be NULL, an old mistake that SQLite keeps.
func (m *merge) rowID() {
	if key := m.table.Columns[0].Attrs[attrRowKey]; key != "" {
		m.texts.rowID = []string{key}
		return
	}
	for _, name := range m.table.PrimaryKey {
		if c := m.column(name); c == nil || c.Nullable {
			return
		}
	}
	m.texts.rowID = m.table.PrimaryKey
}

// unique refuses a delta in which a key repeats, where rows are matched one to one.
func (m *merge) unique(ctx context.Context) error {
	if !m.matches() || m.delta.Strategy == connectors.StrategyDeleteInsert {
		return nil
	}
	return m.st.s.rows(ctx, m.texts.repeated(), func(r *stmt) error {
		return fmt.Errorf("the same key stands in several rows of the delta: %s", connectors.Shorten(r.text(0)))
	})
}

// land copies the staged rows into a table with the target's declared types. Affinity
// makes 5 of the text '5', which reads as before, and 5 of '05', which does not.
func (m *merge) land(ctx context.Context, used, cross []string) error {
	st, d := m.st, m.st.c.d
	cols, types := make([]connectors.Column, len(used)), make([]string, len(used))
	for i, name := range used {
		cols[i], types[i] = connectors.Column{Name: name}, m.column(name).Native
	}
	for _, sql := range []string{d.drop("TABLE", landing), d.createTable(landing, cols, types), d.land(st.rel, used)} {
		if err := st.s.exec(ctx, sql); err != nil {
			return err
		}
	}
	named := m.delta.Naming(st.spec.Options)
	for _, name := range cross {
		c := m.column(name)
		err := st.s.rows(ctx, d.moved(st.rel, name, named), func(r *stmt) error {
			before, after := r.text(0), r.text(1)
			if r.class(0) != r.class(1) || before != after {
				if sameValue(c, r, before, after) {
					return nil
				}
				values := make([]*string, len(named))
				for i := range named {
					if v := r.text(2 + i); !r.null(2 + i) {
						values[i] = &v
					}
				}
				return &connectors.ValueError{Column: c.Name, Value: connectors.Shorten(before), Row: connectors.NamedRow(named, values),
					Reason: fmt.Sprintf("the column declares %s, which would make it %s; run with --full-refresh to rebuild the table", c.Native, after)}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	m.texts.source = d.Relation(landing)
	return nil
}

// sameValue says that what affinity made of a value reads as that value: 1.5 as 1.50
// where the column holds decimals.
func sameValue(c *connectors.Column, r *stmt, before, after string) bool {
	if r.null(0) != r.null(1) {
		return false
	}
	if before == after {
		return true
	}
	switch c.Type.Kind {
	case connectors.Decimal, connectors.HugeInt, connectors.BigInt, connectors.Double:
	default:
		return false
	}
	if r.isReal(1) {
		after = realText(r.double(1))
	}
	if r.isReal(0) {
		before = realText(r.double(0))
	}
	a, ea, why := decimalParts(before)
	b, eb, whyNot := decimalParts(after)
	if why != "" || whyNot != "" {
		return false
	}
	low := min(ea, eb)
	return a.Mul(a, tenTo(ea-low)).Cmp(b.Mul(b, tenTo(eb-low))) == 0
}

// checked changes rows; from gives them, for a count beforehand where a trigger could
// keep rows as they are: RAISE(IGNORE) is no error.
func (m *merge) checked(ctx context.Context, sql, from, what string) (int64, error) {
	want := int64(-1)
	if m.guards {
		var err error
		if want, err = m.st.s.number(ctx, countOf(from)); err != nil {
			return 0, err
		}
	}
	n, err := m.st.s.change(ctx, sql)
	if err == nil && want >= 0 && n != want {
		err = fmt.Errorf("%d of %d rows were %s: has the table a trigger that keeps rows out?", n, want, what)
	}
	return n, err
}

func (m *merge) insertAll(ctx context.Context) (int64, error) {
	n, err := m.st.s.change(ctx, m.texts.insert(m.texts.all()))
	if err == nil && n != m.st.rows {
		err = fmt.Errorf("%d of %d rows were inserted: has the table a trigger that keeps rows out?", n, m.st.rows)
	}
	return n, err
}

func (m *merge) insertMissing(ctx context.Context) (int64, error) {
	return m.checked(ctx, m.texts.insert(m.texts.missing()), m.texts.missing(), "inserted")
}

// update sets what is not the key: that is equal already.
func (m *merge) update(ctx context.Context) (int64, error) {
	want := m.delta.Update
	if want == nil {
		want = m.delta.Columns
	}
	var set []string
	for _, name := range want {
		if !slices.Contains(m.delta.Columns, name) {
			return 0, fmt.Errorf("column %q is updated but not staged", name)
		}
		c := m.column(name).Name
		if slices.Contains(m.texts.columns, c) && !slices.ContainsFunc(m.texts.keys, func(k mergeKey) bool { return k.name == c }) {
			set = append(set, c)
		}
	}
	if len(set) == 0 {
		return 0, nil
	}
	return m.checked(ctx, m.texts.update(set), m.texts.pairs(), "updated")
}

// state saves the delta's record where it lives in the target's file. An error leaves it
// to the caller, who saves it by itself and reports what is wrong.
func (m *merge) state(ctx context.Context, out *connectors.Applied) error {
	st := m.st
	if m.delta.State == nil {
		return nil
	}
	rel := st.c.d.stateTable(m.delta.State.Schema)
	if st.c.knows(rel) != nil || st.c.fileOf(rel) != st.f {
		return nil
	}
	if err := st.s.exec(ctx, "SAVEPOINT state"); err != nil {
		return err
	}
	saved, err := st.c.saveState(ctx, st.s, *m.delta.State)
	if err == nil {
		out.StateSaved, out.StateMoved = saved, !saved
		return st.s.exec(ctx, "RELEASE state")
	}
	if ctx.Err() != nil || !st.s.inTransaction() {
		return err
	}
	if st.c.env.Log != nil {
		st.c.env.Log.Debug("the state record is not part of the transaction", "relation", st.spec.Target.String(), "error", err)
	}
	return st.s.exec(ctx, "ROLLBACK TO state; RELEASE state")
}

// number is the one integer of a query.
func (s *session) number(ctx context.Context, sql string) (n int64, err error) {
	err = s.rows(ctx, sql, func(r *stmt) error {
		n = r.integer(0)
		return nil
	})
	return n, err
}

// change runs a statement and returns how many rows it changed.
func (s *session) change(ctx context.Context, sql string) (int64, error) {
	if err := s.exec(ctx, sql); err != nil {
		return 0, err
	}
	return s.number(ctx, changed)
}
