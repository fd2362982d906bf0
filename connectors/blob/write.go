package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// staging is the rows of a load on their way into an upload, which nobody sees before it
// is completed. The file connection's writer writes them into a named pipe, so that they
// need no room here but that of the upload's parts.
type staging struct {
	c     *conn
	spec  connectors.StageSpec
	to    target
	inner connectors.Staging
	pipe  string
	up    *upload // nil before the first byte
	rows  int64
	done  bool // all bytes are sent
}

// target is where a relation is written.
type target struct {
	key, format, ext string
}

func (t target) one() string    { return t.key + t.ext }
func (t target) folder() string { return t.key + "/" }

// partPrefix begins the names of the parts that runs write.
const partPrefix = "part-"

// part is the key of a run's part.
func (t target) part(run string) string {
	return t.folder() + partPrefix + strings.NewReplacer("/", "_", `\`, "_").Replace(run) + t.ext
}

// targetOf checks that a relation can be written where its name says.
func (c *conn) targetOf(rel connectors.Relation, o connectors.TargetOptions) (target, error) {
	t := target{format: strings.ToLower(o.Format)}
	if t.format == "" {
		t.format = c.format
	}
	exts := c.files.Extensions(t.format)
	if exts == nil {
		return t, fmt.Errorf("format is %q: it may be parquet, csv or json", o.Format)
	}
	t.ext = exts[0]
	if o.Path != "" {
		dir, name, ok := cutLast(strings.Trim(o.Path, "/"))
		if !ok {
			dir = "."
		}
		rel = connectors.Relation{Schema: dir, Name: strings.TrimSuffix(name, t.ext)}
	}
	folder, name, err := c.place(rel)
	if err != nil {
		return t, err
	}
	t.key = folder + name
	if strings.ContainsAny(name, "/*?[") || hidden(name) || len(t.key) > 900 {
		return t, fmt.Errorf("table %q: no name for an object", rel.Name)
	}
	return t, nil
}

// cutLast cuts a path before its last name.
func cutLast(path string) (dir, name string, ok bool) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:], true
	}
	return "", path, false
}

// hash12 is the part of a lock's name that says which relation it is for.
func (c *conn) hash12(rel connectors.Relation) string {
	sum := sha256.Sum256([]byte(c.schemaOf(rel) + "\x00" + rel.Name))
	return hex.EncodeToString(sum[:6])
}

// Stage checks names and types and makes the way for the rows.
func (c *conn) Stage(ctx context.Context, spec connectors.StageSpec) (_ connectors.Staging, err error) {
	x := &staging{c: c, spec: spec}
	if x.to, err = c.targetOf(spec.Target, spec.Options); err != nil {
		return nil, err
	}
	if len(spec.Options.PartitionBy) > 0 {
		return nil, fmt.Errorf("partition_by: a table is one object here")
	}
	if x.pipe, err = c.path(ctx, x.to.ext); err != nil {
		return nil, err
	}
	if err := makePipe(x.pipe); err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	spec.Options.Format, spec.Options.Path = x.to.format, ""
	if x.inner, err = c.files.StageFile(ctx, spec, x.pipe); err != nil {
		return nil, errors.Join(err, os.Remove(x.pipe))
	}
	return x, nil
}

// Write appends a batch.
func (x *staging) Write(ctx context.Context, rec arrow.RecordBatch) error {
	return x.inner.Write(ctx, rec)
}

// Fill lets the compute engine write the rows of a SELECT, in place of Write.
func (x *staging) Fill(ctx context.Context, sql string) (int64, error) {
	return x.rows, x.send(ctx, func(ctx context.Context) (int64, error) { return x.inner.(connectors.Filler).Fill(ctx, sql) })
}

// Seal sends what was written.
func (x *staging) Seal(ctx context.Context) (int64, error) {
	if x.done {
		return x.rows, nil
	}
	return x.rows, x.send(ctx, x.inner.Seal)
}

// send runs what writes into the pipe, and uploads what comes out.
func (x *staging) send(ctx context.Context, write func(context.Context) (int64, error)) error {
	key := x.to.one()
	if x.spec.Append {
		key = x.to.part(x.spec.RunID)
	}
	up, err := x.c.upload(ctx, key, contentTypes[x.to.format])
	if err != nil {
		return err
	}
	x.up = up
	if x.rows, err = up.pump(ctx, x.pipe, write); err != nil {
		return err
	}
	x.done = true
	return nil
}

var contentTypes = map[string]string{parquet: "application/vnd.apache.parquet", csv: "text/csv; charset=utf-8", json: "application/x-ndjson"}

// Discard ends what is not completed. It works when the run is cancelled.
func (x *staging) Discard(ctx context.Context) error {
	if x.inner == nil {
		return nil
	}
	err := x.inner.Discard(ctx)
	x.inner = nil
	if e := os.Remove(x.pipe); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if x.up != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, x.up.abort(ctx))
	}
	return err
}
