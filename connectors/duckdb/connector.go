package duckdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// conn is one output of the profile: a file, a default schema, settings.
type conn struct {
	name     string
	env      connectors.Env
	file     *handle
	settings []setting
	dialect  dialect
}

var (
	_ connectors.Conn     = (*conn)(nil)
	_ connectors.Inliner  = (*conn)(nil)
	_ connectors.Stager   = (*conn)(nil)
	_ connectors.Swapper  = (*conn)(nil)
	_ connectors.Locker   = (*conn)(nil)
	_ connectors.Merger   = (*conn)(nil)
	_ connectors.Extremes = dialect{}
)

// session is a session of the compute engine in which the file is attached and the
// default for names.
type session struct {
	connectors.Session
	release func()
}

func (s *session) Close() error {
	err := s.Session.Close()
	s.release()
	return err
}

func (c *conn) session(ctx context.Context, want mode) (*session, error) {
	e, err := c.env.Engine(ctx)
	if err != nil {
		return nil, err
	}
	release, err := c.file.acquire(ctx, e, want)
	if err != nil {
		return nil, err
	}
	s, err := e.Session(ctx)
	if err != nil {
		release()
		return nil, err
	}
	out := &session{Session: s, release: release}
	if err := c.prepare(ctx, out); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func (c *conn) prepare(ctx context.Context, s *session) error {
	if err := s.Exec(ctx, use(c.file.alias)); err != nil {
		return err
	}
	for _, set := range c.settings {
		scope, err := queryText(ctx, s, settingScope(set.name))
		switch {
		case err != nil:
			return err
		case scope == "":
			return fmt.Errorf("output %q: duckdb has no setting %q", c.name, set.name)
		case scope != "LOCAL":
			// Memory, threads and the like belong to the run, not to one of its files.
			if c.env.Log != nil {
				c.env.Log.Debug("a setting of the whole engine is not taken from a connection", "output", c.name, "setting", set.name)
			}
			continue
		}
		if err := s.Exec(ctx, setLocal(set.name, set.value)); err != nil {
			return fmt.Errorf("output %q: setting %s: %w", c.name, set.name, err)
		}
	}
	return nil
}

// Ping opens the file; one that does not exist yet is no fault, for a run makes it.
func (c *conn) Ping(ctx context.Context) (connectors.Info, error) {
	e, err := c.env.Engine(ctx)
	if err != nil {
		return connectors.Info{}, err
	}
	s, err := e.Session(ctx)
	if err != nil {
		return connectors.Info{}, err
	}
	version, err := queryText(ctx, s, versionQuery)
	if err = errors.Join(err, s.Close()); err != nil {
		return connectors.Info{}, err
	}
	info := connectors.Info{Version: "DuckDB " + version}
	fs, err := c.session(ctx, reading)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		if err := c.file.check(writing); err != nil {
			return connectors.Info{}, err
		}
		info.Version += " (the file will be created)"
		return info, nil
	case err != nil:
		return connectors.Info{}, err
	}
	return info, fs.Close()
}

// Read streams a query of the file.
func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) (err error) {
	s, err := c.session(ctx, reading)
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
			return &connectors.TypeError{Column: q.Columns[i].Name, Native: col.Type.String(), Reason: "the column changed: it was " + q.Columns[i].Type.String()}
		}
	}
	return s.Query(ctx, q.SQL, emit)
}

// Inline lets the compute engine run the query on the attached file.
func (c *conn) Inline(ctx context.Context, q connectors.Query) (string, func(), error) {
	e, err := c.env.Engine(ctx)
	if err != nil {
		return "", nil, err
	}
	release, err := c.file.acquire(ctx, e, reading)
	if err != nil {
		return "", nil, err
	}
	return q.SQL, release, nil
}

// Exec runs statements with the file writable.
func (c *conn) Exec(ctx context.Context, sql string) (err error) {
	s, err := c.session(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Exec(ctx, sql)
}

// Dialect is DuckDB's.
func (c *conn) Dialect() connectors.Dialect { return c.dialect }

// Close has nothing to do: the file is attached only while it is used.
func (c *conn) Close() error { return nil }
