package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Constrainer = (*Conn)(nil)

// maxName is the longest name of a constraint or index in characters.
const maxName = 64

// Constrains implements connectors.Constrainer.
func (c *Conn) Constrains(kind connectors.ConstraintKind) (connectors.Support, string) {
	if kind == connectors.Check && !c.checks() {
		return connectors.Unsupported, "this server reads checks and forgets them"
	}
	return connectors.Enforced, ""
}

// checks says whether the server holds rows to CHECK.
func (c *Conn) checks() bool {
	return c.server().atLeast(engineMariaDB, 10, 2, 22) || c.server().atLeast(engineMySQL, 8, 0, 16)
}

// contract adds the constraints of the model's contract to the parts of the ALTER TABLE
// that the staging table gets. taken are the names that the old table holds and that are
// unique in the database.
func (k *keep) contract(taken map[string]bool) error {
	o := k.st.spec.Options
	if !o.Contract {
		return nil
	}
	list, err := connectors.FitConstraints(o.Constraints, k.st.spec.Columns)
	if err != nil {
		return err
	}
	k.required = connectors.RequiredColumns(list, connectors.NotNull, connectors.PrimaryKey)
	for _, c := range list {
		name := connectors.ConstraintName(c, k.st.target.Name, maxName)
		if taken[name] {
			name = k.otherName(name)
		}
		switch c.Kind {
		case connectors.NotNull:
		case connectors.PrimaryKey:
			k.built = append(k.built, plainIndex("PRIMARY", c.Columns))
			k.keys = append(k.keys, keyPart("PRIMARY KEY", "", c))
		case connectors.Unique:
			k.built = append(k.built, plainIndex(name, c.Columns))
			k.keys = append(k.keys, keyPart("UNIQUE KEY", name, c))
		case connectors.Check:
			k.keys = append(k.keys, checkPart(name, c.Expression+"\n"))
		case connectors.ForeignKey:
			k.keys = append(k.keys, k.pointPart(name, c))
		default:
			if c.Name == "" {
				name = ""
			}
			k.keys = append(k.keys, customPart(name, c.Expression))
		}
		k.made = append(k.made, made{c, name})
	}
	return nil
}

// made is a constraint of the contract and the name that the staging table's has.
type made struct {
	connectors.Constraint
	name string
}

func plainIndex(name string, columns []string) index {
	ix := index{name: name, unique: true, kind: "BTREE"}
	for _, c := range columns {
		ix.columns = append(ix.columns, indexColumn{name: c})
	}
	return ix
}

// otherName is the second of the two names between which a constraint changes from swap to
// swap, where names are unique in a database and the old table still bears the first.
func (k *keep) otherName(name string) string {
	const mark = "_dvt"
	if len(name) > maxName-len(mark) {
		name = name[:maxName-len(mark)]
	}
	return name + mark
}

// taken are the constraint names of the old table that no other table may bear meanwhile.
func (s *session) taken(ctx context.Context, rel connectors.Relation) (map[string]bool, error) {
	out := map[string]bool{}
	fks, err := s.foreigns(ctx, dialect{s.c}.foreignSQL(rel))
	if err != nil {
		return nil, err
	}
	for _, f := range fks {
		out[f.name] = true
	}
	if s.c.server().engine == engineMariaDB || !s.c.checks() {
		return out, nil // a check's name is its table's own affair
	}
	rows, err := s.rows(ctx, dialect{s.c}.checksSQL(rel))
	for _, r := range rows {
		out[r[0].s] = true
	}
	return out, err
}

// blame names the constraint of the contract because of which cause was the answer to the
// ALTER TABLE of the staging table.
func (s *session) blame(ctx context.Context, st *staging, all []made, cause error) error {
	text := cause.Error()
	for _, m := range all {
		if m.name != "" && strings.Contains(text, m.name) || m.Kind == connectors.PrimaryKey && strings.Contains(text, "'PRIMARY'") {
			return &connectors.ConstraintError{Constraint: m.Constraint, Err: cause}
		}
	}
	for _, m := range all {
		if m.Kind != connectors.NotNull && m.Kind != connectors.PrimaryKey {
			continue
		}
		for _, col := range m.Columns {
			if rows, err := s.rows(ctx, someNullSQL(st.rel, col)); err == nil && len(rows) > 0 {
				return &connectors.ConstraintError{Constraint: m.Constraint, Err: fmt.Errorf("column %q has NULL: %w", col, cause)}
			}
		}
	}
	return fmt.Errorf("giving the new table its indexes and constraints: %w", cause)
}

// proveContract gives the staging table the constraints of the contract although only its
// rows will go into the target, which keeps its own: foreign keys of others point to it.
func (s *session) proveContract(ctx context.Context, st *staging, old *connectors.Table) error {
	if !st.spec.Options.Contract {
		return nil
	}
	taken, err := s.taken(ctx, st.target)
	if err != nil {
		return err
	}
	fresh, _, err := s.describe(ctx, st.rel)
	if err != nil {
		return err
	}
	k := &keep{d: dialect{s.c}, st: st, fresh: fresh}
	if err := k.contract(taken); err != nil {
		return err
	}
	k.nulls()
	if sql := alterSQL(st.rel, append(k.parts, k.keys...)); sql != "" {
		if _, err := s.exec(ctx, sql); err != nil {
			return s.blame(ctx, st, k.made, err)
		}
	}
	return s.lacking(ctx, st, old, k.made)
}

// lacking refuses to go on with a target whose own keys are not the contract's.
func (s *session) lacking(ctx context.Context, st *staging, old *connectors.Table, want []made) error {
	have, err := s.indexes(ctx, old.Relation)
	if err != nil {
		return err
	}
	for _, m := range want {
		var miss bool
		switch m.Kind {
		case connectors.NotNull:
			miss = slices.ContainsFunc(m.Columns, func(c string) bool { return old.Columns[old.Index(c)].Nullable })
		case connectors.PrimaryKey, connectors.Unique:
			miss = !slices.ContainsFunc(have, func(ix index) bool {
				return ix.unique && (ix.name == "PRIMARY" || m.Kind == connectors.Unique) && ix.sameColumns(plainIndex("", m.Columns))
			})
		}
		if miss {
			return &connectors.ConstraintError{Constraint: m.Constraint, Err: errors.New("the table lacks it, and foreign keys of other tables keep the table from being replaced by one that has it: drop them first")}
		}
	}
	return nil
}

// nulls makes the columns that the contract requires NOT NULL, where no old table tells
// more of them.
func (k *keep) nulls() {
	for _, t := range k.st.cols {
		if k.required[t.col.Name] {
			k.parts = append(k.parts, modifyPart(t, true, "", ""))
		}
	}
}

func keyPart(what, name string, c connectors.Constraint) string {
	s := "ADD " + what
	if name != "" {
		s += " " + quote(name)
	}
	return strings.TrimSpace(s + " (" + quoteAll(c.Columns) + ") " + c.Expression)
}

func (k *keep) pointPart(name string, c connectors.Constraint) string {
	s := "ADD CONSTRAINT " + quote(name) + " FOREIGN KEY (" + quoteAll(c.Columns) + ") REFERENCES "
	if c.To == nil {
		return s + c.Expression
	}
	to := k.st.c.at(*c.To)
	if to == k.st.target {
		to = k.st.rel // its own rows
	}
	return s + relation(to) + " (" + quoteAll(c.ToColumns) + ")"
}

func customPart(name, text string) string {
	if name != "" {
		return "ADD CONSTRAINT " + quote(name) + " " + text
	}
	return "ADD " + text
}

func someNullSQL(rel connectors.Relation, column string) string {
	return "SELECT 1 FROM " + relation(rel) + " WHERE " + quote(column) + " IS NULL LIMIT 1"
}
