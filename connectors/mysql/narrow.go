package mysql

import (
	"math"

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
