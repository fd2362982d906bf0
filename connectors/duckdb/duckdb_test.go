package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
)

var bg = context.Background()

func newEngine(t testing.TB) *compute.Engine {
	t.Helper()
	e, err := compute.Open(compute.Config{MemoryLimit: 512 << 20, Threads: 2, TempDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// at opens the output of a file in a folder of its own.
func at(t testing.TB, e *compute.Engine, path string, keys ...any) *conn {
	t.Helper()
	out := connectors.Output{Name: "lake", Type: "duckdb", Keys: map[string]any{"path": path}}
	for i := 0; i+1 < len(keys); i += 2 {
		out.Keys[keys[i].(string)] = keys[i+1]
	}
	env := connectors.Env{ProjectDir: t.TempDir(), Engine: func(context.Context) (connectors.Engine, error) { return e, nil }}
	c, err := open(out, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t testing.TB, c *conn, sql string) {
	t.Helper()
	if err := c.Exec(bg, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask gives the rows of a query as text.
func ask(t testing.TB, c *conn, sql string) []string {
	t.Helper()
	s, err := c.session(bg, reading)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out []string
	err = s.Query(bg, sql, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			var parts []string
			for _, col := range rec.Columns() {
				parts = append(parts, col.ValueStr(i))
			}
			out = append(out, strings.Join(parts, "|"))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// stage fills a staging relation with the rows of a SELECT.
func stage(t testing.TB, e *compute.Engine, c *conn, spec connectors.StageSpec, sql string) connectors.Staging {
	t.Helper()
	s, err := e.Session(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if spec.Columns == nil {
		if spec.Columns, err = s.Columns(bg, sql); err != nil {
			t.Fatal(err)
		}
	}
	spec.RunID = "0123-4567-89"
	st, err := c.Stage(bg, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Discard(bg); err != nil {
			t.Error(err)
		}
	})
	sent := int64(0)
	err = s.Query(bg, sql, func(rec arrow.RecordBatch) error {
		sent += rec.NumRows()
		return st.Write(bg, rec)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.Seal(bg); n != sent || err != nil {
		t.Fatalf("%d of %d rows: %v", n, sent, err)
	}
	return st
}

func replace(t testing.TB, e *compute.Engine, c *conn, spec connectors.StageSpec, sql string) {
	t.Helper()
	st := stage(t, e, c, spec, sql)
	if err := c.Replace(bg, st); err != nil {
		t.Fatal(err)
	}
	if err := st.Discard(bg); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, path := range []any{"", ":memory:", ":memory:x", "s3://b/x.duckdb", "md:x", nil} {
		if _, err := open(connectors.Output{Name: "o", Keys: map[string]any{"path": path}}, connectors.Env{}); err == nil {
			t.Errorf("path %v was accepted", path)
		}
	}
}

func TestMissingFile(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "none.duckdb"))
	if _, err := c.Describe(bg, connectors.Relation{Name: "t"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := c.Inline(bg, connectors.Query{}); !errors.Is(err, connectors.ErrNotFound) {
		t.Error(err)
	}
	if info, err := c.Ping(bg); err != nil || !strings.Contains(info.Version, "will be created") {
		t.Error(info, err)
	}
	if err := c.CleanStaging(bg, connectors.Relation{Name: "t"}); err != nil {
		t.Error(err)
	}
	replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Schema: "new schema", Name: "t"}}, "SELECT 1 AS a")
	if got := ask(t, c, `SELECT * FROM "new schema".t`); got[0] != "1" {
		t.Error(got)
	}
	if info, err := c.Ping(bg); err != nil || !strings.HasPrefix(info.Version, "DuckDB 1.") || strings.Contains(info.Version, "created") {
		t.Error(info, err)
	}
	away := at(t, e, filepath.Join(t.TempDir(), "no", "such", "folder.duckdb"))
	if _, err := away.Ping(bg); err == nil {
		t.Error("a folder that does not exist was accepted")
	}
	dir := at(t, e, t.TempDir())
	if _, err := dir.Ping(bg); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	c := at(t, newEngine(t), filepath.Join(t.TempDir(), "a b.duckdb"))
	run(t, c, `CREATE SCHEMA s; CREATE TABLE s.T (id BIGINT, "Odd ""n" VARCHAR NOT NULL, e ENUM('x','it''s'), u UHUGEINT, ts TIMESTAMP_S, d DECIMAL(9,2), l JSON[], PRIMARY KEY (id, d));
		INSERT INTO s.T VALUES (1, 'a', 'x', 5, '2020-01-01', 1.5, NULL); CREATE VIEW v AS SELECT id, now() AS at FROM s.T; CREATE TABLE n (c VARCHAR COLLATE NOCASE, i INT)`)
	tab, err := c.Describe(bg, connectors.Relation{Schema: "S", Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, col := range tab.Columns {
		got = append(got, fmt.Sprintf("%s %s %s %v", col.Name, col.Type, col.Native, col.Nullable))
	}
	want := `id BIGINT BIGINT false;Odd "n VARCHAR VARCHAR false;e VARCHAR ENUM('x', 'it''s') true;u INVALID UHUGEINT true;ts TIMESTAMP TIMESTAMP_S true;d DECIMAL(9,2) DECIMAL(9,2) false;l JSON[] JSON[] true`
	if s := strings.Join(got, ";"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if tab.View || tab.Schema != "s" || tab.Name != "T" || fmt.Sprint(tab.PrimaryKey) != "[id d]" || tab.RowEstimate != 1 {
		t.Errorf("%+v", tab)
	}
	view, err := c.Describe(bg, connectors.Relation{Name: "v"})
	if err != nil || !view.View || len(view.Columns) != 2 || view.Columns[1].Type.Kind != connectors.TimestampTZ {
		t.Errorf("%+v %v", view, err)
	}
	n, err := c.Describe(bg, connectors.Relation{Name: "n"})
	if err != nil || n.Columns[0].Collation == "" {
		t.Errorf("%+v %v", n, err)
	}
	p := &connectors.Pred{Kind: connectors.PCmp, Op: "<>", Vals: []connectors.Value{{Type: connectors.T(connectors.Varchar), Text: "abc"}}}
	if a := c.Dialect().Leaf(p, n); a.Verdict != connectors.No {
		t.Errorf("a comparison under NOCASE was sent: %+v", a)
	}
	if _, err := c.Describe(bg, connectors.Relation{Name: "missing"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Error(err)
	}
}

// TestStatistics: numbers of values as DuckDB keeps them, of whatever type.
func TestStatistics(t *testing.T) {
	c := at(t, newEngine(t), filepath.Join(t.TempDir(), "stats.duckdb"))
	run(t, c, `CREATE TABLE t AS SELECT i AS id, i % 7 AS k, 'n' || (i % 100) AS s, {'a': i} AS st, [i] AS l, i::UHUGEINT AS u, (i % 2 = 0)::VARCHAR::ENUM('true', 'false') AS e FROM range(10000) r(i);
		CREATE TABLE empty (id INT)`)
	tab, err := c.Describe(bg, connectors.Relation{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{10000, 7, 100, 0, 0} {
		if n := tab.Stat(i).Distinct; n < want*3/4 || n > want*5/4 {
			t.Errorf("%s: %d values, want about %d", tab.Columns[i].Name, n, want)
		}
	}
	if tab.Stable {
		t.Error("a DuckDB file gives no snapshot of several reads")
	}
	if tab, err = c.Describe(bg, connectors.Relation{Name: "empty"}); err != nil || tab.Stat(0).Distinct != 0 {
		t.Errorf("%v %v", tab, err)
	}
}

func TestReadAndInline(t *testing.T) {
	e := newEngine(t)
	path := filepath.Join(t.TempDir(), "src.duckdb")
	c := at(t, e, path)
	run(t, c, `CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END::ENUM('a','b') AS e, i * 1.5 AS d FROM range(50000) r(i)`)
	tab, err := c.Describe(bg, connectors.Relation{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	d := c.Dialect()
	p := &connectors.Pred{Kind: connectors.PAnd, Kids: []*connectors.Pred{
		{Kind: connectors.PIn, Col: 1, Vals: []connectors.Value{{Type: connectors.T(connectors.Varchar), Text: "a"}}},
		{Kind: connectors.PCmp, Col: 2, Op: ">=", Vals: []connectors.Value{{Type: connectors.Dec(20, 1), Int: bigInt(15)}}},
	}}
	where := connectors.RenderPred(d, p, tab)
	if where.Verdict != connectors.Exact {
		t.Fatalf("%+v", where)
	}
	sql := d.Select(connectors.Extract{Table: tab, Columns: []int{1, 0}, Where: where.SQL, Limit: -1})
	q := connectors.Query{SQL: sql, Columns: []connectors.Column{{Name: "e", Type: connectors.T(connectors.Varchar)}, {Name: "id", Type: connectors.T(connectors.BigInt)}}}
	n := int64(0)
	if err := c.Read(bg, q, func(rec arrow.RecordBatch) error { n += rec.NumRows(); return nil }); err != nil || n != 16666 {
		t.Errorf("%d rows, %v: %s", n, err, sql)
	}
	m, err := e.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	inlined, release, err := c.Inline(bg, q)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.StageSQL(bg, "lake", "main", "t", tab.Columns, []int{1, 0}, inlined)
	release()
	if err != nil || rows != 16666 {
		t.Error(rows, err)
	}
	q.Columns[1].Type = connectors.T(connectors.Integer)
	var changed *connectors.TypeError
	if err := c.Read(bg, q, func(arrow.RecordBatch) error { return nil }); !errors.As(err, &changed) {
		t.Error(err)
	}
	if got, ok := d.(connectors.Extremes).Extreme(tab, 1, true); !ok || got != `max(CAST("e" AS VARCHAR))` {
		t.Error(got, ok)
	}
}

// One file, two connections through different paths, readers and writers at once.
func TestOneHandle(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "db.duckdb")
	a := at(t, e, path)
	run(t, a, "CREATE TABLE t AS SELECT 1 AS i")
	if err := os.Symlink(path, filepath.Join(dir, "link.duckdb")); err != nil {
		t.Fatal(err)
	}
	b := at(t, e, filepath.Join(dir, "link.duckdb"))
	if a.file != b.file {
		t.Fatal("a link is another handle")
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for range 5 {
				if _, err := a.Describe(bg, connectors.Relation{Name: "t"}); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			defer wg.Done()
			name := fmt.Sprintf("w%d", i)
			replace(t, e, b, connectors.StageSpec{Target: connectors.Relation{Schema: fmt.Sprintf("s%d", i%2), Name: name}}, "SELECT i FROM range(1000) r(i)")
		}()
	}
	wg.Wait()
	if got := ask(t, a, "SELECT count(*) FROM duckdb_tables()"); got[0] != "7" {
		t.Error(got)
	}
	if a.file.mode != detached || a.file.users != 0 {
		t.Errorf("%+v", a.file)
	}
}

func TestWriterWaitsForReaders(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, "CREATE TABLE t AS SELECT 1 AS i")
	release, err := c.file.acquire(bg, e, reading)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
	defer cancel()
	if err := c.Exec(ctx, "INSERT INTO t VALUES (2)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("it wrote while the file was being read:", err)
	}
	done := make(chan error)
	go func() { done <- c.Exec(bg, "INSERT INTO t VALUES (2)") }()
	select {
	case err := <-done:
		t.Fatal("it did not wait", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Another process that has the file open is waited for, then named.
func TestForeignLock(t *testing.T) {
	if path := os.Getenv("DVT_TEST_HOLD"); path != "" {
		holdChild(t, path)
		return
	}
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"))
	run(t, c, "CREATE TABLE t AS SELECT 1 AS i")
	foreignWait = 300 * time.Millisecond
	defer func() { foreignWait = 60 * time.Second }()
	cmd := exec.Command(os.Args[0], "-test.run=^TestForeignLock$")
	cmd.Env = append(os.Environ(), "DVT_TEST_HOLD="+c.file.path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if _, err := out.Read(buf); err != nil || !strings.HasPrefix(string(buf), "held") {
		t.Fatal(string(buf), err)
	}
	_, err = c.Describe(bg, connectors.Relation{Name: "t"})
	var ce *connectors.ConnectError
	if !errors.As(err, &ce) || !strings.Contains(err.Error(), "another process has the file open") {
		t.Error(err)
	}
	foreignWait = 20 * time.Second
	got := make(chan error)
	go func() {
		_, err := c.Describe(bg, connectors.Relation{Name: "t"})
		got <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func holdChild(t *testing.T, path string) {
	e := newEngine(t)
	c := at(t, e, path)
	s, err := c.session(bg, writing)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLock(t *testing.T) {
	c := at(t, newEngine(t), filepath.Join(t.TempDir(), "db.duckdb"))
	release, err := c.Lock(bg, connectors.Relation{Name: "T"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	var locked *connectors.LockedError
	if _, err := c.Lock(bg, connectors.Relation{Schema: "MAIN", Name: "t"}, 60*time.Millisecond, func() { told++ }); !errors.As(err, &locked) || told != 1 {
		t.Error(err, told)
	}
	release()
	if release, err = c.Lock(bg, connectors.Relation{Name: "t"}, 0, nil); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestSettings(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, filepath.Join(t.TempDir(), "db.duckdb"), "settings", map[string]any{"streaming_buffer_size": "2MB", "threads": 1})
	run(t, c, "CREATE TABLE t AS SELECT 1 AS i")
	if got := ask(t, c, "SELECT current_setting('streaming_buffer_size'), current_setting('threads')"); got[0] != "1.9 MiB|2" {
		t.Error(got)
	}
	c = at(t, e, filepath.Join(t.TempDir(), "db.duckdb"), "settings", map[string]any{"no_such": "1"})
	if err := c.Exec(bg, "SELECT 1"); err == nil || !strings.Contains(err.Error(), `no setting "no_such"`) {
		t.Error(err)
	}
}
