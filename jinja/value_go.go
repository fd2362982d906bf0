package jinja

import (
	"maps"
	"slices"
)

// FromGo converts plain Go data (as decoded from JSON or YAML) to template values.
func FromGo(v any) Value {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case float32:
		return float64(x)
	case []any:
		l := &List{Items: make([]Value, len(x))}
		for i, e := range x {
			l.Items[i] = FromGo(e)
		}
		return l
	case []string:
		l := &List{Items: make([]Value, len(x))}
		for i, e := range x {
			l.Items[i] = e
		}
		return l
	case [][2]any: // ordered dict
		d := NewDict()
		for _, e := range x {
			if err := d.Set(FromGo(e[0]), FromGo(e[1])); err != nil {
				d.setStr(Str(FromGo(e[0])), FromGo(e[1])) // a YAML sequence as a key
			}
		}
		return d
	case map[string]any:
		d := NewDict()
		for _, k := range slices.Sorted(maps.Keys(x)) {
			d.setStr(k, FromGo(x[k]))
		}
		return d
	}
	return v
}
