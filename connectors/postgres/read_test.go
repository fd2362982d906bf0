package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

func TestDescribe(t *testing.T) {
	d := open(t, nil)
	createTypes(d)
	d.exec(`CREATE COLLATION nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
	d.exec(`CREATE TABLE t (b text COLLATE "C" NOT NULL, "a b" numeric(50,2), gone int, s text COLLATE nd, p pair, a int[], m mood[], PRIMARY KEY ("a b", b))`)
	d.exec("ALTER TABLE t DROP gone")
	d.exec("CREATE VIEW v AS SELECT * FROM t")
	tab := d.describe("t")
	var got []string
	for _, c := range tab.Columns {
		got = append(got, fmt.Sprintf("%s %s %s null=%t coll=%s", c.Name, c.Native, c.Type, c.Nullable, c.Collation))
	}
	want := []string{`b text VARCHAR null=false coll=C`, `a b numeric(50,2) INVALID null=false coll=`, `s text VARCHAR null=true coll=nd`,
		`p ` + d.schema + `.pair VARCHAR null=true coll=`, `a integer[] INTEGER[] null=true coll=`, `m ` + d.schema + `.mood[] VARCHAR[] null=true coll=`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if k := fmt.Sprint(tab.PrimaryKey); k != "[a b b]" || tab.View || tab.RowEstimate != -1 {
		t.Errorf("key %s, view %t, estimate %d", k, tab.View, tab.RowEstimate)
	}
	if tab.Columns[2].Attrs[attrDeterministic] != "false" {
		t.Errorf("attrs of a nondeterministic collation: %v", tab.Columns[2].Attrs)
	}
	d.exec("INSERT INTO t SELECT 'x' || i, i FROM generate_series(1, 100) i")
	d.exec("ANALYZE t")
	if n := d.describe("t").RowEstimate; n != 100 {
		t.Errorf("estimate %d", n)
	}
	if v := d.describe("v"); !v.View || v.RowEstimate != -1 || len(v.PrimaryKey) != 0 {
		t.Errorf("view: %+v", v)
	}
	d.exec("CREATE TABLE parts (i int) PARTITION BY HASH (i)")
	d.exec("CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0)")
	d.exec("CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1)")
	d.exec("INSERT INTO parts SELECT i FROM generate_series(1, 70) i")
	if n := d.describe("parts").RowEstimate; n != -1 {
		t.Errorf("partitions never analyzed: estimate %d", n)
	}
	d.exec("ANALYZE parts")
	if n := d.describe("parts").RowEstimate; n != 70 {
		t.Errorf("partitions: estimate %d", n)
	}
	for _, rel := range []connectors.Relation{d.rel("nope"), {Schema: "nope", Name: "t"}, d.rel(`t"`), d.rel(strings.Repeat("t", 100))} {
		if _, err := d.Describe(context.Background(), rel); !errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("%s: %v", rel, err)
		}
	}
	if tab, err := d.Describe(context.Background(), connectors.Relation{Name: "t"}); err != nil || tab.Schema != d.schema {
		t.Errorf("default schema: %v", err)
	}
}

// TestNames reads and loads relations and columns whose names are hostile.
func TestNames(t *testing.T) {
	d := open(t, nil)
	names := []string{`select`, `a"b`, `A b`, "é\u0301", `x'; DROP TABLE y; --`, `/*`, `back\slash`, "\U0001F600", `$1`, strings.Repeat("n", 63)}
	var cols []string
	for _, n := range names {
		cols = append(cols, quoteIdent(n)+" int DEFAULT 7")
	}
	for _, name := range names {
		d.exec("CREATE TABLE " + quoteIdent(name) + " (" + strings.Join(cols, ", ") + ")")
		d.exec("INSERT INTO " + quoteIdent(name) + " DEFAULT VALUES")
		d.exec("CREATE INDEX ON " + quoteIdent(name) + " (" + quoteIdent(name) + ")")
		q := d.query(d.describe(name))
		recs := d.read(q)
		spec := connectors.StageSpec{Target: d.rel(name), Columns: q.Columns, Options: connectors.TargetOptions{UniqueKey: []string{name}, Watermark: names[0]}}
		d.mustLoad(spec, recs)
		d.mustLoad(spec, recs)
		release(recs)
		d.want("1", "SELECT count(*)::text FROM "+quoteIdent(name)+" WHERE "+quoteIdent(name)+" = 7")
	}
	d.leftovers()
}

func TestReadBatches(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (id int, s text)")
	d.exec("INSERT INTO t SELECT i, repeat('x', CASE WHEN i > 40000 THEN 2000000 ELSE 5 END) FROM generate_series(1, 40020) i")
	q := d.query(d.describe("t"))
	next := int32(1)
	for _, r := range d.read(q) {
		if r.NumRows() > connectors.BatchRows {
			t.Errorf("a batch of %d rows", r.NumRows())
		}
		if n := len(r.Column(1).Data().Buffers()[2].Bytes()); n > connectors.BatchBytes+1<<20 {
			t.Errorf("a batch of %d bytes", n)
		}
		_ = next
		next += int32(r.NumRows())
		r.Release()
	}
	if next != 40021 {
		t.Errorf("%d rows", next-1)
	}
	// No column: only the number of rows.
	sql := d.dialect.Select(connectors.Extract{Table: d.describe("t"), Limit: 20000})
	var n int64
	for _, cols := range [][]connectors.Column{nil, {{Name: "n", Type: connectors.T(connectors.Integer)}}} {
		n = 0
		for _, r := range d.read(connectors.Query{SQL: sql, Columns: cols}) {
			n += r.NumRows()
			r.Release()
		}
		if n != 20000 {
			t.Errorf("%d rows without columns", n)
		}
	}
	// An empty result has no batch.
	if recs := d.read(connectors.Query{SQL: sql + " OFFSET 99999999"}); len(recs) != 0 {
		t.Errorf("%d batches of nothing", len(recs))
	}
}

func TestReadErrors(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	read := func(q connectors.Query) error {
		return d.Read(ctx, q, func(arrow.RecordBatch) error { return nil })
	}
	d.exec("CREATE TABLE t (id int, n numeric(4,1), u numeric, ts timestamp, i interval, a int[])")
	d.exec("INSERT INTO t (id, n) VALUES (1, 1)")
	tab := d.describe("t")
	one := func(col string, typ connectors.Type) connectors.Query {
		i := tab.Index(col)
		c := tab.Columns[i]
		c.Type = typ
		return connectors.Query{SQL: d.dialect.Select(connectors.Extract{Table: tab, Columns: []int{i}, Limit: -1}), Columns: []connectors.Column{c}}
	}
	for _, tc := range []struct {
		col, value string
		typ        connectors.Type
		want       string
	}{
		{"n", "'NaN'", connectors.Dec(4, 1), "NaN"},
		{"u", "'-Infinity'", connectors.Dec(38, 1), "-Infinity"},
		{"u", "1.23", connectors.Dec(38, 1), "1.23"},
		{"u", "1e37", connectors.Dec(38, 1), "1" + strings.Repeat("0", 37)},
		{"u", "1e60000", connectors.Dec(38, 1), "1000"},
		{"u", "0.00001", connectors.Dec(38, 1), "0.00001"},
		{"ts", "'294276-12-31'", connectors.T(connectors.Timestamp), "294246"},
		{"i", "'3000000 hours'", connectors.T(connectors.Interval), "292 years"},
		{"a", "'{{1}}'", connectors.ListOf(connectors.T(connectors.Integer)), "2 dimensions"},
		{"a", "'{1}'", connectors.ListOf(connectors.ListOf(connectors.T(connectors.Integer))), "1 dimensions"},
		{"a", "'[0:1]={1,2}'", connectors.ListOf(connectors.T(connectors.Integer)), "starts at index 0"},
	} {
		d.exec("UPDATE t SET " + tc.col + " = " + tc.value)
		err := read(one(tc.col, tc.typ))
		var bad *connectors.ValueError
		if !errors.As(err, &bad) || bad.Column != tc.col || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s = %s: %v", tc.col, tc.value, err)
		}
		d.exec("UPDATE t SET " + tc.col + " = NULL")
	}
	// A column altered since Describe is not read as what it was.
	q := one("id", connectors.T(connectors.Integer))
	d.exec("ALTER TABLE t ALTER id TYPE timestamp USING now()")
	var wrong *connectors.TypeError
	if err := read(q); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "altered") {
		t.Errorf("an altered column: %v", err)
	}
	d.exec("DROP TABLE t")
	if err := read(q); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("a dropped table: %v", err)
	}
	// Statement errors carry text and place.
	var st *connectors.StatementError
	sql := "SELECT 'é', nope FROM pg_class"
	if err := read(connectors.Query{SQL: sql}); !errors.As(err, &st) || st.SQL != sql || st.Position != strings.Index(sql, "nope") ||
		!strings.Contains(st.Error(), `column "nope" does not exist`) {
		t.Errorf("a bad column: %v at %d", err, st.Position)
	}
	if err := read(connectors.Query{SQL: "SELECT 1 / (relpages - relpages) FROM pg_class"}); !errors.As(err, &st) || !strings.Contains(st.Error(), "division by zero") {
		t.Errorf("an error on the way: %v", err)
	}
	if err := read(connectors.Query{SQL: "DELETE FROM pg_class"}); err == nil {
		t.Error("a DELETE was read")
	}
	d.exec("CREATE TABLE w (id int)")
	d.exec("CREATE FUNCTION wr() RETURNS int LANGUAGE sql AS 'INSERT INTO " + d.schema + ".w VALUES (1) RETURNING 1'")
	if err := read(connectors.Query{SQL: "SELECT " + d.schema + ".wr()"}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read that writes: %v", err)
	}
}

// TestReadStops: an error of emit, or the end of the context, ends the statement on the
// server before Read returns.
func TestReadStops(t *testing.T) {
	d := open(t, nil)
	mark := "stop_" + d.schema
	sql := "SELECT generate_series(1, 1000000000), '" + mark + "'"
	cols := []connectors.Column{{Name: "i", Type: connectors.T(connectors.Integer)}, textCol}
	full := errors.New("the disk is full")
	err := d.Read(context.Background(), connectors.Query{SQL: sql, Columns: cols}, func(arrow.RecordBatch) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("emit's error: %v", err)
	}
	d.gone(mark)
	ctx, cancel := context.WithCancel(context.Background())
	err = d.Read(ctx, connectors.Query{SQL: sql, Columns: cols}, func(arrow.RecordBatch) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while reading: %v", err)
	}
	d.gone(mark)
	for name, f := range map[string]func(context.Context) error{
		"read": func(ctx context.Context) error {
			return d.Read(ctx, connectors.Query{SQL: "SELECT pg_sleep(60)::text, '" + mark + "'", Columns: []connectors.Column{textCol, textCol}},
				func(arrow.RecordBatch) error { return nil })
		},
		"exec": func(ctx context.Context) error { return d.Exec(ctx, "SELECT pg_sleep(60), '"+mark+"'") },
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		start := time.Now()
		if err := f(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		cancel()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s came back after %s", name, took)
		}
		d.want("0", "SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND strpos(query, $1) > 0", mark)
	}
}

// TestTruncated: whatever is cut off a stream, the reader never takes it for its end.
func TestTruncated(t *testing.T) {
	stream := append(append([]byte{}, copyHeader...), make([]byte, 8)...)
	for i := range 3 {
		stream = binary.BigEndian.AppendUint16(stream, 1)
		stream = binary.BigEndian.AppendUint32(stream, 4)
		stream = binary.BigEndian.AppendUint32(stream, uint32(i))
	}
	stream = append(stream, 0xff, 0xff)
	run := func(parts ...[]byte) (int64, error) {
		var rows int64
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		d, err := newDecoder(mem, []connectors.Column{intCol}, []pgconn.FieldDescription{{Name: "id", DataTypeOID: oidInt4}}, false,
			func(r arrow.RecordBatch) error { rows += r.NumRows(); return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer d.release()
		d.stop = func() {}
		for _, p := range parts {
			if _, err := d.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if d.err != nil {
			return rows, d.err
		}
		return rows, d.finish(3)
	}
	for cut := range stream {
		if _, err := run(stream[:cut]); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", cut, len(stream))
		}
		if n, err := run(stream[:cut], nil, stream[cut:]); err != nil || n != 3 {
			t.Errorf("split after %d bytes: %d rows, %v", cut, n, err)
		}
	}
	if _, err := run(stream, []byte{0}); err == nil {
		t.Error("bytes behind the trailer: no error")
	}
	if _, err := run(bytes.Replace(stream, []byte("PGCOPY"), []byte("PGCOPX"), 1)); err == nil {
		t.Error("another signature: no error")
	}
}

// TestCut: a connection that breaks in the middle is an error.
func TestCut(t *testing.T) {
	d := open(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", net.JoinHostPort(d.settings.host, d.settings.port))
			if err != nil {
				t.Error(err)
				return
			}
			wg.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			wg.Go(func() { _, _ = io.CopyN(client, server, 5<<20); _ = client.Close(); _ = server.Close() })
		}
	})
	out := testOutput(t)
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	out.Keys["host"], out.Keys["port"] = host, port
	c, err := Open(out, connectors.Env{})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Read(context.Background(), connectors.Query{SQL: "SELECT i, 'x' FROM generate_series(1, 1000000) i", Columns: []connectors.Column{
		{Name: "i", Type: connectors.T(connectors.Integer)}, textCol}}, func(arrow.RecordBatch) error { return nil })
	if err == nil {
		t.Error("a cut connection: no error")
	}
	_ = c.Close()
	_ = listener.Close()
	wg.Wait()
}

func TestProbe(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (a numeric, b numeric, e numeric, g int)")
	tab := d.describe("t")
	probe := func(where string, cols ...int) (string, error) {
		types, err := d.Probe(context.Background(), tab, cols, where)
		return fmt.Sprint(types), err
	}
	if got, err := probe("", 0, 1); err != nil || got != "[DECIMAL(38,0) DECIMAL(38,0)]" {
		t.Errorf("no rows: %s, %v", got, err)
	}
	d.exec("INSERT INTO t VALUES (1.2300, 12345678901234567890123456789012345678, NULL, 1), (-1e10, 0, 0.00000000000000000000000000000000000001, 2)")
	if got, err := probe("", 0, 1, 2); err != nil || got != "[DECIMAL(38,2) DECIMAL(38,0) DECIMAL(38,38)]" {
		t.Errorf("%s, %v", got, err)
	}
	d.exec("INSERT INTO t VALUES (0.5, 0.5, 1, 3), ('NaN', 1, 1, 4), (1, '-Infinity', 1, 5)")
	if got, err := probe("g < 3", 0, 1, 2); err != nil || got != "[DECIMAL(38,2) DECIMAL(38,0) DECIMAL(38,38)]" {
		t.Errorf("%s, %v", got, err)
	}
	var wide *connectors.TypeError
	if _, err := probe("g <= 3", 1); !errors.As(err, &wide) || !strings.Contains(err.Error(), "38 digits before the point and 1 after") {
		t.Errorf("39 digits: %v", err)
	}
	var bad *connectors.ValueError
	if _, err := probe("", 0); !errors.As(err, &bad) || bad.Value != "NaN" {
		t.Errorf("NaN: %v", err)
	}
	if _, err := probe("g <> 4", 1); !errors.As(err, &bad) || bad.Value != "Infinity" {
		t.Errorf("Infinity: %v", err)
	}
}

func TestSnapshot(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec("CREATE TABLE t (id int)")
	d.exec("INSERT INTO t VALUES (1)")
	s, err := d.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.exec("INSERT INTO t VALUES (2)")
	if !s.Parallel() {
		t.Error("not parallel")
	}
	q := d.query(d.describe("t"))
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var n int64
			if err := s.Read(ctx, q, func(r arrow.RecordBatch) error { n += r.NumRows(); return nil }); err != nil || n != 1 {
				t.Errorf("%d rows in the snapshot, %v", n, err)
			}
		})
	}
	wg.Wait()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Read(ctx, q, func(arrow.RecordBatch) error { return nil }); err == nil {
		t.Error("a closed snapshot was read")
	}
}

// TestSerialSnapshot: between two reads of one session, nobody empties the table.
func TestSerialSnapshot(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec("CREATE TABLE t (id int)")
	d.exec("INSERT INTO t VALUES (1)")
	s, err := d.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	q := d.query(d.describe("t"))
	count := func(from connectors.Snapshot) (n int64) {
		t.Helper()
		if err := from.Read(ctx, q, func(r arrow.RecordBatch) error { n += r.NumRows(); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	one, err := s.(connectors.SerialSnapshot).Serial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if one.Parallel() || count(one) != 1 {
		t.Error("the session is parallel, or reads other rows")
	}
	d.exec("INSERT INTO t VALUES (2)")
	if err := d.Exec(ctx, "SET lock_timeout = '100ms'; TRUNCATE t"); err == nil {
		t.Error("the table was emptied between two reads")
	}
	if n := count(one); n != 1 {
		t.Errorf("the second read has %d rows", n)
	}
	for range 2 {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	if one, err = s.(connectors.SerialSnapshot).Serial(ctx); err != nil {
		t.Fatal(err)
	}
	if err := one.Read(ctx, connectors.Query{SQL: "SELECT 1 / 0"}, func(arrow.RecordBatch) error { return nil }); err == nil {
		t.Error("no error")
	}
	if err := one.Close(); err != nil {
		t.Errorf("closing a session that failed: %v", err)
	}
}

// TestStatistics: what ANALYZE found, and what two reads of a snapshot see alike.
func TestStatistics(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (id int, k int, s text)")
	d.exec("CREATE VIEW v AS SELECT * FROM t")
	d.exec("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
	d.exec("CREATE TABLE p (id int) PARTITION BY RANGE (id)")
	d.exec("CREATE TABLE child () INHERITS (t)")
	d.exec("CREATE TABLE own (id int)")
	d.exec("ALTER TABLE own ENABLE ROW LEVEL SECURITY")
	d.exec("CREATE TABLE plain AS SELECT i AS id, i % 7 AS k, repeat('x', 40) AS s FROM generate_series(1, 1000) i")
	if s := d.describe("plain").Stats; len(s) != 3 || s[1] != (connectors.Stat{}) {
		t.Errorf("before ANALYZE: %v", s)
	}
	d.exec("ANALYZE plain")
	want := []connectors.Stat{{Distinct: 1000, Width: 4}, {Distinct: 7, Width: 4}, {Distinct: 1, Width: 41}}
	if got := d.describe("plain").Stats; !slices.Equal(got, want) {
		t.Errorf("statistics %v, want %v", got, want)
	}
	for name, stable := range map[string]bool{"plain": true, "m": true, "child": true, "v": false, "p": false, "t": false, "own": false} {
		if got := d.describe(name).Stable; got != stable {
			t.Errorf("%s: stable %v", name, got)
		}
	}
}
