package connectors

import (
	"strconv"
	"strings"
)

// namingColumns is how many columns name a row that has no key.
const namingColumns = 3

// Naming chooses the columns that name a row in messages, as indexes into columns: those
// of key, as far as they are there, else the first few.
func Naming(columns, key []string) []int {
	var at []int
	for _, k := range key {
		for i, c := range columns {
			if strings.EqualFold(c, k) {
				at = append(at, i)
			}
		}
	}
	for i := 0; len(key) == 0 && i < min(len(columns), namingColumns); i++ {
		at = append(at, i)
	}
	return at
}

// NamingColumns is Naming as names.
func NamingColumns(columns, key []string) []string {
	at := Naming(columns, key)
	names := make([]string, len(at))
	for i, c := range at {
		names[i] = columns[c]
	}
	return names
}

// NamedRow is a row's name made of columns and their values; nil is NULL.
func NamedRow(columns []string, values []*string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = c + " = NULL"
		if v := values[i]; v != nil {
			parts[i] = c + " = " + Shorten(*v)
		}
	}
	return strings.Join(parts, ", ")
}

// RowName names a row for a message: by its key, else by its number in the stream, from 1,
// and its first columns. spell gives a column's value for people.
func RowName(columns, key []string, number int64, spell func(column int) string) string {
	var parts []string
	for _, i := range Naming(columns, key) {
		parts = append(parts, columns[i]+" = "+Shorten(spell(i)))
	}
	name := strings.Join(parts, ", ")
	if len(key) > 0 && name != "" {
		return name
	}
	if name != "" {
		name = " (" + name + ")"
	}
	return "number " + strconv.FormatInt(number, 10) + name
}

// RowKey are the columns that name a row in messages: NamedBy, else the unique key.
func (o TargetOptions) RowKey() []string {
	if len(o.NamedBy) > 0 {
		return o.NamedBy
	}
	return o.UniqueKey
}

// Names are the columns' names.
func Names(cols []Column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// Naming are the columns that name a staged row of the delta in messages.
func (d Delta) Naming(o TargetOptions) []string {
	key := o.RowKey()
	if len(key) == 0 {
		key = d.Key
	}
	return NamingColumns(d.Columns, key)
}
