// Package file reads and writes folders of Parquet, CSV and JSON files. DuckDB does both,
// inside the run's compute engine; this package finds the files, fixes their types and
// puts new files in the place of old ones. A table is one file, or a folder of parts.
package file

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

const engine = "file"

func init() {
	connectors.Register(connectors.Kindred{
		Types:         []string{engine},
		Open:          func(out connectors.Output, env connectors.Env) (connectors.Conn, error) { return open(out, env) },
		DefaultSchema: func(out connectors.Output) string { return out.Text("schema") },
		CanMerge:      false,
	})
}

// The formats.
const (
	parquet = "parquet"
	csv     = "csv"
	json    = "json"
)

// csvOptions are how CSV files are spelled; "" is found in the file, or the usual.
type csvOptions struct {
	delim, quote, escape, null string
	newLine                    string // "" is found by DuckDB
	noHeader                   bool
}

func open(out connectors.Output, env connectors.Env) (*conn, error) {
	fail := func(format string, args ...any) (*conn, error) {
		return nil, fmt.Errorf("output %q: %s", out.Name, fmt.Sprintf(format, args...))
	}
	root := out.Text("path")
	switch {
	case root == "":
		return fail("path is missing: the folder of the files")
	case strings.Contains(root, "://"):
		return fail("path %q: only folders of this machine are opened", root)
	case strings.IndexByte(root, 0) >= 0:
		return fail("path %q contains a NUL byte", root)
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(env.ProjectDir, root)
	}
	format := strings.ToLower(out.Text("format"))
	if format == "" {
		format = parquet
	}
	if format != parquet && format != csv && format != json {
		return fail("format is %q: it may be parquet, csv or json", format)
	}
	o := csvOptions{delim: out.Text("delim"), quote: out.Text("quote"), escape: out.Text("escape"), null: out.Text("nullstr")}
	switch h := strings.ToLower(out.Text("header")); h {
	case "", "true":
	case "false":
		o.noHeader = true
	default:
		return fail("header is %q: it may be true or false", h)
	}
	if len(o.quote) > 1 || len(o.escape) > 1 || len(o.delim) > 4 {
		return fail("quote and escape are one character, delim up to four bytes")
	}
	var rowLimit int64
	if v := out.Text("maximum_object_size"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > 1<<30 {
			return fail("maximum_object_size is %q: it is the bytes of the largest JSON row, up to 1073741824", v)
		}
		rowLimit = n
	}
	c := &conn{name: out.Name, env: env, root: filepath.Clean(root), schema: out.Text("schema"), format: format, csv: o, rowLimit: rowLimit, seen: map[string]*scan{}}
	c.dialect = newDialect(c)
	return c, nil
}
