package project

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	docsBlock = regexp.MustCompile(`(?s)\{%[-+]?\s*docs\s+([A-Za-z_][A-Za-z0-9_]*)\s*[-+]?%\}(.*?)\{%[-+]?\s*enddocs\s*[-+]?%\}`)
	docCall   = regexp.MustCompile(`\{\{\s*doc\(\s*['"]([^'"]+)['"]\s*(?:,\s*['"]([^'"]+)['"]\s*)?\)\s*\}\}`)
)

// docs are the text blocks of the .md files, by package and name.
type docs map[[2]string]string

// readDocs collects {% docs name %} blocks.
func (l *loader) readDocs() {
	l.docs = docs{}
	for _, q := range l.p.packages {
		var paths []string
		for _, list := range [][]string{q.modelPaths, q.seedPaths, q.snapshotPaths, q.macroPaths, q.testPaths} {
			paths = append(paths, list...)
		}
		for _, f := range l.walk(q, paths, ".md") {
			b, err := readFile(f.abs, q.file(f.rel), maxYAMLFile)
			if err != nil {
				l.add(err)
				continue
			}
			for _, m := range docsBlock.FindAllStringSubmatch(string(b), -1) {
				l.docs[[2]string{q.name, m[1]}] = strings.TrimSpace(m[2])
			}
		}
	}
}

// describe is a description with the blocks that it calls filled in: those of its own
// package first, then the project's. A block that is not there leaves its call.
func (l *loader) describe(pkg string, n *yaml.Node) string {
	return docCall.ReplaceAllStringFunc(text(n), func(call string) string {
		m := docCall.FindStringSubmatch(call)
		scopes, name := []string{pkg, l.p.Name}, m[1]
		if m[2] != "" {
			scopes, name = []string{m[1]}, m[2]
		}
		for _, s := range scopes {
			if t, ok := l.docs[[2]string{s, name}]; ok {
				return t
			}
		}
		return call
	})
}

// installed warns when packages are listed that nobody has installed.
func (l *loader) installed() {
	for _, name := range []string{"packages.yml", "dependencies.yml"} {
		path := l.p.Dir + "/" + name
		if !exists(path) {
			continue
		}
		d, err := readYAML(path, name)
		if err != nil {
			l.add(err)
			continue
		}
		if want := len(items(get(d.root, "packages"))); want > len(l.p.packages)-1 {
			l.warn("%s lists %d packages but %s holds %d: install them with 'dbt deps'", name, want, l.p.packages[0].packagesPath, len(l.p.packages)-1)
		}
	}
}
