package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Constrainer = (*conn)(nil)

// longestName bounds the names that dvt makes; SQLite has no limit.
const longestName = 120

// Constrains implements connectors.Constrainer.
func (c *conn) Constrains(kind connectors.ConstraintKind) (connectors.Support, string) {
	if kind == connectors.ForeignKey {
		return connectors.Unenforced, "SQLite does so only in sessions that set PRAGMA foreign_keys"
	}
	return connectors.Enforced, ""
}

// createSQL creates the staging table. Its rows are held to the contract as they come:
// SQLite adds constraints to no table that exists.
func (st *staging) createSQL(cols []connectors.Column, types []string) (string, error) {
	o := st.spec.Options
	if !o.Contract {
		return st.c.d.createTable(st.rel, cols, types), nil
	}
	list, err := connectors.FitConstraints(o.Constraints, cols)
	if err != nil {
		return "", err
	}
	st.contract = list
	defs := make([]string, len(cols))
	required := connectors.RequiredColumns(list, connectors.NotNull, connectors.PrimaryKey)
	for i, c := range cols {
		defs[i] = strings.TrimSpace(quote(c.Name) + " " + types[i])
		if required[c.Name] {
			defs[i] += " NOT NULL"
		}
	}
	for _, c := range list {
		head := "CONSTRAINT " + quote(connectors.ConstraintName(c, st.target.Name, longestName)) + " "
		switch c.Kind {
		case connectors.NotNull:
		case connectors.PrimaryKey:
			at := slices.IndexFunc(cols, func(x connectors.Column) bool { return x.Name == c.Columns[0] })
			if len(c.Columns) == 1 && strings.EqualFold(types[at], "INTEGER") {
				// Otherwise it would be the row's number, which SQLite makes up for NULL.
				defs[at] += " " + head + "PRIMARY KEY DESC"
				continue
			}
			defs = append(defs, head+"PRIMARY KEY ("+quoteAll(c.Columns)+")")
		case connectors.Unique:
			defs = append(defs, strings.TrimSpace(head+"UNIQUE ("+quoteAll(c.Columns)+") "+c.Expression))
		case connectors.Check:
			defs = append(defs, head+"CHECK ("+c.Expression+"\n)")
		case connectors.ForeignKey:
			to := c.Expression
			if c.To != nil { // within its own file: the name takes no schema
				to = quote(c.To.Name) + " (" + quoteAll(c.ToColumns) + ")"
			}
			defs = append(defs, head+"FOREIGN KEY ("+quoteAll(c.Columns)+") REFERENCES "+to)
		default:
			defs = append(defs, head+c.Expression)
		}
	}
	return st.c.d.createDefined(st.rel, defs), nil
}

func (d dialect) createDefined(rel connectors.Relation, defs []string) string {
	return "CREATE TABLE " + d.Relation(rel) + " (" + strings.Join(defs, ", ") + ")"
}

func quoteAll(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote(n)
	}
	return strings.Join(q, ", ")
}

// blame names the constraint of the contract that a row has broken.
func (st *staging) blame(err error) error {
	var code *codeError
	if err == nil || len(st.contract) == 0 || !errors.As(err, &code) || code.code&0xff != codeConstraint {
		return err
	}
	what, of, _ := strings.Cut(code.msg, " constraint failed: ")
	named := errors.New(strings.ReplaceAll(err.Error(), st.rel.Name, st.target.Name))
	var columns []string
	for _, c := range strings.Split(of, ", ") {
		columns = append(columns, strings.TrimPrefix(c, st.rel.Name+"."))
	}
	for _, c := range st.contract {
		if c.Kind == connectors.Check || c.Kind == connectors.CustomConstraint {
			if what == "CHECK" && of == connectors.ConstraintName(c, st.target.Name, longestName) {
				return &connectors.ConstraintError{Constraint: c, Err: named}
			}
			continue
		}
		same := slices.Equal(c.Columns, columns) || what == "NOT NULL" && slices.Contains(c.Columns, columns[0])
		if same && c.Kind != connectors.ForeignKey && (what == "NOT NULL" || c.Kind != connectors.NotNull) {
			return &connectors.ConstraintError{Constraint: c, Err: named}
		}
	}
	return named
}

// orphans looks for rows of the new content whose foreign keys point nowhere.
func (st *staging) orphans(ctx context.Context) error {
	for _, c := range st.contract {
		if c.Kind != connectors.ForeignKey {
			continue
		}
		var found error
		err := st.s.rows(ctx, st.c.d.foreignCheck(st.target), func(r *stmt) error {
			if found == nil && (c.To == nil || strings.EqualFold(r.text(2), c.To.Name)) {
				found = fmt.Errorf("a row points to no row of %s (rowid %s)", r.text(2), r.text(1))
			}
			return nil
		})
		if err = errors.Join(err, found); err != nil {
			return &connectors.ConstraintError{Constraint: c, Err: err}
		}
	}
	return nil
}

func (d dialect) foreignCheck(rel connectors.Relation) string {
	return "PRAGMA " + quote(d.schemaOf(rel)) + ".foreign_key_check(" + quote(rel.Name) + ")"
}
