package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"

	"github.com/jackc/pgx/v5/pgconn"
)

func pgURL() string {
	return fmt.Sprintf("postgres://%s:%s@%s:%s/%s?sslmode=disable", env("PG", "USER"), url.QueryEscape(env("PG", "PASSWORD")), env("PG", "HOST"), env("PG", "PORT"), env("PG", "DATABASE"))
}

func withPG(ctx context.Context, f func(*pgconn.PgConn) error) error {
	c, err := pgconn.Connect(ctx, pgURL())
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close(ctx))
}

func copyOut(cols string) string {
	return "COPY (SELECT " + cols + " FROM " + schema + ".t) TO STDOUT (FORMAT binary)"
}

// pgDiscard reads the binary COPY of a SELECT and throws it away.
func pgDiscard(sql string) job {
	return func(ctx context.Context, _ settings, timed func(func() (int64, error)) error) error {
		return withPG(ctx, func(c *pgconn.PgConn) error {
			return timed(func() (int64, error) {
				tag, err := c.CopyTo(ctx, io.Discard, sql)
				return tag.RowsAffected(), err
			})
		})
	}
}

func pgBytes(ctx context.Context, s settings) error {
	f, err := os.Create(pgFile(s))
	if err != nil {
		return err
	}
	return errors.Join(withPG(ctx, func(c *pgconn.PgConn) error {
		_, err := c.CopyTo(ctx, f, copyOut(quoted(`"`)))
		return err
	}), f.Close())
}

// pgSettled keeps the server's own upkeep of one measurement's table, which takes seconds
// of CPU a minute later, out of the next measurement.
func pgSettled(ctx context.Context) error {
	return withPG(ctx, func(c *pgconn.PgConn) error {
		for _, sql := range []string{"ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()", "ANALYZE " + schema + ".t"} {
			if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// pgCopyIn sends the ready bytes into an empty table of the same columns, in the
// transaction that creates it and frozen, as a load does.
func pgCopyIn(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	return withPG(ctx, func(c *pgconn.PgConn) error {
		f, err := os.Open(pgFile(s))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return timed(func() (n int64, err error) {
			for _, sql := range []string{"BEGIN", "DROP TABLE IF EXISTS " + schema + ".raw", "CREATE TABLE " + schema + ".raw (LIKE " + schema + ".t)", "", "COMMIT"} {
				if sql != "" {
					_, err = c.Exec(ctx, sql).ReadAll()
				} else {
					var tag pgconn.CommandTag
					tag, err = c.CopyFrom(ctx, f, "COPY "+schema+".raw FROM STDIN (FORMAT binary, FREEZE)")
					n = tag.RowsAffected()
				}
				if err != nil {
					return n, err
				}
			}
			return n, nil
		})
	})
}

// psqlPipe is what one does without a tool: psql's COPY of one into another.
func psqlPipe(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	script := `psql -X -q -v ON_ERROR_STOP=1 -c "DROP TABLE IF EXISTS ` + schema + `.raw; CREATE TABLE ` + schema + `.raw (LIKE ` + schema + `.t)" 2>/dev/null
psql -X -q -v ON_ERROR_STOP=1 -c "COPY ` + schema + `.t TO STDOUT (FORMAT binary)" | psql -X -q -v ON_ERROR_STOP=1 -c "COPY ` + schema + `.raw FROM STDIN (FORMAT binary)"`
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Env = append(os.Environ(), "PGHOST="+env("PG", "HOST"), "PGPORT="+env("PG", "PORT"), "PGUSER="+env("PG", "USER"), "PGPASSWORD="+env("PG", "PASSWORD"), "PGDATABASE="+env("PG", "DATABASE"))
	cmd.Stderr = os.Stderr
	return timed(func() (int64, error) { return s.rows, cmd.Run() })
}
