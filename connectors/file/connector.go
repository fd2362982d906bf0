package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/filelock"
)

// conn is one output of the profile: a folder.
type conn struct {
	name, root, schema, format string
	csv                        csvOptions
	rowLimit                   int64 // bytes of a JSON row; 0 is jsonRow
	env                        connectors.Env
	dialect                    dialect

	mu   sync.Mutex
	seen map[string]*scan // by files, sizes and times
}

var (
	_ connectors.Conn       = (*conn)(nil)
	_ connectors.Inliner    = (*conn)(nil)
	_ connectors.Stager     = (*conn)(nil)
	_ connectors.Swapper    = (*conn)(nil)
	_ connectors.AppendOnly = (*conn)(nil)
	_ connectors.Locker     = (*conn)(nil)
	_ connectors.Extremes   = dialect{}
)

// schemaOf is the subfolder of a relation; "." is the folder itself.
func (c *conn) schemaOf(rel connectors.Relation) string {
	switch rel.Schema {
	case "":
		return c.schema
	case ".":
		return ""
	}
	return rel.Schema
}

// Ping looks at the folder; one that does not exist yet is no fault, for a run makes it.
func (c *conn) Ping(context.Context) (connectors.Info, error) {
	info, err := os.Stat(c.root)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return connectors.Info{Version: c.format + " files (the folder will be created)"}, nil
	case err == nil && !info.IsDir():
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return connectors.Info{}, &connectors.ConnectError{Where: engine + " " + c.root, Err: err}
	}
	return connectors.Info{Version: c.format + " files"}, nil
}

func (c *conn) session(ctx context.Context) (connectors.Session, error) {
	e, err := c.env.Engine(ctx)
	if err != nil {
		return nil, err
	}
	return e.Session(ctx)
}

// Read streams a query over files.
func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) (err error) {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cols, err := s.Columns(ctx, q.SQL)
	if err != nil {
		return err
	}
	if len(q.Columns) == 0 { // only the number of rows matters
		return s.Query(ctx, q.SQL, emit)
	}
	if len(cols) != len(q.Columns) {
		return fmt.Errorf("the query returns %d columns, not %d", len(cols), len(q.Columns))
	}
	for i, col := range cols {
		if !col.Type.Equal(q.Columns[i].Type) {
			return &connectors.TypeError{Column: q.Columns[i].Name, Native: col.Type.String(), Reason: "the file has this type, not " + q.Columns[i].Type.String()}
		}
	}
	return s.Query(ctx, q.SQL, emit)
}

// Inline lets the compute engine read the files.
func (c *conn) Inline(_ context.Context, q connectors.Query) (string, func(), error) {
	return q.SQL, func() {}, nil
}

// Exec runs statements in the compute engine: there is no other engine here.
func (c *conn) Exec(ctx context.Context, sql string) (err error) {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Exec(ctx, sql)
}

// Dialect is DuckDB's.
func (c *conn) Dialect() connectors.Dialect { return c.dialect }

// Close has nothing to do.
func (c *conn) Close() error { return nil }

// Lock takes the lock of rel, a file in the connection's folder.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (func(), error) {
	if err := os.MkdirAll(c.root, 0o755); err != nil {
		return nil, err
	}
	release, err := filelock.Acquire(ctx, filepath.Join(c.root, ".dvt-"+c.hash12(rel)+".lock"), wait, waiting)
	if err == nil && release == nil {
		err = &connectors.LockedError{Relation: rel}
	}
	return release, err
}
