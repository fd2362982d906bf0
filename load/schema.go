package load

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Policies of on_schema_change.
const (
	IgnoreChanges = "ignore"
	FailOnChange  = "fail"
	AppendColumns = "append_new_columns"
	SyncColumns   = "sync_all_columns"
)

// Fit is how a delta's columns meet an existing table.
type Fit struct {
	Columns []connectors.Column // the delta's columns that are written, as they are staged
	// Cast says per column of Columns that the delta's own type, From, differs from the
	// target's so that each value must be proven to survive the cast.
	Cast  []bool
	From  []connectors.Type
	Alter []connectors.Alteration
	// Dropped are delta columns that the target lacks and that the policy ignores.
	Dropped []string
}

// FitColumns compares a delta with the table that takes it. ddl gives the type in which
// the target would create a column. It reads nothing; what it cannot decide from the
// types is left to Cast.
func FitColumns(policy string, table *connectors.Table, delta []connectors.Column, ddl func(connectors.Column) (string, error)) (Fit, error) {
	var f Fit
	met := map[string]bool{}
	var added []string
	for _, c := range delta {
		old, err := columnFor(table, c.Name)
		if err != nil {
			return f, err
		}
		switch {
		case old != nil:
			met[old.Name] = true
			if err := f.meet(policy, *old, c, ddl); err != nil {
				return f, err
			}
		case policy == AppendColumns || policy == SyncColumns:
			f.Alter = append(f.Alter, connectors.Alteration{Kind: connectors.AddColumn, Column: c})
			f.add(c, c.Type, false)
		case policy == FailOnChange:
			added = append(added, c.Name)
		default:
			f.Dropped = append(f.Dropped, c.Name)
		}
	}
	var gone []string
	for _, c := range table.Columns {
		if !met[c.Name] {
			gone = append(gone, c.Name)
			if policy == SyncColumns {
				f.Alter = append(f.Alter, connectors.Alteration{Kind: connectors.DropColumn, Column: c})
			}
		}
	}
	if policy == FailOnChange && len(added)+len(gone) > 0 {
		return f, fmt.Errorf("the columns changed and on_schema_change is 'fail': %s; run with --full-refresh to rebuild the table", changes(added, gone))
	}
	if len(f.Columns) == 0 {
		return f, fmt.Errorf("none of the model's columns is a column of %s", table.Relation)
	}
	return f, nil
}

// columnFor is the column of a table that takes one of a delta: of the same name, else of
// the one name that differs in case alone; nil if there is none.
func columnFor(table *connectors.Table, name string) (*connectors.Column, error) {
	var found *connectors.Column
	for i := range table.Columns {
		c := &table.Columns[i]
		switch {
		case c.Name == name:
			return c, nil
		case !strings.EqualFold(c.Name, name):
		case found != nil:
			return nil, fmt.Errorf("column %q of the model could be %q or %q of %s: give it the name of one of them", name, found.Name, c.Name, table.Relation)
		default:
			found = c
		}
	}
	return found, nil
}

func changes(added, gone []string) string {
	var parts []string
	if len(added) > 0 {
		parts = append(parts, "new "+strings.Join(added, ", "))
	}
	if len(gone) > 0 {
		parts = append(parts, "missing "+strings.Join(gone, ", "))
	}
	return strings.Join(parts, "; ")
}

func (f *Fit) add(c connectors.Column, from connectors.Type, cast bool) {
	f.Columns = append(f.Columns, c)
	f.From = append(f.From, from)
	f.Cast = append(f.Cast, cast)
}

// meet fits one column that both have. The staged column carries the target's name.
func (f *Fit) meet(policy string, old, c connectors.Column, ddl func(connectors.Column) (string, error)) error {
	from := c.Type
	c.Name = old.Name
	made, err := ddl(c)
	if err != nil {
		return err
	}
	same := from.Equal(old.Type) && (from.Kind != connectors.Varchar || old.Type.Length == 0 || from.Length > 0 && from.Length <= old.Type.Length)
	switch {
	case same, strings.EqualFold(strings.ReplaceAll(made, " ", ""), strings.ReplaceAll(old.Native, " ", "")):
		f.add(c, from, false)
	case wider(from, old.Type) && (policy == AppendColumns || policy == SyncColumns):
		f.Alter = append(f.Alter, connectors.Alteration{Kind: connectors.WidenColumn, Column: c})
		f.add(c, from, false)
	case from.Equal(old.Type): // a text that may be longer than the column: the target's own check decides
		c.Type, c.Native, c.Engine = old.Type, old.Native, old.Engine
		f.add(c, from, false)
	case from.Kind >= connectors.List && old.Type.Kind == connectors.JSON: // as the target would create it: JSON of the value
		f.add(c, from, false)
	case castable(from, old.Type):
		c.Type, c.Native, c.Engine = old.Type, old.Native, old.Engine
		f.add(c, from, true)
	default:
		return fmt.Errorf("column %q is %s in the model but %s in the table: cast it in the model, or rebuild the table with --full-refresh", c.Name, from, old.Type)
	}
	return nil
}

var intBits = map[connectors.Kind]int{
	connectors.TinyInt: 8, connectors.SmallInt: 16, connectors.Integer: 32, connectors.BigInt: 64, connectors.HugeInt: 128,
	connectors.UTinyInt: 9, connectors.USmallInt: 17, connectors.UInteger: 33, connectors.UBigInt: 65,
}

var intDigits = map[connectors.Kind]int{
	connectors.TinyInt: 3, connectors.SmallInt: 5, connectors.Integer: 10, connectors.BigInt: 19, connectors.UTinyInt: 3,
	connectors.USmallInt: 5, connectors.UInteger: 10, connectors.UBigInt: 20,
}

// wider says that every value of old is a value of t, so that the column may be widened.
func wider(t, old connectors.Type) bool {
	switch {
	case t.Kind == connectors.Varchar && old.Kind == connectors.Varchar:
		return old.Length > 0 && (t.Length == 0 || t.Length > old.Length)
	case intBits[t.Kind] > 0 && intBits[old.Kind] > 0:
		return intBits[t.Kind] > intBits[old.Kind] && t.Kind < connectors.UTinyInt
	case t.Kind == connectors.Decimal && old.Kind == connectors.Decimal:
		return t.Scale >= old.Scale && t.Precision-t.Scale >= old.Precision-old.Scale
	case t.Kind == connectors.Decimal && intDigits[old.Kind] > 0:
		return t.Precision-t.Scale >= intDigits[old.Kind]
	}
	return t.Kind == connectors.Double && old.Kind == connectors.Float
}

// HoldsInteger says that both are integer types and every value of old is one of t.
func HoldsInteger(t, old connectors.Type) bool {
	a, b := intBits[t.Kind], intBits[old.Kind]
	if a == 0 || b == 0 {
		return false
	}
	return t.Kind == old.Kind || a > b && (t.Kind < connectors.UTinyInt || old.Kind >= connectors.UTinyInt)
}

// castable says that casting from one kind to the other and back shows whether a value
// survived. Binary and text do not cast into each other byte by byte.
func castable(from, to connectors.Type) bool {
	if from.Kind == connectors.Blob || to.Kind == connectors.Blob {
		return false
	}
	return from.Kind < connectors.List && to.Kind < connectors.List
}
