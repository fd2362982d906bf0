package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// extensions are the endings by which a file of a format is known, its own first.
var extensions = map[string][]string{
	parquet: {".parquet", ".pq"},
	csv:     {".csv", ".tsv", ".csv.gz", ".csv.zst"},
	json:    {".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"},
}

// formatOf is the format that a file's name tells, "" if none.
func formatOf(name string) string {
	lower := strings.ToLower(name)
	for format, exts := range extensions {
		for _, ext := range exts {
			if strings.HasSuffix(lower, ext) {
				return format
			}
		}
	}
	return ""
}

// found are the files of a relation, all of one format.
type found struct {
	format string
	files  []string // absolute, sorted
}

// resolve finds the files of a relation. A name is, in this order: a pattern; a file; a
// folder of parts; a file without its extension.
func (c *conn) resolve(rel connectors.Relation) (found, error) {
	dir, name, err := c.place(rel)
	if err != nil {
		return found{}, err
	}
	var files []string
	switch {
	case strings.ContainsAny(name, "*?["):
		files, err = c.matches(dir, name)
	default:
		files, err = c.named(dir, name)
	}
	if err != nil {
		return found{}, fmt.Errorf("%s in %s: %w", rel, c.root, err)
	}
	if len(files) == 0 {
		return found{}, connectors.NotFound(fmt.Sprintf("no file for %s in %s", rel, dir))
	}
	f := found{files: files}
	root, err := filepath.EvalSymlinks(c.root)
	if err != nil {
		return found{}, err
	}
	for _, file := range files {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return found{}, err
		}
		if !inside(root, real) {
			return found{}, fmt.Errorf("%s: the file is a link out of the folder %s", file, c.root)
		}
		format := formatOf(file)
		if format == "" {
			format = c.format
		}
		if f.format != "" && f.format != format {
			return found{}, fmt.Errorf("%s: files of several formats, %s and %s", rel, f.format, format)
		}
		f.format = format
	}
	return f, nil
}

// place is the folder of a relation and its name there, checked: nothing leads out.
func (c *conn) place(rel connectors.Relation) (dir, name string, err error) {
	schema := c.schemaOf(rel)
	for what, s := range map[string]string{"schema": schema, "table": rel.Name} {
		if strings.IndexByte(s, 0) >= 0 || filepath.IsAbs(s) || slices.Contains(strings.FieldsFunc(s, isSlash), "..") {
			return "", "", fmt.Errorf("%s %q: it must stay in the folder %s", what, s, c.root)
		}
	}
	name = path.Clean(strings.ReplaceAll(rel.Name, `\`, "/"))
	if rel.Name == "" || name == "." {
		return "", "", fmt.Errorf("the table has no name")
	}
	return filepath.Join(c.root, filepath.FromSlash(schema)), name, nil
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

func inside(root, p string) bool {
	rel, err := filepath.Rel(root, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// named: a folder of parts goes before a single file, so that a table can pass from one
// form to the other by one rename (see Append).
func (c *conn) named(dir, name string) ([]string, error) {
	base := filepath.Join(dir, filepath.FromSlash(name))
	if info, err := os.Stat(base); err == nil {
		if !info.IsDir() {
			return []string{base}, nil
		}
		entries, err := os.ReadDir(base)
		if err != nil {
			return nil, err
		}
		var parts []string
		for _, e := range entries {
			if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && formatOf(e.Name()) != "" {
				parts = append(parts, filepath.Join(base, e.Name()))
			}
		}
		return parts, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	formats := []string{c.format}
	for _, f := range []string{parquet, csv, json} {
		if f != c.format {
			formats = append(formats, f)
		}
	}
	for _, format := range formats {
		for _, ext := range extensions[format] {
			if info, err := os.Stat(base + ext); err == nil && !info.IsDir() {
				return []string{base + ext}, nil
			}
		}
	}
	return nil, nil
}

// matches finds the files of a pattern. ** stands for any folders; hidden files do not
// count; a pattern without a known extension gets those of the connection's format.
func (c *conn) matches(dir, pattern string) (files []string, err error) {
	segments := strings.Split(pattern, "/")
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
		}
	}
	known := formatOf(pattern) != ""
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case p == dir:
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		names := strings.Split(filepath.ToSlash(rel), "/")
		if known && match(segments, names) || !known && formatOf(d.Name()) == c.format && matchStem(segments, names) {
			files = append(files, p)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

func match(pattern, names []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(names) + 1 {
				if match(pattern[1:], names[i:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], names[0]); !ok {
			return false
		}
		pattern, names = pattern[1:], names[1:]
	}
	return len(names) == 0
}

// matchStem matches a pattern with and without a file's extension.
func matchStem(pattern, names []string) bool {
	if match(pattern, names) {
		return true
	}
	last := names[len(names)-1]
	for _, ext := range extensions[formatOf(last)] {
		if stem := last[:max(0, len(last)-len(ext))]; strings.EqualFold(stem+ext, last) && match(pattern, append(slices.Clone(names[:len(names)-1]), stem)) {
			return true
		}
	}
	return false
}
