package dbt

import "github.com/dvt-dev/dvt/jinja"

// function is a template function that takes any arguments.
func function(name string, f func(a A) (V, error)) V {
	return jinja.NewFunc(name, func(_ *ST, a A) (V, error) { return f(a) })
}

// bound is a template function with named parameters; "x?" is an optional one.
func bound(name string, params []string, f func(b jinja.Bound) (V, error)) V {
	return jinja.NewFunc(name, func(_ *ST, a A) (V, error) {
		b, err := a.Bind(name, params...)
		if err != nil {
			return nil, err
		}
		return f(b)
	})
}

func params(names ...string) []string { return names }

// constantly is a template function that ignores its arguments.
func constantly(name string, v V) V {
	return function(name, func(A) (V, error) { return v, nil })
}

// Dict builds an ordered dict from keys and values in turn.
func Dict(kv ...V) *jinja.Dict {
	d := jinja.NewDict()
	for i := 0; i < len(kv); i += 2 {
		_ = d.Set(kv[i], kv[i+1]) // the keys are strings, which always hash
	}
	return d
}

// Object is a bag of attributes that is also a mapping.
type Object struct{ *jinja.Dict }

// NewObject builds an Object from names and values in turn.
func NewObject(kv ...V) Object { return Object{Dict(kv...)} }

// PyType and the other Py methods make an Object behave as a Python mapping.
func (o Object) PyType() string                    { return "AttrDict" }
func (o Object) PyMapping() bool                   { return true }
func (o Object) PyIter() []V                       { return o.Keys() }
func (o Object) PyLen() int                        { return o.Len() }
func (o Object) GetAttr(_ *ST, n string) (V, bool) { return o.GetStr(n) }
func (o Object) GetItem(_ *ST, k V) (V, bool)      { return o.Get(k) }
