package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// staging holds the rows of a load in a temporary table of the compute engine and then
// in a hidden file beside the target.
type staging struct {
	c      *conn
	spec   connectors.StageSpec
	target target
	s      connectors.Session
	app    connectors.Appender
	sent   int64
	rows   int64
	path   string // the hidden file, "" before it is begun
	given  string // the caller's file in place of it
	sealed bool
}

// target is where a relation is written.
type target struct {
	dir, name, format string
}

// file is the single file, folder the folder of parts of a table.
func (t target) file() string   { return filepath.Join(t.dir, t.name+extensions[t.format][0]) }
func (t target) folder() string { return filepath.Join(t.dir, t.name) }

const stagingPrefix = ".__dvt_"

// hash12 is the part of a staging or lock name that says which relation it is for.
func (c *conn) hash12(rel connectors.Relation) string {
	sum := sha256.Sum256([]byte(c.schemaOf(rel) + "\x00" + rel.Name))
	return hex.EncodeToString(sum[:6])
}

// formatFor is the format that the model's options or else the output's name.
func (c *conn) formatFor(o connectors.TargetOptions) (string, error) {
	format := strings.ToLower(o.Format)
	if format == "" {
		format = c.format
	}
	if extensions[format] == nil {
		return "", fmt.Errorf("format is %q: it may be parquet, csv or json", o.Format)
	}
	return format, nil
}

// targetOf checks that a relation can be written where its name says, and nowhere else.
func (c *conn) targetOf(rel connectors.Relation, o connectors.TargetOptions) (target, error) {
	var t target
	var err error
	if t.format, err = c.formatFor(o); err != nil {
		return t, err
	}
	if o.Path != "" {
		dir, name := filepath.Split(filepath.ToSlash(o.Path))
		rel = connectors.Relation{Schema: strings.TrimSuffix(dir, "/"), Name: strings.TrimSuffix(name, extensions[t.format][0])}
		if rel.Schema == "" {
			rel.Schema = "."
		}
	}
	dir, name, err := c.place(rel)
	if err != nil {
		return t, err
	}
	if strings.ContainsAny(name, `/*?[`) || strings.HasPrefix(name, ".") || len(name) > 200 {
		return t, fmt.Errorf("table %q: no name for a file", rel.Name)
	}
	t.dir, t.name = dir, name
	return t, nil
}

// Stage checks names and types and makes the table for the rows.
func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (connectors.Staging, error) {
	t, err := c.targetOf(spec.Target, spec.Options)
	if err != nil {
		return nil, err
	}
	return c.stage(ctx, spec, t, "")
}

// stage is a staging for t, or for the file at path.
func (c *conn) stage(ctx context.Context, spec connectors.StageSpec, t target, path string) (_ connectors.Staging, err error) {
	x := &staging{c: c, spec: spec, target: t, given: path}
	if len(spec.Options.PartitionBy) > 0 {
		return nil, fmt.Errorf("partition_by: a table is one file here")
	}
	for _, col := range spec.Columns {
		if _, err := c.dialect.TargetType(col); err != nil {
			return nil, err
		}
		if x.target.format != parquet && col.Type.Kind != connectors.JSON && has(col.Type, connectors.JSON) {
			// DuckDB would spell the numbers in it anew, as doubles.
			return nil, &connectors.TypeError{Column: col.Name, Native: col.Type.String(), Reason: "JSON inside of lists and structs is not written to " + x.target.format + ": cast it to VARCHAR, or the whole to JSON"}
		}
	}
	if x.s, err = c.session(ctx); err != nil {
		return nil, err
	}
	if err = x.open(ctx); err != nil {
		return nil, errors.Join(err, x.s.Close())
	}
	return x, nil
}

func (x *staging) open(ctx context.Context) (err error) {
	cols := x.spec.Columns
	if x.spec.Options.Ordered {
		cols = append(slices.Clone(cols), rowNumber)
	}
	if err := x.s.Exec(ctx, createRows(cols)); err != nil {
		return err
	}
	x.app, err = x.s.Appender(ctx, "temp", "main", "__dvt_rows", cols)
	return err
}

// Write appends a batch.
func (x *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !x.spec.Options.Ordered {
		return x.app.Append(rec)
	}
	numbered := ducksql.Numbered(x.c.env.Allocator(), rec, rowNumber.Name, x.sent)
	defer numbered.Release()
	x.sent += rec.NumRows()
	return x.app.Append(numbered)
}

// Seal writes the hidden file and returns its rows.
func (x *staging) Seal(ctx context.Context) (int64, error) {
	if x.path == "" {
		if err := x.app.Close(); err != nil {
			return 0, err
		}
		source := rowsTable
		if x.spec.Options.Ordered {
			source = inOrder(source)
		}
		if err := x.copy(ctx, source); err != nil {
			return 0, err
		}
		if err := x.s.Exec(ctx, dropRows); err != nil {
			return 0, err
		}
	}
	if x.given == "" {
		if err := syncFile(x.path); err != nil {
			return 0, err
		}
	}
	x.sealed = x.given == ""
	return x.rows, nil
}

// Fill lets the compute engine write the rows of a SELECT into the file, in place of
// Write; Seal still has to be called.
func (x *staging) Fill(ctx context.Context, sql string) (int64, error) {
	return x.rows, x.copy(ctx, inParens(sql))
}

func (x *staging) copy(ctx context.Context, source string) error {
	if x.path = x.given; x.path == "" {
		if err := x.c.makeDir(x.target.dir); err != nil {
			return err
		}
		x.path = x.hidden()
	}
	n, err := x.s.Count(ctx, copyTo(x.path, x.target.format, x.c.csv, x.spec.Columns, x.spec.Options, source))
	if err != nil {
		return ducksql.ValueError(err)
	}
	x.rows = n
	return nil
}

func (x *staging) hidden() string {
	ext := extensions[x.target.format][0]
	return filepath.Join(x.target.dir, fmt.Sprintf("%s%.8s%s%s", stagingPrefix, strings.ReplaceAll(x.spec.RunID, "-", ""), x.c.hash12(x.spec.Target), ext))
}

// makeDir creates the folder of a target and makes sure that no link leads it out.
func (c *conn) makeDir(dir string) error {
	if err := os.MkdirAll(c.root, 0o755); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(c.root)
	if err != nil {
		return err
	}
	// The part that exists is checked before anything is made below it.
	for p := dir; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !inside(root, real) {
			return fmt.Errorf("%s is a link out of the folder %s", p, c.root)
		}
		break
	}
	return os.MkdirAll(dir, 0o755)
}

// Discard removes what is not in place. It works when the run is cancelled.
func (x *staging) Discard(context.Context) error {
	if x.s == nil {
		return nil
	}
	if x.app != nil {
		_ = x.app.Close() // its rows are dropped anyway
	}
	err := x.s.Close()
	x.s = nil
	if x.path != "" && x.given == "" {
		if e := os.Remove(x.path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// syncFile makes a file's content durable before its name is.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
