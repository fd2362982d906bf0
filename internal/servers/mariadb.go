package servers

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // answers whether the server is ready
)

// startMariaDB starts MariaDB as dvt needs it in tests: LOAD DATA LOCAL allowed, room
// for values of 50 MB, and a time zone that is not UTC.
func (s *Set) startMariaDB(ctx context.Context) error {
	const owner = "mysql"
	home, err := s.home("mariadb", owner)
	if err != nil {
		return fmt.Errorf("starting MariaDB: %w", err)
	}
	// A server that starts removes the temporary files of all others in its folder of them.
	data, temp := filepath.Join(home, "data"), filepath.Join(home, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return fmt.Errorf("starting MariaDB: %w", err)
	}
	if err := chown(temp, owner); err != nil {
		return fmt.Errorf("starting MariaDB: %w", err)
	}
	out, err := runAs(owner, home, find("mariadb-install-db"), "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if err != nil {
		return fmt.Errorf("starting MariaDB: mariadb-install-db: %w: %s", err, lastLine(out))
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	password := randomPassword()
	init := filepath.Join(home, "init.sql")
	text := "CREATE DATABASE dvt CHARACTER SET utf8mb4;\n" +
		"CREATE USER dvt@'127.0.0.1' IDENTIFIED BY '" + password + "';\n" +
		"GRANT ALL ON *.* TO dvt@'127.0.0.1' WITH GRANT OPTION;\n" +
		"ALTER USER root@localhost IDENTIFIED BY '" + randomPassword() + "';\n"
	if err := os.WriteFile(init, []byte(text), 0o600); err != nil {
		return err
	}
	if err := chown(init, owner); err != nil {
		return err
	}
	db, err := sql.Open("mysql", fmt.Sprintf("dvt:%s@tcp(%s)/dvt?timeout=5s", password, net.JoinHostPort("127.0.0.1", port)))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	args := []string{
		"--no-defaults", "--datadir=" + data, "--tmpdir=" + temp, "--port=" + port, "--bind-address=127.0.0.1",
		"--socket=" + filepath.Join(home, "my.sock"), "--pid-file=" + filepath.Join(home, "pid"), "--init-file=" + init,
		"--local-infile=1", "--max-allowed-packet=1G", "--innodb-buffer-pool-size=256M",
		"--innodb-flush-log-at-trx-commit=2", "--default-time-zone=SYSTEM", "--skip-name-resolve",
	}
	if s.small {
		args = append(args, "--innodb-log-file-size=8M")
	}
	err = s.run(ctx, processSpec{
		name: "MariaDB", user: owner, path: find("mariadbd"), args: args,
		env:  []string{"TZ=" + s.zone}, // its own tables of zones are not loaded
		logs: []string{filepath.Join(home, "log")}, quit: syscall.SIGKILL,
	}, db.PingContext)
	if err != nil {
		return err
	}
	s.export("MY", "HOST", "127.0.0.1", "PORT", port, "USER", "dvt", "PASSWORD", password, "DATABASE", "dvt")
	return nil
}
