package project

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dvt-dev/dvt/jinja/dbt"
)

// manifestSchema names the shape that dbt's tools look for.
const manifestSchema = "https://schemas.getdbt.com/dbt/manifest/v12.json"

type object = map[string]any

// Manifest is the project in the shape of dbt's manifest.json, version 12, ready for
// encoding/json. Nodes that were compiled by this Project carry their SQL. It holds no
// key of the profile but the names of its outputs.
func (p *Project) Manifest() any {
	nodes, sources, macros, disabled := object{}, object{}, object{}, map[string][]any{}
	for id, n := range p.Nodes {
		nodes[id] = p.manifestNode(n)
	}
	for id, s := range p.Sources {
		sources[id] = p.manifestSource(s)
	}
	for _, n := range p.Disabled {
		disabled[n.UniqueID] = append(disabled[n.UniqueID], p.manifestNode(n))
	}
	for _, m := range p.registry.All() {
		id := "macro." + m.Package + "." + m.Name
		macros[id] = object{"unique_id": id, "name": m.Name, "package_name": m.Package, "path": m.File, "original_file_path": m.File,
			"resource_type": "macro", "macro_sql": "", "depends_on": object{"macros": []string{}}, "description": "", "meta": object{},
			"docs": object{"show": true, "node_color": nil}, "arguments": []any{}, "supported_languages": nil, "patch_path": nil,
			"created_at": p.epoch()}
	}
	parents, children := map[string][]string{}, map[string][]string{}
	for _, id := range p.graph.order {
		parents[id], children[id] = notNil(p.graph.parents[id]), notNil(p.graph.children[id])
	}
	empty := func() object { return object{} }
	return object{
		"metadata": p.manifestMetadata(), "nodes": nodes, "sources": sources, "macros": macros, "disabled": disabled,
		"parent_map": parents, "child_map": children, "docs": empty(), "exposures": empty(), "metrics": empty(), "groups": empty(),
		"selectors": empty(), "group_map": empty(), "saved_queries": empty(), "semantic_models": empty(), "unit_tests": empty(),
	}
}

func (p *Project) epoch() float64 { return float64(p.opts.StartedAt.UnixMilli()) / 1000 }

func (p *Project) manifestMetadata() object {
	id := md5.Sum([]byte(p.Name))
	return object{
		"dbt_schema_version": manifestSchema, "dbt_version": dbt.DbtVersion, "generated_at": p.opts.StartedAt.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"invocation_id": p.opts.InvocationID, "env": object{}, "project_name": p.Name, "project_id": hex.EncodeToString(id[:]),
		"user_id": nil, "send_anonymous_usage_stats": false, "adapter_type": p.profile.outputs[p.TargetName].Type,
		"quoting": object{"database": true, "schema": true, "identifier": true, "column": nil},
	}
}

// originalPath is the file's path in its package.
func (n *Node) originalPath() string {
	if n.owner != nil && n.owner.rel != "" {
		return strings.TrimPrefix(n.Path, n.owner.rel+"/")
	}
	return n.Path
}

// CompiledPath is where n's compiled SQL lies below target/compiled.
func (n *Node) CompiledPath() string { return n.Package + "/" + n.originalPath() }

func (p *Project) manifestNode(n *Node) object {
	original, path := n.originalPath(), n.Path
	if n.owner != nil {
		path = original[strings.IndexByte(original, '/')+1:]
	}
	o := object{
		"unique_id": n.UniqueID, "name": n.Name, "resource_type": n.ResourceType, "package_name": n.Package, "fqn": n.FQN,
		"path": path, "original_file_path": original, "alias": n.Alias, "schema": n.Schema, "database": n.Connection,
		"raw_code": n.RawCode, "language": "sql", "description": n.Description, "tags": notNil(n.Tags), "config": manifestConfig(n),
		"meta": n.Config.Meta, "columns": manifestColumns(n.Columns, n.Constraints), "refs": manifestRefs(n), "sources": manifestSources(n), "metrics": []any{},
		"depends_on": object{"nodes": notNil(n.DependsOn), "macros": notNil(n.Macros)}, "checksum": object{"name": "sha256", "checksum": checksum(n.RawCode)},
		"docs": object{"show": true, "node_color": nil}, "patch_path": nil, "build_path": nil, "relation_name": nil, "compiled": false,
		"created_at": p.epoch(), "unrendered_config": object{}, "deferred": false, "group": nil, "contract": object{"enforced": n.Contract(), "checksum": nil, "alias_types": true},
	}
	if n.patch != nil {
		o["patch_path"] = n.Package + "://" + n.patch.d.file
	}
	if n.ResourceType != TypeTest && n.Config.Materialized != Ephemeral {
		o["relation_name"] = n.RelationName()
	}
	if sql, ok := p.compiled.Load(n.UniqueID); ok {
		o["compiled"], o["compiled_code"], o["compiled_path"] = true, sql, p.TargetPath+"/compiled/"+n.CompiledPath()
	}
	switch n.ResourceType {
	case TypeModel:
		o["access"], o["version"], o["latest_version"], o["constraints"], o["primary_key"] = n.access(), orNil(n.Version), orNil(n.LatestVersion), manifestConstraints(n.Constraints, ""), primaryKey(n)
		o["extra_ctes"], o["extra_ctes_injected"], o["deprecation_date"] = []any{}, o["compiled"], nil
	case TypeSeed:
		delete(o, "refs")
		delete(o, "sources")
		o["root_path"] = p.Dir
	case TypeTest:
		manifestTest(o, n)
	}
	return o
}

func manifestTest(o object, n *Node) {
	o["column_name"], o["file_key_name"], o["attached_node"], o["test_metadata"] = nil, nil, nil, nil
	if n.Test == nil || n.Test.Generic == "" { // nil: disabled
		return
	}
	ns, name := any(nil), n.Test.Generic
	if n.Test.pkg != "" {
		ns, name = n.Test.pkg, n.Test.Generic[len(n.Test.pkg)+1:]
	}
	o["test_metadata"] = object{"name": name, "namespace": ns, "kwargs": toGo(n.Test.kwargs)}
	o["attached_node"] = n.Test.Attached
	if n.Test.Column != "" {
		o["column_name"] = n.Test.Column
	}
}

// manifestConfig is a node's configuration with the keys that dbt always has.
func manifestConfig(n *Node) object {
	c := object{
		"enabled": n.Config.Enabled, "alias": orNil(n.Config.Alias), "schema": orNil(n.Config.Schema), "database": orNil(n.Config.Database),
		"tags": notNil(n.Config.Tags), "meta": n.Config.Meta, "group": nil, "materialized": n.Config.Materialized,
		"pre-hook": manifestHooks(n.Config.PreHook), "post-hook": manifestHooks(n.Config.PostHook), "quoting": object{}, "column_types": object{},
		"full_refresh": nil, "unique_key": nil, "on_schema_change": orText(n.Config.OnSchemaChange, "ignore"), "persist_docs": object{},
		"incremental_strategy": orNil(n.Config.Strategy), "grants": object{}, "packages": []any{},
		"docs": object{"show": true, "node_color": nil}, "contract": object{"enforced": false, "alias_types": true},
	}
	for k, v := range n.Config.Raw {
		switch k {
		case "materialized", "tags", "meta", "enabled", "pre_hook", "post_hook":
			continue
		}
		c[k] = v
	}
	if n.Test != nil {
		c["severity"], c["warn_if"], c["error_if"], c["fail_calc"] = strings.ToUpper(n.Test.Severity), n.Test.WarnIf, n.Test.ErrorIf, n.Test.FailCalc
		c["where"], c["limit"], c["store_failures"] = orNil(n.Test.Where), nil, n.Test.Store
		if n.Test.Limit > 0 {
			c["limit"] = n.Test.Limit
		}
	}
	return c
}

func manifestHooks(sql []string) []any {
	out := []any{}
	for _, s := range sql {
		out = append(out, object{"sql": s, "transaction": true, "index": nil})
	}
	return out
}

func manifestColumns(cols []ColumnSpec, all []Constraint) object {
	out := object{}
	for _, c := range cols {
		out[c.Name] = object{"name": c.Name, "description": c.Description, "data_type": orNil(c.DataType), "meta": c.Meta,
			"quote": quoteValue(c.Quote), "tags": notNil(c.Tags), "constraints": manifestConstraints(all, c.Name)}
	}
	return out
}

// manifestConstraints are the constraints written at a column, or at the model.
func manifestConstraints(all []Constraint, column string) []any {
	out := []any{}
	for _, c := range all {
		if c.OnColumn != column {
			continue
		}
		o := object{"type": c.Type, "name": orNil(c.Name), "expression": orNil(c.Expression), "warn_unenforced": c.WarnUnenforced,
			"warn_unsupported": c.WarnUnsupported, "to": orNil(c.To), "to_columns": notNil(c.ToColumns)}
		if column == "" {
			o["columns"] = notNil(c.Columns)
		}
		out = append(out, o)
	}
	return out
}

// primaryKey is what the contract says of it, else the model's unique_key.
func primaryKey(n *Node) []string {
	for _, c := range n.Constraints {
		if c.Type == "primary_key" {
			return notNil(c.Columns)
		}
	}
	return notNil(n.Config.UniqueKey)
}

func manifestRefs(n *Node) []any {
	out := []any{}
	for _, r := range n.Refs {
		out = append(out, object{"name": r.Name, "package": orNil(r.Package), "version": orNil(r.Version)})
	}
	return out
}

func manifestSources(n *Node) []any {
	out := []any{}
	for _, s := range n.SourceRefs {
		out = append(out, []string{s[0], s[1]})
	}
	return out
}

func (p *Project) manifestSource(s *Source) object {
	meta := s.Meta
	if meta == nil {
		meta = object{}
	}
	return object{
		"unique_id": s.UniqueID, "name": s.Name, "source_name": s.SourceName, "resource_type": TypeSource, "package_name": s.Package,
		"fqn": s.FQN, "path": s.Path, "original_file_path": s.Path, "identifier": s.Identifier, "schema": s.Schema, "database": s.Connection,
		"relation_name":      quotedName(s.Connection, s.Schema, s.Identifier),
		"source_description": "", "description": s.Description, "loader": s.Loader, "columns": manifestColumns(s.Columns, nil), "meta": meta,
		"source_meta": meta, "tags": notNil(s.Tags), "config": object{"enabled": s.Enabled}, "quoting": object{}, "freshness": manifestFreshness(s.Freshness),
		"loaded_at_field": orNil(s.LoadedAtField), "external": nil, "patch_path": nil, "unrendered_config": object{}, "created_at": p.epoch(),
	}
}

func manifestFreshness(f *Freshness) any {
	if f == nil {
		return nil
	}
	age := func(a *Age) object {
		if a == nil {
			return object{"count": nil, "period": nil}
		}
		return object{"count": a.Count, "period": a.Period}
	}
	return object{"warn_after": age(f.WarnAfter), "error_after": age(f.ErrorAfter), "filter": orNil(f.Filter)}
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func checksum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
