package dbt

import (
	"fmt"

	"github.com/dvt-dev/dvt/jinja"
)

// Config is the config object of a node's context. Calling it sets values; reading
// gives what the node was configured with.
type Config struct {
	// Set is called with each value that config() gives; nil ignores them, as the
	// second rendering of a node does.
	Set func(key string, v V)
	// Get reads the node's configuration.
	Get func(key string) (V, bool)
}

// PyType makes it print as dbt's.
func (c *Config) PyType() string { return "RuntimeConfigObject" }

// Call is {{ config(key=value) }}: a dict or keywords.
func (c *Config) Call(_ *ST, a A) (V, error) {
	if len(a.Pos) > 1 || len(a.Pos) == 1 && len(a.Kw) > 0 {
		return nil, &jinja.Error{Kind: "CompilationError", Msg: "Invalid inline model config"}
	}
	if c.Set == nil {
		return "", nil
	}
	for _, x := range a.Pos {
		d, ok := x.(*jinja.Dict)
		if !ok {
			return nil, &jinja.Error{Kind: "CompilationError", Msg: "Invalid inline model config"}
		}
		d.Each(func(k, v V) { c.Set(jinja.Str(k), v) })
	}
	for _, k := range a.Kw {
		c.Set(k.Name, k.Val)
	}
	return "", nil
}

// GetAttr gives get, require, meta_get, meta_require, set and the persist_docs tests.
func (c *Config) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "get", "meta_get":
		return bound(n, params("name", "default?", "validator?"), func(b jinja.Bound) (V, error) {
			if v, ok := c.lookup(n == "meta_get", jinja.Str(b.Get("name"))); ok {
				return v, nil
			}
			return b.Get("default"), nil
		}), true
	case "require", "meta_require":
		return bound(n, params("name", "validator?"), func(b jinja.Bound) (V, error) {
			name := jinja.Str(b.Get("name"))
			if v, ok := c.lookup(n == "meta_require", name); ok {
				return v, nil
			}
			return nil, &jinja.Error{Kind: "CompilationError", Msg: fmt.Sprintf("the node does not define a required config parameter '%s'", name)}
		}), true
	case "set":
		return bound(n, params("name", "value"), func(b jinja.Bound) (V, error) {
			if c.Set != nil {
				c.Set(jinja.Str(b.Get("name")), b.Get("value"))
			}
			return "", nil
		}), true
	case "persist_relation_docs", "persist_column_docs":
		return function(n, func(A) (V, error) {
			key := map[string]string{"persist_relation_docs": "relation", "persist_column_docs": "columns"}[n]
			v, _ := c.lookup(false, "persist_docs")
			if d, ok := v.(*jinja.Dict); ok {
				on, _ := d.GetStr(key)
				return jinja.Truth(on), nil
			}
			return false, nil
		}), true
	case "model":
		return nil, true
	}
	return nil, false
}

func (c *Config) lookup(meta bool, name string) (V, bool) {
	if c.Get == nil {
		return nil, false
	}
	if !meta {
		return c.Get(name)
	}
	m, _ := c.Get("meta")
	if d, ok := m.(*jinja.Dict); ok {
		return d.GetStr(name)
	}
	return nil, false
}
