package project

import (
	"context"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// naming asks generate_schema_name or generate_alias_name. custom is the configured
// name, base the schema of the node's connection. dvt's own macros give dbt's default,
// which is answered without rendering them.
func (p *Project) naming(ctx context.Context, n *Node, what, custom, base string) (string, error) {
	name := "generate_" + what + "_name"
	custom = strings.TrimSpace(custom)
	dialects := p.dialects(p.profile.outputs[n.Connection].Type)
	if !p.overrides(n.Package, name, dialects) {
		switch {
		case what == "alias":
			return orText(custom, n.Name), nil
		case custom == "":
			return base, nil
		case base == "":
			return custom, nil
		}
		return base + "_" + custom, nil
	}
	h := p.baseHost(ctx, n)
	var failed error
	h.Execute, h.Dialects = true, dialects
	h.Target = p.targetVar(n.Connection, func(err error) { failed = err })
	h.Spelling = relationSpelling("", nil)
	h.Config = &dbt.Config{Get: n.get}
	h.Ref = func(string, string, jinja.Value) (jinja.Value, error) {
		return nil, &jinja.Error{Kind: "CompilationError", Msg: "ref() is not possible in " + name}
	}
	h.Source = func(string, string) (jinja.Value, error) {
		return nil, &jinja.Error{Kind: "CompilationError", Msg: "source() is not possible in " + name}
	}
	h.Schema, h.Database = base, n.Connection
	c := dbt.NewNode(p.registry, n.Package, h)
	var arg jinja.Value
	if custom != "" {
		arg = custom
	}
	st := c.State(false)
	st.Context = ctx
	v, err := c.Macro(name).Call(st, jinja.Args{Pos: []jinja.Value{arg, h.Model}})
	if err == nil {
		err = failed
	}
	if err != nil {
		return "", fromJinja(err, pos{file: n.Path})
	}
	out := strings.TrimSpace(str(v))
	if out == "" && what == "alias" {
		return "", &Error{File: n.Path, Msg: name + " gives no name for " + n.ResourceType + " '" + n.Name + "'"}
	}
	return out, nil
}

// overrides reports whether the project or a package has its own macro of that name,
// or one that dispatch takes for it.
func (p *Project) overrides(pkg, name string, dialects []string) bool {
	for _, prefix := range append([]string{"", "default__"}, dialects...) {
		if prefix != "" && !strings.HasSuffix(prefix, "__") {
			prefix += "__"
		}
		if m := p.registry.Find(pkg, prefix+name); m != nil && m.Package != dbt.Internal {
			return true
		}
	}
	return len(p.registry.SearchOrder[dbt.Internal]) > 0
}

// dialects are the names that dispatch tries: the engine as the profile spells it,
// then the engine it is a kind of.
func (p *Project) dialects(typ string) []string {
	out := []string{typ}
	if k, err := connectors.Lookup(typ); err == nil && len(k.Types) > 0 {
		out = append(out, k.Types[0])
	}
	return unique(out)
}
