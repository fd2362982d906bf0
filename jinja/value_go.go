package jinja

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
			d.Set(FromGo(e[0]), FromGo(e[1]))
		}
		return d
	case map[string]any:
		d := NewDict()
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sortStrings(keys)
		for _, k := range keys {
			d.Set(k, FromGo(x[k]))
		}
		return d
	}
	return v
}
