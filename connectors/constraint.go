package connectors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// ConstraintKind is the kind of a Constraint.
type ConstraintKind uint8

// The kinds of constraints.
const (
	NotNull ConstraintKind = iota
	Check
	Unique
	PrimaryKey
	ForeignKey
	// CustomConstraint is a table constraint in the engine's own words.
	CustomConstraint
)

// ConstraintKinds are the names of the kinds, in their order.
var ConstraintKinds = []string{"not_null", "check", "unique", "primary_key", "foreign_key", "custom"}

func (k ConstraintKind) String() string { return ConstraintKinds[k] }

// KindOfConstraint is the kind of a name, which is one of ConstraintKinds.
func KindOfConstraint(name string) ConstraintKind {
	return ConstraintKind(slices.Index(ConstraintKinds, name))
}

// Constraint is what a model's contract asks of its rows.
type Constraint struct {
	Kind    ConstraintKind
	Name    string   // as the contract names it, "" = ConstraintName makes one
	Columns []string // none of Check and CustomConstraint at the model
	// Expression is the condition of Check and the text of CustomConstraint, in the
	// engine's own SQL; of Unique and PrimaryKey what follows the columns; of a
	// ForeignKey without To what follows REFERENCES.
	Expression string
	To         *Relation // ForeignKey: a relation of the same connection
	ToColumns  []string
}

// Constrainer is a target that gives the tables that it makes constraints: they are in
// TargetOptions.Constraints where the contract decides about them. Without it a contract's
// constraints are warned of, NOT NULL excepted, which is checked on the way.
type Constrainer interface {
	// Constrains says what becomes of a kind, and why it is not enforced.
	Constrains(kind ConstraintKind) (Support, string)
}

// Support is how far a target goes with a kind of constraint.
type Support uint8

// What a target does with a constraint.
const (
	Unsupported Support = iota // it is left out
	Unenforced                 // it is declared and checked while the table is built, but not afterwards
	Enforced
)

// String is c for people.
func (c Constraint) String() string {
	s := c.Kind.String()
	if c.Name != "" {
		s += " " + c.Name
	}
	if len(c.Columns) > 0 && c.Kind != Check {
		s += " (" + strings.Join(c.Columns, ", ") + ")"
	}
	if c.Expression != "" {
		s += " (" + Shorten(c.Expression) + ")"
	}
	if c.To != nil {
		s += " to " + c.To.String()
	}
	return s
}

// ConstraintName is the name under which c stands in a table: its own, or one that
// follows from what it is, so that the next run knows it again. longest is the engine's
// limit in bytes.
func ConstraintName(c Constraint, table string, longest int) string {
	if c.Name != "" {
		return c.Name
	}
	to := ""
	if c.To != nil {
		to = c.To.Schema + "\x00" + c.To.Name
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Kind.String(), strings.Join(c.Columns, "\x00"), c.Expression, to, strings.Join(c.ToColumns, "\x00")}, "\x01")))
	tail := "_" + hex.EncodeToString(sum[:4]) + [...]string{"_null", "_check", "_key", "_pkey", "_fkey", "_custom"}[c.Kind]
	head := []rune(table)
	for len(string(head))+len(tail) > longest {
		head = head[:len(head)-1]
	}
	return string(head) + tail
}

// FitConstraints gives constraints the columns' own spelling.
func FitConstraints(list []Constraint, cols []Column) ([]Constraint, error) {
	out := make([]Constraint, len(list))
	for i, c := range list {
		names := make([]string, len(c.Columns))
		for j, want := range c.Columns {
			for _, col := range cols {
				if col.Name == want || names[j] == "" && strings.EqualFold(col.Name, want) {
					names[j] = col.Name
				}
			}
			if names[j] == "" {
				return nil, &ConstraintError{c, fmt.Errorf("the model has no column %q", want)}
			}
		}
		c.Columns, out[i] = names, c
	}
	return out, nil
}

// RequiredColumns are the columns that constraints of the kinds name.
func RequiredColumns(list []Constraint, kinds ...ConstraintKind) map[string]bool {
	out := map[string]bool{}
	for _, c := range list {
		if slices.Contains(kinds, c.Kind) {
			for _, col := range c.Columns {
				out[col] = true
			}
		}
	}
	return out
}

// ConstraintError says that a constraint could not be made: rows violate it, or the
// engine does not take it. The target is unchanged.
type ConstraintError struct {
	Constraint Constraint
	Err        error
}

func (e *ConstraintError) Error() string {
	return "the contract's constraint " + e.Constraint.String() + ": " + e.Err.Error()
}
func (e *ConstraintError) Unwrap() error { return e.Err }
