package postgres

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Names of objects that come as text are qualified and quoted by the server, and so are
// the definitions that it spells.

func (d dialect) lockSQL(rel connectors.Relation, mode string) string {
	return "LOCK TABLE " + d.Relation(rel) + " IN " + mode + " MODE"
}

func (d dialect) renameTableSQL(rel connectors.Relation, name string) string {
	return "ALTER TABLE " + d.Relation(rel) + " RENAME TO " + quoteIdent(name)
}

func (d dialect) alterColumnSQL(rel connectors.Relation, column, what string) string {
	return d.alterColumnsSQL(rel, []string{column}, what)
}

func (d dialect) ownSequenceSQL(sequence string, rel connectors.Relation, column string) string {
	return "ALTER SEQUENCE " + sequence + " OWNED BY " + d.Relation(rel) + "." + quoteIdent(column)
}

func (d dialect) addConstraintSQL(table, name, def string) string {
	return "ALTER TABLE " + table + " ADD CONSTRAINT " + quoteIdent(name) + " " + def
}

func dropConstraintSQL(table, name string) string {
	return "ALTER TABLE " + table + " DROP CONSTRAINT " + quoteIdent(name)
}

func (d dialect) renameConstraintSQL(rel connectors.Relation, from, to string) string {
	return "ALTER TABLE " + d.Relation(rel) + " RENAME CONSTRAINT " + quoteIdent(from) + " TO " + quoteIdent(to)
}

// createIndexSQL takes the tail of an index definition, from " USING".
func (d dialect) createIndexSQL(rel connectors.Relation, name string, unique bool, tail string) string {
	create := "CREATE INDEX "
	if unique {
		create = "CREATE UNIQUE INDEX "
	}
	return create + quoteIdent(name) + " ON " + d.Relation(rel) + tail
}

func (d dialect) renameIndexSQL(schema, from, to string) string {
	return "ALTER INDEX " + d.Relation(connectors.Relation{Schema: schema, Name: from}) + " RENAME TO " + quoteIdent(to)
}

func (d dialect) renameIndexIfExistsSQL(schema, from, to string) string {
	return strings.Replace(d.renameIndexSQL(schema, from, to), "ALTER INDEX ", "ALTER INDEX IF EXISTS ", 1)
}

// indexTailSQL is the tail of an index over plain columns as the server spells it, so
// that it can be compared with those of existing indexes; quoted is the server's
// quoting of each name, which leaves plain ones bare.
func indexTailSQL(method string, columns []string, quoted map[string]string) string {
	if method == "" {
		method = "btree"
	}
	q := make([]string, len(columns))
	for i, c := range columns {
		q[i] = quoted[c]
	}
	return " USING " + quoted[method] + " (" + strings.Join(q, ", ") + ")"
}

// indexNames are the names that wantedIndexes needs the server's quoting of.
func indexNames(o connectors.TargetOptions) []string {
	names := append([]string{"btree", o.Watermark}, o.UniqueKey...)
	for _, i := range o.Indexes {
		names = append(append(names, i.Type), i.Columns...)
	}
	return names
}

func commentSQL(on, text string) string { return "COMMENT ON " + on + " IS " + quoteText(text) }

// partOf and columnOf name what a comment is on.
func partOf(what, name, relation string) string {
	return what + " " + quoteIdent(name) + " ON " + relation
}

func columnOf(relation, column string) string { return "COLUMN " + relation + "." + quoteIdent(column) }

func ownerSQL(what, name, owner string) string {
	return "ALTER " + what + " " + name + " OWNER TO " + quoteIdent(owner)
}

func optionsSQL(table, options string) string {
	return "ALTER TABLE " + table + " SET (" + options + ")"
}

func viewDefaultSQL(view, column, def string) string {
	return "ALTER VIEW " + view + " ALTER COLUMN " + quoteIdent(column) + " SET DEFAULT " + def
}

func alterTriggerSQL(table, name, state string) string {
	return "ALTER TABLE " + table + " " + state + " TRIGGER " + quoteIdent(name)
}

func dropViewSQL(name string) string { return "DROP VIEW " + name }

// dropSQL drops a relation and fails if something that was not foreseen depends on it.
func dropSQL(o *object) string {
	switch o.kind {
	case "v":
		return dropViewSQL(o.name)
	case "m":
		return "DROP MATERIALIZED VIEW " + o.name
	}
	return "DROP TABLE " + o.name
}

func createViewSQL(v *object) string {
	names := make([]string, len(v.columns))
	for i, c := range v.columns {
		names[i] = c.name
	}
	with := ""
	if v.options != "" {
		with = " WITH (" + v.options + ")"
	}
	return "CREATE VIEW " + v.name + " (" + quoteIdents(names) + ")" + with + " AS " + v.viewDef
}

func (d dialect) deleteAllSQL(rel connectors.Relation) string {
	return "DELETE FROM " + d.Relation(rel)
}

// insertAllSQL overrides identity columns, whose values are loaded like any other.
func (d dialect) insertAllSQL(target, from connectors.Relation, columns []string) string {
	return "INSERT INTO " + d.Relation(target) + " (" + quoteIdents(columns) + ") OVERRIDING SYSTEM VALUE SELECT " +
		quoteIdents(columns) + " FROM " + d.Relation(from)
}

// grantSQL turns the grants that name has into those that it should have; keeps are the
// columns that there are.
func grantSQL(name string, want, have []grant, keeps map[string]bool) []string {
	var sql []string
	clause := func(g grant) string {
		if g.column != "" {
			return g.privilege + " (" + quoteIdent(g.column) + ") ON TABLE " + name
		}
		return g.privilege + " ON TABLE " + name
	}
	has := map[grant]bool{}
	wanted := map[grant]bool{}
	for _, g := range want {
		wanted[g] = true
	}
	for _, g := range have {
		if has[g] = wanted[g]; !wanted[g] {
			sql = append(sql, "REVOKE "+clause(g)+" FROM "+g.grantee)
		}
	}
	for _, g := range want {
		if has[g] || g.column != "" && !keeps[g.column] {
			continue
		}
		s := "GRANT " + clause(g) + " TO " + g.grantee
		if g.grantable {
			s += " WITH GRANT OPTION"
		}
		sql = append(sql, s)
	}
	return sql
}

// wantedIndex is an index that the model asks for or that serves its keys.
type wantedIndex struct {
	name, tail string
	unique     bool
	optional   bool // for speed only
}

// satisfied reports whether one of have does what w would do.
func (w wantedIndex) satisfied(have []objectPart) bool {
	for _, h := range have {
		if h.def == w.tail && (h.kind == "u" || !w.unique) {
			return true
		}
	}
	return false
}

// wantedIndexes lists each index once. Their names follow from what they are, so that
// the next run knows them.
func wantedIndexes(target connectors.Relation, o connectors.TargetOptions, quoted map[string]string) []wantedIndex {
	var list []wantedIndex
	add := func(method string, columns []string, unique, optional bool) {
		if len(columns) == 0 {
			return
		}
		w := wantedIndex{tail: indexTailSQL(method, columns, quoted), unique: unique, optional: optional}
		for _, x := range list {
			if x.tail == w.tail && (x.unique || !w.unique) {
				return
			}
		}
		head := target.Name
		for len(head) > maxIdent-len("_01234567_idx") {
			r := []rune(head)
			head = string(r[:len(r)-1])
		}
		kind := ""
		if unique {
			kind = "unique"
		}
		w.name = head + "_" + hashOf("index", target.Schema, target.Name, w.tail, kind)[:8] + "_idx"
		list = append(list, w)
	}
	for _, i := range o.Indexes {
		add(i.Type, i.Columns, i.Unique, false)
	}
	add("", o.UniqueKey, false, true)
	if o.Watermark != "" {
		add("", []string{o.Watermark}, false, true)
	}
	return list
}
