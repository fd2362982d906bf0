package postgres

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// jsonColumn puts JSON, text, lists, structs and maps into a json or jsonb column.
func jsonColumn(t connectors.Type, jsonb, stripNUL bool) binder {
	var text binder
	switch t.Kind {
	case connectors.JSON, connectors.Varchar:
		text = textEncoder(t, true, stripNUL)
	case connectors.List, connectors.Struct, connectors.Map:
		text = jsonText(t, stripNUL)
	default:
		return nil
	}
	if !jsonb {
		return text
	}
	return func(a arrow.Array) appendFunc {
		value := text(a)
		return func(b []byte, row int) ([]byte, error) {
			b = append(b, 1) // jsonb's version
			at := len(b)
			b, err := value(b, row)
			if err == nil && escapesNUL(b[at:]) {
				err = &badValue{string(b[at:]), `jsonb holds no \u0000: remove it in the model, or keep the column as json`}
			}
			return b, err
		}
	}
}

// escapesNUL finds \u0000 in a JSON text; behind an even number of backslashes it is
// text.
func escapesNUL(s []byte) bool {
	for rest := view(s); ; {
		i := strings.Index(rest, `\u0000`)
		if i < 0 {
			return false
		}
		n := 0
		for n < i && rest[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return true
		}
		rest = rest[i+1:]
	}
}

// jsonText spells nested values as JSON. Numbers keep all their digits; what JSON has
// no form of (dates, blobs, NaN) is a string in PostgreSQL's spelling.
func jsonText(t connectors.Type, stripNUL bool) binder {
	switch t.Kind {
	case connectors.List:
		return jsonList(t, stripNUL)
	case connectors.Struct:
		return jsonStruct(t, stripNUL)
	case connectors.Map:
		return jsonMap(t, stripNUL)
	case connectors.JSON, connectors.Boolean, connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.HugeInt, connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt, connectors.Decimal:
		return textEncoder(t, true, stripNUL)
	case connectors.Float, connectors.Double:
		return jsonFloat(t)
	}
	return jsonString(textEncoder(t, true, stripNUL))
}

func jsonFloat(t connectors.Type) binder {
	return func(a arrow.Array) appendFunc {
		value := scalarText(t, a)
		return func(b []byte, row int) ([]byte, error) {
			at := len(b)
			b, err := value(b, row)
			if err == nil && (b[len(b)-1] == 'N' || b[len(b)-1] == 'y') {
				word := string(b[at:])
				b = append(append(append(b[:at], '"'), word...), '"')
			}
			return b, err
		}
	}
}

func jsonString(text binder) binder {
	return func(a arrow.Array) appendFunc {
		value := text(a)
		var scratch []byte
		return func(b []byte, row int) (_ []byte, err error) {
			if scratch, err = value(scratch[:0], row); err != nil {
				return b, err
			}
			return appendJSONString(b, view(scratch)), nil
		}
	}
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// nullable appends null or the value.
func nullable(a arrow.Array, value appendFunc) appendFunc {
	return func(b []byte, row int) ([]byte, error) {
		if a.IsNull(row) {
			return append(b, "null"...), nil
		}
		return value(b, row)
	}
}

func jsonList(t connectors.Type, stripNUL bool) binder {
	elem := jsonText(*t.Elem, stripNUL)
	return func(a arrow.Array) appendFunc {
		list := a.(*array.List)
		value := nullable(list.ListValues(), elem(list.ListValues()))
		return func(b []byte, row int) (_ []byte, err error) {
			b = append(b, '[')
			lo, hi := list.ValueOffsets(row)
			for i := int(lo); i < int(hi); i++ {
				if i > int(lo) {
					b = append(b, ", "...)
				}
				if b, err = value(b, i); err != nil {
					return b, err
				}
			}
			return append(b, ']'), nil
		}
	}
}

func jsonStruct(t connectors.Type, stripNUL bool) binder {
	names := make([]string, len(t.Fields))
	texts := make([]binder, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = string(appendJSONString(nil, f.Name)) + ": "
		texts[i] = jsonText(f.Type, stripNUL)
	}
	return func(a arrow.Array) appendFunc {
		s := a.(*array.Struct)
		values := make([]appendFunc, len(names))
		for i := range names {
			values[i] = nullable(s.Field(i), texts[i](s.Field(i)))
		}
		return func(b []byte, row int) (_ []byte, err error) {
			b = append(b, '{')
			for i, name := range names {
				if i > 0 {
					b = append(b, ", "...)
				}
				if b, err = values[i](append(b, name...), row); err != nil {
					return b, err
				}
			}
			return append(b, '}'), nil
		}
	}
}

// jsonMap makes an object whose names are the keys' text.
func jsonMap(t connectors.Type, stripNUL bool) binder {
	key := jsonString(textEncoder(t.Fields[0].Type, true, stripNUL))
	item := jsonText(t.Fields[1].Type, stripNUL)
	return func(a arrow.Array) appendFunc {
		m := a.(*array.Map)
		keys, value := key(m.Keys()), nullable(m.Items(), item(m.Items()))
		return func(b []byte, row int) (_ []byte, err error) {
			b = append(b, '{')
			lo, hi := m.ValueOffsets(row)
			for i := int(lo); i < int(hi); i++ {
				if i > int(lo) {
					b = append(b, ", "...)
				}
				if b, err = keys(b, i); err != nil {
					return b, err
				}
				if b, err = value(append(b, ": "...), i); err != nil {
					return b, err
				}
			}
			return append(b, '}'), nil
		}
	}
}
