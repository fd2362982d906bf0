package project

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// Render is how one node is rendered.
type Render struct {
	Execute       bool // false: parse mode, for tests of macros
	IsIncremental bool
	FullRefresh   bool
	// WhereCond and IncrementalValue answer incremental_where_cond() and
	// incremental_value(); column is "" when the template names none. Nil is the
	// first run: 1=1 and null.
	WhereCond, IncrementalValue func(column string) (string, error)
	// RunQuery runs read-only DuckDB SQL whose relations carry RelationMarker; see
	// Project.Relations. Nil: run_query is an error in execute mode.
	RunQuery func(ctx context.Context, sql string) (*dbt.Table, error)
	// OwnQuery, if set, runs run_query instead: read-only SQL of the node's own connection,
	// in which Quote wrote the relations.
	OwnQuery func(ctx context.Context, sql string) (*dbt.Table, error)
	// Describe gives the columns of a relation for adapter.get_columns_in_relation and
	// adapter.get_relation. Nil: these are errors in execute mode.
	Describe func(ctx context.Context, r RelationUse) (cols []*dbt.Column, exists bool, err error)
	Now      time.Time
	// Dialect is the engine whose SQL is rendered: "duckdb" for federated models,
	// else the output's type. "" is computeDialect.
	Dialect string
	// Quote writes a relation in the SQL of the node's own connection; nil is DuckDB's
	// way with RelationMarker on the catalog. database and schema may be "".
	Quote func(database, schema, name string) string
	// Log gets what macros log: level is one of dbt.LogDebug, LogInfo, LogPrint, LogWarn.
	Log func(level, msg string)
	// Vars are further variables of the template, such as results of on-run-end.
	Vars map[string]jinja.Value
	// Selected are the unique ids of what the run selected, for selected_resources.
	Selected []string
}

// Compiled is a rendered node.
type Compiled struct {
	SQL string
	// Relations are what SQL names, in the order of their first mention.
	Relations []RelationUse
	// CTEs are the ephemeral models that went into SQL.
	CTEs []string
	// Set are fail_calc, warn_if and error_if of a test whose own macro calls config() and
	// whose properties do not say them.
	Set map[string]string
}

// renderer is one rendering of one node, and of the ephemeral models inside it.
type renderer struct {
	p        *Project
	ctx      context.Context
	rc       Render
	node     *Node // whose SQL this is
	spelling *dbt.Spelling
	ctes     []cte
	byID     map[string]string // unique id of an ephemeral model to its CTE's name
	bodyOf   map[*Node]bool    // nodes whose own template is rendered, not a hook
	open     map[string]bool
	err      error             // what a value could not report where it was printed
	set      map[string]string // see Compiled.Set
}

type cte struct{ name, sql, id string }

func (p *Project) newRenderer(ctx context.Context, n *Node, rc Render) *renderer {
	if rc.Dialect == "" {
		rc.Dialect = computeDialect
	}
	if rc.Now.IsZero() {
		rc.Now = p.opts.StartedAt
	}
	return &renderer{p: p, ctx: ctx, rc: rc, node: n, spelling: relationSpelling(rc.Dialect, rc.Quote), byID: map[string]string{},
		bodyOf: map[*Node]bool{}, open: map[string]bool{}}
}

// Compile renders a node's SQL. Ephemeral models that it reads become CTEs in front.
func (p *Project) Compile(ctx context.Context, n *Node, rc Render) (*Compiled, error) {
	if n.Err != nil {
		return nil, n.Err
	}
	r := p.newRenderer(ctx, n, rc)
	sql, err := r.body(n)
	if err != nil {
		return nil, err
	}
	sql = withCTEs(sql, r.ctes)
	out := &Compiled{Relations: p.Relations(n, sql), Set: r.set}
	if out.SQL, err = r.finished(sql); err != nil {
		return nil, err
	}
	for _, c := range r.ctes {
		out.CTEs = append(out.CTEs, c.id)
	}
	if rc.Execute {
		p.compiled.Store(n.UniqueID, Display(out.SQL))
	}
	return out, nil
}

// CompiledSQL is what Compile made of n last, as users see it; "" if it did not.
func (p *Project) CompiledSQL(n *Node) string {
	sql, _ := p.compiled.Load(n.UniqueID)
	text, _ := sql.(string)
	return text
}

// finished gives SQL the spelling that its reader wants.
func (r *renderer) finished(sql string) (string, error) {
	if r.rc.Quote == nil {
		return plainTexts(sql), nil
	}
	return r.native(r.node, sql)
}

// RenderHook renders a hook in the context of n, for n's connection: with Quote, a
// relation that is not on that connection is an error.
func (p *Project) RenderHook(ctx context.Context, n *Node, text string, rc Render) (string, error) {
	return p.RenderString(ctx, n, text, rc)
}

// RenderString renders text in the context of n, which may be nil.
func (p *Project) RenderString(ctx context.Context, n *Node, text string, rc Render) (string, error) {
	if n == nil {
		n = &Node{Name: "inline", Package: p.Name, ResourceType: TypeModel, Path: "inline", UniqueID: "model." + p.Name + ".inline",
			FQN: []string{p.Name, "inline"}, Connection: p.TargetName, Config: Config{Materialized: FTable, Enabled: true}, owner: p.packages[0]}
	}
	r := p.newRenderer(ctx, n, rc)
	sql, err := r.text(n, text)
	if err != nil {
		return "", err
	}
	return r.finished(withCTEs(sql, r.ctes))
}

// Inline is a node for SQL that stands in no file, such as that of show --inline: it
// knows its relations and may be compiled like a model.
func (p *Project) Inline(text string) (*Node, error) {
	n := &Node{Name: "inline", Package: p.Name, ResourceType: TypeModel, Path: "<inline>", RawCode: text, Body: text, BodyLine: 1,
		UniqueID: "model." + p.Name + ".inline", FQN: []string{p.Name, "inline"}, Connection: p.TargetName, Alias: "inline",
		Federated: true, Config: Config{Materialized: FTable, Enabled: true}, owner: p.packages[0]}
	l := &loader{p: p, ctx: context.Background()}
	out := &parsed{node: n}
	if err := l.parseBody(out); err != nil {
		return nil, err
	}
	l.depend(n)
	return n, l.faults.err()
}

func (r *renderer) text(n *Node, text string) (string, error) {
	file := "hook of " + n.Path
	t, err := r.p.registry.Env.Parse(text, file, 1)
	if err != nil {
		return "", fromJinja(err, pos{file: file})
	}
	return r.run(n, t)
}

// body renders the template of a node.
func (r *renderer) body(n *Node) (string, error) {
	if n.tmpl == nil {
		return "", &Error{File: n.Path, Msg: fmt.Sprintf("%s '%s' has no SQL to compile", n.ResourceType, n.Name)}
	}
	r.bodyOf[n] = true
	return r.run(n, n.tmpl)
}

func (r *renderer) run(n *Node, t *jinja.Template) (string, error) {
	ctx := dbt.NewNode(r.p.registry, n.Package, r.host(n))
	if n.Test != nil && n.Test.kwargs != nil {
		st := ctx.State(!r.rc.Execute)
		kw, err := n.Test.render(dbt.NewNativeEnv(), n, st)
		if err != nil {
			return "", fromJinja(err, pos{file: n.Path, line: n.Test.line})
		}
		ctx.Vars["_dbt_generic_test_kwargs"] = kw
	}
	for name, v := range r.rc.Vars {
		ctx.Vars[name] = v
	}
	st := ctx.State(!r.rc.Execute)
	st.Strict = r.rc.Execute
	st.Context = r.ctx
	sql, err := t.RenderState(st)
	if err == nil {
		err = r.err
	}
	if err != nil {
		if c := r.ctx.Err(); c != nil {
			return "", c
		}
		return "", fromJinja(err, pos{file: n.Path, line: n.BodyLine})
	}
	return sql, nil
}

// host answers the context of n, which is the renderer's node or an ephemeral model
// inside it.
func (r *renderer) host(n *Node) *dbt.Host {
	h := r.p.baseHost(r.ctx, n)
	h.Execute, h.Now, h.Spelling = r.rc.Execute, r.rc.Now, r.spelling
	h.Dialects = r.p.dialects(r.rc.Dialect)
	h.IsIncremental = r.rc.IsIncremental && n == r.node
	h.FullRefresh = r.rc.FullRefresh || r.p.opts.FullRefresh
	if n == r.node {
		h.WhereCond, h.IncrementalValue = r.rc.WhereCond, r.rc.IncrementalValue
	}
	h.RunQuery, h.Log, h.Selected = r.rc.RunQuery, r.rc.Log, r.rc.Selected
	if r.rc.OwnQuery != nil {
		h.RunQuery = func(ctx context.Context, sql string) (*dbt.Table, error) {
			sql, err := r.native(n, sql)
			if err != nil {
				return nil, err
			}
			return r.rc.OwnQuery(ctx, sql)
		}
	}
	if r.rc.Describe != nil {
		h.Describe = r.describe
	}
	h.Target = r.p.targetVar(r.p.TargetName, r.fail)
	h.Config = &dbt.Config{Get: n.get}
	if n.Test != nil && n == r.node {
		h.Config.Set = r.testConfig
	}
	h.Ref = func(pkg, name string, version jinja.Value) (jinja.Value, error) {
		return r.ref(n, Ref{pkg, name, str(version)})
	}
	h.Source = func(source, table string) (jinja.Value, error) { return r.source(n, source, table) }
	h.This = r.relation(n)
	h.Database, h.Schema = r.database(n.Connection), n.Schema
	h.PreHooks, h.PostHooks = n.Config.PreHook, n.Config.PostHook
	if r.rc.Execute {
		h.Graph = r.p.graphValue()
	}
	return h
}

// testConfig takes what the macro of a generic test configures, which its properties
// override.
func (r *renderer) testConfig(key string, v jinja.Value) {
	switch key {
	case "fail_calc", "warn_if", "error_if":
		if _, said := r.node.config[key]; said {
			return
		}
		if r.set == nil {
			r.set = map[string]string{}
		}
		r.set[key] = strings.TrimSpace(jinja.Str(v))
	}
}

// fail keeps the first error that a value could not return.
func (r *renderer) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// database is what stands in front of the schema: the output's name, where all
// outputs are catalogs; else the database's own name, if the profile tells.
func (r *renderer) database(connection string) jinja.Value {
	if r.rc.Quote == nil {
		return connection
	}
	o := r.p.profile.outputs[connection]
	if o == nil {
		return nil
	}
	for _, k := range []string{"dbname", "database"} {
		if v, ok := o.Keys[k]; ok && v != nil {
			return fmt.Sprint(v)
		}
	}
	return nil
}

// relation is where a node lands.
func (r *renderer) relation(n *Node) *dbt.Relation {
	kind := "table"
	if n.Config.Materialized == View {
		kind = View
	}
	return dbt.NewRelation(r.spelling, r.database(n.Connection), orNil(n.Schema), n.Alias, kind).In(n.Connection)
}

func orNil(s string) jinja.Value {
	if s == "" {
		return nil
	}
	return s
}

func (r *renderer) ref(from *Node, ref Ref) (jinja.Value, error) {
	to, err := r.p.ref(from, ref)
	if err != nil {
		return nil, compileError(err)
	}
	if to.Config.Materialized == Ephemeral {
		return r.ephemeral(to)
	}
	if err := r.seen(from, to.UniqueID, fmt.Sprintf("ref('%s')", ref.Name)); err != nil {
		return nil, err
	}
	return r.relation(to), nil
}

func (r *renderer) source(from *Node, source, table string) (jinja.Value, error) {
	s, err := r.p.source(from, source, table)
	if err != nil {
		return nil, compileError(err)
	}
	if s.Err != nil {
		return nil, s.Err
	}
	if err := r.seen(from, s.UniqueID, fmt.Sprintf("source('%s', '%s')", source, table)); err != nil {
		return nil, err
	}
	return dbt.NewRelation(r.spelling, r.database(s.Connection), orNil(s.Schema), s.Identifier, "table").In(s.Connection), nil
}

// seen refuses a dependency that parsing did not find: the node may run before it.
func (r *renderer) seen(from *Node, id, label string) error {
	if !r.rc.Execute || from.UniqueID == id || !r.bodyOf[from] {
		return nil
	}
	for _, d := range from.DependsOn {
		if d == id {
			return nil
		}
	}
	return compileError(fmt.Errorf("%s was not found when the project was parsed, so that %s '%s' may run before it: add the line\n-- depends_on: {{ %s }}",
		label, from.ResourceType, from.Name, label))
}

func compileError(err error) error {
	return &jinja.Error{Kind: "CompilationError", Msg: err.Error(), Cause: err}
}

func (r *renderer) describe(ctx context.Context, rel *dbt.Relation) ([]*dbt.Column, bool, error) {
	catalog := rel.Catalog()
	if catalog == "" {
		// Made by name: the database is an output's name, or the node's own database.
		if catalog = rel.Part(0); r.p.profile.outputs[catalog] == nil {
			catalog = r.node.Connection
		}
	}
	use, _ := r.p.use(r.node, catalog, rel.Part(1), rel.Part(2))
	return r.rc.Describe(ctx, use)
}
