// Package dbt is dbt's dialect of Jinja: its tags, its macro registry with search
// order and dispatch, and the names a model finds in its context. It knows no
// project on disk and no database: both reach it as a Host.
package dbt

import (
	"fmt"

	"github.com/dvt-dev/dvt/jinja"
)

// Short names for the types that every function here passes on.
type (
	V  = jinja.Value
	A  = jinja.Args
	ST = jinja.State
)

// NewEnv is Jinja's environment as dbt sets it up: its tags and its text filters.
func NewEnv() *jinja.Env {
	e := jinja.NewEnv()
	e.HideMacros = true
	e.Tags["test"] = testTag("endtest")
	e.Tags["data_test"] = testTag("enddata_test")
	e.Tags["docs"] = docsTag
	e.Tags["materialization"] = materializationTag
	e.Calls = map[string]bool{"config": true} // sling's documents write it so
	same := func(_ *ST, v V, _ A) (V, error) { return v, nil }
	for _, n := range []string{"as_text", "as_bool", "as_native", "as_number"} {
		e.Filters[n] = same
	}
	e.Filters["is_list"] = func(_ *ST, v V, _ A) (V, error) {
		_, ok := v.(*jinja.List)
		return ok, nil
	}
	return e
}

func testTag(end string) jinja.TagFunc {
	return func(p *jinja.Parser, line int) (jinja.Stmt, error) {
		n, err := p.ExpectName()
		if err != nil {
			return nil, err
		}
		m := &jinja.Macro{P: jinja.P{Line: line}, Kind: "test", Name: "test_" + n}
		return m, p.MacroRest(m, true, end)
	}
}

func docsTag(p *jinja.Parser, line int) (jinja.Stmt, error) {
	n, err := p.ExpectName()
	if err != nil {
		return nil, err
	}
	m := &jinja.Macro{P: jinja.P{Line: line}, Kind: "docs", Name: "dbt_docs__" + n}
	return m, p.MacroRest(m, false, "enddocs")
}

func materializationTag(p *jinja.Parser, line int) (jinja.Stmt, error) {
	n, err := p.ExpectName()
	if err != nil {
		return nil, err
	}
	m := &jinja.Macro{P: jinja.P{Line: line}, Kind: "materialization"}
	adapter := "default"
	langs := jinja.Expr(&jinja.ListX{P: m.P, Items: []jinja.Expr{&jinja.Const{P: m.P, V: "sql"}}})
	for p.SkipComma() {
		k, err := p.ExpectName()
		if err != nil {
			return nil, err
		}
		if k == "default" {
			continue
		}
		if k != "adapter" && k != "supported_languages" {
			return nil, p.Fail("materialization '%s' received unknown argument '%s'.", n, k)
		}
		if !p.SkipAssign() {
			return nil, p.Fail("expected token 'assign'")
		}
		x, err := p.ParseExpression()
		if err != nil {
			return nil, err
		}
		if k == "supported_languages" {
			langs = x
			continue
		}
		c, ok := x.(*jinja.Const)
		if !ok {
			return nil, p.Fail("adapter must be a string")
		}
		adapter = jinja.Str(c.V)
	}
	m.Name = fmt.Sprintf("materialization_%s_%s", n, adapter)
	m.Params = []jinja.Param{{Name: "supported_languages", Def: langs}}
	return m, p.MacroRest(m, false, "endmaterialization")
}
