package postgres

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
)

// readBuffer is what one read of the socket may take. One row of a COPY is one small
// message; the driver's own buffer of a few kilobytes would cost a system call for
// every few rows.
const readBuffer = 128 << 10

// oldestServer is the first version whose catalogs have all that is read of them.
const oldestServer = 12

// conn is one output of the profile. Sessions are opened when first needed.
type conn struct {
	name     string
	settings *settings
	schema   string // where relations without a schema live
	dialect  dialect
	pool     *pgxpool.Pool
	mem      memory.Allocator
	log      *slog.Logger
	locks    sync.Map // of relations, to the sessions that hold them
}

var (
	_ connectors.Conn        = (*conn)(nil)
	_ connectors.Prober      = (*conn)(nil)
	_ connectors.Snapshotter = (*conn)(nil)
	_ connectors.Stager      = (*conn)(nil)
	_ connectors.Swapper     = (*conn)(nil)
	_ connectors.Locker      = (*conn)(nil)
	_ connectors.LockHolder  = (*conn)(nil)
)

// Open checks the settings of out and returns a connection that has not connected yet.
func Open(out connectors.Output, env connectors.Env) (connectors.Conn, error) {
	s, err := parseSettings(out, env)
	if err != nil {
		return nil, err
	}
	cfg, err := poolConfig(s, out.Text("application_name"))
	if err != nil {
		return nil, fmt.Errorf("output %q: %w", out.Name, err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("output %q: %w", out.Name, err)
	}
	log := env.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	schema := defaultSchema(out)
	return &conn{name: out.Name, settings: s, schema: schema, dialect: dialect{schema: schema}, pool: pool,
		mem: env.Allocator(), log: log}, nil
}

func poolConfig(s *settings, application string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(connString(s))
	if err != nil {
		// The driver's text may hold the connection string: keep only its cause.
		return nil, fmt.Errorf("connection settings: %s", redact(err.Error(), s.password))
	}
	if application == "" {
		application = "dvt"
	}
	cc := cfg.ConnConfig
	cc.RuntimeParams["application_name"] = application
	cc.ConnectTimeout = s.connectTimeout
	cc.DefaultQueryExecMode = pgx.QueryExecModeExec // no statement outlives its session behind a pooler
	dialer := &net.Dialer{KeepAlive: s.keepalive, Timeout: s.connectTimeout}
	cc.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c = netidle.Wrap(c, s.queryTimeout)
		return &bufferedConn{Conn: c, r: bufio.NewReaderSize(c, readBuffer)}, nil
	}
	// A cancelled context cancels the statement on the server and waits for its end,
	// instead of leaving it behind on a connection that is merely closed.
	cc.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: 10 * time.Second}
	}
	set := sessionSQL(s.session, false)
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		version := c.PgConn().ParameterStatus("server_version")
		var major int
		if _, err := fmt.Sscanf(version, "%d", &major); err == nil && major < oldestServer {
			return fmt.Errorf("PostgreSQL %s, needed is %d: %w", version, oldestServer, connectors.ErrTooOld)
		}
		_, err := c.PgConn().Exec(ctx, set).ReadAll()
		return err
	}
	// How many sessions there are is the run's business. A bound here could let models
	// that hold a lock session wait for each other's staging session for ever.
	cfg.MaxConns = 1 << 14
	cfg.MinConns = 0
	cfg.MaxConnIdleTime = time.Minute
	cfg.PingTimeout = 5 * time.Second
	return cfg, nil
}

// connString is what the driver parses. Every value is quoted, so that none can add a
// keyword of its own.
func connString(s *settings) string {
	var b strings.Builder
	add := func(k, v string) {
		fmt.Fprintf(&b, "%s='%s' ", k, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v))
	}
	add("host", s.host)
	add("port", s.port)
	add("user", s.user)
	add("dbname", s.dbname)
	if s.password != "" {
		add("password", s.password)
	}
	for _, kv := range s.ssl {
		add(kv[0], kv[1])
	}
	return b.String()
}

// bufferedConn reads ahead.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Ping implements connectors.Conn.
func (c *conn) Ping(ctx context.Context) (connectors.Info, error) {
	var info connectors.Info
	err := c.session(ctx, func(pc *pgconn.PgConn) error {
		if err := pc.Ping(ctx); err != nil {
			return c.statementError("", 0, err)
		}
		version, _, _ := strings.Cut(pc.ParameterStatus("server_version"), " ")
		info.Version = "PostgreSQL " + version
		return nil
	})
	return info, err
}

// Exec implements connectors.Conn. What the statements leave behind in the session is
// discarded, for the session serves others afterwards.
func (c *conn) Exec(ctx context.Context, sql string) error {
	return c.session(ctx, func(pc *pgconn.PgConn) error {
		if _, err := pc.Exec(ctx, sql).ReadAll(); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return c.statementError(sql, 0, err)
		}
		for _, q := range []string{"DISCARD ALL", sessionSQL(c.settings.session, false)} {
			if _, err := pc.Exec(ctx, q).ReadAll(); err != nil {
				closeNow(pc)
				break
			}
		}
		return nil
	})
}

// Dialect implements connectors.Conn.
func (c *conn) Dialect() connectors.Dialect { return c.dialect }

// Close implements connectors.Conn.
func (c *conn) Close() error {
	c.pool.Close()
	return nil
}

// acquire takes a session from the pool; the caller releases it.
func (c *conn) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	pc, err := c.pool.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.connectError(err)
	}
	return pc, nil
}

// session runs f with a session of its own. A session on which something failed may
// hold an open transaction or an unread answer: it is closed, not reused.
func (c *conn) session(ctx context.Context, f func(*pgconn.PgConn) error) error {
	pc, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	err = f(pc.Conn().PgConn())
	if err != nil {
		closeNow(pc.Conn().PgConn())
	}
	pc.Release()
	return err
}

// transaction runs f inside a transaction begun with mode, commits, and rolls back if
// f fails.
func (c *conn) transaction(ctx context.Context, mode string, f func(*pgconn.PgConn) error) error {
	return c.session(ctx, func(pc *pgconn.PgConn) error {
		if err := c.exec(ctx, pc, beginSQL(mode, c.settings.session)); err != nil {
			return err
		}
		if err := f(pc); err != nil {
			return err // closing the session rolls back
		}
		return c.exec(ctx, pc, "COMMIT")
	})
}

// exec runs statements whose rows do not matter.
func (c *conn) exec(ctx context.Context, pc *pgconn.PgConn, sql string) error {
	_, err := pc.Exec(ctx, sql).ReadAll()
	return c.statementError(sql, 0, err)
}

// closeNow ends a session and waits until the server has been told.
func closeNow(pc *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = pc.Close(ctx)
	select {
	case <-pc.CleanupDone():
	case <-ctx.Done():
	}
}

// fill gives rel the connection's schema if it names none.
func (c *conn) fill(rel connectors.Relation) connectors.Relation {
	if rel.Schema == "" {
		rel.Schema = c.schema
	}
	return rel
}
