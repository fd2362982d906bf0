package dbt

import (
	"context"
	"time"

	"github.com/dvt-dev/dvt/jinja"
)

// Host answers what a node's context asks of the project and of databases. A nil
// function is answered as its comment says.
type Host struct {
	Ctx     context.Context
	Execute bool // false in parse mode
	Now     time.Time
	Started time.Time // of the run
	RunID   string    // invocation_id

	Spelling *Spelling
	// Dialects are the engine names that dispatch tries, the most special first; the
	// first is adapter.type().
	Dialects []string

	Ref    func(pkg, name string, version V) (V, error)
	Source func(source, table string) (V, error)
	// Var gives a variable; ok is false when it is not set.
	Var func(name string) (v V, ok bool)
	// Env gives an environment variable. err refuses a name.
	Env    func(name string) (v string, ok bool, err error)
	Config *Config

	This, Model, Target, Graph V
	Database, Schema           V
	Project                    string // project_name
	Flags                      *jinja.Dict
	PreHooks, PostHooks        []string

	IsIncremental, FullRefresh bool
	// WhereCond and IncrementalValue are dvt's window functions; nil: "1=1" and "null".
	WhereCond, IncrementalValue func(column string) (string, error)
	// RunQuery runs read-only SQL; nil is an error in execute mode.
	RunQuery func(ctx context.Context, sql string) (*Table, error)
	// Describe gives a relation's columns, or exists false; nil is an error.
	Describe func(ctx context.Context, r *Relation) (cols []*Column, exists bool, err error)
	// Log gets log(), print() and exceptions.warn(); nil drops them.
	Log func(level, msg string)
	// Selected are the unique ids of the selected resources.
	Selected []string
}

// The levels that Host.Log gets.
const (
	LogDebug = "debug"
	LogInfo  = "info"
	LogPrint = "print"
	LogWarn  = "warn"
)

func (h *Host) log(level, msg string) {
	if h.Log != nil && h.Execute {
		h.Log(level, msg)
	}
}

// NewNode builds the context of one node: everything of dbt's that a model, test or
// hook may name.
func NewNode(r *Registry, pkg string, h *Host) *Context {
	c := &Context{Registry: r, Package: pkg, Prefixes: h.Dialects, Calls: map[string]bool{}}
	n := &node{h: h, c: c, results: map[string]V{}}
	c.Natives = n.natives()
	c.Vars = n.vars()
	b := jinja.NewDict()
	for _, k := range []string{"ref", "source", "config", "var", "env_var", "log", "print", "return"} {
		_ = b.Set(k, c.Vars[k])
	}
	c.Vars["builtins"] = b
	return c
}

// NewBase builds the context in which YAML files are rendered: no node, no relation.
func NewBase(r *Registry, h *Host) *Context {
	c := &Context{Registry: r, Package: r.Root}
	n := &node{h: h, c: c, results: map[string]V{}}
	c.Vars = n.base()
	return c
}

// node holds what the functions of one context share.
type node struct {
	h       *Host
	c       *Context
	results map[string]V
}
