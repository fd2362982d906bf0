package dbt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
)

// dataFunctions need nothing of the node: JSON, YAML, sets and zips.
var dataFunctions = map[string]V{
	"tojson": bound("tojson", params("value", "default?", "sort_keys?"), func(b jinja.Bound) (V, error) {
		s, err := jinja.JSON(b.Get("value"), -1, jinja.Truth(b.Get("sort_keys")))
		if err != nil {
			return orDefault(b), nil
		}
		return s, nil
	}),
	"fromjson": bound("fromjson", params("string", "default?"), func(b jinja.Bound) (V, error) {
		s, ok := b.Get("string").(string)
		if !ok {
			return orDefault(b), nil
		}
		v, err := decodeJSON(s)
		if err != nil {
			return orDefault(b), nil
		}
		return v, nil
	}),
	"toyaml": bound("toyaml", params("value", "default?", "sort_keys?"), func(b jinja.Bound) (V, error) {
		n, err := yamlNode(b.Get("value"), 0)
		if err != nil {
			return orDefault(b), nil
		}
		var buf bytes.Buffer
		e := yaml.NewEncoder(&buf)
		e.SetIndent(2)
		if err := e.Encode(n); err != nil {
			return orDefault(b), nil
		}
		return buf.String(), nil
	}),
	"fromyaml": bound("fromyaml", params("value", "default?"), func(b jinja.Bound) (V, error) {
		s, ok := b.Get("value").(string)
		if !ok {
			return orDefault(b), nil
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(s), &n); err != nil {
			return orDefault(b), nil
		}
		v, err := FromYAML(&n)
		if err != nil {
			return orDefault(b), nil
		}
		return v, nil
	}),
	"set": bound("set", params("value", "default?"), func(b jinja.Bound) (V, error) {
		return makeSet(b, false)
	}),
	"set_strict": bound("set_strict", params("value"), func(b jinja.Bound) (V, error) {
		return makeSet(b, true)
	}),
	"zip":        function("zip", func(a A) (V, error) { return zip(a, false) }),
	"zip_strict": function("zip_strict", func(a A) (V, error) { return zip(a, true) }),
}

func orDefault(b jinja.Bound) V { return b.Get("default") }

func makeSet(b jinja.Bound, strict bool) (V, error) {
	it, err := jinja.Iter(b.Get("value"))
	if err == nil {
		var s *jinja.Set
		if s, err = jinja.NewSet(it); err == nil {
			return s, nil
		}
	}
	if strict {
		return nil, err
	}
	return orDefault(b), nil
}

func zip(a A, strict bool) (V, error) {
	pos := a.Pos
	var def V
	for _, k := range a.Kw {
		if k.Name != "default" || strict {
			return nil, jinja.TypeErr("zip() got an unexpected keyword argument '%s'", k.Name)
		}
		def = k.Val
	}
	var columns [][]V
	n := -1
	for _, v := range pos {
		it, err := jinja.Iter(v)
		if err != nil {
			if strict {
				return nil, err
			}
			return def, nil
		}
		columns = append(columns, it)
		if n < 0 || len(it) < n {
			n = len(it)
		}
	}
	var out []V
	for i := 0; i < n; i++ {
		t := jinja.NewTuple()
		for _, c := range columns {
			t.Items = append(t.Items, c[i])
		}
		out = append(out, t)
	}
	return jinja.NewGen("zip", out), nil
}

// decodeJSON keeps the order of objects and the difference of 1 and 1.0.
func decodeJSON(s string) (V, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := jsonValue(d)
	if err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("extra data")
	}
	return v, nil
}

func jsonValue(d *json.Decoder) (V, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch x := t.(type) {
	case json.Number:
		return number(x.String())
	case json.Delim:
		if x == '[' {
			l := jinja.NewList()
			for d.More() {
				v, err := jsonValue(d)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err := d.Token()
			return l, err
		}
		o := jinja.NewDict()
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			if err := o.Set(k, v); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

func number(s string) (V, error) {
	if !strings.ContainsAny(s, ".eE") {
		if v, ok := literal(s); ok {
			return v, nil
		}
	}
	return strconv.ParseFloat(s, 64)
}
