package jinja

import (
	"context"
	"maps"
)

// Env holds everything shared by templates. Fill it before use; it is read-only afterwards.
type Env struct {
	Filters map[string]FilterFunc
	Tests   map[string]TestFunc
	Globals map[string]Value
	Tags    map[string]TagFunc
	Calls   map[string]bool // functions that may be called as a tag: {% f(x) %}, printing nothing

	MaxDepth int   // nested macro calls
	MaxRange int64 // length of a range()
	MaxOut   int   // bytes of one template's output; 0 = no limit
	MaxSteps int64 // loop iterations and macro calls of one State; 0 = no limit
	MaxAlloc int64 // bytes of all values one State makes; 0 = no limit

	HideMacros bool // macros are not put into the template's scope (dbt)
	Chain      bool // undefined values swallow attribute access and calls (dbt's parse mode)
}

// FilterFunc is v|filter(args).
type FilterFunc func(st *State, v Value, a Args) (Value, error)

// TestFunc is v is test(args).
type TestFunc func(st *State, v Value, a Args) (bool, error)

// NewEnv gives an Env with Jinja's own filters, tests and globals.
func NewEnv() *Env {
	return &Env{
		Filters: maps.Clone(builtinFilters), Tests: maps.Clone(builtinTests), Globals: maps.Clone(builtinGlobals),
		Tags: map[string]TagFunc{}, MaxDepth: 400, MaxRange: 100000, MaxOut: maxText,
		MaxSteps: 20_000_000, MaxAlloc: 2 << 30,
	}
}

// Template is a parsed template; it is immutable and safe for concurrent use.
type Template struct {
	File string
	Body []Stmt
	env  *Env
	src  *source
	// NativeConst, for native rendering, tells which printed expressions count as text.
	NativeConst func(Expr) bool
}

// Resolver looks a name up; the context of a render. One that is a Namer too gives
// did-you-mean hints.
type Resolver interface {
	Resolve(name string) (Value, bool)
}

// MapCtx is a Resolver over a map.
type MapCtx map[string]Value

// Resolve looks n up.
func (m MapCtx) Resolve(n string) (Value, bool) { v, ok := m[n]; return v, ok }

// Names lists the map's keys.
func (m MapCtx) Names() []string { return keysOf(m) }

// State is one render; it belongs to one goroutine.
type State struct {
	Env     *Env
	Ctx     Resolver
	Context context.Context // cancels the render at the next loop iteration or macro call; may be nil
	Chain   bool            // as Env.Chain, for this render
	Strict  bool            // using an undefined name is an error: printing, testing, looping, filtering
	Data    any             // host data, e.g. the dbt macro stack

	depth int
	steps int64
	made  int64
}
