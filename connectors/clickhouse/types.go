package clickhouse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var plainKinds = map[string]connectors.Kind{
	"Int8": connectors.TinyInt, "Int16": connectors.SmallInt, "Int32": connectors.Integer, "Int64": connectors.BigInt,
	"Int128": connectors.HugeInt, "UInt8": connectors.UTinyInt, "UInt16": connectors.USmallInt, "UInt32": connectors.UInteger,
	"UInt64": connectors.UBigInt, "Float32": connectors.Float, "Float64": connectors.Double, "String": connectors.Varchar,
	"FixedString": connectors.Varchar, "Enum8": connectors.Varchar, "Enum16": connectors.Varchar, "Date": connectors.Date,
	"Date32": connectors.Date, "DateTime": connectors.TimestampTZ, "UUID": connectors.UUID, "IPv4": connectors.Varchar,
	"IPv6": connectors.Varchar, "Bool": connectors.Boolean, "JSON": connectors.JSON,
}

// logical is the type in which dvt carries t. Invalid where it cannot: integers beyond
// 127 bits, aggregate states, intervals, variants.
func (t *chType) logical() connectors.Type {
	switch t.name {
	case "Nullable", "LowCardinality":
		return t.args[0].logical()
	case "Decimal":
		if t.prec > 38 || t.prec < 1 {
			return connectors.Type{}
		}
		return connectors.Dec(t.prec, t.scale)
	case "DateTime64":
		if t.prec > 6 {
			return connectors.T(connectors.TimestampNS)
		}
		return connectors.T(connectors.TimestampTZ)
	case "Array":
		elem := t.args[0].logical()
		if elem.Kind == connectors.Invalid {
			return elem
		}
		return connectors.ListOf(elem)
	case "Tuple", "Map":
		return t.fields()
	}
	return connectors.T(plainKinds[t.name])
}

func (t *chType) fields() connectors.Type {
	kind := connectors.Struct
	if t.name == "Map" {
		kind = connectors.Map
	}
	out := connectors.Type{Kind: kind}
	for i, a := range t.args {
		f := connectors.Field{Name: t.fieldName(i), Type: a.logical()}
		if f.Type.Kind == connectors.Invalid {
			return f.Type
		}
		out.Fields = append(out.Fields, f)
	}
	if len(out.Fields) == 0 {
		return connectors.Type{}
	}
	return out
}

// fieldName is what dvt calls element i: its name, else its number as ClickHouse counts.
func (t *chType) fieldName(i int) string {
	switch {
	case t.name == "Map":
		return [...]string{"key", "value"}[i]
	case i < len(t.names) && t.names[i] != "":
		return t.names[i]
	}
	return strconv.Itoa(i + 1)
}

// nullable reports whether values of t may be NULL.
func (t *chType) nullable() bool {
	return t.name == "Nullable" || t.name == "LowCardinality" && t.args[0].name == "Nullable"
}

// bare is t without Nullable and LowCardinality.
func (t *chType) bare() *chType {
	for t.name == "Nullable" || t.name == "LowCardinality" {
		t = t.args[0]
	}
	return t
}

// compound types cannot be Nullable.
func (t *chType) compound() bool {
	return t.name == "Array" || t.name == "Tuple" || t.name == "Map"
}

// withNull is t made Nullable where ClickHouse allows it.
func (t *chType) withNull() string {
	switch {
	case t.nullable() || t.compound():
		return t.text
	case t.name == "LowCardinality":
		return "LowCardinality(" + t.args[0].withNull() + ")"
	case t.name == "AggregateFunction" || t.name == "JSON":
		return t.text
	}
	return "Nullable(" + t.text + ")"
}

// withoutNull is t for a column of a sorting key.
func (t *chType) withoutNull() string {
	switch {
	case t.name == "Nullable":
		return t.args[0].text
	case t.nullable():
		return "LowCardinality(" + t.args[0].args[0].text + ")"
	}
	return t.text
}

// targetType is the ClickHouse type that holds every value of typ, without Nullable at
// the top. Elements of nested types are Nullable.
func (f *facts) targetType(typ connectors.Type) (string, error) {
	switch typ.Kind {
	case connectors.Boolean:
		return f.has("Bool", "UInt8"), nil
	case connectors.TinyInt:
		return "Int8", nil
	case connectors.SmallInt:
		return "Int16", nil
	case connectors.Integer:
		return "Int32", nil
	case connectors.BigInt:
		return "Int64", nil
	case connectors.HugeInt:
		return f.has("Int128", "Decimal(38, 0)"), nil
	case connectors.UTinyInt:
		return "UInt8", nil
	case connectors.USmallInt:
		return "UInt16", nil
	case connectors.UInteger:
		return "UInt32", nil
	case connectors.UBigInt:
		return "UInt64", nil
	case connectors.Float:
		return "Float32", nil
	case connectors.Double:
		return "Float64", nil
	case connectors.Decimal:
		if typ.Precision < 1 || typ.Precision > 38 {
			return "", fmt.Errorf("a precision of %d", typ.Precision)
		}
		return fmt.Sprintf("Decimal(%d, %d)", typ.Precision, typ.Scale), nil
	case connectors.Varchar, connectors.JSON, connectors.Bit, connectors.Blob, connectors.Interval, connectors.Time, connectors.TimeTZ:
		return "String", nil
	case connectors.Date:
		return f.has("Date32", "Date"), nil
	case connectors.Timestamp, connectors.TimestampTZ:
		// UTC for both: a naive time stamp shows the same digits, an instant is the same instant.
		if f.types["DateTime64"] {
			return "DateTime64(6, 'UTC')", nil
		}
		return "DateTime('UTC')", nil
	case connectors.TimestampNS:
		if f.types["DateTime64"] {
			return "DateTime64(9, 'UTC')", nil
		}
		return "DateTime('UTC')", nil
	case connectors.UUID:
		return "UUID", nil
	case connectors.List, connectors.Struct, connectors.Map:
		return f.nestedTarget(typ)
	}
	return "", fmt.Errorf("no ClickHouse type holds %s", typ)
}

// elementNames: old servers cannot parse the names of tuple elements inside an array.
func (f *facts) elementNames() bool { return f.atLeast(20, 4) }

func (f *facts) nestedTarget(typ connectors.Type) (string, error) {
	if typ.Kind == connectors.List {
		s, err := f.elementType(*typ.Elem, true, f.elementNames())
		return "Array(" + s + ")", err
	}
	if typ.Kind == connectors.Struct {
		return f.tupleTarget(typ, true)
	}
	key, err := f.elementType(typ.Fields[0].Type, false, f.elementNames())
	if err != nil {
		return "", err
	}
	value, err := f.elementType(typ.Fields[1].Type, true, f.elementNames())
	switch {
	case err != nil:
		return "", err
	case f.types["Map"]:
		return "Map(" + key + ", " + value + ")", nil
	case f.elementNames():
		return "Array(Tuple(key " + key + ", value " + value + "))", nil
	}
	return "Array(Tuple(" + key + ", " + value + "))", nil
}

func (f *facts) tupleTarget(typ connectors.Type, named bool) (string, error) {
	var parts []string
	for _, fd := range typ.Fields {
		s, err := f.elementType(fd.Type, true, named)
		if err != nil {
			return "", err
		}
		if named {
			s = quote(fd.Name) + " " + s
		}
		parts = append(parts, s)
	}
	return "Tuple(" + strings.Join(parts, ", ") + ")", nil
}

// elementType is the type of a part of a nested type.
func (f *facts) elementType(typ connectors.Type, null, named bool) (string, error) {
	if typ.Kind == connectors.Struct {
		return f.tupleTarget(typ, named)
	}
	s, err := f.targetType(typ)
	if err != nil || !null {
		return s, err
	}
	p, err := parseType(s)
	if err != nil {
		return "", err
	}
	return p.withNull(), nil
}
