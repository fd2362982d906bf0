package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// canonNested reads JSON, or ClickHouse's own text of nested values, and writes JSON:
// lists as lists, structs as lists of name and value in the order of the type, maps as
// lists of key and value in the order of the text, everything else as its canonical text
// in a string.
func canonNested(t connectors.Type, s string) (string, error) {
	v, err := parseJSON(s)
	if err != nil {
		var chErr error
		if v, chErr = parseClickHouse(s); chErr != nil {
			return "", fmt.Errorf("%q is neither JSON (%w) nor ClickHouse's text (%w)", connectors.Shorten(s), err, chErr)
		}
	}
	if v, err = canonValue(t, v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}

// pairs is an object or map whose order counts.
type pairs [][2]any

func canonValue(t connectors.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch t.Kind {
	case connectors.List:
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%v is no list", v)
		}
		out := make([]any, len(list))
		for i := range list {
			var err error
			if out[i], err = canonValue(*t.Elem, list[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case connectors.Struct:
		return canonStruct(t, v)
	case connectors.Map:
		return canonMap(t, v)
	case connectors.JSON:
		if p, ok := v.(pairs); ok {
			return canonMap(connectors.Type{Kind: connectors.Map, Fields: []connectors.Field{{Type: connectors.T(connectors.Varchar)}, {Type: t}}}, p)
		}
	}
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("%v is no %s", v, t)
	}
	return Canon(t, s)
}

// canonStruct takes an object, or the unnamed elements of a tuple.
func canonStruct(t connectors.Type, v any) (any, error) {
	var out []any
	for i, f := range t.Fields {
		var value any
		switch v := v.(type) {
		case []any:
			if len(v) != len(t.Fields) {
				return nil, fmt.Errorf("%v has not %d fields", v, len(t.Fields))
			}
			value = v[i]
		case pairs:
			found := false
			for _, p := range v {
				if p[0] == f.Name {
					value, found = p[1], true
				}
			}
			if !found || len(v) != len(t.Fields) {
				return nil, fmt.Errorf("%v has not the fields of %s", v, t)
			}
		default:
			return nil, fmt.Errorf("%v is no %s", v, t)
		}
		value, err := canonValue(f.Type, value)
		if err != nil {
			return nil, err
		}
		out = append(out, []any{f.Name, value})
	}
	return out, nil
}

// canonMap takes an object, or a list of pairs with or without the names key and value.
func canonMap(t connectors.Type, v any) (any, error) {
	entries, ok := v.(pairs)
	if list, isList := v.([]any); isList {
		ok = true
		for _, e := range list {
			switch e := e.(type) {
			case []any:
				if len(e) != 2 {
					return nil, fmt.Errorf("%v is no pair", e)
				}
				entries = append(entries, [2]any{e[0], e[1]})
			case pairs:
				if len(e) != 2 || e[0][0] != "key" || e[1][0] != "value" {
					return nil, fmt.Errorf("%v is no pair", e)
				}
				entries = append(entries, [2]any{e[0][1], e[1][1]})
			}
		}
	}
	if !ok {
		return nil, fmt.Errorf("%v is no %s", v, t)
	}
	out := []any{}
	for _, e := range entries {
		k, err := canonValue(t.Fields[0].Type, e[0])
		if err != nil {
			return nil, err
		}
		val, err := canonValue(t.Fields[1].Type, e[1])
		if err != nil {
			return nil, err
		}
		out = append(out, []any{k, val})
	}
	return out, nil
}

// parseJSON keeps the order of objects and gives scalars as their text.
func parseJSON(s string) (any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := jsonValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the value")
	}
	return v, nil
}

func jsonValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case nil:
		return nil, nil
	case json.Delim:
		list, object := []any{}, pairs{}
		for d.More() {
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			if t == '[' {
				list = append(list, v)
				continue
			}
			value, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			object = append(object, [2]any{v, value})
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if t == '[' {
			return list, nil
		}
		return object, nil
	}
	return fmt.Sprint(t), nil
}

// parseClickHouse reads [1,NULL,'a\'b'], (1,'x') and {'a':1}.
func parseClickHouse(s string) (any, error) {
	p := chText{s: s}
	v, err := p.value()
	if err == nil && p.s != "" {
		err = fmt.Errorf("%q follows the value", p.s)
	}
	return v, err
}

type chText struct{ s string }

var chUnescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\'`, `'`, `\0`, "\x00", `\r`, "\r", `\b`, "\b", `\f`, "\f")

func (p *chText) value() (any, error) {
	if p.s == "" {
		return nil, fmt.Errorf("a value is missing")
	}
	switch p.s[0] {
	case '[', '(':
		return p.list()
	case '{':
		return p.object()
	case '\'':
		for i := 1; i < len(p.s); i++ {
			switch p.s[i] {
			case '\\':
				i++
			case '\'':
				text := chUnescape.Replace(p.s[1:i])
				p.s = p.s[i+1:]
				return text, nil
			}
		}
		return nil, fmt.Errorf("a quote is not closed")
	}
	end := strings.IndexAny(p.s, ",])}:")
	if end < 0 {
		end = len(p.s)
	}
	word := p.s[:end]
	p.s = p.s[end:]
	if word == "NULL" {
		return nil, nil
	}
	return word, nil
}

func (p *chText) list() (any, error) {
	end := byte(']')
	if p.s[0] == '(' {
		end = ')'
	}
	p.s = p.s[1:]
	out := []any{}
	for p.s != "" && p.s[0] != end {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		p.s = strings.TrimPrefix(p.s, ",")
	}
	p.s = strings.TrimPrefix(p.s, string(end))
	return out, nil
}

func (p *chText) object() (any, error) {
	p.s = p.s[1:]
	out := pairs{}
	for p.s != "" && p.s[0] != '}' {
		k, err := p.value()
		if err != nil {
			return nil, err
		}
		p.s = strings.TrimPrefix(p.s, ":")
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, [2]any{k, v})
		p.s = strings.TrimPrefix(p.s, ",")
	}
	p.s = strings.TrimPrefix(p.s, "}")
	return out, nil
}

// mapKeys are the pairs of a map's canonical text.
func mapKeys(v string) (entries [][2]any) {
	if err := json.Unmarshal([]byte(v), &entries); err != nil {
		return nil
	}
	return entries
}

func keyLess(a, b [2]any) int {
	x, y := fmt.Sprint(a[0]), fmt.Sprint(b[0])
	if len(x) != len(y) {
		return len(x) - len(y) // jsonb: shorter keys first
	}
	return strings.Compare(x, y)
}

// unordered holds for maps whose keys are not in the order of jsonb.
func unordered(v string) bool { return !slices.IsSortedFunc(mapKeys(v), keyLess) }

func sortKeys(v string) string {
	entries := mapKeys(v)
	slices.SortFunc(entries, keyLess)
	out, err := json.Marshal(entries)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(out)
}
