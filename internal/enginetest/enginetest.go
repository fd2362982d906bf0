// Package enginetest talks to the test servers through the engines' own drivers, so that
// tests prepare and judge data without the code under test. It is for tests only.
package enginetest

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // driver "duckdb"
	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "github.com/mattn/go-sqlite3"    // driver "sqlite3"
)

// DB is one engine to run statements on.
type DB struct {
	sql  *sql.DB
	http string // ClickHouse
}

// env reads a variable that the test command sets.
func env(name string) (string, error) {
	v := os.Getenv(name)
	if v == "" {
		return "", fmt.Errorf("%s is not set: run tests with 'make test', or 'bin/servers -- go test …', which start the servers", name)
	}
	return v, nil
}

func vars(prefix string, names ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, n := range names {
		v, err := env("DVT_TEST_" + prefix + "_" + n)
		if err != nil {
			return nil, err
		}
		out[n] = v
	}
	return out, nil
}

// Open connects to pg, my or ch of the test servers, or to sqlite or duckdb at path. Of
// pg.own and the like the variables are DVT_TEST_OWN_PG_….
func Open(engine, path string) (*DB, error) {
	engine, own, _ := strings.Cut(engine, ".")
	if own != "" {
		own = strings.ToUpper(own) + "_"
	}
	switch engine {
	case "pg":
		v, err := vars(own+"PG", "HOST", "PORT", "USER", "PASSWORD", "DATABASE")
		if err != nil {
			return nil, err
		}
		return open("pgx", fmt.Sprintf("postgres://%s:%s@%s:%s/%s", v["USER"], url.QueryEscape(v["PASSWORD"]), v["HOST"], v["PORT"], v["DATABASE"]))
	case "my":
		v, err := vars(own+"MY", "HOST", "PORT", "USER", "PASSWORD", "DATABASE")
		if err != nil {
			return nil, err
		}
		return open("mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?multiStatements=true&time_zone=%%27%%2B00:00%%27", v["USER"], v["PASSWORD"], v["HOST"], v["PORT"], v["DATABASE"]))
	case "ch":
		v, err := vars(own+"CH", "HOST", "HTTP_PORT", "USER", "PASSWORD", "DATABASE")
		if err != nil {
			return nil, err
		}
		q := url.Values{"user": {v["USER"]}, "password": {v["PASSWORD"]}, "database": {v["DATABASE"]}}
		return &DB{http: "http://" + v["HOST"] + ":" + v["HTTP_PORT"] + "/?" + q.Encode()}, nil
	case "sqlite":
		return open("sqlite3", "file:"+path)
	case "duckdb":
		return open("duckdb", path)
	}
	return nil, fmt.Errorf("unknown engine %q: expected pg, my, ch, sqlite or duckdb", engine)
}

func open(driver, dsn string) (*DB, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &DB{sql: db}, nil
}

// Close ends the connection.
func (d *DB) Close() error {
	if d.sql == nil {
		return nil
	}
	return d.sql.Close()
}

// Exec runs one statement, on PostgreSQL, MariaDB and SQLite also several.
func (d *DB) Exec(stmt string, args ...any) error {
	if d.sql == nil {
		_, err := d.post(stmt)
		return err
	}
	_, err := d.sql.Exec(stmt, args...)
	return err
}

// Query returns all rows as the engine's text; nil is NULL. ClickHouse gives \N as NULL.
func (d *DB) Query(query string) (names []string, rows [][]*string, err error) {
	if d.sql == nil {
		return d.queryHTTP(query)
	}
	res, err := d.sql.Query(query)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Close() }()
	if names, err = res.Columns(); err != nil {
		return nil, nil, err
	}
	for res.Next() {
		cells := make([]sql.NullString, len(names))
		to := make([]any, len(names))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := res.Scan(to...); err != nil {
			return nil, nil, err
		}
		row := make([]*string, len(names))
		for i := range cells {
			if cells[i].Valid {
				row[i] = &cells[i].String
			}
		}
		rows = append(rows, row)
	}
	return names, rows, res.Err()
}

// post sends a statement, or with data "INSERT …\n<rows>", to ClickHouse.
func (d *DB) post(body string) (string, error) {
	res, err := http.Post(d.http, "text/plain", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("clickhouse: %s", strings.TrimSpace(string(out)))
	}
	return string(out), err
}

func (d *DB) queryHTTP(query string) (names []string, rows [][]*string, err error) {
	out, err := d.post(query + " FORMAT TabSeparatedWithNames")
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<30)
	unescape := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\'`, `'`, `\0`, "\x00", `\r`, "\r", `\b`, "\b", `\f`, "\f")
	for lines.Scan() {
		var row []*string
		for _, f := range strings.Split(lines.Text(), "\t") {
			if f == `\N` {
				row = append(row, nil)
				continue
			}
			v := unescape.Replace(f)
			row = append(row, &v)
		}
		if names == nil {
			for _, n := range row {
				names = append(names, *n)
			}
			continue
		}
		rows = append(rows, row)
	}
	return names, rows, lines.Err()
}

// Text is one row per line, cells separated by tabs, NULL as NULL.
func Text(rows [][]*string) string {
	var b strings.Builder
	for _, row := range rows {
		for i, v := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			if v == nil {
				b.WriteString("NULL")
			} else {
				b.WriteString(*v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
