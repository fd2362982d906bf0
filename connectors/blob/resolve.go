package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"github.com/dvt-dev/dvt/connectors"
)

// object is one object as it was listed.
type object struct {
	key, version string
	size         int64
	parts        []part // from folders of its key like year=2024
}

// found are the objects of a relation, all of one format, sorted by key.
type found struct {
	format  string
	objects []object
}

// formats are tried in this order after the connection's own.
var formats = []string{parquet, csv, json}

// schemaOf is the folder of a relation; "." is the prefix itself.
func (c *conn) schemaOf(rel connectors.Relation) string {
	switch rel.Schema {
	case "":
		return c.schema
	case ".":
		return ""
	}
	return rel.Schema
}

// place is the key of a relation's folder, with a slash at its end unless it is empty,
// and the relation's name in it.
func (c *conn) place(rel connectors.Relation) (folder, name string, err error) {
	schema, err := cleanKey(c.schemaOf(rel))
	if err != nil {
		return "", "", fmt.Errorf("schema %w", err)
	}
	if name, err = cleanKey(rel.Name); err != nil {
		return "", "", fmt.Errorf("table %w", err)
	}
	if name == "" {
		return "", "", errors.New("the table has no name")
	}
	if folder = c.below(schema); folder != "" {
		folder = strings.TrimSuffix(folder, "/") + "/"
	}
	return folder, name, nil
}

// resolve finds the objects of a relation. A name is, in this order: a pattern; a key; a
// key without its extension; a folder of parts, or of folders like year=2024 with parts.
// That single objects go before folders is what lets a table pass from one form to the
// other in one step (see Append).
func (c *conn) resolve(ctx context.Context, rel connectors.Relation) (found, error) {
	folder, name, err := c.place(rel)
	if err != nil {
		return found{}, err
	}
	var objects []object
	if strings.ContainsAny(name, "*?[") {
		objects, err = c.matches(ctx, folder, name)
	} else {
		objects, err = c.named(ctx, folder+name)
	}
	if err != nil {
		return found{}, err
	}
	if len(objects) == 0 {
		return found{}, fmt.Errorf("no object for %s at %s: %w", rel, c.url(folder+name), connectors.ErrNotFound)
	}
	f := found{objects: objects}
	for i := range objects {
		format := c.files.FormatOf(objects[i].key)
		if format == "" {
			format = c.format
		}
		if f.format != "" && f.format != format {
			return found{}, fmt.Errorf("%s: objects of several formats, %s and %s", rel, f.format, format)
		}
		f.format = format
		if objects[i].parts, err = partsOf(strings.TrimPrefix(objects[i].key, folder)); err != nil {
			return found{}, fmt.Errorf("%s: %w", c.url(objects[i].key), err)
		}
	}
	return f, samePartitions(objects)
}

// list gives the objects below a key prefix, and with a delimiter the folders.
func (c *conn) list(ctx context.Context, prefix, delimiter string) (objects []object, folders []string, err error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, nil, err
	}
	it := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return objects, folders, nil
		}
		if err != nil {
			return nil, nil, c.explain(ctx, actList, prefix, err)
		}
		if o.IsDir {
			folders = append(folders, o.Key)
		} else if !strings.HasSuffix(o.Key, "/") { // a marker of an empty folder
			objects = append(objects, object{key: o.Key, size: o.Size, version: c.service.version(o)})
		}
	}
}

// named finds the object or the parts of one table. The single object is looked for again
// after the parts were listed: a rebuild puts it there before it deletes the parts.
func (c *conn) named(ctx context.Context, key string) ([]object, error) {
	one, hasFolder, err := c.single(ctx, key)
	if err != nil || one != nil || !hasFolder {
		return one, err
	}
	parts, err := c.parts(ctx, key+"/")
	if err != nil {
		return nil, err
	}
	if one, _, err = c.single(ctx, key); err != nil || one != nil {
		return one, err
	}
	return parts, nil
}

func (c *conn) single(ctx context.Context, key string) (one []object, hasFolder bool, err error) {
	objects, folders, err := c.list(ctx, key, "/")
	if err != nil {
		return nil, false, err
	}
	names := []string{key}
	for _, format := range append([]string{c.format}, formats...) {
		for _, ext := range c.files.Extensions(format) {
			names = append(names, key+ext)
		}
	}
	for _, name := range names {
		if i := slices.IndexFunc(objects, func(o object) bool { return o.key == name }); i >= 0 {
			return objects[i : i+1], false, nil
		}
	}
	return nil, slices.Contains(folders, key+"/"), nil
}

// parts are the objects of a known format in a folder, and in folders like year=2024
// below it.
func (c *conn) parts(ctx context.Context, folder string) ([]object, error) {
	objects, _, err := c.list(ctx, folder, "")
	if err != nil {
		return nil, err
	}
	var out []object
	for _, o := range objects {
		segments := strings.Split(strings.TrimPrefix(o.key, folder), "/")
		if segments[0] == "_delta_log" {
			return nil, fmt.Errorf("%s is a Delta table, which is not the sum of its files: read it with an engine that knows them", c.url(folder))
		}
		last := len(segments) - 1
		nested := slices.IndexFunc(segments[:last], func(s string) bool { return hidden(s) || !strings.Contains(s, "=") }) < 0
		if nested && !hidden(segments[last]) && c.files.FormatOf(o.key) != "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// hidden names are those of writers' own files, and of unfinished ones.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// matches finds the objects of a pattern. ** stands for any folders; hidden names count
// only where the pattern spells them; a pattern without a known extension gets the
// objects of the connection's format, with and without their extension.
func (c *conn) matches(ctx context.Context, folder, pattern string) ([]object, error) {
	segments := strings.Split(pattern, "/")
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
		}
	}
	objects, _, err := c.list(ctx, folder+pattern[:strings.IndexAny(pattern, "*?[")], "")
	if err != nil {
		return nil, err
	}
	known := c.files.FormatOf(pattern) != ""
	return slices.DeleteFunc(objects, func(o object) bool {
		name := strings.TrimPrefix(o.key, folder)
		if known {
			return !match(segments, strings.Split(name, "/"))
		}
		if c.files.FormatOf(name) != c.format {
			return true
		}
		for _, ext := range append(c.files.Extensions(c.format), "") {
			if stem, ok := strings.CutSuffix(name, ext); ok && match(segments, strings.Split(stem, "/")) {
				return false
			}
		}
		return true
	}), nil
}

func match(pattern, names []string) bool {
	if len(pattern) == 0 || len(names) == 0 {
		return len(names) == 0 && !slices.ContainsFunc(pattern, func(s string) bool { return s != "**" })
	}
	if pattern[0] == "**" {
		return match(pattern[1:], names) || !hidden(names[0]) && match(pattern, names[1:])
	}
	if hidden(names[0]) && names[0][0] != pattern[0][0] {
		return false
	}
	ok, _ := path.Match(pattern[0], names[0])
	return ok && match(pattern[1:], names[1:])
}
