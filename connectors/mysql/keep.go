package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// index is one index of a table.
type index struct {
	name    string
	unique  bool
	kind    string // BTREE, HASH, FULLTEXT, SPATIAL
	comment string
	columns []indexColumn
}

type indexColumn struct {
	name   string // "" for an expression
	prefix int    // characters or bytes; 0: the whole value
	desc   bool
}

func (ix index) sameColumns(o index) bool {
	if len(ix.columns) != len(o.columns) {
		return false
	}
	for i := range ix.columns {
		if ix.columns[i].name != o.columns[i].name {
			return false
		}
	}
	return true
}

// foreign is one foreign key, of table to refTable.
type foreign struct {
	name               string
	table, refTable    connectors.Relation
	columns            []string
	refColumns         []string
	onUpdate, onDelete string
}

func (s *session) indexes(ctx context.Context, rel connectors.Relation) ([]index, error) {
	rows, err := s.rows(ctx, dialect{s.c}.indexSQL(rel))
	if err != nil {
		return nil, err
	}
	var out []index
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1].name != r[0].s {
			out = append(out, index{name: r[0].s, unique: r[1].s == "0", kind: r[4].s, comment: r[6].s})
		}
		ix := &out[len(out)-1]
		col := indexColumn{name: r[2].s, desc: r[5].s == "D"}
		if !r[3].null {
			_, _ = fmt.Sscan(r[3].s, &col.prefix)
		}
		ix.columns = append(ix.columns, col)
	}
	return out, nil
}

// foreigns reads what foreignSQL and referencesSQL list.
func (s *session) foreigns(ctx context.Context, sql string) ([]foreign, error) {
	rows, err := s.rows(ctx, sql)
	if err != nil {
		return nil, err
	}
	var out []foreign
	for _, r := range rows {
		child := connectors.Relation{Schema: r[2].s, Name: r[3].s}
		if n := len(out); n == 0 || out[n-1].name != r[0].s || out[n-1].table != child {
			f := foreign{name: r[0].s, table: child, refTable: connectors.Relation{Schema: r[4].s, Name: r[5].s}}
			if len(r) > 7 {
				f.onUpdate, f.onDelete = r[7].s, r[8].s
			}
			out = append(out, f)
		}
		f := &out[len(out)-1]
		f.columns, f.refColumns = append(f.columns, r[1].s), append(f.refColumns, r[6].s)
	}
	return out, nil
}

// references are the foreign keys of other tables that point to rel.
func (s *session) references(ctx context.Context, rel connectors.Relation) ([]foreign, error) {
	if s.c.server().engine == engineMariaDB && plainName(rel.Schema) && plainName(rel.Name) {
		if rows, err := s.rows(ctx, referencedSQL(rel)); err == nil && rows[0][0].s == "0" {
			return nil, nil
		}
	}
	all, err := s.foreigns(ctx, dialect{s.c}.referencesSQL(rel))
	if err != nil {
		return nil, err
	}
	var others []foreign
	for _, f := range all {
		if f.table != rel { // a table's key to itself goes with the table
			others = append(others, f)
		}
	}
	return others, nil
}

// plainName: InnoDB's own list encodes all other characters.
func plainName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

// keyColumns are the columns of rel that stand in a unique or foreign key as a whole,
// with their lengths in characters where they have one.
func (s *session) keyColumns(ctx context.Context, rel connectors.Relation) (map[string]int, error) {
	tab, info, err := s.describe(ctx, rel)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil || tab.View || info.kind != "BASE TABLE" {
		return nil, err
	}
	out := map[string]int{}
	add := func(name string) {
		if i := tab.Index(name); i >= 0 {
			out[name] = tab.Columns[i].Type.Length
		}
	}
	all, err := s.indexes(ctx, rel)
	if err != nil {
		return nil, err
	}
	for _, ix := range all {
		for _, c := range ix.columns {
			if ix.unique && c.prefix == 0 {
				add(c.name)
			}
		}
	}
	fks, err := s.foreigns(ctx, dialect{s.c}.foreignSQL(rel))
	if err != nil {
		return nil, err
	}
	for _, f := range fks {
		for _, c := range f.columns {
			add(c)
		}
	}
	return out, nil
}

// keep collects the parts of the ALTER TABLE that gives the staging table what hangs on
// the table it replaces. What no longer fits is named in the log.
type keep struct {
	d     dialect
	st    *staging
	old   *connectors.Table
	info  *details
	fresh *connectors.Table // the staging table as the catalog has it
	parts []string
	built []index
	// Of the contract:
	required map[string]bool // columns that are NOT NULL
	keys     []string        // the parts for its constraints
	made     []made
}

// kept gathers the parts for the model's own indexes and the contract's constraints, and
// for what old has.
func (s *session) kept(ctx context.Context, st *staging, old *connectors.Table, info *details) (*keep, error) {
	fresh, _, err := s.describe(ctx, st.rel)
	if err != nil {
		return nil, err
	}
	k := &keep{d: dialect{s.c}, st: st, old: old, info: info, fresh: fresh}
	var taken map[string]bool
	if old != nil && st.spec.Options.Contract {
		if taken, err = s.taken(ctx, old.Relation); err != nil {
			return nil, err
		}
	}
	if err := k.contract(taken); err != nil {
		return nil, err
	}
	if old == nil {
		k.nulls()
	} else {
		all, err := s.indexes(ctx, old.Relation)
		if err != nil {
			return nil, err
		}
		if st.spec.Options.Contract {
			all = slices.DeleteFunc(all, func(ix index) bool { return ix.unique })
		}
		k.columns(all)
		k.indexes(all)
		if !st.spec.Options.Contract {
			if err := k.constraints(ctx, s); err != nil {
				return nil, err
			}
		}
		if info.comment != "" {
			k.parts = append(k.parts, commentPart(info.comment))
		}
	}
	if err := k.wanted(); err != nil {
		return nil, err
	}
	k.parts = append(k.parts, k.keys...)
	return k, nil
}

func (k *keep) drop(what, name, why string) {
	k.st.c.log.Warn("replacing "+k.st.target.String()+": "+what+" "+name+" is not kept", "reason", why)
}

// unchanged reports whether the column called name has the same type as before.
func (k *keep) unchanged(name string) bool {
	i, j := k.old.Index(name), k.fresh.Index(name)
	if i < 0 || j < 0 {
		return false
	}
	a, b := &k.old.Columns[i], &k.fresh.Columns[j]
	return a.Native == b.Native && a.Collation == b.Collation && a.Type.Kind == b.Type.Kind
}

// columns keeps comments, and where the type did not change NOT NULL and defaults.
func (k *keep) columns(all []index) {
	primary := map[string]bool{}
	for _, ix := range all {
		if ix.name == "PRIMARY" && k.fits(ix) == "" {
			for _, c := range ix.columns {
				primary[c.name] = true
			}
		}
	}
	for _, t := range k.st.cols {
		i := k.old.Index(t.col.Name)
		if i < 0 && k.required[t.col.Name] {
			k.parts = append(k.parts, modifyPart(t, true, "", ""))
		}
		if i < 0 {
			continue
		}
		x := k.info.columns[i]
		notNull := primary[t.col.Name] || k.required[t.col.Name]
		attributes := ""
		generated := strings.Contains(x.attribute, "GENERATED") && !strings.Contains(x.attribute, "DEFAULT_GENERATED")
		if k.unchanged(t.col.Name) && !generated {
			notNull = notNull || !k.old.Columns[i].Nullable && !k.st.spec.Options.Contract
			attributes = k.d.defaultText(x, t.nat.base)
		}
		if notNull || attributes != "" || x.comment != "" {
			k.parts = append(k.parts, modifyPart(t, notNull, attributes, x.comment))
		}
	}
}

// staged finds a staging column by name.
func (k *keep) staged(name string) *target {
	for _, t := range k.st.cols {
		if strings.EqualFold(t.col.Name, name) {
			return t
		}
	}
	return nil
}

// fits says why ix cannot be built on the staging table, "" if it can.
func (k *keep) fits(ix index) string {
	for _, c := range ix.columns {
		t := k.staged(c.name)
		switch {
		case c.name == "":
			return "it is over an expression"
		case t == nil:
			return "column " + c.name + " is gone"
		case ix.kind == "FULLTEXT" && !isCharacter(t.nat.base), ix.kind == "SPATIAL" && !isGeometry(t.nat.base):
			return "column " + c.name + " is " + t.ddl + " now"
		case ix.unique && c.prefix == 0 && isLong(t.nat.base):
			return "column " + c.name + " is " + t.ddl + " now, which has no unique index"
		}
	}
	return ""
}

func (k *keep) indexes(all []index) {
	for _, ix := range all {
		if strings.HasPrefix(ix.name, indexPrefix) {
			continue // dvt's own: built again if the model still wants it
		}
		if why := k.fits(ix); why != "" {
			k.drop("index", ix.name, why)
			continue
		}
		k.build(ix)
	}
}

func (k *keep) build(ix index) {
	k.prefixes(&ix)
	k.built = append(k.built, ix)
	k.parts = append(k.parts, indexPart(ix))
}

// constraints keeps checks whose columns did not change, and foreign keys.
func (k *keep) constraints(ctx context.Context, s *session) error {
	same := true
	for _, c := range k.old.Columns {
		same = same && k.unchanged(c.Name)
	}
	if s.c.server().atLeast(engineMariaDB, 10, 2, 22) || s.c.server().atLeast(engineMySQL, 8, 0, 16) {
		rows, err := s.rows(ctx, k.d.checksSQL(k.old.Relation))
		if err != nil {
			return err
		}
		for i, r := range rows {
			if strings.HasPrefix(r[1].s, "json_valid(`") {
				continue // part of the type
			}
			if !same {
				k.drop("check", r[0].s, "the columns have changed")
				continue
			}
			// A name of its own: that of a check on one column is the column's.
			name := ""
			if s.c.server().engine == engineMariaDB && k.old.Index(r[0].s) < 0 {
				name = r[0].s
			} else if s.c.server().engine == engineMariaDB {
				name = fmt.Sprintf("check_%d_%s", i, r[0].s)
			}
			k.parts = append(k.parts, checkPart(name, r[1].s))
		}
	}
	fks, err := s.foreigns(ctx, k.d.foreignSQL(k.old.Relation))
	if err != nil {
		return err
	}
	for _, f := range fks {
		if why := k.foreignFits(f); why != "" {
			k.drop("foreign key", f.name, why)
			continue
		}
		if f.refTable == k.old.Relation {
			f.refTable = k.st.rel // its own rows
		}
		k.parts = append(k.parts, foreignPart(f, k.foreignName(f.name)))
	}
	return nil
}

func (k *keep) foreignFits(f foreign) string {
	for _, c := range f.columns {
		if !k.unchanged(c) {
			return "column " + c + " has changed"
		}
	}
	return ""
}

// foreignName: names of foreign keys are unique in a database while the old table still
// bears them, so a key changes between two names from swap to swap. Names that InnoDB
// made up follow the table's by themselves.
func (k *keep) foreignName(name string) string {
	const mark = "_dvt"
	if strings.HasPrefix(name, k.old.Name+"_ibfk_") {
		return ""
	}
	if s, ok := strings.CutSuffix(name, mark); ok {
		return s
	}
	if len(name) > 64-len(mark) {
		return ""
	}
	return name + mark
}
