// Package duckdb reads and writes DuckDB database files. It opens none itself: each is
// attached to the run's compute engine, so that one memory limit holds and DuckDB moves
// the rows. It is no home for the engine itself, which is package compute.
package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

const engine = ducksql.Engine

func init() {
	connectors.Register(connectors.Kindred{
		Types:         []string{engine},
		Open:          func(out connectors.Output, env connectors.Env) (connectors.Conn, error) { return open(out, env) },
		DefaultSchema: schemaKey,
		CanMerge:      true,
	})
}

func schemaKey(out connectors.Output) string {
	if s, ok := out.Keys["schema"].(string); ok && s != "" {
		return s
	}
	return "main"
}

func open(out connectors.Output, env connectors.Env) (*conn, error) {
	fail := func(format string, args ...any) (*conn, error) {
		return nil, fmt.Errorf("output %q: %s", out.Name, fmt.Sprintf(format, args...))
	}
	path, _ := out.Keys["path"].(string)
	switch {
	case path == "":
		return fail("path is missing")
	case strings.HasPrefix(path, ":memory:"):
		return fail("path %q: a database in memory is gone when the run ends; give the path of a file", path)
	case strings.Contains(path, "://") || strings.HasPrefix(path, "md:"):
		return fail("path %q: only files of this machine are opened", path)
	case strings.IndexByte(path, 0) >= 0:
		return fail("path %q contains a NUL byte", path)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.ProjectDir, path)
	}
	real, err := realPath(path)
	if err != nil {
		return fail("path %q: %v", path, err)
	}
	settings, err := settingsKey(out)
	if err != nil {
		return fail("%v", err)
	}
	h := handleOf(real)
	return &conn{name: out.Name, env: env, file: h, settings: settings, dialect: newDialect(h.alias, schemaKey(out))}, nil
}

// realPath resolves the links in a path whose file, but not its folder, may be missing.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	} else if !os.IsNotExist(err) {
		return "", err
	}
	if target, err := os.Readlink(path); err == nil { // a link to a file to be made
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return target, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path, nil // told when it is opened
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// setting is one DuckDB setting of the profile.
type setting struct{ name, value string }

func settingsKey(out connectors.Output) (all []setting, err error) {
	v, ok := out.Keys["settings"]
	if !ok || v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("settings is not a mapping")
	}
	for name, value := range m {
		all = append(all, setting{name, fmt.Sprint(value)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all, nil
}
