package mysql

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// nested refuses documents that are nested deeper than the engine's JSON: its own error
// names neither column nor row.
func (f *field) nested() {
	bind, limit := f.bind, f.t.depth
	f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) {
		put := bind(arr)
		return func(b []byte, i int) ([]byte, string) {
			b, why := put(b, i)
			if why == "" && jsonDepth(b) > limit {
				why = fmt.Sprintf("is nested deeper than the %d levels that the engine's JSON has: set column_types to longtext", limit)
			}
			return b, why
		}
	}
}

func jsonDepth(text []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// jsonable checks that every part of a nested type has a JSON form that can be read
// back: numbers as numbers with all their digits, bytes as base64, all else as text.
func jsonable(t connectors.Type) error {
	switch t.Kind {
	case connectors.List:
		return jsonable(*t.Elem)
	case connectors.Struct, connectors.Map:
		for _, f := range t.Fields {
			if err := jsonable(f.Type); err != nil {
				return err
			}
		}
		if t.Kind == connectors.Map && isNested(t.Fields[0].Type.Kind) {
			return fmt.Errorf("a map with keys of type %s has no JSON form", t.Fields[0].Type)
		}
	case connectors.Invalid:
		return fmt.Errorf("unknown type inside")
	}
	return nil
}

func isNested(k connectors.Kind) bool {
	return k == connectors.List || k == connectors.Struct || k == connectors.Map
}

func (t *target) bindNested(arr arrow.Array) func([]byte, int) ([]byte, string) {
	w := jsonWriter(t.col.Type, arr)
	return func(b []byte, i int) ([]byte, string) { return w(b, i) }
}

type writer = func(b []byte, i int) ([]byte, string)

// jsonWriter appends row i of arr, of type typ, as JSON.
func jsonWriter(typ connectors.Type, arr arrow.Array) writer {
	put := jsonValue(typ, arr)
	return func(b []byte, i int) ([]byte, string) {
		if arr.IsNull(i) {
			return append(b, "null"...), ""
		}
		return put(b, i)
	}
}

func jsonValue(typ connectors.Type, arr arrow.Array) writer {
	switch k := typ.Kind; k {
	case connectors.List:
		return jsonList(typ, arr)
	case connectors.Struct:
		return jsonStruct(typ, arr.(*array.Struct))
	case connectors.Map:
		return jsonMap(typ, arr.(*array.Map))
	case connectors.Boolean:
		a := arr.(*array.Boolean)
		return func(b []byte, i int) ([]byte, string) { return fmt.Append(b, a.Value(i)), "" }
	case connectors.JSON:
		a := arr.(*array.String)
		return func(b []byte, i int) ([]byte, string) { return append(b, a.Value(i)...), "" }
	case connectors.Varchar, connectors.Bit:
		a := arr.(*array.String)
		return func(b []byte, i int) ([]byte, string) { return jsonString(b, a.Value(i)), "" }
	case connectors.Blob:
		a := arr.(*array.Binary)
		return func(b []byte, i int) ([]byte, string) {
			b = base64.StdEncoding.AppendEncode(append(b, '"'), a.Value(i))
			return append(b, '"'), ""
		}
	default:
		f, err := newField(&target{col: connectors.Column{Type: typ}, nat: native{args: "6"}})
		if err != nil {
			return func(b []byte, _ int) ([]byte, string) { return b, err.Error() }
		}
		put := f.bind(arr)
		if isInteger(k) || k == connectors.Decimal || k == connectors.Float || k == connectors.Double {
			return put
		}
		zone := ""
		if k == connectors.TimestampTZ {
			zone = "+00:00" // nothing else tells an instant from a naive time stamp here
		}
		return func(b []byte, i int) ([]byte, string) {
			b, reason := put(append(b, '"'), i)
			return append(append(b, zone...), '"'), reason
		}
	}
}

// jsonString quotes s. Invalid UTF-8 cannot occur in an Arrow string that DuckDB made.
func jsonString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return append(b, q...)
}

func jsonList(typ connectors.Type, arr arrow.Array) writer {
	a := arr.(array.ListLike)
	put := jsonWriter(*typ.Elem, a.ListValues())
	return func(b []byte, i int) ([]byte, string) {
		b = append(b, '[')
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			if k > from {
				b = append(b, ',')
			}
			var reason string
			if b, reason = put(b, int(k)); reason != "" {
				return b, reason
			}
		}
		return append(b, ']'), ""
	}
}

func jsonStruct(typ connectors.Type, a *array.Struct) writer {
	puts := make([]writer, len(typ.Fields))
	for k, f := range typ.Fields {
		puts[k] = jsonWriter(f.Type, a.Field(k))
	}
	return func(b []byte, i int) ([]byte, string) {
		b = append(b, '{')
		for k, f := range typ.Fields {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(jsonString(b, f.Name), ':')
			var reason string
			if b, reason = puts[k](b, i); reason != "" {
				return b, reason
			}
		}
		return append(b, '}'), ""
	}
}

func jsonMap(typ connectors.Type, a *array.Map) writer {
	key := jsonValue(typ.Fields[0].Type, a.Keys())
	val := jsonWriter(typ.Fields[1].Type, a.Items())
	return func(b []byte, i int) ([]byte, string) {
		b = append(b, '{')
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			if k > from {
				b = append(b, ',')
			}
			at := len(b)
			var reason string
			if b, reason = key(b, int(k)); reason != "" {
				return b, reason
			}
			if b[at] != '"' { // a JSON key is text
				t := string(b[at:])
				b = jsonString(b[:at], t)
			}
			b = append(b, ':')
			if b, reason = val(b, int(k)); reason != "" {
				return b, reason
			}
		}
		return append(b, '}'), ""
	}
}
