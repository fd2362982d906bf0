package dbt

import (
	"fmt"

	"github.com/dvt-dev/dvt/jinja"
)

// vars is the context of a node: the base and everything about the node itself.
func (n *node) vars() map[string]V {
	h := n.h
	m := n.base()
	for k, v := range map[string]V{
		"ref":                jinja.NewFunc("ref", n.ref),
		"source":             function("source", n.source),
		"config":             h.Config,
		"this":               h.This,
		"model":              h.Model,
		"graph":              h.Graph,
		"execute":            h.Execute,
		"adapter":            adapter{n},
		"api":                NewObject("Relation", relationClass{h.Spelling}, "Column", columnClass{h.Spelling}),
		"database":           h.Database,
		"schema":             h.Schema,
		"pre_hooks":          hooks(h.PreHooks),
		"post_hooks":         hooks(h.PostHooks),
		"selected_resources": jinja.FromGo(h.Selected),
		"render":             jinja.NewFunc("render", n.render),
		"write":              constantly("write", ""),
		"load_result":        bound("load_result", params("name"), n.loadResult),
		"store_result":       bound("store_result", params("name", "response", "agate_table?"), n.storeResult),
		"store_raw_result": bound("store_raw_result", params("name", "message?", "code?", "rows_affected?", "agate_table?"), func(b jinja.Bound) (V, error) {
			n.store(jinja.Str(b.Get("name")), jinja.Str(b.Get("message")), b.Get("agate_table"))
			return "", nil
		}),
		"column_name":       nil,
		"validation":        NewObject("any", anyValidator{}),
		"submit_python_job": constantly("submit_python_job", nil),
		"doc":               constantly("doc", ""),
	} {
		m[k] = v
	}
	delete(m, "column_name")
	return m
}

// anyValidator accepts everything: config.require(x, validator=validation.any[...]).
type anyValidator struct{}

func (anyValidator) PyType() string             { return "ValidatorFactory" }
func (a anyValidator) GetItem(*ST, V) (V, bool) { return a, true }
func (a anyValidator) Call(*ST, A) (V, error)   { return nil, nil }

func compilation(f string, args ...any) error {
	return &jinja.Error{Kind: "CompilationError", Msg: fmt.Sprintf(f, args...)}
}

// ref is ref('model'), ref('package', 'model'), with an optional version.
func (n *node) ref(_ *ST, a A) (V, error) {
	var version V
	for _, k := range a.Kw {
		if k.Name != "version" && k.Name != "v" {
			return nil, jinja.TypeErr("ref() got an unexpected keyword argument '%s'", k.Name)
		}
		version = k.Val
	}
	if len(a.Pos) != 1 && len(a.Pos) != 2 {
		return nil, n.fail("ref() takes at most two arguments (%d given)", len(a.Pos))
	}
	for _, v := range a.Pos {
		if _, ok := v.(string); !ok {
			return nil, n.fail("The name argument to ref() must be a string, got %s", jinja.TypeName(v))
		}
	}
	if len(a.Pos) == 1 {
		return n.h.Ref("", a.Pos[0].(string), version)
	}
	return n.h.Ref(a.Pos[0].(string), a.Pos[1].(string), version)
}

func (n *node) source(a A) (V, error) {
	if len(a.Kw) > 0 || len(a.Pos) != 2 {
		return nil, n.fail("source() takes exactly two arguments (%d given)", len(a.Pos)+len(a.Kw))
	}
	s, ok := a.Pos[0].(string)
	t, ok2 := a.Pos[1].(string)
	if !ok || !ok2 {
		return nil, n.fail("The source name and table name arguments to source() must be strings")
	}
	return n.h.Source(s, t)
}

// render renders text with the node's own context.
func (n *node) render(st *ST, a A) (V, error) {
	if len(a.Pos) != 1 {
		return nil, jinja.TypeErr("render() takes one argument")
	}
	t, err := n.c.Registry.Env.Parse(jinja.Str(a.Pos[0]), "<render>", 1)
	if err != nil {
		return nil, err
	}
	inner := n.c.State(st.Chain)
	inner.Context = st.Context
	return t.RenderState(inner)
}

func hooks(sql []string) V {
	l := jinja.NewList()
	for _, s := range sql {
		l.Items = append(l.Items, Dict("sql", s, "transaction", true, "index", nil))
	}
	return l
}

// fail is an error of the model's own making, as dbt names it.
func (n *node) fail(f string, args ...any) error { return compilation(f, args...) }
