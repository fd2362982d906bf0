package blob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"gocloud.dev/blob"

	"github.com/dvt-dev/dvt/connectors"
)

// conn is one output of the profile: the objects below a prefix of a bucket.
type conn struct {
	service                service
	out                    connectors.Output
	env                    connectors.Env
	name, bucketName       string
	prefix, schema, format string
	local                  connectors.Conn // the file connection, for files that were brought here
	files                  connectors.FileFormats
	log                    *slog.Logger
	dialect                *dialect

	mu      sync.Mutex
	opened  *blob.Bucket
	idle    func() // ends its idle connections
	dir     string // this connection's folder for what it brings here; "" before the first use
	serial  int
	seen    map[string]*look // by keys and versions
	current map[connectors.Relation]*look
}

var (
	_ connectors.Conn       = (*conn)(nil)
	_ connectors.Stager     = (*conn)(nil)
	_ connectors.Swapper    = (*conn)(nil)
	_ connectors.AppendOnly = (*conn)(nil)
	_ connectors.Locker     = (*conn)(nil)
	_ connectors.FileKeeper = (*conn)(nil)
)

// url names the bucket and a key for people.
func (c *conn) url(key string) string { return c.service.scheme + "://" + c.bucketName + "/" + key }

// bucket opens the bucket once; nothing is asked of the server.
func (c *conn) bucket(ctx context.Context) (*blob.Bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened == nil {
		b, idle, err := c.service.open(ctx, c)
		if err != nil {
			return nil, &connectors.ConnectError{Where: c.where(), Err: err}
		}
		c.opened, c.idle = b, idle
	}
	return c.opened, nil
}

// Ping lists one object.
func (c *conn) Ping(ctx context.Context) (connectors.Info, error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return connectors.Info{}, err
	}
	if _, _, err := b.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: c.below("")}); err != nil {
		return connectors.Info{}, c.explain(ctx, actList, c.prefix, err)
	}
	return connectors.Info{Version: c.format + " objects in " + c.url(c.prefix)}, nil
}

// below is the full key of a name below the prefix.
func (c *conn) below(name string) string {
	if c.prefix == "" {
		return name
	}
	return c.prefix + "/" + name
}

func (c *conn) session(ctx context.Context) (connectors.Session, error) {
	e, err := c.env.Engine(ctx)
	if err != nil {
		return nil, err
	}
	return e.Session(ctx)
}

// Exec runs statements in the compute engine: there is no other engine here.
func (c *conn) Exec(ctx context.Context, sql string) error { return c.local.Exec(ctx, sql) }

// Dialect is DuckDB's.
func (c *conn) Dialect() connectors.Dialect { return c.dialect }

// Close removes what was brought here.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.local.Close()
	if c.opened != nil {
		err = errors.Join(err, c.opened.Close())
		c.idle()
		c.opened = nil
	}
	if c.dir != "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
		c.dir = ""
	}
	return err
}

// path is a new name in the connection's folder, which is made below the compute
// engine's folder for this run: the run removes it, or the next one if this one dies.
func (c *conn) path(ctx context.Context, ext string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" {
		spill, err := c.spill(ctx)
		if err != nil {
			return "", fmt.Errorf("finding the temporary folder: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(spill), 0o700); err != nil {
			return "", err
		}
		if c.dir, err = os.MkdirTemp(filepath.Dir(spill), c.service.name+"-"); err != nil {
			return "", err
		}
	}
	c.serial++
	return filepath.Join(c.dir, fmt.Sprintf("%d%s", c.serial, ext)), nil
}

// spill is where the compute engine spills.
func (c *conn) spill(ctx context.Context) (dir string, err error) {
	s, err := c.session(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Query(ctx, spillSQL, func(rec arrow.RecordBatch) error {
		if col, ok := rec.Column(0).(*array.String); ok && rec.NumRows() == 1 {
			dir = strings.Clone(col.Value(0))
		}
		return nil
	})
	if err == nil && !filepath.IsAbs(dir) {
		err = fmt.Errorf("the compute engine names %q", dir)
	}
	return dir, err
}
