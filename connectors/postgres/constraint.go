package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Constrainer = (*conn)(nil)

// Constrains implements connectors.Constrainer.
func (c *conn) Constrains(connectors.ConstraintKind) (connectors.Support, string) {
	return connectors.Enforced, ""
}

// placed is a constraint of the contract. The staging table bears it under a name of its
// own, for names of keys are unique in a schema and the old table may have this one.
type placed struct {
	connectors.Constraint
	name    string // in the target
	interim string // in the staging table; "" of a foreign key, which waits for the swap
}

// constrain gives the staging table the contract's constraints, which checks its rows.
// The target is not touched. Foreign keys wait for the swap: they lock the other table
// until the end.
func (st *staging) constrain(ctx context.Context) error {
	if !st.spec.Options.Contract {
		return nil
	}
	if err := st.retype(ctx); err != nil {
		return err
	}
	list, err := connectors.FitConstraints(st.spec.Options.Constraints, st.spec.Columns)
	if err != nil {
		return err
	}
	st.placed = nil
	for i, c := range list {
		x := placed{Constraint: c, name: connectors.ConstraintName(c, st.target.Name, maxIdent)}
		sql := ""
		switch c.Kind {
		case connectors.NotNull:
			sql = st.c.dialect.alterColumnsSQL(st.rel, c.Columns, "SET NOT NULL")
		case connectors.ForeignKey:
			st.placed = append(st.placed, x)
		default:
			if err := checkIdent("constraint", x.name); err != nil {
				return err
			}
			x.interim = st.rel.Name + "_c" + strconv.Itoa(i)
			st.placed = append(st.placed, x)
			sql = st.c.dialect.addConstraintSQL(st.c.dialect.Relation(st.rel), x.interim, constraintSQL(c))
		}
		if sql == "" {
			continue
		}
		if err := st.c.exec(ctx, st.conn(), sql); err != nil {
			return &connectors.ConstraintError{Constraint: c, Err: err}
		}
	}
	return nil
}

// retype gives columns that a SELECT has typed the lengths and precisions that the contract
// declares. PostgreSQL refuses a text that is too long.
func (st *staging) retype(ctx context.Context) error {
	var parts []string
	for _, c := range st.spec.Columns {
		for name, typ := range st.spec.Options.DataTypes {
			if !strings.EqualFold(name, c.Name) || strings.EqualFold(typ, c.Native) {
				continue
			}
			if err := plausibleType(typ); err != nil {
				return err
			}
			parts = append(parts, "ALTER COLUMN "+quoteIdent(c.Name)+" TYPE "+typ)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	if err := st.c.exec(ctx, st.conn(), "ALTER TABLE "+st.c.dialect.Relation(st.rel)+" "+strings.Join(parts, ", ")); err != nil {
		return fmt.Errorf("giving the columns the types of the contract: %w", err)
	}
	return nil
}

// contract names the constraints of the staging table, which bears the target's name by
// then, and makes the foreign keys.
func (b *swapBuilder) contract() {
	for _, x := range b.st.placed {
		if x.interim != "" {
			b.plan.swap = append(b.plan.swap, b.renameConstraintSQL(b.st.target, x.interim, x.name))
			continue
		}
		b.addPlaced(&b.plan.swap, x, b.foreignSQL(x.Constraint))
	}
}

func (b *swapBuilder) addPlaced(to *[]string, x placed, def string) {
	sql := b.addConstraintSQL(b.Relation(b.st.target), x.name, def)
	*to = append(*to, sql)
	b.plan.about[sql] = "the contract's constraint " + x.String()
}

// notValid makes a foreign key that looks at new rows only.
const notValid = " NOT VALID"

// pointsAnew reports whether k belongs to a table that is made anew after this one.
func (b *swapBuilder) pointsAnew(k objectPart) bool {
	return slices.ContainsFunc(b.st.spec.Options.PointedFrom, func(r connectors.Relation) bool {
		return strings.ReplaceAll(k.on, `"`, "") == b.st.c.fill(r).String() && !strings.HasSuffix(k.def, notValid)
	})
}

// contractInPlace changes the constraints of a table that stays into the contract's.
// Those that are there already are found by what the server makes of both, foreign keys
// by their names.
func (b *swapBuilder) contractInPlace() {
	p, target := b.plan, b.Relation(b.st.target)
	made := map[string]string{} // interim name → definition
	for _, k := range b.fresh.constraints {
		made[k.name] = k.def
	}
	stays := map[string]bool{}
	var missing []placed
	for _, x := range b.st.placed {
		i := slices.IndexFunc(b.old.constraints, func(k objectPart) bool {
			if x.interim == "" {
				return k.kind == "f" && k.name == x.name
			}
			return k.kind != "f" && k.def == made[x.interim] && (x.Name == "" || x.Name == k.name) && !stays[k.name]
		})
		if i < 0 {
			missing = append(missing, x)
		} else {
			stays[b.old.constraints[i].name] = true
		}
	}
	var changes []string
	for _, k := range b.old.constraints {
		if !stays[k.name] {
			changes = append(changes, dropConstraintSQL(target, k.name))
		}
	}
	for _, c := range b.fresh.columns {
		i := slices.IndexFunc(b.old.columns, func(o objectColumn) bool { return o.name == c.name })
		switch old := b.old.columns[i]; {
		case old.notNull && !c.notNull:
			changes = append(changes, b.alterColumnSQL(b.st.target, c.name, "DROP NOT NULL"))
		case c.notNull && !old.notNull:
			p.after = append(p.after, b.alterColumnSQL(b.st.target, c.name, "SET NOT NULL"))
		}
	}
	for _, x := range missing {
		def := made[x.interim]
		if x.interim == "" {
			def = b.foreignSQL(x.Constraint)
		}
		b.addPlaced(&p.after, x, def)
	}
	if len(changes)+len(missing)+len(p.after) > 0 {
		p.lock = b.lockSQL(b.st.target, "ACCESS EXCLUSIVE")
	}
	p.swap = append(p.swap, changes...)
}

// alterColumnsSQL looks at the rows once for all columns.
func (d dialect) alterColumnsSQL(rel connectors.Relation, columns []string, what string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = "ALTER COLUMN " + quoteIdent(c) + " " + what
	}
	return "ALTER TABLE " + d.Relation(rel) + " " + strings.Join(parts, ", ")
}

// constraintSQL is a constraint that names no other table.
func constraintSQL(c connectors.Constraint) string {
	switch c.Kind {
	case connectors.Check:
		return "CHECK (" + c.Expression + "\n)"
	case connectors.Unique:
		return strings.TrimSpace("UNIQUE (" + quoteIdents(c.Columns) + ") " + c.Expression)
	case connectors.PrimaryKey:
		return strings.TrimSpace("PRIMARY KEY (" + quoteIdents(c.Columns) + ") " + c.Expression)
	}
	return c.Expression
}

func (d dialect) foreignSQL(c connectors.Constraint) string {
	s := "FOREIGN KEY (" + quoteIdents(c.Columns) + ") REFERENCES "
	if c.To == nil {
		return s + c.Expression
	}
	return s + d.Relation(*c.To) + " (" + quoteIdents(c.ToColumns) + ")"
}
