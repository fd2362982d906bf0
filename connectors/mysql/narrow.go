package mysql

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// A model may give a column another type by column_types. The server converts with a
// warning in some cases, which fails the load, and without one in others: a DECIMAL
// becomes an INT rounded, a DATETIME a DATE without its time. This file refuses what the
// server would change in silence. FLOAT and DOUBLE are taken at their word: whoever asks
// for them asks for the nearest value.

// convertible says why values of kind k cannot be written into base, "" if they can.
func convertible(k connectors.Kind, base string) string {
	ok := false
	switch base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		ok = isInteger(k) || k == connectors.Boolean || k == connectors.Decimal || k == connectors.Float || k == connectors.Double
	case "decimal":
		ok = isInteger(k) || k == connectors.Boolean || k == connectors.Decimal || k == connectors.Float || k == connectors.Double
	case "float", "double":
		ok = isInteger(k) || k == connectors.Boolean || k == connectors.Decimal || k == connectors.Float || k == connectors.Double
	case "bit", "year":
		ok = isInteger(k) || k == connectors.Boolean && base == "bit"
	case "date":
		ok = k == connectors.Date || isTimestamp(k)
	case "datetime", "timestamp":
		ok = k == connectors.Date || isTimestamp(k)
	case "time":
		ok = k == connectors.Time
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		ok = k != connectors.Blob
	case "enum", "set":
		ok = k == connectors.Varchar
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		ok = k == connectors.Blob || isText(k)
	case "json":
		ok = isText(k) || isNested(k)
	case "uuid":
		ok = k == connectors.UUID || k == connectors.Varchar
	case "inet4", "inet6":
		ok = k == connectors.Varchar
	default:
		return "it is no type that dvt writes"
	}
	if ok {
		return ""
	}
	return "a " + k.String() + " does not become one without a conversion: cast it in the model"
}

func isTimestamp(k connectors.Kind) bool {
	return k == connectors.Timestamp || k == connectors.TimestampTZ || k == connectors.TimestampNS
}

// narrow adds to f the checks that its target needs beyond those of the value's type.
func (f *field) narrow() {
	f.fraction()
	f.bound()
	f.length()
}

// length refuses what is spelled longer than a text column is. Texts themselves are
// checked by bindText.
func (f *field) length() {
	if f.t.chars == 0 || isText(f.t.col.Type.Kind) || f.t.col.Type.Kind == connectors.Bit {
		return
	}
	bind, reason := f.bind, "is longer than "+f.t.ddl
	f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) {
		put := bind(arr)
		return func(b []byte, i int) ([]byte, string) {
			b, why := put(b, i)
			if why == "" && len(b) > f.t.chars && utf8.RuneCount(b) > f.t.chars {
				why = reason
			}
			return b, why
		}
	}
}

// bound refuses numbers that the target's range does not hold. The server would say so
// too, with the row's place in the stream for a name.
func (f *field) bound() {
	var limit, below u128 // magnitudes: of the highest value + 1, of the lowest
	scale := 0
	n := f.t.nat
	switch n.base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		bits := map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[n.base]
		if n.unsigned {
			limit = u128{0, 1 << bits}
			if bits == 64 {
				limit = u128{1, 0}
			}
		} else {
			limit, below = u128{0, 1 << (bits - 1)}, u128{0, 1 << (bits - 1)}
		}
	case "decimal":
		if scale = n.arg(1, 0); n.arg(0, 10) > 38 || f.t.col.Type.Kind == connectors.HugeInt {
			return
		}
		limit = powerOfTen(n.arg(0, 10))
		below, _ = limit.minusOne()
		if n.unsigned {
			below = u128{}
		}
	default:
		return
	}
	if k := f.t.col.Type.Kind; !isInteger(k) && k != connectors.Decimal {
		return
	}
	reason := "is outside what " + f.t.ddl + " holds"
	if s := f.t.col.Type; n.base == "decimal" && s.Kind == connectors.Decimal && s.Precision == n.arg(0, 10) && s.Scale == scale && !n.unsigned {
		return // its own type
	}
	bind := f.bind
	f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) {
		put := bind(arr)
		return func(b []byte, i int) ([]byte, string) {
			b, why := put(b, i)
			if why != "" {
				return b, why
			}
			v, neg, ok := parseDecimal(b, scale)
			if !ok || !neg && !v.less(limit) || neg && below.less(v) {
				return b, reason
			}
			return b, ""
		}
	}
}

// fraction refuses numbers with a fraction and times of day where the target has none.
func (f *field) fraction() {
	var changes func(arr arrow.Array) func(i int) bool
	reason := ""
	switch base := f.t.nat.base; base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		changes, reason = fractional(f.t.col.Type), "has a fraction, which "+f.t.ddl+" does not hold"
	case "date":
		changes, reason = timed(f.t.col.Type.Kind), "has a time of day, which "+f.t.ddl+" does not hold"
	}
	if changes == nil {
		return
	}
	bind := f.bind
	f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) {
		put, changed := bind(arr), changes(arr)
		return func(b []byte, i int) ([]byte, string) {
			if changed(i) {
				return b, reason
			}
			return put(b, i)
		}
	}
}

func fractional(typ connectors.Type) func(arrow.Array) func(int) bool {
	switch typ.Kind {
	case connectors.Decimal:
		if typ.Scale == 0 {
			return nil
		}
		return func(arr arrow.Array) func(int) bool {
			a, scale := arr.(*array.Decimal128), typ.Scale
			var buf []byte
			return func(i int) bool {
				buf = appendDecimal(buf[:0], a.Value(i), scale)
				for _, c := range buf[len(buf)-scale:] {
					if c != '0' {
						return true
					}
				}
				return false
			}
		}
	case connectors.Float:
		return func(arr arrow.Array) func(int) bool {
			a := arr.(*array.Float32)
			return func(i int) bool { f := float64(a.Value(i)); return f != math.Trunc(f) }
		}
	case connectors.Double:
		return func(arr arrow.Array) func(int) bool {
			a := arr.(*array.Float64)
			return func(i int) bool { f := a.Value(i); return f != math.Trunc(f) }
		}
	}
	return nil
}

func timed(k connectors.Kind) func(arrow.Array) func(int) bool {
	if !isTimestamp(k) {
		return nil
	}
	day := dayMicros
	if k == connectors.TimestampNS {
		day *= 1000
	}
	return func(arr arrow.Array) func(int) bool {
		a := arr.(*array.Timestamp)
		return func(i int) bool { return int64(a.Value(i))%day != 0 }
	}
}
