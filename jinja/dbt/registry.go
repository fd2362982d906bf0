package dbt

import (
	"embed"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"sync"

	"github.com/dvt-dev/dvt/jinja"
)

// Internal is the package name of the macros that dvt brings itself.
const Internal = "dbt"

// The macros of dbt's global project under dbt's names, written for dvt.
//
//go:embed all:macros
var globalMacros embed.FS

// Macro is one macro, test or materialization of a package. It is immutable.
type Macro struct {
	Package, Name, File string
	Line                int
	Kind                string // macro, test, materialization, docs
	Node                *jinja.Macro
	val                 *jinja.MacroVal
}

// Registry holds all macros of a project, of its packages and of dvt itself. It is
// filled first and read-only afterwards.
type Registry struct {
	Env  *jinja.Env
	Root string // the project's package name
	// SearchOrder is the project's dispatch configuration: macro namespace to the
	// packages that are searched for it.
	SearchOrder map[string][]string

	byPkg map[string]map[string]*Macro
	order []*Macro
}

// NewRegistry makes a registry that holds dvt's own macros.
func NewRegistry(env *jinja.Env, root string) (*Registry, error) {
	own, err := ownMacros()
	if err != nil {
		return nil, err
	}
	return &Registry{Env: env, Root: root, byPkg: map[string]map[string]*Macro{Internal: own}}, nil
}

// ownMacros parses the embedded macros once per process: they never change, and
// parsed macros are immutable.
var ownMacros = sync.OnceValues(func() (map[string]*Macro, error) {
	env := NewEnv()
	r := &Registry{Env: env, byPkg: map[string]map[string]*Macro{Internal: {}}}
	err := fs.WalkDir(globalMacros, "macros", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
			return err
		}
		src, err := globalMacros.ReadFile(path)
		if err != nil {
			return err
		}
		return r.AddSource(Internal, path, string(src))
	})
	return r.byPkg[Internal], err
})

// DuplicateError says that one package defines a macro twice.
type DuplicateError struct{ Old, New *Macro }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("two macros named %q in package %q: %s:%d and %s:%d",
		e.New.Name, e.New.Package, e.Old.File, e.Old.Line, e.New.File, e.New.Line)
}

// AddSource adds the macros of one file. Text outside macros is ignored, as in dbt.
func (r *Registry) AddSource(pkg, file, src string) error {
	t, err := r.Env.Parse(src, file, 1)
	if err != nil {
		return err
	}
	return r.AddTemplate(pkg, t)
}

// AddTemplate adds the macros of one parsed file.
func (r *Registry) AddTemplate(pkg string, t *jinja.Template) error {
	for _, s := range t.Body {
		n, ok := s.(*jinja.Macro)
		if !ok {
			continue
		}
		m := &Macro{Package: pkg, Name: n.Name, File: t.File, Line: n.Line, Kind: n.Kind, Node: n, val: jinja.NewMacro(n, t.File)}
		if m.Kind == "" {
			m.Kind = "macro"
		}
		if r.byPkg[pkg] == nil {
			r.byPkg[pkg] = map[string]*Macro{}
		}
		if old := r.byPkg[pkg][m.Name]; old != nil {
			return &DuplicateError{Old: old, New: m}
		}
		r.byPkg[pkg][m.Name] = m
		r.order = append(r.order, m)
	}
	return nil
}

// AddPackage makes the package known even if it has no macro.
func (r *Registry) AddPackage(pkg string) {
	if r.byPkg[pkg] == nil {
		r.byPkg[pkg] = map[string]*Macro{}
	}
}

// All are the macros of the project and its packages in the order they were added.
func (r *Registry) All() []*Macro { return r.order }

// Find looks a name up in dbt's order: the node's package, the root project, dvt's
// own macros.
func (r *Registry) Find(search, name string) *Macro {
	if search != Internal {
		if m := r.byPkg[search][name]; m != nil {
			return m
		}
	}
	if m := r.byPkg[r.Root][name]; m != nil {
		return m
	}
	return r.byPkg[Internal][name]
}

// FromPackage is dispatch's lookup; "" means the search order of Find.
func (r *Registry) FromPackage(search, pkg, name string) *Macro {
	if pkg == "" {
		return r.Find(search, name)
	}
	return r.byPkg[pkg][name]
}

// Names are the macros that a node of package search can call by bare name, for
// suggestions.
func (r *Registry) Names(search string) []string {
	seen := map[string]bool{}
	for _, pkg := range []string{search, r.Root, Internal} {
		for n := range r.byPkg[pkg] {
			seen[n] = true
		}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
