package project

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// pkg is the project itself or one installed package: a folder with a
// dbt_project.yml.
type pkg struct {
	name    string
	version string
	dir     string // absolute
	rel     string // of dir to the project, "" for the project
	doc     doc
	root    bool

	modelPaths, seedPaths, testPaths, snapshotPaths, macroPaths []string
	vars                                                        *jinja.Dict
	profile                                                     *yaml.Node
	dispatch                                                    map[string][]string
	onStart, onEnd                                              []string
	clean                                                       []string
	targetPath, packagesPath                                    string
}

// file is the path of a file below the package as messages name it.
func (p *pkg) file(rel string) string { return filepath.ToSlash(filepath.Join(p.rel, rel)) }

// loadPackage reads a dbt_project.yml. Unknown keys are ignored, as dbt does.
func loadPackage(dir, rel string, r *yamlRenderer) (*pkg, error) {
	p := &pkg{dir: dir, rel: rel, root: rel == ""}
	path := filepath.Join(dir, "dbt_project.yml")
	if !exists(path) {
		return nil, &Error{Msg: fmt.Sprintf("no dbt_project.yml in %s: is this a dbt project?", dir)}
	}
	var err error
	if p.doc, err = readYAML(path, p.file("dbt_project.yml")); err != nil {
		return nil, err
	}
	root := p.doc.root
	if root != nil && !isMap(root) {
		return nil, p.doc.at(root).errorf("dbt_project.yml is not a mapping")
	}
	if p.name = text(get(root, "name")); p.name == "" {
		return nil, p.doc.at(root).errorf("'name' is missing in dbt_project.yml")
	}
	p.version = text(get(root, "version"))
	p.profile = get(root, "profile")
	for _, l := range []struct {
		to       *[]string
		keys     []string
		fallback string
	}{
		{&p.modelPaths, []string{"model-paths", "source-paths"}, "models"},
		{&p.seedPaths, []string{"seed-paths", "data-paths"}, "seeds"},
		{&p.testPaths, []string{"test-paths"}, "tests"},
		{&p.snapshotPaths, []string{"snapshot-paths"}, "snapshots"},
		{&p.macroPaths, []string{"macro-paths"}, "macros"},
		{&p.clean, []string{"clean-targets"}, ""},
	} {
		if l.fallback != "" {
			*l.to = []string{l.fallback}
		}
		for _, k := range l.keys {
			if n := get(root, k); n != nil {
				if *l.to, err = p.paths(n, r); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	p.targetPath, p.packagesPath = "target", "dbt_packages"
	for _, l := range []struct {
		to  *string
		key string
	}{{&p.targetPath, "target-path"}, {&p.packagesPath, "modules-path"}, {&p.packagesPath, "packages-install-path"}} {
		t, err := r.text(p.doc, get(root, l.key))
		if err != nil {
			return nil, err
		}
		if t != "" {
			*l.to = t
		}
	}
	p.onStart, p.onEnd = texts(get(root, "on-run-start")), texts(get(root, "on-run-end"))
	if err := p.readVars(get(root, "vars")); err != nil {
		return nil, err
	}
	p.readDispatch(get(root, "dispatch"))
	return p, nil
}

// paths are the texts of n, rendered.
func (p *pkg) paths(n *yaml.Node, r *yamlRenderer) ([]string, error) {
	out := texts(n)
	for i, t := range out {
		v, err := r.value(t, p.doc.at(n))
		if err != nil {
			return nil, err
		}
		out[i] = jinja.Str(v)
	}
	return out, nil
}

func (p *pkg) readVars(n *yaml.Node) error {
	p.vars = jinja.NewDict()
	if n == nil {
		return nil
	}
	v, err := dbt.FromYAML(n)
	if err != nil {
		return p.doc.at(n).errorf("%s", err)
	}
	d, ok := v.(*jinja.Dict)
	if !ok {
		return p.doc.at(n).errorf("'vars' is not a mapping")
	}
	p.vars = d
	return nil
}

func (p *pkg) readDispatch(n *yaml.Node) {
	p.dispatch = map[string][]string{}
	for _, d := range items(n) {
		if ns := text(get(d, "macro_namespace")); ns != "" {
			p.dispatch[ns] = texts(get(d, "search_order"))
		}
	}
}

// loadPackages reads the project and what is installed in its packages folder.
func loadPackages(dir string, r *yamlRenderer) ([]*pkg, error) {
	root, err := loadPackage(dir, "", r)
	if err != nil {
		return nil, err
	}
	all := []*pkg{root}
	installed := filepath.Join(dir, root.packagesPath)
	list, err := os.ReadDir(installed)
	if err != nil {
		return all, nil // nothing installed
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	byName := map[string]*pkg{root.name: root}
	for _, e := range list {
		sub := filepath.Join(installed, e.Name())
		if !exists(filepath.Join(sub, "dbt_project.yml")) {
			continue
		}
		p, err := loadPackage(sub, filepath.ToSlash(filepath.Join(root.packagesPath, e.Name())), r)
		if err != nil {
			return nil, err
		}
		if old := byName[p.name]; old != nil {
			return nil, &Error{File: p.file("dbt_project.yml"), Msg: fmt.Sprintf("package '%s' is there twice: %s and %s",
				p.name, old.file("dbt_project.yml"), p.file("dbt_project.yml"))}
		}
		byName[p.name] = p
		all = append(all, p)
	}
	return all, nil
}

// variable looks a var() up for a node of package name: --vars first, then what the
// project says for the package, the project's own, and the package's defaults.
func (p *Project) variable(name, pkgName string) (jinja.Value, bool) {
	if v, ok := p.opts.Vars[name]; ok {
		return jinja.FromGo(v), true
	}
	scopes := []*pkg{p.packages[0]}
	for _, q := range p.packages[1:] {
		if q.name == pkgName {
			scopes = append(scopes, q)
		}
	}
	for _, q := range scopes {
		if own, ok := q.vars.GetStr(pkgName); ok {
			if d, ok := own.(*jinja.Dict); ok {
				if v, ok := d.GetStr(name); ok {
					return v, true
				}
			}
		}
		if v, ok := q.vars.GetStr(name); ok {
			if _, scope := v.(*jinja.Dict); scope && p.isPackage(name) {
				continue // the variables of a package, not a variable
			}
			return v, true
		}
	}
	return nil, false
}

func (p *Project) isPackage(name string) bool {
	for _, q := range p.packages {
		if q.name == name {
			return true
		}
	}
	return false
}
