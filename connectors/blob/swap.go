package blob

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// Replace completes the upload in the place of the table's object. A single object goes
// before a folder of parts in every look-up, so that this is what changes the content,
// and the parts only cost room.
func (c *conn) Replace(ctx context.Context, st connectors.Staging) error {
	x, err := c.sealed(st, false)
	if err != nil {
		return err
	}
	if err := x.up.complete(ctx); err != nil {
		return err
	}
	return c.removeParts(ctx, x.to)
}

func (c *conn) sealed(st connectors.Staging, part bool) (*staging, error) {
	x, ok := st.(*staging)
	if !ok || x.c != c || !x.done || x.up == nil || x.up.completed || x.spec.Append != part {
		return nil, fmt.Errorf("the staging is not a sealed one of this connection")
	}
	return x, nil
}

// Append completes the upload as one more part. A table that is one object becomes a
// folder of parts with it: the object is copied there first, and deleting it is what
// changes the content.
func (c *conn) Append(ctx context.Context, st connectors.Staging) (connectors.Applied, error) {
	var out connectors.Applied
	x, err := c.sealed(st, true)
	if err != nil {
		return out, err
	}
	one, hasFolder, err := c.single(ctx, x.to.key)
	if err != nil {
		return out, err
	}
	if one != nil && one[0].key != x.to.one() {
		return out, fmt.Errorf("appending to %s: the table is %s, which is not of the format %s: rebuild it with --full-refresh", x.spec.Target, c.url(one[0].key), x.to.format)
	}
	if one == nil {
		if !hasFolder {
			return out, fmt.Errorf("appending to %s: %w", x.spec.Target, connectors.ErrNotFound)
		}
		parts, err := c.parts(ctx, x.to.folder())
		if err != nil {
			return out, err
		}
		for _, p := range parts {
			if p.key == x.up.key {
				return out, fmt.Errorf("appending to %s: run %s has appended already", x.spec.Target, x.spec.RunID)
			}
			if f := c.files.FormatOf(p.key); f != x.to.format {
				return out, fmt.Errorf("appending to %s: its parts are of the format %s, not %s: rebuild it with --full-refresh", x.spec.Target, f, x.to.format)
			}
		}
	} else {
		if err := c.removeParts(ctx, x.to); err != nil { // of a run that died here
			return out, err
		}
		b, err := c.bucket(ctx)
		if err != nil {
			return out, err
		}
		first := x.to.folder() + partPrefix + "0" + x.to.ext
		if err := c.service.copy(ctx, b, c.bucketName, first, x.to.one(), one[0].size); err != nil {
			return out, c.explain(ctx, actWrite, first, err)
		}
	}
	if err := x.up.complete(ctx); err != nil {
		return out, err
	}
	if one != nil {
		if err := c.remove(ctx, x.to.one()); err != nil {
			return out, err
		}
	}
	out.Inserted = x.rows
	return out, nil
}

// removeParts removes what runs wrote into the folder of a table that is one object.
func (c *conn) removeParts(ctx context.Context, t target) error {
	objects, _, err := c.list(ctx, t.folder()+partPrefix, "/")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if c.files.FormatOf(o.key) != "" {
			if err := c.remove(ctx, o.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes an object; one that is not there is no error.
func (c *conn) remove(ctx context.Context, key string) error {
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	err = b.Delete(ctx, key)
	if p, _, _ := c.service.judge(err); err == nil || p == noObject {
		return nil
	}
	return c.explain(ctx, actDelete, key, err)
}

// CleanStaging removes what dead runs left: uploads that were begun, and parts beside an
// object that is the table.
func (c *conn) CleanStaging(ctx context.Context, rel connectors.Relation) error {
	folder, name, err := c.place(rel)
	if err != nil {
		return err
	}
	key := folder + name
	uploads := []string{key + "/" + partPrefix}
	for _, format := range formats {
		uploads = append(uploads, key+c.files.Extensions(format)[0])
	}
	for _, upload := range uploads {
		err := c.abort(ctx, upload)
		if errors.Is(err, errDenied) {
			// They cost room, and nobody sees them.
			c.log.Warn("cannot look for uploads that dead runs left", "error", err)
			break
		}
		if err != nil {
			return err
		}
	}
	one, _, err := c.single(ctx, key)
	if err != nil || one == nil {
		return err
	}
	for _, format := range append([]string{c.format}, formats...) {
		if ext := c.files.Extensions(format)[0]; one[0].key == key+ext {
			return c.removeParts(ctx, target{key: key, format: format, ext: ext})
		}
	}
	return nil
}
