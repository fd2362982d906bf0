package project

import (
	"context"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// parsed is one node as its own file gives it.
type parsed struct {
	node   *Node
	front  layer
	inline layer
	static static
}

// readModel reads and parses one .sql file of a model or singular test.
func (l *loader) readModel(p *pkg, f found, kind string) (*parsed, error) {
	rel := p.file(f.rel)
	b, err := readFile(f.abs, rel, maxFile)
	if err != nil {
		return nil, err
	}
	src, err := sqlText(b, rel)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Name: stem(f.rel), Package: p.name, ResourceType: kind, Path: rel, AbsPath: f.abs, RawCode: src,
		BodyLine: 1, FQN: fqn(p, f.sub, stem(f.rel)), owner: p,
	}
	n.UniqueID = kind + "." + p.name + "." + n.Name
	out := &parsed{node: n}
	n.Body = n.RawCode
	if kind == TypeModel {
		if err := l.frontMatter(out); err != nil {
			return nil, err
		}
	}
	return out, l.parseBody(out)
}

// sqlText is a file's text without a byte order mark, which no engine reads.
func sqlText(b []byte, file string) (string, error) {
	s := strings.TrimPrefix(string(b), "\ufeff")
	if utf8.ValidString(s) {
		return s, nil
	}
	for i, line := range strings.Split(s, "\n") {
		if !utf8.ValidString(line) {
			return "", (pos{file, i + 1, 1}).errorf("the line is not UTF-8 text")
		}
	}
	return "", &Error{File: file, Msg: "the file is not UTF-8 text"}
}

// frontMatter takes the front matter off the body.
func (l *loader) frontMatter(out *parsed) error {
	n := out.node
	fm, body, line, warn := splitFrontMatter(n.RawCode, n.Path)
	if warn != "" {
		l.warn("%s", warn)
	}
	if fm == nil {
		return nil
	}
	n.Body, n.BodyLine = body, line
	var err error
	out.front, err = readLayer(*fm, fm.root, fromFrontMatter, l.yaml)
	n.Description = text(get(fm.root, "description"))
	return err
}

// parseBody parses the template and finds what it names: by its literal calls where
// these are all there is, else by rendering it in parse mode.
func (l *loader) parseBody(out *parsed) error {
	n := out.node
	t, err := l.p.registry.Env.Parse(n.Body, n.Path, n.BodyLine)
	if err != nil {
		return fromJinja(err, pos{file: n.Path})
	}
	n.tmpl = t
	out.static = inspect(t.Body)
	n.IsIncrementalStyle, n.WindowStyle = out.static.incremental, out.static.window
	out.inline = layer{}
	if !out.static.complete || l.overridden(n.Package) || !l.takeStatic(out) {
		n.Refs, n.SourceRefs, out.inline = nil, nil, layer{}
		if err := l.render(out); err != nil {
			return err
		}
	}
	for _, c := range out.static.later {
		if r, ok := refOf(c.args); ok && c.name == "ref" && r.Name != n.Name {
			addRef(n, r)
		}
		if s, ok := sourceOf(c.args); ok && c.name == "source" {
			addSource(n, s)
		}
	}
	return nil
}

// overridden reports whether a macro has taken the place of a built-in that literal
// calls rely on.
func (l *loader) overridden(pkg string) bool {
	for _, name := range []string{"ref", "source", "config"} {
		if l.p.registry.Find(pkg, name) != nil {
			return true
		}
	}
	return false
}

// takeStatic takes refs, sources and settings from literal calls; false when a call's
// arguments are not in order, for rendering to report it.
func (l *loader) takeStatic(out *parsed) bool {
	for _, c := range out.static.calls {
		switch c.name {
		case "ref":
			r, ok := refOf(c.args)
			if !ok {
				return false
			}
			addRef(out.node, r)
		case "source":
			s, ok := sourceOf(c.args)
			if !ok {
				return false
			}
			addSource(out.node, s)
		case "config":
			at := pos{out.node.Path, c.at.Line, c.at.Col}
			cfg := dbt.Config{Set: func(key string, v jinja.Value) { out.inline.setInline(key, v, at) }}
			if _, err := cfg.Call(nil, c.args); err != nil {
				return false
			}
		}
	}
	return true
}

// setInline is one value of config(); several calls add up like carriers do.
func (l layer) setInline(key string, v jinja.Value, at pos) {
	one := layer{}
	one.set(key, setting{v: v, at: at, from: fromConfig})
	merge(l, one)
}

func addRef(n *Node, r Ref) {
	for _, old := range n.Refs {
		if old == r {
			return
		}
	}
	n.Refs = append(n.Refs, r)
}

func addSource(n *Node, s [2]string) {
	for _, old := range n.SourceRefs {
		if old == s {
			return
		}
	}
	n.SourceRefs = append(n.SourceRefs, s)
}

// render renders a node in parse mode, where nothing is executed and what is not
// known yet swallows whatever is done to it.
func (l *loader) render(out *parsed) error {
	n := out.node
	at := pos{file: n.Path, line: n.BodyLine}
	for _, c := range out.static.calls {
		if c.name == "config" {
			at.line, at.col = c.at.Line, c.at.Col
			break
		}
	}
	sp := relationSpelling(computeDialect, nil)
	h := l.host(n)
	h.Spelling = sp
	h.Ref = func(pkg, name string, version jinja.Value) (jinja.Value, error) {
		addRef(n, Ref{pkg, name, str(version)})
		return dbt.NewRelation(sp, n.Package, "", name, nil), nil
	}
	h.Source = func(source, table string) (jinja.Value, error) {
		addSource(n, [2]string{source, table})
		return dbt.NewRelation(sp, source, source, table, nil), nil
	}
	h.Config = &dbt.Config{
		Set: func(key string, v jinja.Value) { out.inline.setInline(key, v, at) },
		Get: func(string) (jinja.Value, bool) { return "", true },
	}
	h.This = dbt.NewRelation(sp, n.Package, "", n.Name, nil)
	ctx := dbt.NewNode(l.p.registry, n.Package, h)
	if n.Test != nil && n.Test.kwargs != nil {
		kw, err := n.Test.render(dbt.NewNativeEnv(), n, ctx.State(true))
		if err != nil {
			return fromJinja(err, pos{file: n.Path, line: n.Test.line})
		}
		ctx.Vars["_dbt_generic_test_kwargs"] = kw
	}
	st := ctx.State(true)
	st.Context = l.ctx
	if _, err := n.tmpl.RenderState(st); err != nil {
		return fromJinja(err, pos{file: n.Path, line: n.BodyLine})
	}
	n.Macros = macroIDs(ctx.Calls)
	return nil
}

// host is the part of a node's host that is the same whether it is parsed or run.
func (l *loader) host(n *Node) *dbt.Host { return l.p.baseHost(l.ctx, n) }

func (p *Project) baseHost(ctx context.Context, n *Node) *dbt.Host {
	return &dbt.Host{
		Ctx: ctx, Now: p.opts.StartedAt, Started: p.opts.StartedAt, RunID: p.opts.InvocationID,
		Dialects: []string{computeDialect},
		Var:      func(name string) (jinja.Value, bool) { return p.variable(name, n.Package) },
		Env:      func(name string) (string, bool, error) { return lookupEnv(p.env, name, false) },
		Target:   p.targetVar(p.TargetName, nil),
		Model:    modelVar(n), Graph: dbt.Dict("nodes", jinja.NewDict(), "sources", jinja.NewDict()),
		Project: p.Name, Flags: p.flags(), FullRefresh: p.opts.FullRefresh,
	}
}

func macroIDs(calls map[string]bool) []string {
	var out []string
	for c := range calls {
		out = append(out, "macro."+c)
	}
	return sorted(out)
}

var (
	snapshotOpen  = regexp.MustCompile(`\{%[-+]?\s*snapshot\s+([A-Za-z_][A-Za-z0-9_]*)\s*[-+]?%\}`)
	snapshotClose = regexp.MustCompile(`\{%[-+]?\s*endsnapshot\s*[-+]?%\}`)
	jinjaComment  = regexp.MustCompile(`(?s)\{#.*?#\}`)
)

// readSnapshots cuts the snapshot blocks out of a file, as dbt does: the text between
// the tags is a model of its own.
func (l *loader) readSnapshots(p *pkg, f found) ([]*parsed, error) {
	rel := p.file(f.rel)
	b, err := readFile(f.abs, rel, maxFile)
	if err != nil {
		return nil, err
	}
	src, err := sqlText(b, rel)
	if err != nil {
		return nil, err
	}
	// A tag inside a comment does not count; blanks keep every offset.
	plain := jinjaComment.ReplaceAllStringFunc(src, func(s string) string { return strings.Repeat(" ", len(s)) })
	var out []*parsed
	for at := 0; ; {
		m := snapshotOpen.FindStringSubmatchIndex(plain[at:])
		if m == nil {
			return out, nil
		}
		start, name := at+m[1], plain[at+m[2]:at+m[3]]
		line := 1 + strings.Count(src[:start], "\n")
		end := snapshotClose.FindStringIndex(plain[start:])
		if end == nil {
			return nil, (pos{rel, line, 1}).errorf("snapshot '%s' has no endsnapshot", name)
		}
		body := src[start : start+end[0]]
		n := &Node{
			Name: name, Package: p.name, ResourceType: TypeSnapshot, Path: rel, AbsPath: f.abs, RawCode: body, Body: body,
			BodyLine: line, FQN: fqn(p, f.sub, stem(f.rel), name), owner: p, UniqueID: "snapshot." + p.name + "." + name,
		}
		s := &parsed{node: n}
		if err := l.parseBody(s); err != nil {
			return nil, err
		}
		out = append(out, s)
		at = start + end[1]
	}
}

// readSeed makes the node of a CSV file; its rows are read when it is loaded.
func (l *loader) readSeed(p *pkg, f found) *parsed {
	return &parsed{node: &Node{
		Name: stem(f.rel), Package: p.name, ResourceType: TypeSeed, Path: p.file(f.rel), AbsPath: f.abs,
		FQN: fqn(p, f.sub, stem(f.rel)), owner: p, UniqueID: "seed." + p.name + "." + stem(f.rel),
	}, inline: layer{}}
}
