package dbt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// Column is one column of a relation as adapter.get_columns_in_relation gives it.
type Column struct {
	Name, Type string
	Quoted     string // the name quoted for the SQL being rendered
}

// PyType and PyRepr make a Column print as dbt's.
func (c *Column) PyType() string { return "Column" }
func (c *Column) PyRepr() string { return fmt.Sprintf("<Column %s (%s)>", c.Name, c.Type) }

var (
	wrapped    = regexp.MustCompile(`^(?:Nullable|LowCardinality)\((.*)\)$`)
	parameters = regexp.MustCompile(`\(([^()]*)\)`)
	unsigned   = regexp.MustCompile(`(?i)( unsigned| zerofill)+$`)
)

// inner is the type without the wrappers that say what else a value may be.
func (c *Column) inner() string {
	t := c.Type
	for m := wrapped.FindStringSubmatch(t); m != nil; m = wrapped.FindStringSubmatch(t) {
		t = m[1]
	}
	return t
}

// dtype is the type as the engine's information schema names it. Engines that write types
// in lower case keep the parameters in columns of their own there.
func (c *Column) dtype() string {
	t := c.inner()
	if name, _, _ := strings.Cut(t, "("); name == strings.ToLower(name) {
		t = strings.TrimSpace(parameters.ReplaceAllString(unsigned.ReplaceAllString(t, ""), ""))
	}
	return t
}

// base is the type's name without parameters, in lower case.
func (c *Column) base() string {
	t, _, _ := strings.Cut(strings.ToLower(unsigned.ReplaceAllString(c.inner(), "")), "(")
	return strings.TrimSpace(t)
}

// parameter is the i-th number in the parentheses of a type of kind, nil if there is none.
func (c *Column) parameter(kind string, i int) V {
	m := parameters.FindStringSubmatch(c.inner())
	if m == nil || !c.is(kind) {
		return nil
	}
	if numbers := strings.Split(m[1], ","); i < len(numbers) {
		if n, err := strconv.ParseInt(strings.TrimSpace(numbers[i]), 10, 64); err == nil {
			return n
		}
	}
	return nil
}

var columnKinds = map[string][]string{
	"is_string": {"text", "character varying", "character", "varchar", "char", "bpchar", "string", "fixedstring", "tinytext", "mediumtext", "longtext", "enum"},
	"is_float":  {"real", "float", "float4", "float8", "double", "double precision", "float32", "float64"},
	"is_integer": {"tinyint", "smallint", "mediumint", "integer", "int", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "smallserial", "serial", "bigserial", "int2", "int4", "int8",
		"serial2", "serial4", "serial8", "int16", "int32", "int64", "int128", "int256", "uint8", "uint16", "uint32", "uint64", "uint128", "uint256"},
	"is_numeric": {"numeric", "decimal"},
}

func (c *Column) is(kind string) bool {
	for _, t := range columnKinds[kind] {
		if t == c.base() {
			return true
		}
	}
	return false
}

// GetAttr gives the attributes and methods that macros use.
func (c *Column) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "name", "column":
		return c.Name, true
	case "quoted":
		return c.Quoted, true
	case "dtype":
		return c.dtype(), true
	case "data_type":
		return c.Type, true
	case "char_size":
		return c.parameter("is_string", 0), true
	case "numeric_precision":
		return c.parameter("is_numeric", 0), true
	case "numeric_scale":
		return c.parameter("is_numeric", 1), true
	case "is_string", "is_float", "is_integer", "is_numeric":
		return constantly(n, c.is(n)), true
	case "is_number":
		return constantly(n, c.is("is_float") || c.is("is_integer") || c.is("is_numeric")), true
	case "string_size":
		return function(n, func(A) (V, error) {
			if !c.is("is_string") {
				return nil, compilation("Called string_size() on non-string field!")
			}
			if size := c.parameter("is_string", 0); size != nil {
				return size, nil
			}
			return int64(256), nil
		}), true
	}
	return columnClass{}.GetAttr(nil, n)
}

// columnClass is api.Column.
type columnClass struct{ spelling *Spelling }

func (columnClass) PyType() string { return "type" }
func (cc columnClass) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "translate_type":
		return bound(n, params("dtype"), func(b jinja.Bound) (V, error) {
			s := jinja.Str(b.Get("dtype"))
			switch strings.ToUpper(s) {
			case "STRING":
				return "TEXT", nil
			case "INTEGER":
				return "INT", nil
			}
			return s, nil
		}), true
	case "create":
		return bound(n, params("name", "label_or_dtype"), func(b jinja.Bound) (V, error) {
			c := &Column{Name: jinja.Str(b.Get("name")), Type: jinja.Str(b.Get("label_or_dtype"))}
			if c.Quoted = c.Name; cc.spelling != nil {
				c.Quoted = cc.spelling.Ident(c.Name)
			}
			return c, nil
		}), true
	case "numeric_type":
		return bound(n, params("dtype", "precision", "scale"), func(b jinja.Bound) (V, error) {
			if b.Get("precision") == nil || b.Get("scale") == nil {
				return b.Get("dtype"), nil
			}
			return fmt.Sprintf("%s(%s,%s)", jinja.Str(b.Get("dtype")), jinja.Str(b.Get("precision")), jinja.Str(b.Get("scale"))), nil
		}), true
	case "string_type":
		return bound(n, params("size"), func(b jinja.Bound) (V, error) { return "character varying(" + jinja.Str(b.Get("size")) + ")", nil }), true
	}
	return nil, false
}
