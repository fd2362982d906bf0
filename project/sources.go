package project

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
)

// readSources makes the Source of every table and keeps the tests on them.
func (l *loader) readSources() {
	first := map[string]*Source{}
	for _, sp := range l.patches.sources {
		name := text(get(sp.n, "name"))
		if name == "" {
			l.add(sp.d.at(sp.n).errorf("a source has no name"))
			continue
		}
		for _, t := range items(get(sp.n, "tables")) {
			s, err := l.readSource(sp, t, name)
			if err != nil {
				l.add(err)
				continue
			}
			if !s.Enabled {
				continue
			}
			if old := first[s.UniqueID]; old != nil {
				l.add(sp.d.at(t).errorf("source '%s' is defined twice: in %s:%d and in %s:%d", s.Label(), old.Path, old.Line, s.Path, s.Line))
				continue
			}
			first[s.UniqueID] = s
			l.p.Sources[s.UniqueID] = s
			l.sourceTests(sp, t, s)
		}
	}
}

// scalars reads texts of a source lazily: a missing variable is kept in the source
// until somebody uses it.
type scalars struct {
	d   doc
	r   *yamlRenderer
	err error
}

// text gives the first value that is there.
func (s *scalars) text(nodes ...*yaml.Node) string {
	for _, n := range nodes {
		if isNull(n) {
			continue
		}
		v, err := s.r.text(s.d, n)
		if err != nil && s.err == nil {
			s.err = err
		}
		return v
	}
	return ""
}

func (l *loader) readSource(sp sourcePatch, t *yaml.Node, name string) (*Source, error) {
	table := text(get(t, "name"))
	if table == "" {
		return nil, sp.d.at(t).errorf("a table of source '%s' has no name", name)
	}
	s := &Source{
		UniqueID: strings.Join([]string{"source", sp.pkg.name, name, table}, "."), SourceName: name, Name: table, Package: sp.pkg.name,
		Path: sp.d.file, AbsPath: sp.pkg.dir, Line: t.Line, FQN: fqn(sp.pkg, sp.sub, name, table), Enabled: true,
		Columns: l.readColumns(sp.pkg.name, sp.d, t, nil), Description: l.describe(sp.pkg.name, get(t, "description")),
	}
	cfg, err := l.sourceConfig(sp, t, s)
	if err != nil {
		return nil, err
	}
	d := decoder{kind: TypeSource, name: s.Label(), l: cfg, file: s.Path}
	if on := d.bool("enabled"); on != nil {
		s.Enabled = *on
	}
	s.Tags = unique(strs(cfg["tags"].v))
	if m, ok := toGo(cfg["meta"].v).(map[string]any); ok {
		s.Meta = m
	}
	for _, e := range d.errs {
		l.add(e)
	}
	if !s.Enabled {
		return s, nil
	}
	r := &scalars{d: sp.d, r: l.yaml}
	schema := get(sp.n, "schema")
	s.Schema = r.text(schema)
	if schema == nil {
		s.Schema = name
	}
	s.Database = r.text(get(sp.n, "database"), get(sp.n, "catalog"))
	if s.Identifier = r.text(get(t, "identifier")); s.Identifier == "" && r.err == nil {
		s.Identifier = table
	}
	s.Loader = r.text(get(t, "loader"), get(sp.n, "loader"))
	s.LoadedAtField = r.text(get(t, "loaded_at_field"), get(get(t, "config"), "loaded_at_field"), get(sp.n, "loaded_at_field"), get(get(sp.n, "config"), "loaded_at_field"))
	s.LoadedAtQuery = text(get(get(t, "config"), "loaded_at_query"))
	s.Freshness = readFreshness(sp.n, t)
	err = l.connect(sp, t, s, cfg, r)
	s.Err = r.err
	return s, err
}

// sourceConfig merges what configures a source's table: dbt_project.yml, the source,
// the table.
func (l *loader) sourceConfig(sp sourcePatch, t *yaml.Node, s *Source) (layer, error) {
	m := layer{}
	owners := []*pkg{sp.pkg}
	if root := l.p.packages[0]; root != sp.pkg {
		owners = append(owners, root)
	}
	for _, q := range owners {
		layers, err := projectLayers(q, projectSections[TypeSource], s.FQN, l.yaml)
		if err != nil {
			return nil, err
		}
		for _, one := range layers {
			merge(m, one)
		}
	}
	for _, n := range []*yaml.Node{sp.n, t} {
		one, err := (&patch{d: sp.d, n: n}).layer(l.yaml)
		if err != nil {
			return nil, err
		}
		merge(m, one)
	}
	return m, nil
}

// connect resolves the source's connection: connection, meta.connection, then
// config.meta.connection, of the table before the source; else the default target.
func (l *loader) connect(sp sourcePatch, t *yaml.Node, s *Source, cfg layer, r *scalars) error {
	var at *yaml.Node
	for _, n := range []*yaml.Node{t, sp.n} {
		for _, c := range []*yaml.Node{get(n, "connection"), get(get(n, "config"), "connection"), get(get(n, "meta"), "connection"), get(get(get(n, "config"), "meta"), "connection")} {
			if at == nil && !isNull(c) {
				at = c
			}
		}
	}
	if at == nil {
		if m, ok := cfg["meta"].v.(*jinja.Dict); ok {
			v, _ := m.GetStr("connection")
			s.Connection = str(v)
		}
		if s.Connection == "" {
			s.Connection = str(cfg["connection"].v)
		}
	} else {
		before := r.err
		if s.Connection = r.text(at); r.err != nil && before == nil {
			return nil // known when it is used
		}
	}
	if s.Connection == "" {
		// The profile's default, also under --target: a source does not move with the
		// place where models land.
		s.Connection = l.p.profile.target
		if l.p.profile.outputs[s.Connection] == nil {
			s.Connection = l.p.TargetName
		}
		return nil
	}
	if l.p.profile.outputs[s.Connection] == nil {
		place := sp.d.at(t)
		if at != nil {
			place = sp.d.at(at)
		}
		return place.errorf("source '%s': connection '%s' is not an output of profile '%s': there are %s%s", s.SourceName,
			s.Connection, l.p.ProfileName, orNone(l.p.OutputNames), didYouMean(s.Connection, l.p.OutputNames))
	}
	return nil
}

func readFreshness(source, table *yaml.Node) *Freshness {
	for _, n := range []*yaml.Node{table, source} {
		for _, holder := range []*yaml.Node{n, get(n, "config")} {
			for _, e := range entries(holder) {
				if e.key != "freshness" {
					continue
				}
				if isNull(e.val) {
					return nil // freshness: null switches it off
				}
				f := &Freshness{WarnAfter: readAge(get(e.val, "warn_after")), ErrorAfter: readAge(get(e.val, "error_after")), Filter: text(get(e.val, "filter"))}
				return f
			}
		}
	}
	return nil
}

func readAge(n *yaml.Node) *Age {
	if n == nil {
		return nil
	}
	a := &Age{Period: text(get(n, "period"))}
	if _, err := fmt.Sscan(text(get(n, "count")), &a.Count); err != nil {
		return nil
	}
	return a
}
