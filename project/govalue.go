package project

import (
	"math/big"

	"github.com/dvt-dev/dvt/jinja"
)

// toGo turns a template value into plain Go data: nil, bool, int64, float64, string,
// []any, map[string]any. What is none of these becomes its text.
func toGo(v jinja.Value) any {
	switch x := v.(type) {
	case nil, bool, int64, float64, string:
		return x
	case *big.Int:
		return x.String()
	case *jinja.Dict:
		m := map[string]any{}
		x.Each(func(k, e jinja.Value) { m[jinja.Str(k)] = toGo(e) })
		return m
	case *jinja.Undefined:
		return nil
	case *jinja.List, *jinja.Tuple, *jinja.Set:
		items, err := jinja.Iter(x)
		if err != nil {
			return jinja.Str(v)
		}
		out := make([]any, len(items))
		for i, e := range items {
			out[i] = toGo(e)
		}
		return out
	}
	return jinja.Str(v)
}
