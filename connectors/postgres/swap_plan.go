package postgres

import (
	"fmt"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

// swapPlan is how a staged table becomes the target: statements in the order in which
// they run, decided before any lock is taken.
type swapPlan struct {
	prepare    []string        // on the staging table, without any lock of the target
	tryIndexes []string        // likewise; indexes that may be impossible
	replaces   *object         // whose grants the new table gets
	views      []*object       // made again, whose grants they get
	fresh      string          // the staging table's name
	keeps      map[string]bool // columns of the new table
	lock       string
	swap       []string // under the lock
	delete     string   // in place only: DELETE and INSERT … SELECT
	insert     string
	after      []string
	lost       []string
	about      map[string]string // statement → what it is about, for messages
	unchecked  map[string]string // statement of after → the one in its place if rows violate it
}

// planSwap decides. old is nil when there is no target.
//
//   - No target: rename.
//   - A table without dependents: all that hangs on it is made again for the staging
//     table, the old one is dropped, the new one renamed.
//   - Dependents, or parts that cannot be made again, and equal columns: DELETE and
//     INSERT … SELECT in the old table. Never TRUNCATE: a reader with an older
//     snapshot would find the table empty.
//   - Dependents and other columns: plain views are dropped and made again, anything
//     else is refused by name.
func planSwap(d dialect, st *staging, old, fresh *object, wanted []wantedIndex) (*swapPlan, error) {
	p := &swapPlan{about: map[string]string{}, unchecked: map[string]string{}, keeps: fresh.columnNames(), fresh: fresh.name}
	b := &swapBuilder{dialect: d, plan: p, st: st, old: old, fresh: fresh, wanted: wanted}
	if old == nil {
		b.indexes(nil)
		p.swap = append(p.swap, d.renameTableSQL(st.rel, st.target.Name))
		b.renameParts()
		b.contract()
		return p, nil
	}
	equal := sameColumns(old, fresh)
	stuck := len(old.views)+len(old.others) > 0
	switch {
	case old.kind == "v" || old.kind == "m":
		if len(old.others) > 0 {
			return nil, fmt.Errorf("it is a %s on which %s depends: drop that first", kindNames[old.kind], listOf(old.others))
		}
	case old.kind != "r" && old.kind != "p":
		return nil, fmt.Errorf("a %s has that name", kindNames[old.kind])
	case equal && (stuck || len(old.hard)+len(old.soft) > 0):
		b.inPlace()
		return p, nil
	case len(old.others) > 0:
		return nil, fmt.Errorf("its columns change, and %s depends on it: drop that first", listOf(old.others))
	case len(old.hard) > 0:
		return nil, fmt.Errorf("its columns change, and it has %s, which a new table would lack: drop it first", listOf(old.hard))
	}
	p.lost = old.soft
	b.rename()
	return p, nil
}

func sameColumns(a, b *object) bool {
	if len(a.columns) != len(b.columns) {
		return false
	}
	for _, c := range a.columns {
		if !b.has(c) {
			return false
		}
	}
	return true
}

// has reports whether o has a column of that name and type.
func (o *object) has(c objectColumn) bool {
	return slices.ContainsFunc(o.columns, func(x objectColumn) bool { return x.name == c.name && x.typ == c.typ })
}

func (o *object) columnNames() map[string]bool {
	names := map[string]bool{}
	for _, c := range o.columns {
		names[c.name] = true
	}
	return names
}

// swapBuilder writes a swapPlan.
type swapBuilder struct {
	dialect
	plan       *swapPlan
	wanted     []wantedIndex
	st         *staging
	old, fresh *object
	renames    []string // names that parts of the staging table get once the old ones are gone
	parts      int
}

// byContract: the contract decides about constraints, and the old table's are not kept.
func (b *swapBuilder) byContract() bool { return b.st.spec.Options.Contract }

// keeps reports whether the new table has all columns of a part; unchanged whether they
// have their old types too.
func (b *swapBuilder) keeps(p objectPart) bool {
	return !slices.ContainsFunc(p.columns, func(c string) bool { return !b.plan.keeps[c] })
}

func (b *swapBuilder) unchanged(p objectPart) bool {
	for _, name := range p.columns {
		i := slices.IndexFunc(b.old.columns, func(c objectColumn) bool { return c.name == name })
		if i < 0 || !b.fresh.has(b.old.columns[i]) {
			return false
		}
	}
	return true
}

// partName is a name for an index or constraint of the staging table, until the old
// table's are gone: index names are unique in a schema.
func (b *swapBuilder) partName() string {
	b.parts++
	return fmt.Sprintf("%s_%d", b.st.rel.Name, b.parts)
}

// rename makes everything of the old relation again for the staging table and puts that
// in its place.
func (b *swapBuilder) rename() {
	p, target := b.plan, b.st.target
	table := b.old.kind == "r"
	p.replaces, p.views = b.old, b.old.views
	if table {
		b.columns()
		if !b.byContract() {
			b.constraints()
		}
		p.lock = b.lockSQL(target, "ACCESS EXCLUSIVE")
	}
	b.indexes(b.old)
	p.prepare = append(p.prepare, b.attributes(b.fresh.name, "TABLE", b.old)...)
	b.dropForeign()
	for _, v := range slices.Backward(b.old.views) {
		b.add(dropViewSQL(v.name), "dropping the dependent view "+v.name)
	}
	if table {
		b.sequences()
	}
	p.swap = append(p.swap, dropSQL(b.old), b.renameTableSQL(b.st.rel, target.Name))
	b.renameParts()
	b.contract()
	if table {
		b.late()
	}
	for _, v := range b.old.views {
		b.view(v)
	}
	b.addForeign()
}

func (b *swapBuilder) add(sql, about string) {
	b.plan.swap = append(b.plan.swap, sql)
	b.plan.about[sql] = about
}

// columns carries over what columns of unchanged type have beside it.
func (b *swapBuilder) columns() {
	owned := map[string]bool{}
	for _, s := range b.old.sequences {
		owned[s[1]] = true
	}
	for _, c := range b.old.columns {
		if !b.fresh.has(c) {
			continue
		}
		if c.notNull && !b.byContract() {
			b.plan.prepare = append(b.plan.prepare, b.alterColumnSQL(b.st.rel, c.name, "SET NOT NULL"))
		}
		if c.def != "" && !owned[c.name] {
			b.plan.prepare = append(b.plan.prepare, b.alterColumnSQL(b.st.rel, c.name, "SET DEFAULT "+c.def))
		}
	}
}

// sequences hands the sequences of serial columns on before the old table takes them
// along.
func (b *swapBuilder) sequences() {
	for _, s := range b.old.sequences {
		for _, c := range b.old.columns {
			if c.name != s[1] || !b.fresh.has(c) {
				continue
			}
			b.plan.swap = append(b.plan.swap, b.ownSequenceSQL(s[0], b.st.rel, c.name))
			if c.def != "" {
				b.plan.swap = append(b.plan.swap, b.alterColumnSQL(b.st.rel, c.name, "SET DEFAULT "+c.def))
			}
		}
	}
}

// constraints makes those again whose columns are unchanged. Foreign keys wait for the
// lock, for they lock the other table until the end.
func (b *swapBuilder) constraints() {
	for _, k := range b.old.constraints {
		if k.kind == "f" || !b.unchanged(k) {
			continue
		}
		name := b.partName()
		b.plan.prepare = append(b.plan.prepare, b.addConstraintSQL(b.Relation(b.st.rel), name, k.def))
		b.renames = append(b.renames, b.renameConstraintSQL(b.st.target, name, k.name))
		if k.comment != "" {
			b.renames = append(b.renames, commentSQL(partOf("CONSTRAINT", k.name, b.Relation(b.st.target)), k.comment))
		}
	}
}

// indexes makes the old table's indexes and those that the model asks for.
func (b *swapBuilder) indexes(old *object) {
	var have []objectPart
	if old != nil && old.kind != "v" {
		for _, i := range old.indexes {
			if !b.keeps(i) {
				continue
			}
			name := b.partName()
			b.plan.prepare = append(b.plan.prepare, b.createIndexSQL(b.st.rel, name, i.kind == "u", i.def))
			b.renames = append(b.renames, b.renameIndexSQL(b.st.target.Schema, name, i.name))
			if i.comment != "" {
				b.renames = append(b.renames, commentSQL("INDEX "+b.Relation(connectors.Relation{Schema: b.st.target.Schema, Name: i.name}), i.comment))
			}
			have = append(have, i)
		}
		for _, k := range old.keyIndexes {
			if b.unchanged(k) && !b.byContract() {
				have = append(have, k)
			}
		}
	}
	have = append(have, b.fresh.keyIndexes...)
	for _, w := range b.wanted {
		if w.satisfied(have) {
			continue
		}
		name := b.partName()
		sql := b.createIndexSQL(b.st.rel, name, w.unique, w.tail)
		rename := b.renameIndexSQL(b.st.target.Schema, name, w.name)
		if w.optional {
			b.plan.tryIndexes = append(b.plan.tryIndexes, sql)
			rename = b.renameIndexIfExistsSQL(b.st.target.Schema, name, w.name)
		} else {
			b.plan.prepare = append(b.plan.prepare, sql)
		}
		b.renames = append(b.renames, rename)
	}
}

func (b *swapBuilder) renameParts() { b.plan.swap = append(b.plan.swap, b.renames...) }

// late makes what names the target and so must wait for it.
func (b *swapBuilder) late() {
	target := b.Relation(b.st.target)
	for _, k := range b.old.constraints {
		if k.kind == "f" && b.unchanged(k) && !b.byContract() {
			b.add(b.addConstraintSQL(target, k.name, k.def), "making the foreign key "+k.name+" again")
			if k.comment != "" {
				b.plan.swap = append(b.plan.swap, commentSQL(partOf("CONSTRAINT", k.name, target), k.comment))
			}
		}
	}
	for _, sql := range b.old.statements {
		b.add(sql, "making a rule or statistics of the old table again")
	}
	b.triggers(target, b.old)
}

func (b *swapBuilder) triggers(on string, o *object) {
	for _, t := range o.triggers {
		b.add(t.def, "making the trigger "+t.name+" again")
		if state := triggerState(t.kind); state != "" {
			b.plan.swap = append(b.plan.swap, alterTriggerSQL(on, t.name, state))
		}
		if t.comment != "" {
			b.plan.swap = append(b.plan.swap, commentSQL(partOf("TRIGGER", t.name, on), t.comment))
		}
	}
}

// attributes carries over owner, storage options and comments.
func (b *swapBuilder) attributes(name, what string, o *object) []string {
	var sql []string
	if o.owner != b.fresh.owner || what == "VIEW" {
		sql = append(sql, ownerSQL(what, name, o.owner))
	}
	if o.options != "" && o.kind == "r" {
		sql = append(sql, optionsSQL(name, o.options))
	}
	if o.comment != "" {
		sql = append(sql, commentSQL(what+" "+name, o.comment))
	}
	for _, c := range o.columns {
		if c.comment != "" && (what == "VIEW" || b.plan.keeps[c.name]) {
			sql = append(sql, commentSQL(columnOf(name, c.name), c.comment))
		}
	}
	return sql
}

// view makes a dependent view again.
func (b *swapBuilder) view(v *object) {
	b.add(createViewSQL(v), "making the dependent view "+v.name+" again")
	for _, c := range v.columns {
		if c.def != "" {
			b.plan.swap = append(b.plan.swap, viewDefaultSQL(v.name, c.name, c.def))
		}
	}
	for _, sql := range v.statements {
		b.add(sql, "making a rule of the view "+v.name+" again")
	}
	b.triggers(v.name, v)
	b.plan.swap = append(b.plan.swap, b.attributes(v.name, "VIEW", v)...)
}

// dropForeign and addForeign take the foreign keys of other tables out of the way and
// put them back: the rows are checked again against the new content.
func (b *swapBuilder) dropForeign() {
	for _, k := range b.old.foreign {
		b.add(dropConstraintSQL(k.on, k.name), "dropping the foreign key "+k.name+" of "+k.on)
	}
}

func (b *swapBuilder) addForeign() {
	for _, k := range b.old.foreign {
		sql := b.addConstraintSQL(k.on, k.name, k.def)
		b.plan.after = append(b.plan.after, sql)
		b.plan.about[sql] = "making the foreign key " + k.name + " of " + k.on + " again"
		if b.pointsAnew(k) {
			b.plan.unchecked[sql] = sql + notValid
		}
		if k.comment != "" {
			b.plan.after = append(b.plan.after, commentSQL(partOf("CONSTRAINT", k.name, k.on), k.comment))
		}
	}
}

// inPlace replaces rows and leaves the table. Its triggers are about changes of rows by
// others and stay silent, as they do when the table itself is replaced.
func (b *swapBuilder) inPlace() {
	p, target := b.plan, b.st.target
	on := b.Relation(target)
	p.lock = b.lockSQL(target, "SHARE ROW EXCLUSIVE") // readers go on
	b.dropForeign()
	if b.byContract() {
		b.contractInPlace()
	}
	for _, t := range b.old.triggers {
		if t.kind != "D" {
			p.swap = append(p.swap, alterTriggerSQL(on, t.name, "DISABLE"))
			state := triggerState(t.kind)
			if state == "" {
				state = "ENABLE"
			}
			p.after = append(p.after, alterTriggerSQL(on, t.name, state))
		}
	}
	names := make([]string, len(b.fresh.columns))
	for i, c := range b.fresh.columns {
		names[i] = c.name
	}
	p.delete, p.insert = b.deleteAllSQL(target), b.insertAllSQL(target, b.st.rel, names)
	for _, w := range b.wanted {
		if !w.satisfied(b.old.indexes) && !w.satisfied(b.old.keyIndexes) && !w.optional {
			p.after = append(p.after, b.createIndexSQL(target, w.name, w.unique, w.tail))
		}
	}
	b.addForeign()
	p.after = append(p.after, b.dropTableSQL(b.st.rel))
}

// triggerState is the ALTER TABLE word for a trigger that is not enabled as usual.
func triggerState(enabled string) string {
	return map[string]string{"D": "DISABLE", "R": "ENABLE REPLICA", "A": "ENABLE ALWAYS"}[enabled]
}
