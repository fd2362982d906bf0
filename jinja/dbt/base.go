package dbt

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// DbtVersion is the version of dbt whose behaviour the context follows; packages
// compare it.
const DbtVersion = "1.11.0"

// base is the part of the context that YAML files see as well.
func (n *node) base() map[string]V {
	h := n.h
	m := map[string]V{
		"var":            varFunc{n},
		"env_var":        bound("env_var", params("var", "default?"), n.envVar),
		"return":         bound("return", params("data?"), func(b jinja.Bound) (V, error) { return nil, &jinja.MacroReturn{Val: b.Get("data")} }),
		"log":            bound("log", params("msg", "info?"), n.logFunc),
		"print":          bound("print", params("msg"), func(b jinja.Bound) (V, error) { h.log(LogPrint, jinja.Str(b.Get("msg"))); return "", nil }),
		"exceptions":     n.exceptions(),
		"modules":        Modules(h.Now),
		"invocation_id":  h.RunID,
		"run_started_at": Aware(h.Started.UTC()),
		"dbt_version":    DbtVersion,
		"thread_id":      "main",
		"flags":          NewObject(),
		"target":         h.Target,
		"project_name":   h.Project,
		"local_md5":      bound("local_md5", params("value"), localMD5),
		"context":        view{n.c},
	}
	if h.Flags != nil {
		m["flags"] = Object{h.Flags}
		args := jinja.NewDict()
		h.Flags.Each(func(k, v V) {
			if s, ok := k.(string); ok {
				_ = args.Set(strings.ToLower(s), v)
			}
		})
		m["invocation_args_dict"] = args
	}
	for k, v := range dataFunctions {
		m[k] = v
	}
	return m
}

// localMD5 is dbt's own hash function: a cache key, not a secret's guard.
func localMD5(b jinja.Bound) (V, error) {
	h := md5.Sum([]byte(jinja.Str(b.Get("value"))))
	return hex.EncodeToString(h[:]), nil
}

func (n *node) envVar(b jinja.Bound) (V, error) {
	name := jinja.Str(b.Get("var"))
	v, ok, err := n.h.Env(name)
	switch {
	case err != nil:
		return nil, &jinja.Error{Kind: "EnvVarError", Msg: err.Error()}
	case ok:
		return v, nil
	case b.Has("default"):
		// dbt hands on a default as it is; only None means "no default".
		if d := b.Get("default"); d != nil {
			return d, nil
		}
	}
	return nil, MissingEnv(name)
}

// MissingEnv is the error of an environment variable that is not set.
func MissingEnv(name string) error {
	return &jinja.Error{Kind: "EnvVarMissingError", Msg: fmt.Sprintf("Env var required but not provided: '%s'", name)}
}

func (n *node) logFunc(b jinja.Bound) (V, error) {
	level := LogDebug
	if jinja.Truth(b.Get("info")) {
		level = LogInfo
	}
	n.h.log(level, jinja.Str(b.Get("msg")))
	return "", nil
}

// varFunc is var(), which also has a method.
type varFunc struct{ n *node }

func (f varFunc) PyType() string { return "RuntimeVar" }
func (f varFunc) GetAttr(_ *ST, name string) (V, bool) {
	if name != "has_var" {
		return nil, false
	}
	return bound(name, params("var"), func(b jinja.Bound) (V, error) {
		_, ok := f.n.h.Var(jinja.Str(b.Get("var")))
		return ok, nil
	}), true
}
func (f varFunc) Call(_ *ST, a A) (V, error) {
	b, err := a.Bind("var", "var", "default?")
	if err != nil {
		return nil, err
	}
	name := jinja.Str(b.Get("var"))
	if v, ok := f.n.h.Var(name); ok {
		return v, nil
	}
	if b.Has("default") {
		return b.Get("default"), nil
	}
	if !f.n.h.Execute {
		// A variable may be given to the run only: parsing goes on without it.
		return nil, nil
	}
	return nil, &jinja.Error{Kind: "CompilationError", Msg: fmt.Sprintf("Required var '%s' not found: set it with --vars or in dbt_project.yml", name)}
}

// exceptions is dbt's way to fail from a macro.
func (n *node) exceptions() V {
	fail := func(name, kind string) V {
		return function(name, func(a A) (V, error) {
			msg := ""
			if len(a.Pos) > 0 {
				msg = jinja.Str(a.Pos[0])
			}
			for _, k := range a.Kw {
				if k.Name == "msg" {
					msg = jinja.Str(k.Val)
				}
			}
			return nil, &jinja.Error{Kind: kind, Msg: msg}
		})
	}
	o := NewObject("warn", function("warn", func(a A) (V, error) {
		if len(a.Pos) > 0 {
			n.h.log(LogWarn, jinja.Str(a.Pos[0]))
		}
		return "", nil
	}))
	for name, kind := range map[string]string{
		"raise_compiler_error": "CompilationError", "raise_database_error": "DatabaseError", "raise_dependency_error": "DependencyError",
		"raise_parsing_error": "ParsingError", "raise_not_implemented": "NotImplementedError", "raise_fail_fast_error": "FailFastError",
		"missing_config": "CompilationError", "missing_materialization": "CompilationError", "missing_relation": "CompilationError",
		"raise_invalid_property_yml_version": "CompilationError", "column_type_missing": "CompilationError", "raise_contract_error": "CompilationError",
		"relation_wrong_type": "CompilationError", "bad_package_spec": "CompilationError", "raise_ambiguous_alias": "CompilationError",
		"raise_ambiguous_catalog_match": "CompilationError", "raise_cache_inconsistent": "CompilationError", "raise_dataclass_not_dict": "CompilationError",
	} {
		_ = o.Set(name, fail(name, kind))
	}
	return o
}
