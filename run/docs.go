package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/docpage"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/project"
)

// DocsOptions leave out what needs connections.
type DocsOptions struct {
	NoCompile    bool // the page and manifest.json show no compiled SQL
	EmptyCatalog bool // no engine is asked for columns and types
}

// catalogLimit is how many relations are described at once.
const catalogLimit = 8

// Docs writes manifest.json, catalog.json and index.html to the target folder. A model
// that does not compile and a connection that does not answer are warned of.
func (r *Runner) Docs(ctx context.Context, o DocsOptions) (index string, err error) {
	if !o.NoCompile {
		r.compileAll(ctx)
	}
	var tables map[string]*connectors.Table
	if !o.EmptyCatalog {
		tables = r.describeAll(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	if err := r.WriteJSON("manifest.json", r.Project.Manifest()); err != nil {
		return "", err
	}
	if err := r.WriteJSON("catalog.json", r.catalog(tables)); err != nil {
		return "", err
	}
	page, err := docpage.HTML(r.page(tables), r.Redact.String)
	if err != nil {
		return "", err
	}
	index = filepath.Join(r.targetDir(), "index.html")
	return index, writeFile(index, []byte(page))
}

func (r *Runner) compileAll(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(r.Project.Nodes)) {
		n := r.Project.Nodes[id]
		if ctx.Err() != nil || n.ResourceType != project.TypeModel && n.ResourceType != project.TypeSnapshot {
			continue
		}
		if _, err := r.Compile(ctx, n); err != nil && ctx.Err() == nil {
			r.emit(Warn, "warning", n, "", nil, fmt.Sprintf("%s '%s' is shown without its compiled SQL: %v", n.ResourceType, n.Name, err))
		}
	}
}

// describeAll asks the engines for the relations that there are, by unique id. A
// connection that cannot be opened is asked once.
func (r *Runner) describeAll(ctx context.Context) map[string]*connectors.Table {
	tables, down := map[string]*connectors.Table{}, map[string]bool{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(catalogLimit)
	ask := func(id, conn string, rel connectors.Relation) {
		g.Go(func() error {
			mu.Lock()
			skip := down[conn] || ctx.Err() != nil
			mu.Unlock()
			if skip {
				return nil
			}
			table, err := r.Conns.Describe(ctx, conn, rel)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				tables[id] = table
			case errors.Is(err, connectors.ErrNotFound) || ctx.Err() != nil || down[conn]:
			default:
				if _, open := r.Conns.Get(conn); open != nil || isConnect(err) {
					down[conn] = true
				}
				r.emit(Warn, "warning", nil, "", nil, fmt.Sprintf("catalog: %s on %s: %v", rel, conn, err))
			}
			return nil
		})
	}
	for _, id := range slices.Sorted(maps.Keys(r.Project.Sources)) {
		s := r.Project.Sources[id]
		ask(id, s.Connection, s.Relation())
	}
	for _, id := range slices.Sorted(maps.Keys(r.Project.Nodes)) {
		if n := r.Project.Nodes[id]; n.ResourceType != project.TypeTest && n.Config.Materialized != project.Ephemeral {
			ask(id, n.Connection, n.Relation())
		}
	}
	_ = g.Wait() // the functions give no error
	return tables
}

func isConnect(err error) bool {
	var c *connectors.ConnectError
	return errors.As(err, &c)
}

// catalog is catalog.json in dbt's published shape, version 1.
func (r *Runner) catalog(tables map[string]*connectors.Table) any {
	nodes, sources := map[string]any{}, map[string]any{}
	for id, t := range tables {
		conn, rel := r.relationOf(id)
		kind := "BASE TABLE"
		if t.View {
			kind = "VIEW"
		}
		columns := map[string]any{}
		for i, c := range t.Columns {
			columns[c.Name] = map[string]any{"name": c.Name, "type": typeText(c), "index": i + 1, "comment": nil}
		}
		entry := map[string]any{
			"unique_id": id, "columns": columns,
			"metadata": map[string]any{"type": kind, "database": conn, "schema": rel.Schema, "name": rel.Name, "comment": nil, "owner": nil},
			"stats":    map[string]any{"has_stats": map[string]any{"id": "has_stats", "label": "Has Stats?", "value": false, "include": false, "description": "Indicates whether there are statistics for this table"}},
		}
		if r.Project.Sources[id] != nil {
			sources[id] = entry
		} else {
			nodes[id] = entry
		}
	}
	return map[string]any{
		"metadata": artifactMetadata{
			Schema: "https://schemas.getdbt.com/dbt/catalog/v1.json", Version: dbt.DbtVersion,
			Generated: stamp(time.Now()), InvocationID: r.RunID, Env: map[string]string{"dvt_version": r.Options.Version},
		},
		"nodes": nodes, "sources": sources, "errors": nil,
	}
}

// page is the project as the page shows it.
func (r *Runner) page(tables map[string]*connectors.Table) docpage.Page {
	p := r.Project
	page := docpage.Page{Project: p.Name, Generated: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Version: r.Options.Version, Nodes: []docpage.Node{}}
	tests := map[string]map[string][]string{} // node → column → names
	for _, id := range slices.Sorted(maps.Keys(p.Nodes)) {
		if t := p.Nodes[id].Test; t != nil && t.Attached != "" {
			if tests[t.Attached] == nil {
				tests[t.Attached] = map[string][]string{}
			}
			column := strings.ToLower(t.Column)
			tests[t.Attached][column] = append(tests[t.Attached][column], t.Generic)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Sources)) {
		s := p.Sources[id]
		page.Nodes = append(page.Nodes, docpage.Node{
			ID: id, Name: s.Label(), Type: project.TypeSource, Package: s.Package, Path: s.Path, Description: s.Description, Connection: s.Connection,
			Engine: p.Outputs[s.Connection].Type, Relation: s.Relation().String(), Tags: s.Tags, Facts: facts("Loader", s.Loader, "Loaded at", s.LoadedAtField),
			Columns: pageColumns(s.Columns, nil, tables[id], tests[id]),
		})
	}
	for _, id := range slices.Sorted(maps.Keys(p.Nodes)) {
		page.Nodes = append(page.Nodes, r.pageNode(p.Nodes[id], tables[id], tests[id]))
	}
	return page
}

func (r *Runner) pageNode(n *project.Node, table *connectors.Table, tests map[string][]string) docpage.Node {
	c := n.Config
	out := docpage.Node{
		ID: n.UniqueID, Name: n.Name, Type: n.ResourceType, Package: n.Package, Path: n.Path, Description: n.Description, Materialized: c.Materialized,
		Federated: n.Federated, Connection: n.Connection, Engine: r.Project.Outputs[n.Connection].Type, Relation: n.Relation().String(), Tags: n.Tags,
		Raw: n.RawCode, Compiled: r.Project.CompiledSQL(n), Parents: n.DependsOn,
		Facts: facts("Unique key", strings.Join(c.UniqueKey, ", "), "Strategy", c.Strategy, "Watermark", c.WatermarkColumn, "Promoted from", n.PromotedFrom),
	}
	if n.Contract() {
		out.Facts = append(out.Facts, [2]string{"Contract", "enforced"})
	}
	if n.Config.Materialized == project.Ephemeral {
		out.Relation = ""
	}
	if n.Test != nil {
		out.Relation, out.Materialized, out.Engine, out.Connection = "", "", "", ""
		if n.Test.Generic != "" {
			out.Raw = "" // a call that dvt has written
		}
		out.Facts = facts("Test", n.Test.Generic, "Column", n.Test.Column, "Severity", n.Test.Severity)
		return out
	}
	var promised []project.Constraint
	if n.Contract() {
		promised = n.Constraints
	}
	out.Columns = pageColumns(n.Columns, promised, table, tests)
	for _, x := range promised {
		if x.OnColumn == "" {
			out.Constraints = append(out.Constraints, constraintText(x))
		}
	}
	return out
}

// facts pairs labels and values, without those that are empty.
func facts(words ...string) (out [][2]string) {
	for i := 0; i+1 < len(words); i += 2 {
		if words[i+1] != "" {
			out = append(out, [2]string{words[i], words[i+1]})
		}
	}
	return out
}

func constraintText(c project.Constraint) string {
	s := strings.TrimSpace(c.Type + " " + c.Name)
	if c.OnColumn == "" && len(c.Columns) > 0 {
		s += " (" + strings.Join(c.Columns, ", ") + ")"
	}
	if c.Expression != "" {
		s += ": " + c.Expression
	}
	if c.To != "" {
		s += " to " + c.To + " (" + strings.Join(c.ToColumns, ", ") + ")"
	}
	return s
}

// pageColumns are the engine's columns, in its order, then those that only the project
// names.
func pageColumns(specs []project.ColumnSpec, constraints []project.Constraint, table *connectors.Table, tests map[string][]string) []docpage.Column {
	var out []docpage.Column
	said := map[string]project.ColumnSpec{}
	for _, s := range specs {
		said[strings.ToLower(s.Name)] = s
	}
	add := func(name, typ string) {
		s := said[strings.ToLower(name)]
		delete(said, strings.ToLower(name))
		c := docpage.Column{Name: name, Type: typ, Description: s.Description, Tags: s.Tags, Notes: tests[strings.ToLower(name)]}
		if s.DataType != "" && !strings.EqualFold(s.DataType, typ) {
			c.Declared = s.DataType
		}
		if typ == "" {
			c.Type, c.Declared = s.DataType, ""
		}
		for _, x := range constraints {
			if strings.EqualFold(x.OnColumn, name) {
				c.Notes = append(c.Notes, constraintText(x))
			}
		}
		out = append(out, c)
	}
	if table != nil {
		for _, c := range table.Columns {
			add(c.Name, typeText(c))
		}
	}
	for _, s := range specs {
		if _, left := said[strings.ToLower(s.Name)]; left {
			add(s.Name, "")
		}
	}
	return out
}
