package jinja

// The interfaces a host object may implement. All are optional; what an object does not
// implement, a template cannot do with it. There is no reflection.

// Callable is anything a template can call.
type Callable interface {
	Call(st *State, a Args) (Value, error)
}

// Attrs gives attributes: o.name.
type Attrs interface {
	GetAttr(st *State, name string) (Value, bool)
}

// Itemer gives items: o[key].
type Itemer interface {
	GetItem(st *State, key Value) (Value, bool)
}

// Stringer gives the text {{ o }} prints; without it that is PyRepr.
type Stringer interface{ PyStr() string }

// Reprer gives repr(o), which is also how o prints inside a list.
type Reprer interface{ PyRepr() string }

// Truther tells whether o counts as true; without it, and without a length, it does.
type Truther interface{ PyBool() bool }

// Iterabler gives the items of a loop over o.
type Iterabler interface{ PyIter() []Value }

// Lener gives o|length.
type Lener interface{ PyLen() int }

// Typed gives the name of o's type, for messages.
type Typed interface{ PyType() string }

// Eqer tells whether o equals another value.
type Eqer interface{ PyEq(o Value) bool }

// Orderer orders o against another value; false means that it cannot.
type Orderer interface {
	PyCmp(o Value) (int, bool)
}

// BinOper does arithmetic; reflected means that o stands on the right. false means that
// it does not know the operation.
type BinOper interface {
	PyBinOp(op string, o Value, reflected bool) (Value, bool, error)
}

// Func is a Go function exposed to templates.
type Func struct {
	Name string
	Fn   func(st *State, a Args) (Value, error)
}

// Call calls the function.
func (f *Func) Call(st *State, a Args) (Value, error) { return f.Fn(st, a) }

// PyType is Python's name of the type.
func (f *Func) PyType() string { return "builtin_function_or_method" }

// NewFunc exposes fn to templates.
func NewFunc(name string, fn func(st *State, a Args) (Value, error)) *Func {
	return &Func{name, fn}
}
