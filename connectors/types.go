package connectors

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind is a logical type as DuckDB knows it. Every column that leaves a source or
// reaches a target has one; engines' own types are mapped to and from it in the
// engine's types.go.
type Kind uint8

// The kinds. The comment gives the Arrow layout that a column of the kind has in
// every record batch (see Type.Arrow).
const (
	Invalid     Kind = iota
	Boolean          // boolean
	TinyInt          // int8
	SmallInt         // int16
	Integer          // int32
	BigInt           // int64
	HugeInt          // decimal128(38,0) whose 128 bits hold the whole HUGEINT range
	UTinyInt         // uint8
	USmallInt        // uint16
	UInteger         // uint32
	UBigInt          // uint64
	Float            // float32
	Double           // float64
	Decimal          // decimal128(p,s)
	Varchar          // utf8
	Blob             // binary
	Date             // date32; ±infinity are ±2147483647 days, as in DuckDB
	Time             // time64[us]; 24:00:00 is 86,400,000,000
	TimeTZ           // uint64, DuckDB's own bits: micros<<24 | (57599 - offset seconds)
	Timestamp        // timestamp[us], no zone; ±infinity are ±9223372036854775807
	TimestampNS      // timestamp[ns], no zone
	TimestampTZ      // timestamp[us, UTC]; ±infinity as Timestamp
	Interval         // month_day_nano, nanoseconds a multiple of 1,000
	UUID             // fixed_size_binary[16], big endian
	JSON             // utf8
	Bit              // utf8 of '0' and '1'
	List             // list<Elem>
	Struct           // struct<Fields>
	Map              // map<Fields[0], Fields[1]>
)

var kindNames = [...]string{
	Invalid: "INVALID", Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Integer: "INTEGER", BigInt: "BIGINT",
	HugeInt: "HUGEINT", UTinyInt: "UTINYINT", USmallInt: "USMALLINT", UInteger: "UINTEGER", UBigInt: "UBIGINT", Float: "FLOAT",
	Double: "DOUBLE", Decimal: "DECIMAL", Varchar: "VARCHAR", Blob: "BLOB", Date: "DATE", Time: "TIME", TimeTZ: "TIME WITH TIME ZONE",
	Timestamp: "TIMESTAMP", TimestampNS: "TIMESTAMP_NS", TimestampTZ: "TIMESTAMP WITH TIME ZONE", Interval: "INTERVAL", UUID: "UUID",
	JSON: "JSON", Bit: "BIT", List: "LIST", Struct: "STRUCT", Map: "MAP",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "INVALID"
}

// Type is a logical type with its parameters.
type Type struct {
	Kind      Kind
	Precision int     // Decimal: total digits, 1 to 38; 0 means not known before a probe
	Scale     int     // Decimal: digits after the point
	Length    int     // Varchar: longest value in characters as the source declares it, 0 = unbounded or unknown
	Elem      *Type   // List
	Fields    []Field // Struct: its fields; Map: key, then value
}

// Field is a named part of a Struct or Map type.
type Field struct {
	Name string
	Type Type
}

// T is shorthand for a type without parameters.
func T(k Kind) Type { return Type{Kind: k} }

// Dec is shorthand for a decimal of the given precision and scale.
func Dec(precision, scale int) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// ListOf is shorthand for a list of elem.
func ListOf(elem Type) Type { return Type{Kind: List, Elem: &elem} }

// String is the type's spelling in DuckDB SQL, usable in a CAST.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case List:
		return t.Elem.String() + "[]"
	case Struct, Map:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Type.String()
			if t.Kind == Struct {
				parts[i] = `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `" ` + parts[i]
			}
		}
		return t.Kind.String() + "(" + strings.Join(parts, ", ") + ")"
	}
	return t.Kind.String()
}

// Equal reports whether t and o are the same logical type; Length does not count,
// for it only bounds values.
func (t Type) Equal(o Type) bool { return t.String() == o.String() }

// Arrow is the layout of the kind in record batches.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case TinyInt:
		return arrow.PrimitiveTypes.Int8
	case SmallInt:
		return arrow.PrimitiveTypes.Int16
	case Integer:
		return arrow.PrimitiveTypes.Int32
	case BigInt:
		return arrow.PrimitiveTypes.Int64
	case HugeInt:
		return &arrow.Decimal128Type{Precision: 38, Scale: 0}
	case UTinyInt:
		return arrow.PrimitiveTypes.Uint8
	case USmallInt:
		return arrow.PrimitiveTypes.Uint16
	case UInteger:
		return arrow.PrimitiveTypes.Uint32
	case UBigInt, TimeTZ:
		return arrow.PrimitiveTypes.Uint64
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Varchar, JSON, Bit:
		return arrow.BinaryTypes.String
	case Blob:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time64us
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case TimestampNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}
	case TimestampTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case Interval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case UUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}
	case List:
		return arrow.ListOf(t.Elem.Arrow())
	case Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		}
		return arrow.StructOf(fields...)
	case Map:
		return arrow.MapOf(t.Fields[0].Type.Arrow(), t.Fields[1].Type.Arrow())
	}
	panic("connectors: no Arrow layout for " + t.String())
}

// ArrowSchema is the schema of the record batches that carry cols, in order.
func ArrowSchema(cols []Column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}
