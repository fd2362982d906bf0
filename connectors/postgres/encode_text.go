package postgres

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// textEncoder spells values as PostgreSQL's input functions read them. Lists become
// JSON when asJSON is set, else array literals; structs and maps always JSON.
func textEncoder(t connectors.Type, asJSON, stripNUL bool) binder {
	switch t.Kind {
	case connectors.List:
		if asJSON {
			return jsonText(t, stripNUL)
		}
		return arrayText(t, stripNUL)
	case connectors.Struct, connectors.Map:
		return jsonText(t, stripNUL)
	case connectors.Varchar, connectors.JSON, connectors.Bit:
		return func(a arrow.Array) appendFunc {
			v := a.(*array.String)
			if v.Len() == 0 || bytes.IndexByte(v.ValueBytes(), 0) < 0 { // nor has any value one
				return func(b []byte, row int) ([]byte, error) { return append(b, v.Value(row)...), nil }
			}
			return func(b []byte, row int) ([]byte, error) { return appendClean(b, v.Value(row), stripNUL) }
		}
	}
	return func(a arrow.Array) appendFunc { return scalarText(t, a) }
}

// appendClean appends text without NUL, which PostgreSQL's text cannot hold.
func appendClean(b []byte, s string, strip bool) ([]byte, error) {
	if strings.IndexByte(s, 0) < 0 {
		return append(b, s...), nil
	}
	if !strip {
		return b, &badValue{strconv.QuoteToASCII(s), "PostgreSQL's text holds no NUL byte: remove it in the model, or set nul_bytes: strip on the connection"}
	}
	for i := range len(s) {
		if s[i] != 0 {
			b = append(b, s[i])
		}
	}
	return b, nil
}

func scalarText(t connectors.Type, a arrow.Array) appendFunc {
	if read := integerReader(a); read != nil && t.Kind != connectors.TimeTZ {
		return func(b []byte, row int) ([]byte, error) {
			n, huge := read(row)
			if huge {
				return strconv.AppendUint(b, uint64(n), 10), nil
			}
			return strconv.AppendInt(b, n, 10), nil
		}
	}
	switch v := a.(type) {
	case *array.Boolean:
		return func(b []byte, row int) ([]byte, error) { return strconv.AppendBool(b, v.Value(row)), nil }
	case *array.Float32:
		return func(b []byte, row int) ([]byte, error) { return appendFloat(b, float64(v.Value(row)), 32), nil }
	case *array.Float64:
		return func(b []byte, row int) ([]byte, error) { return appendFloat(b, v.Value(row), 64), nil }
	case *array.Decimal128:
		return func(b []byte, row int) ([]byte, error) {
			d := v.Value(row)
			return append(b, magnitude(d.HighBits(), d.LowBits()).text(t.Scale)...), nil
		}
	case *array.Binary:
		return func(b []byte, row int) ([]byte, error) {
			return hex.AppendEncode(append(b, `\x`...), v.Value(row)), nil
		}
	case *array.FixedSizeBinary:
		return func(b []byte, row int) ([]byte, error) { return appendUUID(b, v.Value(row)), nil }
	case *array.Date32:
		return func(b []byte, row int) ([]byte, error) { return appendDate(b, int64(v.Value(row))), nil }
	case *array.Time64:
		return func(b []byte, row int) ([]byte, error) { return appendTime(b, int64(v.Value(row))), nil }
	case *array.Uint64: // TimeTZ
		return func(b []byte, row int) ([]byte, error) {
			n, east := splitTimeTZ(v.Value(row))
			return appendOffset(appendTime(b, n), east), nil
		}
	case *array.Timestamp:
		return func(b []byte, row int) ([]byte, error) { return timestampText(b, t, int64(v.Value(row))) }
	case *array.MonthDayNanoInterval:
		return func(b []byte, row int) ([]byte, error) { return appendInterval(b, v.Value(row)), nil }
	}
	return func(b []byte, row int) ([]byte, error) {
		return b, &badValue{a.ValueStr(row), "a " + t.String() + " has no text for PostgreSQL"}
	}
}

func timestampText(b []byte, t connectors.Type, n int64) ([]byte, error) {
	n, ok := micros(n, t.Kind == connectors.TimestampNS)
	b = appendTimestamp(b, n)
	if !ok {
		return b, &badValue{string(b) + " and nanoseconds", "PostgreSQL keeps microseconds: cast it to TIMESTAMP in the model"}
	}
	if t.Kind != connectors.TimestampTZ || n == math.MaxInt64 || n == -math.MaxInt64 {
		return b, nil
	}
	if bc := len(b) - 3; string(b[bc:]) == " BC" {
		return append(b[:bc], "+00 BC"...), nil
	}
	return append(b, "+00"...), nil
}

func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

func appendUUID(b, u []byte) []byte {
	for i, c := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, []byte{c})
	}
	return b
}

// appendOffset spells seconds east of UTC as +hh[:mm[:ss]].
func appendOffset(b []byte, east int64) []byte {
	b = append(b, "+-"[east>>63&1])
	e := int64(abs64(east))
	b = appendPadded(b, e/3600, 2)
	if e%3600 != 0 {
		b = appendPadded(append(b, ':'), e/60%60, 2)
	}
	if e%60 != 0 {
		b = appendPadded(append(b, ':'), e%60, 2)
	}
	return b
}

// arrayText is a list as an array literal: every element quoted, NULL not.
func arrayText(t connectors.Type, stripNUL bool) binder {
	elem := textEncoder(*t.Elem, false, stripNUL)
	return func(a arrow.Array) appendFunc {
		list := a.(*array.List)
		values := list.ListValues()
		value := elem(values)
		var scratch []byte
		return func(b []byte, row int) (_ []byte, err error) {
			b = append(b, '{')
			lo, hi := list.ValueOffsets(row)
			for i := int(lo); i < int(hi); i++ {
				if i > int(lo) {
					b = append(b, ',')
				}
				switch {
				case values.IsNull(i):
					b = append(b, "NULL"...)
				case t.Elem.Kind == connectors.List:
					b, err = value(b, i)
				default:
					if scratch, err = value(scratch[:0], i); err == nil {
						b = appendQuoted(b, scratch)
					}
				}
				if err != nil {
					return b, err
				}
			}
			return append(b, '}'), nil
		}
	}
}

func appendQuoted(b, s []byte) []byte {
	b = append(b, '"')
	for _, c := range s {
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// copyText escapes what the text form of COPY reads as its own.
func copyText(text binder) binder {
	return func(a arrow.Array) appendFunc {
		value := text(a)
		var scratch []byte
		return func(b []byte, row int) (_ []byte, err error) {
			if scratch, err = value(scratch[:0], row); err != nil {
				return b, err
			}
			for _, c := range scratch {
				switch c {
				case '\\':
					b = append(b, `\\`...)
				case '\n':
					b = append(b, `\n`...)
				case '\r':
					b = append(b, `\r`...)
				case '\t':
					b = append(b, `\t`...)
				default:
					b = append(b, c)
				}
			}
			return b, nil
		}
	}
}

// textHolds reports whether values of type t may be handed to the input function of a
// type that binaryEncoder does not know, in text. Only text is: an input function cuts
// and rounds other types' values without a word.
func textHolds(t connectors.Type, info typeInfo) bool {
	if info.elem != 0 {
		for t.Kind == connectors.List {
			t = *t.Elem
		}
		return t.Kind == connectors.Varchar && !roundsText(info.elem)
	}
	return (t.Kind == connectors.Varchar || t.Kind == connectors.JSON) && !roundsText(info.oid)
}

// roundsText reports whether the type's input function may drop part of what it reads:
// '2024-01-02 10:00' as a date loses the time, '1.25' as numeric(2,1) a digit.
func roundsText(oid uint32) bool {
	switch oid {
	case oidDate, oidTime, oidTimeTZ, oidTimestamp, oidTimestampTZ, oidInterval, oidFloat4, oidFloat8, oidChar, oidBytea:
		return true
	}
	return false
}
