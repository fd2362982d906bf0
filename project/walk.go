package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// found is a file of a package.
type found struct {
	rel string // to the package's folder, with slashes: models/marts/x.sql
	sub string // to the configured path: marts/x.sql
	abs string
}

// walk lists the files below the package's paths whose name ends in one of exts, in a
// stable order. Links to folders are followed, as dbt does, but no folder is entered
// twice. Hidden files and folders are left out: editors keep unfinished copies there.
// A path that does not exist has no files; anything else that cannot be read is
// reported, for a model that is overlooked is a table that goes stale.
func (l *loader) walk(p *pkg, paths []string, exts ...string) []found {
	var out []found
	seen := map[string]bool{}
	have := map[string]bool{}
	var down func(abs, rel, sub string)
	down = func(abs, rel, sub string) {
		real, err := filepath.EvalSymlinks(abs)
		if errors.Is(err, fs.ErrNotExist) || seen[real] {
			return
		}
		seen[real] = true
		list, err := os.ReadDir(abs)
		if err != nil {
			l.add(&Error{File: p.file(rel), Msg: "reading the folder: " + reason(err), Cause: err})
			return
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			a, r, s := filepath.Join(abs, e.Name()), rel+"/"+e.Name(), strings.TrimPrefix(sub+"/"+e.Name(), "/")
			info, err := os.Stat(a)
			switch {
			case err != nil && hasExt(e.Name(), exts):
				l.add(&Error{File: p.file(r), Msg: "reading the file: " + reason(err), Cause: err})
			case err != nil:
			case info.IsDir():
				down(a, r, s)
			case hasExt(e.Name(), exts) && !have[r]:
				have[r] = true
				out = append(out, found{rel: r, sub: s, abs: a})
			}
		}
	}
	for _, path := range paths {
		path = strings.Trim(filepath.ToSlash(filepath.Clean(path)), "/")
		down(filepath.Join(p.dir, path), path, "")
	}
	sort.Slice(out, func(i, j int) bool { return out[i].rel < out[j].rel })
	return out
}

func hasExt(name string, exts []string) bool {
	for _, e := range exts {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}

// stem is a file's name without folders and extension.
func stem(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return base[:i]
	}
	return base
}

// fqn is a node's path of names: package, folders, name.
func fqn(p *pkg, sub string, name ...string) []string {
	parts := []string{p.name}
	if i := strings.LastIndexByte(sub, '/'); i >= 0 {
		parts = append(parts, strings.Split(sub[:i], "/")...)
	}
	return append(parts, name...)
}
