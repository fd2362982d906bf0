package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// suffixCopy names the copy of a target whose columns change with a delta.
const suffixCopy = "_new"

// applyToCopy applies a delta that changes the table's columns. ALTER TABLE commits, so
// a copy of the table is altered, takes the delta, and is renamed into place: the
// table is the old one or the new one, columns and rows.
func (m *merge) applyToCopy(ctx context.Context) (out connectors.Applied, err error) {
	if err := m.copyable(ctx); err != nil {
		return out, err
	}
	fresh := connectors.Relation{Schema: m.st.target.Schema, Name: m.st.rel.Name + suffixCopy}
	st := &staging{c: m.st.c, target: m.st.target, rel: fresh, s: m.s}
	defer func() {
		if st.swapped {
			return
		}
		dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		derr := m.st.c.with(dctx, func(s *session) error {
			_, err := s.exec(dctx, dropTableSQL(fresh))
			return err
		})
		if derr != nil {
			m.st.c.log.Warn("a copy of the table could not be dropped; the next run does it", "table", fresh.Name, "error", derr)
		}
	}()
	foreign, err := m.foreignParts(ctx, fresh)
	if err != nil {
		return out, err
	}
	h, err := m.hold(ctx)
	if err != nil {
		return out, err
	}
	defer h.end()
	if err := m.fillCopy(ctx, fresh); err != nil {
		return out, err
	}
	m.target, m.d.State = fresh, nil // a state record cannot be part of a RENAME
	if m.table, m.info, err = m.s.describe(ctx, fresh); err != nil {
		return out, err
	}
	if err := m.ready(ctx); err != nil {
		return out, err
	}
	if out, err = m.run(ctx); err != nil {
		return out, err
	}
	h.watch(m.s.id)
	return out, m.s.swap(ctx, st, "BASE TABLE", &keep{parts: foreign}, nil)
}

// copyable refuses tables that cannot be exchanged for a copy.
func (m *merge) copyable(ctx context.Context) error {
	if m.info.kind != "BASE TABLE" {
		return fmt.Errorf("its columns change, and a %s table cannot be copied with its history: alter it yourself", strings.ToLower(m.info.kind))
	}
	refs, err := m.s.references(ctx, m.st.target)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		return fmt.Errorf("its columns change, for which it is exchanged for a copy, and foreign key %s of %s points to it: alter it yourself", refs[0].name, refs[0].table)
	}
	triggers, err := m.s.rows(ctx, dialect{m.st.c}.triggersSQL(m.st.target))
	if err == nil && len(triggers) > 0 {
		err = fmt.Errorf("its columns change, for which it is exchanged for a copy, and its trigger %s would not run for the delta's rows: alter it yourself", triggers[0][0].s)
	}
	return err
}

// foreignParts are the table's own foreign keys, which a copy does not bring along.
func (m *merge) foreignParts(ctx context.Context, fresh connectors.Relation) ([]string, error) {
	fks, err := m.s.foreigns(ctx, dialect{m.st.c}.foreignSQL(m.st.target))
	if err != nil {
		return nil, err
	}
	k := &keep{st: m.st, old: m.table}
	var parts []string
	for _, f := range fks {
		if gone := m.dropped(f.columns); gone != "" {
			k.drop("foreign key", f.name, "column "+gone+" is gone")
			continue
		}
		if f.refTable == m.table.Relation {
			f.refTable = fresh
		}
		parts = append(parts, foreignPart(f, k.foreignName(f.name)))
	}
	return parts, nil
}

// dropped is the first of columns that the delta drops.
func (m *merge) dropped(columns []string) string {
	for _, a := range m.d.Alter {
		if a.Kind == connectors.DropColumn && slices.Contains(columns, a.Column.Name) {
			return a.Column.Name
		}
	}
	return ""
}

// fillCopy makes the altered copy and fills it.
func (m *merge) fillCopy(ctx context.Context, fresh connectors.Relation) error {
	parts, err := m.alterParts(ctx)
	if err != nil {
		return err
	}
	for _, sql := range []string{dropTableSQL(fresh), createLikeSQL(fresh, m.st.target), alterSQL(fresh, parts)} {
		if sql == "" {
			continue
		}
		if _, err := m.s.exec(ctx, sql); err != nil {
			return fmt.Errorf("changing the columns: %w", err)
		}
	}
	var cols []string
	for i, c := range m.table.Columns {
		if m.dropped([]string{c.Name}) == "" && !isGenerated(m.info.columns[i].attribute) {
			cols = append(cols, c.Name)
		}
	}
	if len(cols) == 0 {
		return nil
	}
	_, err = m.write(ctx, copySQL(fresh, m.st.target, cols))
	return err
}

func (m *merge) alterParts(ctx context.Context) ([]string, error) {
	var parts []string
	for _, a := range m.d.Alter {
		if a.Kind == connectors.DropColumn {
			parts = append(parts, dropColumnPart(a.Column.Name))
			continue
		}
		t := m.st.column(a.Column.Name)
		if t == nil {
			return nil, fmt.Errorf("column %q is to be changed but not staged", a.Column.Name)
		}
		if a.Kind == connectors.AddColumn {
			parts = append(parts, addColumnPart(t))
			continue
		}
		part, err := m.widenPart(t)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	next, err := m.s.rows(ctx, dialect{m.st.c}.autoIncrementSQL(m.st.target))
	if err == nil && len(next) > 0 {
		parts = append(parts, autoIncrementPart(next[0][0].s))
	}
	return parts, err
}

// widenPart gives a column the staged type and leaves all else of it, its collation too.
func (m *merge) widenPart(t *target) (string, error) {
	i := m.table.Index(t.col.Name)
	if i < 0 {
		return "", fmt.Errorf("column %q is to be widened but the table lacks it", t.col.Name)
	}
	old, x := m.table.Columns[i], m.info.columns[i]
	if isGenerated(x.attribute) {
		return "", fmt.Errorf("column %q is generated and cannot be widened", t.col.Name)
	}
	wide := *t
	if !t.chosen && old.Collation != "" && isCharacter(t.nat.base) {
		base, _, _ := strings.Cut(t.ddl, " CHARACTER SET ")
		base, _, _ = strings.Cut(base, " COLLATE ")
		if n := t.col.Type.Length; n > 0 && n <= 16383 && parseNative(old.Native).base == "varchar" {
			base = fmt.Sprintf("varchar(%d)", n) // its indexes stay whole
		}
		wide.ddl = base + " CHARACTER SET " + old.Attrs[attrCharset] + " COLLATE " + old.Collation
	}
	attributes := dialect{m.st.c}.defaultText(x, t.nat.base)
	if strings.Contains(x.attribute, "auto_increment") {
		attributes = strings.TrimSpace(attributes + " AUTO_INCREMENT")
	}
	return modifyPart(&wide, !old.Nullable, attributes, x.comment), nil
}

// holding is a session that keeps writers out of a table.
type holding struct {
	s    *session
	stop context.CancelFunc
	done chan struct{} // nil until watch
}

// hold keeps other writers out of the target while it is copied: what they wrote would
// be lost.
func (m *merge) hold(ctx context.Context) (*holding, error) {
	s, err := m.st.c.open(ctx, m.st.target.Schema, false)
	if err != nil {
		return nil, err
	}
	if _, err = s.exec(ctx, dialect{m.st.c}.mergeSetupSQL()); err == nil {
		_, err = s.exec(ctx, holdSQL(m.st.target))
	}
	if isCode(err, errNoDatabaseRight, errNoTableRight) {
		m.st.c.log.Warn("without the LOCK TABLES privilege, what others write into "+m.st.target.String()+" while its columns change is lost", "error", err)
		err = nil
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return &holding{s: s}, nil
}

// watch lets go once the RENAME of session swapper waits for the table: it comes before
// all writers that wait too.
func (h *holding) watch(swapper uint64) {
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.done = stop, make(chan struct{})
	go func() {
		defer close(h.done)
		for ctx.Err() == nil {
			rows, err := h.s.rows(ctx, waitsSQL(swapper))
			if err != nil || len(rows) > 0 {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
		h.s.close() // its lock goes with it
	}()
}

func (h *holding) end() {
	if h.done == nil {
		h.s.close()
		return
	}
	h.stop()
	<-h.done
}
