package dbt

import (
	"fmt"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// Context is one node's rendering context. It belongs to one goroutine.
type Context struct {
	Registry *Registry
	Package  string // the node's package: macros are searched there first
	// Prefixes are the dialect names that dispatch tries before "default".
	Prefixes []string
	// Natives come after the project's own macros and before dvt's: functions that
	// dbt writes as macros and dvt answers in Go, which a project may still override.
	Natives map[string]V
	Vars    map[string]V // what the project cannot override but by a macro

	Calls map[string]bool // macros that the node itself called, as package.name
	depth int
}

// fixed are the natives that no macro replaces: a project carries stubs of them, so
// that dbt itself can parse it.
var fixed = map[string]bool{"incremental_where_cond": true, "incremental_value": true}

// Resolve implements jinja.Resolver in dbt's order: a macro beats the context, so
// that a project can override a built-in.
func (c *Context) Resolve(n string) (V, bool) {
	r := c.Registry
	if v, ok := c.Natives[n]; ok && fixed[n] {
		return v, true
	}
	if c.Package != Internal {
		if m := r.byPkg[c.Package][n]; m != nil {
			return generator{m, c}, true
		}
	}
	if m := r.byPkg[r.Root][n]; m != nil {
		return generator{m, c}, true
	}
	if _, ok := r.byPkg[n]; ok {
		return namespace{c, n}, true
	}
	if v, ok := c.Natives[n]; ok {
		return v, true
	}
	if m := r.byPkg[Internal][n]; m != nil {
		return generator{m, c}, true
	}
	v, ok := c.Vars[n]
	return v, ok
}

// Names lists what Resolve finds, for did-you-mean.
func (c *Context) Names() []string {
	names := c.Registry.Names(c.Package)
	for _, m := range []map[string]V{c.Natives, c.Vars} {
		for n := range m {
			names = append(names, n)
		}
	}
	for n := range c.Registry.byPkg {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// State makes the render state of this context. chain gives dbt's parse mode, where
// an undefined value swallows attributes and calls.
func (c *Context) State(chain bool) *ST {
	return &ST{Env: c.Registry.Env, Ctx: c, Chain: chain}
}

// Macro finds a macro by name in the node's search order, nil if there is none.
func (c *Context) Macro(name string) jinja.Callable {
	if m := c.Registry.Find(c.Package, name); m != nil {
		return generator{m, c}
	}
	return nil
}

// generator is a callable macro. A return() inside it ends here.
type generator struct {
	m *Macro
	c *Context
}

func (g generator) PyType() string { return "MacroGenerator" }
func (g generator) PyRepr() string { return "<MacroGenerator " + g.m.Name + ">" }

func (g generator) Call(st *ST, a A) (V, error) {
	if g.c.depth == 0 && g.c.Calls != nil {
		g.c.Calls[g.m.Package+"."+g.m.Name] = true
	}
	g.c.depth++
	v, err := g.m.val.Call(st, a)
	g.c.depth--
	if err == nil {
		return v, nil
	}
	if r, ok := jinja.IsReturn(err); ok {
		return r, nil
	}
	return nil, jinja.Called(err, "macro "+g.m.Package+"."+g.m.Name)
}

// namespace is a package name in the context: dbt_utils.star.
type namespace struct {
	c   *Context
	pkg string
}

func (p namespace) PyType() string  { return "dict" }
func (p namespace) PyMapping() bool { return true }
func (p namespace) GetAttr(_ *ST, n string) (V, bool) {
	if m := p.c.Registry.FromPackage(p.c.Package, p.pkg, n); m != nil {
		return generator{m, p.c}, true
	}
	if p.pkg == Internal {
		v, ok := p.c.Natives[n]
		return v, ok
	}
	return nil, false
}
func (p namespace) GetItem(st *ST, k V) (V, bool) {
	s, _ := k.(string)
	return p.GetAttr(st, s)
}

// view is the context variable named "context".
type view struct{ c *Context }

func (v view) PyType() string  { return "dict" }
func (v view) PyMapping() bool { return true }
func (v view) GetAttr(_ *ST, n string) (V, bool) {
	if n != "get" {
		return nil, false
	}
	return bound("get", params("key", "default?"), func(b jinja.Bound) (V, error) {
		if x, ok := v.c.Resolve(jinja.Str(b.Get("key"))); ok {
			return x, nil
		}
		return b.Get("default"), nil
	}), true
}
func (v view) GetItem(_ *ST, k V) (V, bool) {
	s, ok := k.(string)
	if !ok {
		return nil, false
	}
	return v.c.Resolve(s)
}

// dispatch is adapter.dispatch: the first macro <prefix>__<name> of the packages that
// the namespace names.
func (c *Context) dispatch(name string, ns V) (V, error) {
	r := c.Registry
	search := []string{""}
	if s, ok := ns.(string); ok {
		if order := r.SearchOrder[s]; order != nil {
			search = order
		} else if _, installed := r.byPkg[s]; installed && s != Internal {
			search = []string{r.Root, s}
		}
	}
	if strings.Contains(name, ".") {
		return nil, &jinja.Error{Kind: "CompilationError", Msg: fmt.Sprintf(
			"In adapter.dispatch, got a macro name of \"%s\", but \".\" is not a valid macro name component. Did you mean `adapter.dispatch(\"%s\", macro_namespace=\"%s\")`?",
			name, name[strings.LastIndex(name, ".")+1:], name[:strings.LastIndex(name, ".")])}
	}
	var tried []string
	for _, pkg := range search {
		for _, pre := range append(c.Prefixes[:len(c.Prefixes):len(c.Prefixes)], "default") {
			k := pre + "__" + name
			if m := r.FromPackage(c.Package, pkg, k); m != nil {
				return generator{m, c}, nil
			}
			if pkg != "" {
				k = pkg + "." + k
			}
			tried = append(tried, jinja.StrRepr(k))
		}
	}
	return nil, &jinja.Error{Kind: "CompilationError", Msg: fmt.Sprintf(
		"In dispatch: No macro named '%s' found within namespace: '%s'\n    Searched for: %s", name, jinja.Str(ns), strings.Join(tried, ", "))}
}
