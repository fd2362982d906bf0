// Package sqlite reads and writes SQLite database files through the C interface of the
// SQLite that go-sqlite3 compiles in. It does not use database/sql: that converts values
// by what a column declares (the text 'garbage' of a DATETIME becomes the year 1) and
// costs a call per value. It never changes a file's journal mode.
package sqlite

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

func init() {
	connectors.Register(connectors.Kindred{
		Types: []string{engine},
		Open:  func(out connectors.Output, env connectors.Env) (connectors.Conn, error) { return open(out, env) },
		DefaultSchema: func(out connectors.Output) string {
			return schemaKey(out)
		},
		CanMerge: true,
	})
}

func schemaKey(out connectors.Output) string {
	if s, ok := out.Keys["schema"].(string); ok && s != "" {
		return s
	}
	return "main"
}

// attachment is one database file and the schema name that it has in SQL.
type attachment struct {
	schema, path string
	file         *file
}

func open(out connectors.Output, env connectors.Env) (*conn, error) {
	fail := func(format string, args ...any) (*conn, error) {
		return nil, fmt.Errorf("output %q: %s", out.Name, fmt.Sprintf(format, args...))
	}
	paths, err := schemaPaths(out)
	if err != nil {
		return fail("%v", err)
	}
	policy := mismatchError
	if v, ok := out.Keys["sqlite_type_mismatch"]; ok && v != nil {
		policy = mismatch(strings.ToLower(fmt.Sprint(v)))
		if policy != mismatchError && policy != mismatchText && policy != mismatchNull {
			return fail("sqlite_type_mismatch is %q: it may be error, text or null", v)
		}
	}
	c := &conn{
		name: out.Name, env: env, alloc: env.Allocator(),
		d: dialect{schema: schemaKey(out), policy: policy},
	}
	for _, p := range paths {
		if p.path == "" || p.path == ":memory:" || strings.HasPrefix(p.path, "file:") {
			return fail("path %q: a path of a file is needed", p.path)
		}
		if strings.IndexByte(p.path, 0) >= 0 {
			return fail("path %q contains a NUL byte", p.path)
		}
		if !filepath.IsAbs(p.path) {
			p.path = filepath.Join(env.ProjectDir, p.path)
		}
		p.file = fileAt(p.path)
		p.path = p.file.path
		c.attached = append(c.attached, p)
	}
	c.path = c.attached[0].path
	return c, nil
}

// schemaPaths reads path, or schemas_and_paths with main first.
func schemaPaths(out connectors.Output) ([]attachment, error) {
	if v, ok := out.Keys["path"]; ok && v != nil {
		return []attachment{{schema: "main", path: fmt.Sprint(v)}}, nil
	}
	m, ok := out.Keys["schemas_and_paths"].(map[string]any)
	if !ok || len(m) == 0 {
		return nil, fmt.Errorf("path (or schemas_and_paths) is missing")
	}
	var all []attachment
	for schema, path := range m {
		all = append(all, attachment{schema: schema, path: fmt.Sprint(path)})
	}
	sort.Slice(all, func(i, j int) bool {
		if (all[i].schema == "main") != (all[j].schema == "main") {
			return all[i].schema == "main"
		}
		return all[i].schema < all[j].schema
	})
	if all[0].schema != "main" {
		return nil, fmt.Errorf("schemas_and_paths names no file for the schema main")
	}
	return all, nil
}
