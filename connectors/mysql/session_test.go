package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.uber.org/goleak"

	"github.com/dvt-dev/dvt/connectors"
)

func TestMain(m *testing.M) {
	if db := os.Getenv(childEnv); db != "" {
		fmt.Println(child(db))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, change map[string]any, e connectors.Env) *Conn {
	t.Helper()
	k := keys(t)
	for n, v := range change {
		k[n] = v
	}
	c, err := Open(connectors.Output{Name: "x", Type: "mysql", Keys: k}, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.(*Conn)
}

func TestPing(t *testing.T) {
	info, err := open(t, nil, connectors.Env{}).Ping(context.Background())
	if err != nil || !strings.HasPrefix(info.Version, "MariaDB 10.") {
		t.Errorf("%q, %v", info.Version, err)
	}
}

func TestConnectErrors(t *testing.T) {
	// A server that accepts and says nothing.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	port := strconv.Itoa(silent.Addr().(*net.TCPAddr).Port)
	quick := connectors.Env{ConnectTimeout: 300 * time.Millisecond}
	for _, tc := range []struct {
		name   string
		change map[string]any
		env    connectors.Env
		want   string
	}{
		{"password", map[string]any{"password": "s3cret-wrong"}, connectors.Env{}, "Access denied for user"},
		{"refused", map[string]any{"port": 1}, connectors.Env{}, "connection refused"},
		{"host", map[string]any{"server": "no-such-host.invalid"}, connectors.Env{}, "unknown host no-such-host.invalid"},
		{"database", map[string]any{"schema": "no_such_database"}, connectors.Env{}, "Unknown database 'no_such_database'"},
		{"silent", map[string]any{"port": port}, quick, "no answer within 300ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, tc.change, tc.env)
			_, err := c.Ping(context.Background())
			var cerr *connectors.ConnectError
			if !errors.As(err, &cerr) || !strings.Contains(err.Error(), tc.want) || strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), env(t, "PASSWORD")+"@")) {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

func TestStatementErrors(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	if _, err := c.Describe(ctx, connectors.Relation{Name: "nope"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("describing a missing table: %v", err)
	}
	if _, err := c.Describe(ctx, connectors.Relation{Schema: "no_such_database", Name: "nope"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("describing in a missing database: %v", err)
	}
	execSQL(t, c, "CREATE TABLE `Case` (x int)")
	if _, err := c.Describe(ctx, connectors.Relation{Name: "case"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("another spelling: %v", err)
	}
	_, err := tryRead(c, connectors.Query{SQL: "SELECT * FROM nope"})
	var serr *connectors.StatementError
	if !errors.As(err, &serr) || !errors.Is(err, connectors.ErrNotFound) || serr.SQL != "SELECT * FROM nope" {
		t.Errorf("reading a missing table: %v", err)
	}
	if err := c.Exec(ctx, "SELECT 1; SELECT nonsense"); !errors.As(err, &serr) || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("the second of two statements: %v", err)
	}
	if _, err := tryRead(c, connectors.Query{SQL: "DELETE FROM `Case`"}); err == nil {
		t.Error("a read deleted")
	}
	// A cardinality error comes after the first rows.
	execSQL(t, c, "INSERT INTO `Case` VALUES (1), (2), (3)")
	if _, err := tryRead(c, connectors.Query{SQL: "SELECT x, IF(x = 3, (SELECT x FROM `Case`), 0) FROM `Case`", Columns: []connectors.Column{
		column("x", connectors.T(connectors.Integer)), column("y", connectors.T(connectors.Integer))}}); !errors.As(err, &serr) {
		t.Errorf("an error among the rows: %v", err)
	}
	if _, err := tryRead(c, connectors.Query{SQL: "SELECT 1, 2", Columns: []connectors.Column{column("x", connectors.T(connectors.Integer))}}); err == nil {
		t.Error("two columns were read as one")
	}
}

// statements is how many sessions run a statement with mark in it.
func statements(t *testing.T, c *Conn, mark string) int {
	t.Helper()
	n := 0
	for _, r := range query(t, c, "SELECT INFO FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Sleep'") {
		if strings.Contains(r[0], mark) && !strings.Contains(r[0], "PROCESSLIST") {
			n++
		}
	}
	return n
}

// ends waits until the server runs nothing with mark any more.
func ends(t *testing.T, c *Conn, mark string) {
	t.Helper()
	for range 40 {
		if statements(t, c, mark) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the server still runs a statement with %s", mark)
}

func TestCancel(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE big (x bigint, pad varchar(200)); INSERT INTO big SELECT seq, REPEAT('x', 200) FROM seq_1_to_60000")
	tab := describe(t, c, "big")
	big := all(c, tab)
	mark := "/* " + c.schema + " */"
	one := []connectors.Column{column("x", connectors.T(connectors.BigInt))}
	stop := errors.New("enough")
	cases := []struct {
		name string
		want error
		run  func(ctx context.Context, cancel func()) error
	}{
		{"exec", context.Canceled, func(ctx context.Context, cancel func()) error {
			time.AfterFunc(200*time.Millisecond, cancel)
			return c.Exec(ctx, "SELECT "+mark+" SLEEP(30)")
		}},
		{"before the first row", context.Canceled, func(ctx context.Context, cancel func()) error {
			time.AfterFunc(200*time.Millisecond, cancel)
			return c.Read(ctx, connectors.Query{SQL: "SELECT " + mark + " SUM(a.x * b.x) FROM big a, big b", Columns: one}, func(arrow.RecordBatch) error { return nil })
		}},
		{"among the rows", context.Canceled, func(ctx context.Context, cancel func()) error {
			return c.Read(ctx, connectors.Query{SQL: strings.Replace(big.SQL, "SELECT", "SELECT "+mark, 1) + ", seq_1_to_100000", Columns: big.Columns}, func(arrow.RecordBatch) error {
				cancel()
				return nil
			})
		}},
		{"the consumer stops", stop, func(ctx context.Context, _ func()) error {
			return c.Read(ctx, connectors.Query{SQL: strings.Replace(big.SQL, "SELECT", "SELECT "+mark, 1) + ", seq_1_to_100000", Columns: big.Columns}, func(arrow.RecordBatch) error { return stop })
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			begin := time.Now()
			if err := tc.run(ctx, cancel); !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("it took %s", d)
			}
			ends(t, c, mark)
		})
	}
	if got := query(t, c, "SELECT COUNT(*) FROM big")[0][0]; got != "60000" {
		t.Errorf("a later statement gives %s", got)
	}
}

func TestCancelLoad(t *testing.T) {
	c := connect(t)
	cols := []connectors.Column{column("s", connectors.T(connectors.Varchar))}
	rec := batch(t, c, cols, func(b *array.RecordBuilder) {
		for range 5000 {
			b.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", 1000))
		}
	})
	for _, wait := range []int{1, 5} {
		ctx, cancel := context.WithCancel(context.Background())
		st, err := c.Stage(ctx, connectors.StageSpec{RunID: "c", Target: connectors.Relation{Name: "t"}, Columns: cols})
		if err != nil {
			t.Fatal(err)
		}
		for range wait {
			if err := st.Write(ctx, rec); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if err := st.Write(ctx, rec); !errors.Is(err, context.Canceled) {
			t.Errorf("writing after the cancellation: %v", err)
		}
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
		ends(t, c, st.(*staging).rel.Name)
		if l := leftovers(t, c); len(l) > 0 {
			t.Errorf("left behind: %v", l)
		}
	}
}

func TestQueryTimeout(t *testing.T) {
	c := connect(t)
	c.queryTimeout = 200 * time.Millisecond
	err := c.Exec(context.Background(), "SELECT SLEEP(20)")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "query_timeout of 200ms") {
		t.Errorf("got %v", err)
	}
	c.queryTimeout = 0
}

// TestSessionState: nothing of the server's configuration reaches the statements.
func TestSessionState(t *testing.T) {
	c := connect(t)
	got := query(t, c, "SELECT @@time_zone, @@character_set_client, @@character_set_results, @@sql_mode, @@sql_select_limit, @@tx_isolation")[0]
	if got[0] != "+00:00" || got[1] != "utf8mb4" || got[2] != "utf8mb4" || got[4] != "18446744073709551615" || got[5] != "REPEATABLE-READ" {
		t.Errorf("session: %v", got)
	}
	for _, mode := range []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "NO_ZERO_DATE", "PAD_CHAR"} {
		if strings.Contains(got[3], mode) {
			t.Errorf("sql_mode has %s", mode)
		}
	}
	if err := c.Exec(context.Background(), "SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES'; USE mysql"); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT @@time_zone, DATABASE()")[0]; got[0] != "+00:00" || got[1] != c.schema {
		t.Errorf("a hook's settings stayed: %v", got)
	}
}

func TestSnapshot(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	execSQL(t, c, "CREATE TABLE s (x int); INSERT INTO s VALUES (1)")
	snap, err := c.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, c, "INSERT INTO s VALUES (2)")
	q := all(c, describe(t, c, "s"))
	for range 2 {
		rows := 0
		if err := snap.Read(ctx, q, func(r arrow.RecordBatch) error { rows += int(r.NumRows()); return nil }); err != nil || rows != 1 {
			t.Errorf("the snapshot has %d rows, %v", rows, err)
		}
		execSQL(t, c, "INSERT INTO s VALUES (3)")
	}
	if snap.Parallel() {
		t.Error("one session cannot read twice at once")
	}
	if err := errors.Join(snap.Close(), snap.Close()); err != nil {
		t.Error(err)
	}
	if err := snap.Read(ctx, q, nil); err == nil {
		t.Error("a closed snapshot reads")
	}
}

func TestLock(t *testing.T) {
	a, b := connect(t), connect(t)
	b.schema = a.schema
	ctx := context.Background()
	rel := connectors.Relation{Name: strings.Repeat("x", 64)}
	release, err := a.Lock(ctx, rel, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	var locked *connectors.LockedError
	if _, err := b.Lock(ctx, rel, 1200*time.Millisecond, func() { waited++ }); !errors.As(err, &locked) || waited != 1 {
		t.Errorf("got %v, waiting called %d times", err, waited)
	}
	other, err := b.Lock(ctx, connectors.Relation{Name: "another"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	other()
	cctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := b.Lock(cctx, rel, time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled wait: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, release)
	again, err := b.Lock(ctx, rel, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
	again()
	release()
}

// TestLockSessions: models locked one after the other share a session, which is replaced
// when the server has closed it; models locked at once have one each.
func TestLockSessions(t *testing.T) {
	c, other := connect(t), connect(t)
	ctx := context.Background()
	locked := func(name string) (uint64, func()) {
		rel := c.at(connectors.Relation{Name: name})
		release, err := c.Lock(ctx, rel, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := c.locks.Load(rel)
		if !ok {
			t.Fatal("the lock is not known")
		}
		return s.(*session).id, release
	}
	first, release := locked("a")
	beside, releaseBeside := locked("b")
	if first == beside {
		t.Error("two locks in one session")
	}
	releaseBeside()
	release()
	again, release := locked("a")
	if again != first {
		t.Errorf("session %d, want %d again", again, first)
	}
	free, err := other.Lock(ctx, connectors.Relation{Schema: c.schema, Name: "b"}, 0, nil)
	if err != nil {
		t.Fatalf("a released lock is held: %v", err)
	}
	free()
	release()
	for _, s := range c.idleLocks {
		if err := other.Exec(ctx, fmt.Sprintf("KILL CONNECTION %d", s.id)); err != nil {
			t.Fatal(err)
		}
	}
	_, release = locked("a")
	release()
	if err := c.Close(); err != nil || len(c.idleLocks) > 0 {
		t.Error("sessions stay open", err)
	}
}

func TestSettings(t *testing.T) {
	base := func(more ...any) map[string]any {
		k := map[string]any{"server": "h"}
		for i := 0; i < len(more); i += 2 {
			k[more[i].(string)] = more[i+1]
		}
		return k
	}
	for _, tc := range []struct {
		keys map[string]any
		want string
	}{
		{map[string]any{}, "server (or host) is missing"},
		{base("port", "x"), "port"},
		{base("zero_dates", "keep"), "zero_dates"},
		{base("tinyint1_is_bool", "maybe"), "tinyint1_is_bool"},
		{base("ssl_disabled", true, "ssl_ca", "x"), "contradicts"},
		{base("ssl_ca", "/no/such/file"), "ssl_ca"},
		{base("ssl_verify_identity", true), "needs ssl_ca"},
		{base(), ""},
		{base("zero_dates", nil, "port", 3307, "ssl_disabled", "true"), ""},
	} {
		_, err := Open(connectors.Output{Name: "o", Type: "mysql", Keys: tc.keys}, connectors.Env{Log: slog.Default()})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v", tc.keys, err)
		}
	}
	k, err := connectors.Lookup("MariaDB")
	if err != nil || k.DefaultSchema(connectors.Output{Keys: base("schema", "s")}) != "s" {
		t.Errorf("lookup: %v", err)
	}
	c, err := Open(connectors.Output{Name: "o", Type: "mysql", Keys: base("server", "h", "port", 3307)}, connectors.Env{})
	if err != nil || c.(*Conn).where != "mysql h:3307" || c.(*Conn).cfg.TLSConfig != "preferred" {
		t.Error("defaults", err)
	}
}

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]string{
		"10.11.19-MariaDB-0+deb12u1": "mariadb 10.11.19", "5.5.5-10.6.12-MariaDB": "mariadb 10.6.12", "8.0.36-28.1": "mysql 8.0.36", "9.1.0": "mysql 9.1.0",
	} {
		if v := parseVersion(s); fmt.Sprintf("%s %d.%d.%d", v.engine, v.major, v.minor, v.patch) != want {
			t.Errorf("%s is %+v", s, v)
		}
	}
}
