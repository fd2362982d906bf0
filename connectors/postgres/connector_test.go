package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestPing(t *testing.T) {
	d := open(t, nil)
	info, err := d.Ping(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := "PostgreSQL " + strings.Fields(d.text("SHOW server_version"))[0]; info.Version != want {
		t.Errorf("version %q, want %q", info.Version, want)
	}
}

// TestConnectErrors: one line that says what is wrong, and no secret.
func TestConnectErrors(t *testing.T) {
	secret := "s3cr3t pa'ss\\word"
	for _, tc := range []struct {
		name string
		keys map[string]any
		want string
	}{
		{"wrong password", map[string]any{"password": secret}, "password authentication failed"},
		{"refused", map[string]any{"port": 1}, "refused"},
		{"unknown host", map[string]any{"host": "no-such-host.invalid"}, "no-such-host.invalid"},
		{"missing database", map[string]any{"dbname": "no_such_db"}, `database "no_such_db" does not exist`},
		{"missing user", map[string]any{"user": "nobody_here", "password": secret}, "nobody_here"},
		{"no TLS there", map[string]any{"sslmode": "require"}, "refused TLS"},
		{"missing role", map[string]any{"role": "no_such_role"}, "no_such_role"},
		{"missing socket", map[string]any{"host": "/nonexistent"}, "no such file"},
	} {
		out := testOutput(t)
		for k, v := range tc.keys {
			out.Keys[k] = v
		}
		c, err := Open(out, connectors.Env{ConnectTimeout: 3 * time.Second})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		_, err = c.Ping(context.Background())
		var ce *connectors.ConnectError
		if !errors.As(err, &ce) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc.want)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tc.name, err)
		}
		for _, s := range connectors.SecretValues(out) {
			if err != nil && strings.Contains(err.Error(), s) {
				t.Errorf("%s: the password is in %q", tc.name, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, tc := range []struct {
		keys map[string]any
		want string
	}{
		{map[string]any{"user": "u", "dbname": "d"}, "host is missing"},
		{map[string]any{"host": "h", "dbname": "d"}, "user is missing"},
		{map[string]any{"host": "h", "user": "u"}, "dbname is missing"},
		{map[string]any{"host": "h", "user": "u", "dbname": "d", "port": "http"}, "port"},
		{map[string]any{"host": "h", "user": "u", "dbname": "d", "connect_timeout": "soon"}, "connect_timeout"},
		{map[string]any{"host": "h", "user": "u", "dbname": "d", "nul_bytes": "maybe"}, "nul_bytes"},
		{map[string]any{"host": "h", "user": "u", "dbname": "d", "sslmode": "sometimes", "password": "hush"}, "sslmode"},
		{map[string]any{"host": "h", "user": "u", "database": "d", "pass": "p", "port": 5433, "keepalives_idle": 0, "threads": 4, "unknown": []any{1}}, ""},
	} {
		c, err := Open(connectors.Output{Name: "o", Keys: tc.keys}, connectors.Env{})
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%v: %v", tc.keys, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%v: %v", tc.keys, err)
		}
		if c != nil {
			_ = c.Close()
		}
	}
	k, err := connectors.Lookup("postgresql")
	if err != nil || k.DefaultSchema(connectors.Output{}) != "public" || k.DefaultSchema(connectors.Output{Keys: map[string]any{"schema": "s"}}) != "s" {
		t.Errorf("registered: %v", err)
	}
}

// TestSession: what every session has forced, and that Exec leaves nothing behind.
func TestSession(t *testing.T) {
	d := open(t, map[string]any{"search_path": "pg_catalog, public", "application_name": "my app"})
	ctx := context.Background()
	show := "SELECT current_setting(n) FROM unnest(array['TimeZone', 'DateStyle', 'IntervalStyle', 'client_encoding', 'jit', 'search_path', 'application_name', 'transaction_read_only']) n"
	read := func() string {
		var all []string
		for _, r := range d.read(connectors.Query{SQL: show, Columns: []connectors.Column{textCol}}) {
			for i := range int(r.NumRows()) {
				all = append(all, r.Column(0).ValueStr(i))
			}
			r.Release()
		}
		return strings.Join(all, " | ")
	}
	want := "UTC | ISO, YMD | postgres | UTF8 | off | pg_catalog, public | my app | on"
	if got := read(); got != want {
		t.Errorf("session: %s", got)
	}
	if err := d.Exec(ctx, "SET TimeZone = 'Asia/Tokyo'; SET search_path = x; CREATE TEMP TABLE tmp (a int); SELECT pg_advisory_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != want {
		t.Errorf("after Exec: %s", got)
	}
	d.want("0", "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711")
	var st *connectors.StatementError
	if err := d.Exec(ctx, "SELECT 1; SELECT nope"); !errors.As(err, &st) || st.Position != strings.Index("SELECT 1; SELECT nope", "nope") {
		t.Errorf("several statements: %v", err)
	}
	if err := d.Exec(ctx, "SELECT * FROM no_such_table"); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("a missing table: %v", err)
	}
	if err := d.Exec(ctx, "BEGIN; CREATE TABLE "+d.schema+".half (a int)"); err == nil {
		d.want("NULL", "SELECT to_regclass($1)::text", d.schema+".half")
	}
}

func TestQueryTimeout(t *testing.T) {
	c, err := Open(testOutput(t), connectors.Env{QueryTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Exec(context.Background(), "SELECT pg_sleep(10)"); err == nil || !strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("a long statement: %v", err)
	}
}

func TestLock(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	rel, other := d.rel("t"), d.rel("u")
	release, err := d.Lock(ctx, rel, 0, func() { t.Error("the first waits") })
	if err != nil {
		t.Fatal(err)
	}
	free, err := d.Lock(ctx, other, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	free()
	waits := 0
	_, err = d.Lock(ctx, rel, 700*time.Millisecond, func() { waits++ })
	var locked *connectors.LockedError
	if !errors.As(err, &locked) || locked.Relation != rel || waits != 1 {
		t.Errorf("a held lock: %v, waited %d times", err, waits)
	}
	if _, err = d.Lock(ctx, rel, 0, func() { t.Error("waiting with no time to wait") }); !errors.As(err, &locked) {
		t.Errorf("no wait: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err = d.Lock(short, rel, time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		r, err := d.Lock(ctx, connectors.Relation{Name: "t"}, 10*time.Second, nil)
		if err == nil {
			r()
		}
		got <- err
	}()
	time.Sleep(50 * time.Millisecond)
	release()
	release() // harmless
	if err := <-got; err != nil {
		t.Errorf("a lock given up: %v", err)
	}
	d.want("true", "SELECT pg_try_advisory_lock($1::text::int8)::text", lockKey(rel))
}
