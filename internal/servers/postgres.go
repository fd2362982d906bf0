package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// startPostgres starts PostgreSQL with a time zone that is neither UTC nor whole
// hours away from it, so that a read that forgets the session's zone fails a test.
func (s *Set) startPostgres(ctx context.Context) error {
	const owner = "postgres"
	home, err := s.home("postgres", owner)
	if err != nil {
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	password := randomPassword()
	pwfile := filepath.Join(home, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := chown(pwfile, owner); err != nil {
		return err
	}
	data := filepath.Join(home, "data")
	init := []string{"-D", data, "-U", "dvt", "--pwfile=" + pwfile, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"}
	if s.small {
		init = append(init, "--wal-segsize=1")
	}
	out, err := runAs(owner, home, find("initdb"), init...)
	if err != nil {
		return fmt.Errorf("starting PostgreSQL: initdb: %w: %s", err, lastLine(out))
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	log := filepath.Join(home, "log")
	args := []string{"-D", data, "-p", port}
	for _, set := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=" + home, "timezone=" + s.zone,
		"max_connections=200", "shared_buffers=256MB", "fsync=off", "autovacuum=on",
	} {
		args = append(args, "-c", set)
	}
	dsn := fmt.Sprintf("postgres://dvt:%s@%s/postgres?sslmode=disable&connect_timeout=5", password, net.JoinHostPort("127.0.0.1", port))
	err = s.run(ctx, processSpec{
		name: "PostgreSQL", user: owner, path: find("postgres"), args: args,
		// SIGQUIT ends the children too and waits for no session.
		logs: []string{log}, quit: syscall.SIGQUIT,
	}, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, "CREATE DATABASE dvt")
		return err
	})
	if err != nil {
		return err
	}
	s.export("PG", "HOST", "127.0.0.1", "PORT", port, "USER", "dvt", "PASSWORD", password, "DATABASE", "dvt")
	return nil
}
