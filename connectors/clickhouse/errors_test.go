package clickhouse

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

func TestConnectErrors(t *testing.T) {
	quiet, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quiet.Close() }()
	for _, driver := range drivers() {
		for _, c := range []struct {
			name, want string
			change     func(k map[string]any)
		}{
			{"wrong password", "password", func(k map[string]any) { k["password"] = "s3cret-wrong" }},
			{"unknown user", "user", func(k map[string]any) { k["user"] = "nobody_here" }},
			{"refused", "connection refused", func(k map[string]any) { k["port"] = 1 }},
			{"unknown host", "unknown host no-such-host.invalid", func(k map[string]any) { k["host"] = "no-such-host.invalid" }},
			{"missing database", `there is no database "no_such_db"`, func(k map[string]any) { k["schema"] = "no_such_db" }},
			{"silent server", "no answer within connect_timeout", func(k map[string]any) { k["port"] = quiet.Addr().(*net.TCPAddr).Port }},
			{"the other port", "set driver: ", func(k map[string]any) {
				k["port"] = serverOutput(t, map[string]string{"native": "http", "http": "native"}[driver], "default").Keys["port"]
			}},
		} {
			t.Run(driver+"/"+c.name, func(t *testing.T) {
				out := serverOutput(t, driver, "default")
				c.change(out.Keys)
				conn := openConn(t, out)
				conn.cfg.connectTimeout = 400 * time.Millisecond
				_, err := conn.Ping(context.Background())
				var ce *connectors.ConnectError
				if !errors.As(err, &ce) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) {
					t.Fatalf("got %v, want a *ConnectError about %q", err, c.want)
				}
				for _, secret := range []string{"s3cret-wrong", env(t, "PASSWORD"), "\n"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%q in %q", secret, err)
					}
				}
				t.Log(err)
			})
		}
	}
}

func TestStatementErrors(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		err := f.Exec(ctx, "SELEC 1")
		var se *connectors.StatementError
		if !errors.As(err, &se) || se.Position < 0 || se.SQL != "SELEC 1" {
			t.Errorf("%#v", err)
		}
		err = f.Exec(ctx, "SELECT no_such_function(1)")
		if !errors.As(err, &se) || !strings.Contains(err.Error(), "no_such_function") {
			t.Errorf("%v", err)
		}
		for _, rel := range []connectors.Relation{f.rel("missing"), {Schema: "no_such_db", Name: "t"}} {
			if _, err := f.Describe(ctx, rel); !errors.Is(err, connectors.ErrNotFound) {
				t.Errorf("describe %s: %v", rel, err)
			}
			_, err := readRows(f.conn, connectors.Query{SQL: "SELECT 1 FROM " + f.Dialect().Relation(rel)})
			if !errors.Is(err, connectors.ErrNotFound) || !errors.As(err, &se) {
				t.Errorf("read %s: %v", rel, err)
			}
		}
		// The session is good, or replaced, after each error.
		if err := f.Exec(ctx, "SELECT 1"); err != nil {
			t.Error(err)
		}
	})
}

// A query that fails after its first blocks must not look like a short result.
func TestErrorInTheMiddle(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		var rows int64
		q := connectors.Query{SQL: "SELECT throwIf(number > 300000) FROM system.numbers LIMIT 1000000", Columns: cols("x", connectors.UTinyInt)}
		if env(t, "HOST") != "" && f.lacks("throwIf") {
			q.SQL = "SELECT toUInt8(intDiv(1, number < 300000)) FROM system.numbers LIMIT 1000000"
		}
		err := f.Read(context.Background(), q, func(rec arrow.RecordBatch) error { rows += rec.NumRows(); return nil })
		if err == nil || rows >= 1000000 {
			t.Fatalf("%d rows, %v", rows, err)
		}
		t.Logf("after %d rows: %v", rows, err)
	})
}

func (f *fixture) lacks(function string) bool {
	f.t.Helper()
	return strings.TrimSpace(f.post("SELECT count() FROM system.functions WHERE name = '"+function+"'")) == "0"
}

// Sessions for reading cannot write.
func TestReadOnly(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.exec("CREATE TABLE " + f.db + ".t (a Int8) ENGINE = Memory")
		_, err := readRows(f.conn, connectors.Query{SQL: "INSERT INTO " + f.db + ".t SELECT 1"})
		if !isCode(err, codeReadonly) {
			t.Errorf("an INSERT in a read session: %v", err)
		}
	})
}

// A cancelled statement is gone from the server when the call returns.
func TestCancel(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(context.Background())
		marker := "dvt_cancel_" + f.db
		for name, run := range map[string]func(ctx context.Context) error{
			"read": func(ctx context.Context) error {
				return f.Read(ctx, connectors.Query{SQL: "SELECT max(cityHash64('" + marker + "', number)) FROM system.numbers", Columns: cols("x", connectors.UBigInt)}, func(arrow.RecordBatch) error { return nil })
			},
			"exec": func(ctx context.Context) error {
				return f.Exec(ctx, "SELECT max(cityHash64('"+marker+"', number)) FROM system.numbers")
			},
		} {
			ctx, cancel = context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- run(ctx) }()
			f.waitFor(marker, true)
			start := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			f.waitFor(marker, false)
			t.Logf("%s: cancelled and gone after %s", name, time.Since(start).Round(time.Millisecond))
		}
		cancel()
	})
}

// waitFor waits until a query with the marker runs, or does not run, on the server.
func (f *fixture) waitFor(marker string, running bool) {
	f.t.Helper()
	for range 200 {
		n := strings.TrimSpace(f.post("SELECT count() FROM system.processes WHERE query LIKE '%" + marker + "%' AND query NOT LIKE '%system.processes%'"))
		if (n != "0") == running {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("a query with %s: running is not %v after 2 s", marker, running)
}

func TestQueryTimeout(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.cfg.queryTimeout = 200 * time.Millisecond
		err := f.Exec(context.Background(), "SELECT max(cityHash64(number)) FROM system.numbers")
		f.cfg.queryTimeout = 0
		if err == nil || !strings.Contains(err.Error(), "query_timeout") {
			t.Errorf("got %v", err)
		}
	})
}
