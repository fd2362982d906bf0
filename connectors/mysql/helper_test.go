package mysql

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// env reads one setting of the test server. A missing one fails the test: a suite
// that skips is a suite that passes.
func env(t testing.TB, name string) string {
	t.Helper()
	v := os.Getenv("DVT_TEST_MY_" + name)
	if v == "" {
		t.Fatalf("DVT_TEST_MY_%s is not set", name)
	}
	return v
}

func keys(t testing.TB) map[string]any {
	return map[string]any{"server": env(t, "HOST"), "port": env(t, "PORT"), "username": env(t, "USER"), "password": env(t, "PASSWORD")}
}

// connect opens a connection to a database of the test's own.
func connect(t testing.TB, more ...any) *Conn {
	t.Helper()
	k := keys(t)
	db := fmt.Sprintf("dvt_my_%d_%d", os.Getpid(), rand.Uint32())
	k["schema"] = db
	log := io.Discard
	for i := 0; i+1 < len(more); i += 2 {
		if w, ok := more[i+1].(io.Writer); ok {
			log = w
			continue
		}
		k[more[i].(string)] = more[i+1]
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	conn, err := Open(connectors.Output{Name: "test", Type: "mariadb", Keys: k}, connectors.Env{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c := conn.(*Conn)
	c.alloc = alloc
	ctx := context.Background()
	if err := c.ensureDatabase(ctx, db); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Exec(ctx, "USE mysql; DROP DATABASE "+quote(db)); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		alloc.AssertSize(t, 0)
	})
	return c
}

func execSQL(t testing.TB, c *Conn, sql string) {
	t.Helper()
	if err := c.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", connectors.Shorten(sql), err)
	}
}

// query reads a small result as the server's own text; NULL is "NULL".
func query(t testing.TB, c *Conn, sql string) [][]string {
	t.Helper()
	var out [][]string
	err := c.with(context.Background(), func(s *session) error {
		rows, err := s.rows(context.Background(), sql)
		for _, r := range rows {
			line := make([]string, len(r))
			for i, v := range r {
				line[i] = v.s
				if v.null {
					line[i] = "NULL"
				}
			}
			out = append(out, line)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func describe(t testing.TB, c *Conn, name string) *connectors.Table {
	t.Helper()
	tab, err := c.Describe(context.Background(), connectors.Relation{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// all is the extract of a whole table.
func all(c *Conn, tab *connectors.Table) connectors.Query {
	e := connectors.Extract{Table: tab, Limit: -1}
	for i := range tab.Columns {
		e.Columns = append(e.Columns, i)
	}
	return connectors.Query{SQL: c.Dialect().Select(e), Columns: tab.Columns}
}

// read collects a query's values as texts.
func read(t testing.TB, c *Conn, q connectors.Query) [][]string {
	t.Helper()
	out, err := tryRead(c, q)
	if err != nil {
		t.Fatalf("%s: %v", q.SQL, err)
	}
	return out
}

func tryRead(c *Conn, q connectors.Query) ([][]string, error) {
	var out [][]string
	err := c.Read(context.Background(), q, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			line := make([]string, rec.NumCols())
			for k := range line {
				line[k] = cellText(q.Columns[k].Type, rec.Column(k), i)
			}
			out = append(out, line)
		}
		return nil
	})
	return out, err
}

// cellText spells a value as MariaDB does, by way of the target's encoder, which is
// checked against the server on its own.
func cellText(typ connectors.Type, arr arrow.Array, i int) string {
	if arr.IsNull(i) {
		return "NULL"
	}
	f, err := newField(&target{col: connectors.Column{Type: typ}, nat: native{args: "6"}})
	if err != nil {
		return err.Error()
	}
	b, reason := f.bind(arr)(nil, i)
	if reason != "" {
		return reason
	}
	return string(b)
}

// stage loads recs into a table by way of Stage and Replace.
func stage(t testing.TB, c *Conn, name string, cols []connectors.Column, opts connectors.TargetOptions, recs ...arrow.RecordBatch) {
	t.Helper()
	if err := tryStage(c, name, cols, opts, recs...); err != nil {
		t.Fatal(err)
	}
}

func tryStage(c *Conn, name string, cols []connectors.Column, opts connectors.TargetOptions, recs ...arrow.RecordBatch) (err error) {
	ctx := context.Background()
	rel := connectors.Relation{Name: name}
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: "run" + strconv.FormatInt(time.Now().UnixNano()%1e6, 10), Target: rel, Columns: cols, Options: opts})
	if err != nil {
		return err
	}
	defer func() {
		if derr := st.Discard(ctx); err == nil {
			err = derr
		}
	}()
	want := int64(0)
	for _, r := range recs {
		if err := st.Write(ctx, r); err != nil {
			return err
		}
		want += r.NumRows()
	}
	n, err := st.Seal(ctx)
	if err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d rows staged, %d written", n, want)
	}
	return c.Replace(ctx, st)
}

// leftovers are the tables of dvt's own in the test's database.
func leftovers(t testing.TB, c *Conn) []string {
	t.Helper()
	var out []string
	for _, r := range query(t, c, "SHOW TABLES") {
		if strings.HasPrefix(r[0], stagingPrefix) {
			out = append(out, r[0])
		}
	}
	return out
}
