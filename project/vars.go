package project

import (
	"sort"
	"strings"
	"sync"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// targetVar is Jinja's target: an output's keys without its secrets. A key whose
// variable is missing reports it to fail when it is read.
type targetVar struct {
	d    *jinja.Dict
	errs map[string]error
	fail func(error)
}

func (p *Project) targetVar(name string, fail func(error)) jinja.Value {
	o := p.profile.outputs[name]
	if o == nil {
		return nil
	}
	d := dbt.Dict("profile_name", p.ProfileName, "name", name, "target_name", name, "type", o.Type, "threads", int64(p.Threads))
	secret := map[string]bool{}
	for _, k := range secretKeys(o.Output) {
		secret[k] = true
	}
	for _, k := range o.keys {
		if !secret[k] && o.errs[k] == nil && k != "threads" {
			_ = d.Set(k, jinja.FromGo(o.Keys[k]))
		}
	}
	if s, err := o.schema(); err == nil {
		_ = d.Set("schema", s)
	}
	for from, to := range map[string]string{"dbname": "database", "database": "dbname"} {
		if v, ok := d.GetStr(from); ok {
			if _, both := d.GetStr(to); !both {
				_ = d.Set(to, v)
			}
		}
	}
	if _, ok := d.GetStr("database"); !ok {
		_ = d.Set("database", name)
	}
	return &targetVar{d: d, errs: o.errs, fail: fail}
}

// secretKeys are the keys of an output that hold secrets.
func secretKeys(o connectors.Output) []string {
	named := map[string]bool{"password": true, "pass": true}
	if k, err := connectors.Lookup(o.Type); err == nil {
		for _, s := range k.Secrets {
			named[s] = true
		}
	}
	var out []string
	for k := range o.Keys {
		if named[k] || looksSecret(k) {
			out = append(out, k)
		}
	}
	return out
}

// looksSecret goes by the name, for engines that are not known.
func looksSecret(key string) bool {
	for _, s := range []string{"password", "secret", "token", "private_key", "passphrase", "access_key"} {
		if strings.Contains(strings.ToLower(key), s) {
			return true
		}
	}
	return false
}

func (t *targetVar) PyType() string        { return "dict" }
func (t *targetVar) PyMapping() bool       { return true }
func (t *targetVar) PyIter() []jinja.Value { return t.d.Keys() }
func (t *targetVar) PyLen() int            { return t.d.Len() }
func (t *targetVar) PyStr() string         { return jinja.Str(t.d) }
func (t *targetVar) PyRepr() string        { return jinja.Repr(t.d) }
func (t *targetVar) GetItem(_ *jinja.State, k jinja.Value) (jinja.Value, bool) {
	if s, ok := k.(string); ok && t.errs[s] != nil && t.fail != nil {
		t.fail(t.errs[s])
	}
	return t.d.Get(k)
}
func (t *targetVar) GetAttr(st *jinja.State, n string) (jinja.Value, bool) {
	if v, ok := t.GetItem(st, n); ok {
		return v, true
	}
	switch n {
	case "get", "items", "keys", "values":
		v, err := st.Attr(t.d, n)
		return v, err == nil
	}
	return nil, false
}

// flags are the run's flags as macros read them.
func (p *Project) flags() *jinja.Dict {
	which := p.opts.Command
	if which == "" {
		which = "run"
	}
	return dbt.Dict("WHICH", which, "FULL_REFRESH", p.opts.FullRefresh, "STORE_FAILURES", p.opts.StoreFailures, "WARN_ERROR", false,
		"EMPTY", false, "USE_COLORS", false, "PRINT", true, "DEBUG", false, "STRICT_MODE", false, "INVOCATION_COMMAND", "dvt "+which,
		"PROFILE", p.ProfileName, "TARGET", p.TargetName, "THREADS", int64(p.Threads), "PROJECT_DIR", p.Dir, "PROFILES_DIR", p.ProfilesDir,
		"VARS", jinja.FromGo(p.opts.Vars), "INDIRECT_SELECTION", "eager", "FAIL_FAST", false, "QUIET", false)
}

// modelVar is Jinja's model: the node as the manifest shows it.
func modelVar(n *Node) jinja.Value {
	config := jinja.NewDict()
	for _, k := range sortedKeys(n.config) {
		_ = config.Set(k, n.config[k].v)
	}
	_ = config.Set("materialized", n.Config.Materialized)
	_ = config.Set("enabled", n.Config.Enabled)
	columns := jinja.NewDict()
	for _, c := range n.Columns {
		_ = columns.Set(c.Name, dbt.Dict("name", c.Name, "description", c.Description, "data_type", orNil(c.DataType),
			"meta", jinja.FromGo(c.Meta), "quote", quoteValue(c.Quote), "tags", jinja.FromGo(c.Tags), "constraints", jinja.NewList()))
	}
	deps := jinja.NewList()
	for _, d := range n.DependsOn {
		deps.Items = append(deps.Items, d)
	}
	path := n.Path
	if n.owner != nil {
		path = strings.TrimPrefix(n.Path, n.owner.rel+"/")
	}
	alias := orText(n.Alias, n.Name)
	return dbt.Dict("name", n.Name, "alias", alias, "schema", n.Schema, "database", n.Connection, "unique_id", n.UniqueID,
		"resource_type", n.ResourceType, "package_name", n.Package, "fqn", jinja.FromGo(n.FQN), "path", path, "original_file_path", path,
		"raw_code", n.RawCode, "raw_sql", n.RawCode, "language", "sql", "description", n.Description, "tags", jinja.FromGo(n.Tags),
		"columns", columns, "config", dbt.Object{Dict: config}, "meta", jinja.FromGo(n.Config.Meta), "refs", refValues(n), "sources", sourceValues(n),
		"depends_on", dbt.Dict("nodes", deps, "macros", jinja.FromGo(n.Macros)), "checksum", dbt.Dict("name", "sha256", "checksum", checksum(n.RawCode)))
}

// ModelVar is a node as templates see it, like each element of graph.nodes.
func (p *Project) ModelVar(n *Node) jinja.Value { return dbt.Object{Dict: modelVar(n).(*jinja.Dict)} }

func quoteValue(q *bool) jinja.Value {
	if q == nil {
		return nil
	}
	return *q
}

func refValues(n *Node) jinja.Value {
	l := jinja.NewList()
	for _, r := range n.Refs {
		l.Items = append(l.Items, dbt.Dict("name", r.Name, "package", orNil(r.Package), "version", orNil(r.Version)))
	}
	return l
}

func sourceValues(n *Node) jinja.Value {
	l := jinja.NewList()
	for _, s := range n.SourceRefs {
		l.Items = append(l.Items, jinja.NewList(s[0], s[1]))
	}
	return l
}

// graphVar is Jinja's graph, made when a model first asks for it.
type graphVar struct {
	once sync.Once
	v    jinja.Value
}

func (p *Project) graphValue() jinja.Value { return &lazyGraph{p} }

// lazyGraph makes the graph when it is read: most models never do.
type lazyGraph struct{ p *Project }

func (g *lazyGraph) PyType() string  { return "dict" }
func (g *lazyGraph) PyMapping() bool { return true }
func (g *lazyGraph) GetItem(_ *jinja.State, k jinja.Value) (jinja.Value, bool) {
	return g.value().Get(k)
}
func (g *lazyGraph) GetAttr(st *jinja.State, n string) (jinja.Value, bool) {
	if v, ok := g.value().GetStr(n); ok {
		return v, true
	}
	v, err := st.Attr(g.value(), n)
	return v, err == nil
}

func (g *lazyGraph) value() *jinja.Dict {
	p := g.p
	p.graphVar.once.Do(func() {
		nodes, sources := jinja.NewDict(), jinja.NewDict()
		for _, id := range p.ids() {
			_ = nodes.Set(id, modelVar(p.Nodes[id]))
		}
		for _, s := range p.sortedSources() {
			_ = sources.Set(s.UniqueID, dbt.Dict("unique_id", s.UniqueID, "name", s.Name, "source_name", s.SourceName, "schema", s.Schema,
				"identifier", s.Identifier, "database", s.Connection, "resource_type", TypeSource, "package_name", s.Package,
				"description", s.Description, "tags", jinja.FromGo(s.Tags), "meta", jinja.FromGo(s.Meta), "fqn", jinja.FromGo(s.FQN),
				"path", s.Path, "original_file_path", s.Path, "loader", s.Loader))
		}
		p.graphVar.v = dbt.Dict("nodes", nodes, "sources", sources, "exposures", jinja.NewDict(), "metrics", jinja.NewDict(), "groups", jinja.NewDict())
	})
	return p.graphVar.v.(*jinja.Dict)
}

func (p *Project) sortedSources() []*Source {
	out := make([]*Source, 0, len(p.Sources))
	for _, s := range p.Sources {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].UniqueID < out[j].UniqueID })
	return out
}
