package jinja

// Callable is anything a template can call.
type Callable interface {
	Call(st *State, a Args) (Value, error)
}

// Attrs is implemented by host objects (relations, adapter, config ...).
type Attrs interface {
	GetAttr(st *State, name string) (Value, bool)
}

type Itemer interface {
	GetItem(st *State, key Value) (Value, bool)
}

type Stringer interface{ PyStr() string }

type Reprer interface{ PyRepr() string }

type Truther interface{ PyBool() bool }

type Iterabler interface{ PyIter() []Value }

type Lener interface{ PyLen() int }

type Typed interface{ PyType() string }

type Eqer interface{ PyEq(o Value) bool }

type Orderer interface {
	PyCmp(o Value) (int, bool)
}

type BinOper interface {
	PyBinOp(op string, o Value, reflected bool) (Value, bool, error)
}

// Func is a Go function exposed to templates.
type Func struct {
	Name string
	Fn   func(st *State, a Args) (Value, error)
}

func (f *Func) Call(st *State, a Args) (Value, error) { return f.Fn(st, a) }

func (f *Func) PyType() string { return "builtin_function_or_method" }

func NewFunc(name string, fn func(st *State, a Args) (Value, error)) *Func {
	return &Func{name, fn}
}
