package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/dvt-dev/dvt/connectors"
)

// rebuild fills the new table with the rows that stay and those of the delta, and swaps.
func (m *merge) rebuild(ctx context.Context) (out connectors.Applied, err error) {
	if out, err = m.counts(ctx); err != nil {
		return out, err
	}
	total, err := m.keep(ctx, false)
	if err != nil {
		return out, err
	}
	if err := m.fillDelta(ctx, out); err != nil {
		return out, err
	}
	if err := m.arrived(ctx, total+out.Updated+out.Inserted); err != nil {
		return out, err
	}
	if err := m.untouched(ctx, total+out.Updated+out.Deleted); err != nil {
		return out, err
	}
	return out, m.swap(ctx)
}

// untouched sees most of what others have written into the target meanwhile, which the
// swap would lose.
func (m *merge) untouched(ctx context.Context, want int64) error {
	if merges(m.engine) { // its rows become fewer by themselves
		return nil
	}
	got, err := m.count(ctx, countSQL(m.target))
	if err == nil && got != want {
		err = fmt.Errorf("others have written to the target meanwhile: it had %d rows and has %d", want, got)
	}
	return err
}

// counts tells beforehand what the delta will change.
func (m *merge) counts(ctx context.Context) (out connectors.Applied, err error) {
	matched, err := m.count(ctx, m.countMatchedSQL())
	if err != nil {
		return out, err
	}
	if m.d.Strategy == connectors.StrategyDeleteInsert {
		return connectors.Applied{Deleted: matched, Inserted: m.staged}, nil
	}
	unknown, err := m.count(ctx, m.countUnknownSQL())
	return connectors.Applied{Updated: matched, Inserted: unknown}, err
}

// keep copies the target's rows, all or those whose key is not staged, and returns how
// many.
func (m *merge) keep(ctx context.Context, all bool) (int64, error) {
	before, err := m.count(ctx, countSQL(m.fresh))
	if err != nil {
		return 0, err
	}
	if err := m.withComputed(ctx, func() error { return m.c.run(ctx, false, m.keepSQL(all), nil) }); err != nil {
		return 0, err
	}
	after, err := m.count(ctx, countSQL(m.fresh))
	if err == nil && all {
		err = m.untouched(ctx, after-before)
	}
	return after - before, err
}

// withComputed lets f write columns that the table computes.
func (m *merge) withComputed(ctx context.Context, f func() error) error {
	for _, step := range []string{"DEFAULT", "MATERIALIZED"} {
		if step == "MATERIALIZED" {
			if err := f(); err != nil {
				return err
			}
		}
		for _, c := range m.cols {
			if c.kind != "MATERIALIZED" {
				continue
			}
			if err := m.c.run(ctx, false, modifyColumnSQL(m.fresh, c.name, c.t.text, step, c.expr), nil); err != nil {
				return fmt.Errorf("keeping the values of column %q: %w", c.name, err)
			}
		}
	}
	return nil
}

// fillDelta inserts the delta's rows in their final form.
func (m *merge) fillDelta(ctx context.Context, out connectors.Applied) error {
	if m.d.Strategy != connectors.StrategyMerge || m.replacesWhole(out) {
		return m.c.run(ctx, false, m.deltaSQL(true), nil)
	}
	buckets, err := m.buckets(ctx)
	if err != nil {
		return err
	}
	for i := range buckets {
		if err := m.withComputed(ctx, func() error { return m.c.run(ctx, false, m.updateSQL(i, buckets), nil) }); err != nil {
			return err
		}
	}
	return m.c.run(ctx, false, m.deltaSQL(false), nil)
}

// replacesWhole: where each staged key meets at most one row and gives all of its
// columns, the rows of the delta are what is there afterwards.
func (m *merge) replacesWhole(out connectors.Applied) bool {
	if out.Updated != m.staged-out.Inserted {
		return false
	}
	for _, c := range m.cols {
		if c.staged == "" || !c.update && !m.isKey(c.name) {
			return false
		}
	}
	return true
}

func (m *merge) isKey(name string) bool {
	for _, k := range m.key {
		if k.name == name {
			return true
		}
	}
	return false
}

func (m *merge) buckets(ctx context.Context) (int, error) {
	rows, err := m.c.text(ctx, sizeSQL(m.st.table))
	if err != nil || len(rows) == 0 {
		return 1, err
	}
	size, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		return 1, err
	}
	most := joinBytes
	if m.c.cfg.joinBytes > 0 {
		most = m.c.cfg.joinBytes
	}
	return int(max(size/most+1, m.staged/5_000_000+1)), nil // engines without parts tell no size
}

// append adds the delta's rows, without those whose key is there if skip is set.
func (m *merge) append(ctx context.Context, skip bool) (out connectors.Applied, err error) {
	if err := m.c.run(ctx, false, m.deltaSQL(!skip), nil); err != nil {
		return out, err
	}
	if out.Inserted, err = m.count(ctx, countSQL(m.fresh)); err != nil {
		return out, err
	}
	if !skip && out.Inserted != m.staged {
		return out, fmt.Errorf("%d of %d rows arrived", out.Inserted, m.staged)
	}
	if out.Inserted == 0 && len(m.d.Alter) == 0 {
		return out, nil
	}
	partition, ok, err := m.onePartition(ctx)
	if err != nil {
		return out, err
	}
	if ok && len(m.d.Alter) == 0 {
		return out, m.attach(ctx, partition, out.Inserted)
	}
	if _, err := m.keep(ctx, true); err != nil {
		return out, err
	}
	return out, m.swap(ctx)
}

// onePartition is the only partition of the new table's rows, if there is one.
func (m *merge) onePartition(ctx context.Context) (string, bool, error) {
	rows, err := m.c.text(ctx, partitionsSQL(m.table.table))
	if err != nil || len(rows) != 1 {
		return "", false, err
	}
	return rows[0][0], true, nil
}

// attach brings the rows of the new table into a partition of the target in one act.
func (m *merge) attach(ctx context.Context, partition string, rows int64) error {
	before, err := m.count(ctx, countSQL(m.target))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err = m.c.run(ctx, false, attachSQL(m.target, partition, m.fresh), nil)
	if err == nil || refused(err) {
		return err
	}
	// The answer was lost: the number of rows tells, if nobody else writes.
	after, cerr := m.count(ctx, countSQL(m.target))
	switch {
	case cerr == nil && after == before+rows:
		return nil
	case cerr == nil && after == before:
		return err
	}
	return fmt.Errorf("%w; whether the rows were added is unknown: the target had %d rows and has %d now", err, before, after)
}

// refused: the server has said no, so that nothing has happened.
func refused(err error) bool {
	var e *exception
	return errors.As(err, &e)
}

// swap puts the new table into the target's place.
func (m *merge) swap(ctx context.Context) error {
	if err := m.describeAs(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := m.c.swap(ctx, m.table); err != nil {
		return err
	}
	m.table.done = true
	if merges(m.engine) {
		if err := m.c.run(ctx, false, startMergesSQL(m.target), nil); err != nil {
			m.c.log.Warn("could not start merges again", "table", m.st.target.String(), "error", err)
		}
	}
	return nil
}

// describeAs gives the new table the comments of the target's columns.
func (m *merge) describeAs(ctx context.Context) error {
	for _, c := range m.cols {
		m.table.defs = append(m.table.defs, columnDef{name: c.name})
	}
	return m.c.copyComments(ctx, m.table)
}

// mutate deletes and inserts in place, as clickhouse_merge: mutate asks for: between the
// two a reader misses the rows of the delta, and a run that dies there leaves it so.
func (m *merge) mutate(ctx context.Context) (out connectors.Applied, err error) {
	if out, err = m.counts(ctx); err != nil {
		return out, err
	}
	if err := m.fillDelta(ctx, out); err != nil {
		return out, err
	}
	if err := m.arrived(ctx, out.Updated+out.Inserted); err != nil {
		return out, err
	}
	if err := m.c.run(ctx, false, m.deleteMatchedSQL(), nil); err != nil {
		return out, err
	}
	rows, err := m.c.text(ctx, partitionsSQL(m.table.table))
	for _, r := range rows {
		if err == nil {
			err = m.c.run(ctx, false, attachSQL(m.target, r[0], m.fresh), nil)
		}
	}
	return out, err
}
