package project

import (
	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja/dbt"
)

// patch is what a properties file says of one node.
type patch struct {
	d       doc
	n       *yaml.Node
	pkg     *pkg
	sub     string // the file's path below the model path, for the fqn of tests
	section string // models, seeds, snapshots
	name    string
	version *yaml.Node // of one version of a model, else nil
	latest  string
}

// patches are all properties by section and name, and the sources.
type patches struct {
	nodes              map[[3]string]*patch // package, section and name
	order              []*patch
	sources, exposures []sourcePatch
}

// sourcePatch is one source of a properties file.
type sourcePatch struct {
	d   doc
	n   *yaml.Node
	pkg *pkg
	sub string
}

// properties reads all .yml files of models, seeds, snapshots and tests.
func (l *loader) properties() error {
	l.readDocs()
	l.installed()
	l.patches.nodes = map[[3]string]*patch{}
	type file struct {
		p *pkg
		f found
		d doc
	}
	var files []*file
	for _, q := range l.p.packages {
		var paths []string
		for _, list := range [][]string{q.modelPaths, q.seedPaths, q.snapshotPaths, q.testPaths, q.macroPaths} {
			paths = append(paths, list...)
		}
		for _, f := range l.walk(q, paths, ".yml", ".yaml") {
			files = append(files, &file{p: q, f: f})
		}
	}
	l.each(len(files), func(i int) error {
		var err error
		f := files[i]
		f.d, err = readYAML(f.f.abs, f.p.file(f.f.rel))
		if err == nil && f.d.root != nil && !isMap(f.d.root) {
			err = f.d.at(f.d.root).errorf("a properties file must be a mapping")
		}
		return err
	})
	for _, f := range files {
		for _, section := range []string{"models", "seeds", "snapshots"} {
			for _, n := range items(get(f.d.root, section)) {
				l.addPatch(&patch{d: f.d, n: n, pkg: f.p, sub: f.f.sub, section: section, name: text(get(n, "name"))})
			}
		}
		for _, n := range items(get(f.d.root, "sources")) {
			l.patches.sources = append(l.patches.sources, sourcePatch{f.d, n, f.p, f.f.sub})
		}
		for _, n := range items(get(f.d.root, "exposures")) {
			l.patches.exposures = append(l.patches.exposures, sourcePatch{f.d, n, f.p, f.f.sub})
		}
	}
	return nil
}

func (l *loader) addPatch(p *patch) {
	at := p.d.at(p.n)
	if p.name == "" {
		l.add(at.errorf("an entry of '%s' has no name", p.section))
		return
	}
	key := [3]string{p.pkg.name, p.section, p.name}
	if old := l.patches.nodes[key]; old != nil {
		where := old.d.at(old.n)
		l.add(at.errorf("'%s' is described twice under '%s': in %s:%d and in %s:%d", p.name, p.section, where.file, where.line, at.file, at.line))
		return
	}
	l.patches.nodes[key] = p
	if vs := items(get(p.n, "versions")); p.section == "models" && len(vs) > 0 {
		l.addVersions(p, vs)
		return
	}
	l.patches.order = append(l.patches.order, p)
	if p.section == "snapshots" && get(p.n, "relation") != nil {
		l.yamlSnapshot(p)
	}
}

// yamlSnapshot makes the node of a snapshot that is written in YAML alone.
func (l *loader) yamlSnapshot(p *patch) {
	rel := text(get(p.n, "relation"))
	body := "select * from {{ " + rel + " }}"
	n := &Node{
		Name: p.name, Package: p.pkg.name, ResourceType: TypeSnapshot, Path: p.d.file, AbsPath: p.pkg.dir + "/" + p.d.file,
		RawCode: body, Body: body, BodyLine: p.d.at(get(p.n, "relation")).line, FQN: fqn(p.pkg, p.sub, stem(p.sub), p.name), owner: p.pkg,
		UniqueID: "snapshot." + p.pkg.name + "." + p.name,
	}
	out := &parsed{node: n}
	if err := l.parseBody(out); err != nil {
		l.add(err)
		return
	}
	l.parsed = append(l.parsed, out)
}

// layer is what the properties file configures: the mapping under config, and the
// keys beside it that dbt reads there too.
func (p *patch) layer(r *yamlRenderer) (layer, error) {
	l := layer{}
	for _, e := range entries(p.n) {
		switch e.key {
		case "tags", "meta", "docs", "enabled", "latest_version", "deprecation_date", "access", "group", "range":
			if err := l.read(p.d, e, e.key, fromProperties, r); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range []*yaml.Node{p.n, p.version} {
		c, err := readLayer(p.d, get(n, "config"), fromProperties, r)
		if err != nil {
			return nil, err
		}
		merge(l, c)
	}
	return l, nil
}

// readColumns reads the list of columns of a relation, or of one version of it.
func (l *loader) readColumns(pkg string, d doc, n, version *yaml.Node) []ColumnSpec {
	var out []ColumnSpec
	for _, c := range columnsOf(n, version) {
		name := text(get(c, "name"))
		if name == "" {
			l.add(d.at(c).errorf("a column has no name: 'columns' is a list of entries like '- name: id'"))
			continue
		}
		dataType, err := l.yaml.text(d, get(c, "data_type"))
		if err != nil { // whoever needs the type finds that it is none
			dataType = text(get(c, "data_type"))
		}
		s := ColumnSpec{Name: name, DataType: dataType, Description: l.describe(pkg, get(c, "description")), Meta: map[string]any{}}
		if q, ok := boolean(get(c, "quote")); ok {
			s.Quote = &q
		}
		for _, m := range []*yaml.Node{c, get(c, "config")} {
			s.Tags = unique(append(s.Tags, texts(get(m, "tags"))...))
			for k, v := range plainMap(get(m, "meta")) {
				s.Meta[k] = v
			}
		}
		out = append(out, s)
	}
	return out
}

// plainMap is a YAML mapping as Go data, its Jinja not rendered.
func plainMap(n *yaml.Node) map[string]any {
	if n == nil {
		return nil
	}
	v, err := dbt.FromYAML(n)
	if err != nil {
		return nil // found by whoever needs the value
	}
	m, _ := toGo(v).(map[string]any)
	return m
}

// unmatched warns of properties that describe nothing.
func (l *loader) unmatched() {
	matched := map[*patch]bool{}
	for _, n := range l.parsed {
		matched[n.node.patch] = true
	}
	for _, p := range l.patches.order {
		if !matched[p] {
			at := p.d.at(p.n)
			l.warn("Did not find matching node for patch with name '%s' in the '%s' section of file '%s' (line %d)", p.name, p.section, at.file, at.line)
		}
	}
}
