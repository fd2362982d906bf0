package jinja

import "strings"

// KwArg keeps keyword arguments in call order, as Python does.
type KwArg struct {
	Name string
	Val  Value
}

// Args is a bound call.
type Args struct {
	Pos []Value
	Kw  []KwArg
}

// Bound is a call's arguments by parameter name.
type Bound struct {
	m    map[string]Value
	Rest []Value
}

// Get gives an argument; nil if it is absent.
func (b Bound) Get(n string) Value { return b.m[n] }

// Has tells whether the argument was given.
func (b Bound) Has(n string) bool { _, ok := b.m[n]; return ok }

// Or gives an argument, or d if it is absent.
func (b Bound) Or(n string, d Value) Value {
	if v, ok := b.m[n]; ok {
		return v
	}
	return d
}

// Bind maps positional and keyword arguments to names; "x?" marks an optional one.
// Missing optionals are absent: use Has.
func (a Args) Bind(fname string, names ...string) (Bound, error) {
	b := Bound{m: make(map[string]Value, len(names))}
	if len(a.Pos) > len(names) {
		return b, TypeErr("%s() takes at most %d arguments (%d given)", fname, len(names), len(a.Pos))
	}
	for i, v := range a.Pos {
		b.m[strings.TrimSuffix(names[i], "?")] = v
	}
	for _, k := range a.Kw {
		ok := false
		for _, n := range names {
			if strings.TrimSuffix(n, "?") == k.Name {
				ok = true
			}
		}
		if !ok {
			return b, TypeErr("%s() got an unexpected keyword argument '%s'", fname, k.Name)
		}
		if _, dup := b.m[k.Name]; dup {
			return b, TypeErr("%s() got multiple values for argument '%s'", fname, k.Name)
		}
		b.m[k.Name] = k.Val
	}
	for _, n := range names {
		if !strings.HasSuffix(n, "?") {
			if _, ok := b.m[n]; !ok {
				return b, TypeErr("%s() missing 1 required positional argument: '%s'", fname, n)
			}
		}
	}
	return b, nil
}
