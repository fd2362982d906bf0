package project

import (
	"path"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unusedPaths warns of folders and names in dbt_project.yml below which there is no
// node: what stands there was meant for some.
func (l *loader) unusedPaths() {
	q := l.p.packages[0]
	for _, kind := range []string{TypeModel, TypeSeed, TypeSnapshot} {
		var fqns [][]string
		for _, out := range l.parsed {
			if out.node.ResourceType == kind {
				fqns = append(fqns, out.node.FQN)
			}
		}
		for _, section := range projectSections[kind] {
			l.unusedBelow(q, get(q.doc.root, section), section, nil, fqns)
		}
	}
}

func (l *loader) unusedBelow(q *pkg, n *yaml.Node, section string, at []string, fqns [][]string) {
	for _, e := range entries(n) {
		if !isMap(e.val) || strings.HasPrefix(e.key, "+") || len(at) == 0 && knownKeys[e.key] {
			continue
		}
		here := append(append([]string(nil), at...), e.key)
		used := false
		for _, f := range fqns {
			used = used || len(f) >= len(here) && strings.Join(f[:len(here)], ".") == strings.Join(here, ".")
		}
		if used {
			l.unusedBelow(q, e.val, section, here, fqns)
			continue
		}
		if !knownKeys[e.key] && !dictKeys[e.key] {
			l.warn("%s", q.doc.at(e.node).errorf("the settings of %s.%s apply to nothing: no file or folder of that name", section, strings.Join(here, ".")))
		}
	}
}

// dictKeys are settings of dbt that are mappings and may stand without a +.
var dictKeys = map[string]bool{"persist_docs": true, "grants": true, "quoting": true, "contract": true, "freshness": true, "column_types": true, "meta": true, "docs": true}

// notApplied names, once for each, settings of dbt that would have an effect there and
// have none here.
func (l *loader) notApplied() {
	for _, key := range []string{"grants", "persist_docs", "sql_header"} {
		var nodes []*Node
		for _, out := range l.parsed {
			if s, ok := out.node.config[key]; ok && s.v != nil && out.node.Config.Enabled {
				nodes = append(nodes, out.node)
			}
		}
		if len(nodes) > 0 {
			sort.Slice(nodes, func(i, j int) bool { return nodes[i].Path < nodes[j].Path })
			l.warn("'%s' is not applied: %s has it (%d in all); a post_hook can do it", key, nodes[0].Path, len(nodes))
		}
	}
}

// pythonModels warns of models that are not written in SQL.
func (l *loader) pythonModels() {
	for _, q := range l.p.packages {
		for _, f := range l.walk(q, q.modelPaths, ".py") {
			l.warn("%s: models in Python are not supported: it is left out", q.file(f.rel))
		}
	}
}

// exposure selects what an exposure reads, where parents are asked for: the exposure
// itself is nothing that runs.
func (s *selection) exposure(c criterion) func(id string) bool {
	if c.parents < 0 && !c.family {
		return func(string) bool { return false }
	}
	reads := map[string]bool{}
	for _, e := range s.p.exposures {
		if wild(c.value, e.name) || wild(c.value, path.Join(e.pkg, e.name)) {
			for _, id := range e.reads {
				reads[id] = true
			}
		}
	}
	return func(id string) bool { return reads[id] }
}

// exposure is a use of the project that a properties file names.
type exposure struct {
	pkg, name string
	reads     []string // unique ids
}

// readExposures finds what each exposure depends on.
func (l *loader) readExposures() {
	for _, x := range l.patches.exposures {
		e := exposure{pkg: x.pkg.name, name: text(get(x.n, "name"))}
		if e.name == "" {
			l.add(x.d.at(x.n).errorf("an exposure has no name"))
			continue
		}
		of := &Node{Name: e.name, Package: x.pkg.name, ResourceType: "exposure", Path: x.d.file}
		for _, dep := range items(get(x.n, "depends_on")) {
			id, err := l.named(of, text(dep), x.d.at(dep))
			if err != nil { // nothing that runs depends on it
				l.warn("%s", x.d.at(dep).errorf("exposure '%s': %s", e.name, err))
			}
			if id != "" {
				e.reads = append(e.reads, id)
			}
		}
		l.p.exposures = append(l.p.exposures, e)
	}
}
