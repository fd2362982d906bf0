package blob_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/blob"
	"github.com/dvt-dev/dvt/connectors/faultproxy"
)

// TestErrors: what goes wrong is one clear line, without a credential in it.
func TestErrors(t *testing.T) {
	l := newLake(t)
	l.must(l.bucket.LetRead())
	l.put("main/there.parquet", "SELECT 1::BIGINT AS id", "FORMAT parquet")
	reader, err := l.bucket.User("reader", l.prefix)
	l.must(err)
	stranger, err := l.bucket.User("stranger", l.prefix)
	l.must(err)
	ctx := context.Background()
	there := connectors.Relation{Schema: "main", Name: "there"}
	describe := func(c connectors.Conn) error {
		_, err := c.Describe(ctx, there)
		return err
	}
	load := func(c connectors.Conn) error { return l.load(c, there, "SELECT 2::BIGINT AS id", false) }
	lock := func(c connectors.Conn) error {
		_, err := c.(connectors.Locker).Lock(ctx, there, 0, nil)
		return err
	}
	for _, c := range []struct {
		name string
		keys map[string]any
		do   func(connectors.Conn) error
		want string
	}{
		{"wrong secret", map[string]any{"secret_access_key": "wrong_secret_pw"}, describe, "the server refuses the credentials (SignatureDoesNotMatch"},
		{"unknown key", map[string]any{"access_key_id": "nobody_key"}, describe, "the server refuses the credentials (InvalidAccessKeyId"},
		{"no bucket", map[string]any{"bucket": "missing-bucket"}, describe, `there is no bucket "missing-bucket"`},
		{"no server", map[string]any{"endpoint": "http://127.0.0.1:1"}, describe, "connection refused"},
		{"may not list", stranger, describe, "no permission to list s3://" + l.bucket.Bucket + "/" + l.prefix + "/main/there: s3:ListBucket on the bucket is needed"},
		{"may not write", reader, load, "no permission to write s3://" + l.bucket.Bucket + "/" + l.prefix + "/main/there.parquet: s3:PutObject is needed"},
		{"may not lock", reader, lock, "no permission to write s3://" + l.bucket.Bucket + "/" + l.prefix + "/.dvt-"},
		{"may read", reader, describe, ""},
		{"no table", nil, func(c connectors.Conn) error {
			_, err := c.Describe(ctx, connectors.Relation{Schema: "main", Name: "nowhere"})
			if !errors.Is(err, connectors.ErrNotFound) {
				return fmt.Errorf("not an ErrNotFound: %w", err)
			}
			return err
		}, "no object for main.nowhere at s3://"},
		{"ping", stranger, func(c connectors.Conn) error { _, err := c.Ping(ctx); return err }, "no permission to list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.do(l.open(c.keys))
			text := fmt.Sprint(err)
			if c.want == "" && err != nil || !strings.Contains(text, c.want) {
				t.Errorf("%s, want %s", text, c.want)
			}
			if strings.Contains(text, "\n") || len(text) > 400 {
				t.Errorf("it is more than a line: %s", text)
			}
			for _, secret := range []any{c.keys["secret_access_key"], c.keys["access_key_id"], l.bucket.SecretKey, l.bucket.AccessKey} {
				if secret != nil && strings.Contains(text, fmt.Sprint(secret)) && secret != "reader" {
					t.Errorf("a credential is printed: %s", text)
				}
			}
		})
	}
}

// load lands the rows of a query of the compute engine.
func (l *lake) load(c connectors.Conn, rel connectors.Relation, sql string, part bool) (err error) {
	ctx := context.Background()
	s, err := l.engine.Session(ctx)
	if err != nil {
		return err
	}
	cols, err := s.Columns(ctx, sql)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	st, err := c.(connectors.Stager).Stage(ctx, connectors.StageSpec{RunID: "run-1", Target: rel, Columns: cols, Append: part})
	if err != nil {
		return err
	}
	// What Discard says follows from what failed before.
	defer func() {
		if e := st.Discard(ctx); err == nil {
			err = e
		}
	}()
	if _, err := st.(connectors.Filler).Fill(ctx, sql); err != nil {
		return err
	}
	if _, err := st.Seal(ctx); err != nil {
		return err
	}
	if part {
		_, err = c.(connectors.AppendOnly).Append(ctx, st)
		return err
	}
	return c.(connectors.Swapper).Replace(ctx, st)
}

// bigSQL is more than one part of an upload.
const bigSQL = "SELECT i::BIGINT AS id, md5(i::VARCHAR) || md5((i + 1000000)::VARCHAR) AS a FROM range(900000) r(i)"

// TestUploadCut: an upload that the network does not let through leaves the old object and
// nothing else, and the next one works.
func TestUploadCut(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends 80 MB")
	}
	l := newLake(t)
	conn, proxy := l.proxied()
	rel := connectors.Relation{Schema: "main", Name: "t"}
	l.must(l.load(conn, rel, "SELECT 1::BIGINT AS id, 'a' AS a", false))
	proxy.Set(faultproxy.Rule{Fault: faultproxy.Refuse, Bytes: 20 << 20, Direction: faultproxy.ToServer})
	err := l.load(conn, rel, bigSQL, false)
	fired := proxy.Fired()
	proxy.Heal()
	if err == nil || !fired || strings.Contains(err.Error(), "\n") {
		t.Fatalf("fired %v, and the load gives %v", fired, err)
	}
	l.holds(conn, rel, 1)
	// The server could not be told: the next run of the model takes it away.
	l.must(conn.(connectors.Stager).CleanStaging(context.Background(), rel))
	if left, err := l.bucket.Uploads(l.prefix + "/"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	// A connection that breaks off is asked again.
	proxy.Set(faultproxy.Rule{Fault: faultproxy.Cut, Bytes: 20 << 20, Direction: faultproxy.ToServer})
	l.must(l.load(conn, rel, bigSQL, false))
	if !proxy.Fired() {
		t.Error("the connection was not cut")
	}
	proxy.Heal()
	l.holds(conn, rel, 900000)
	// So is a read.
	proxy.Set(faultproxy.Rule{Fault: faultproxy.Cut, Bytes: 200 << 10})
	l.holds(conn, rel, 900000)
	if !proxy.Fired() {
		t.Error("the read was not cut")
	}
	if left, err := l.bucket.Uploads(l.prefix + "/"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// holds counts a table's rows.
func (l *lake) holds(c connectors.Conn, rel connectors.Relation, want int) {
	l.Helper()
	table, err := c.Describe(context.Background(), rel)
	l.must(err)
	got, err := ids(c, table, "")
	l.must(err)
	if len(got) != want {
		l.Errorf("%s holds %d rows, want %d", rel, len(got), want)
	}
}

// TestForms: a table passes from one object to a folder of parts and back, whatever a run
// that died left.
func TestForms(t *testing.T) {
	l := newLake(t)
	conn := l.open(nil)
	rel := connectors.Relation{Schema: "main", Name: "t"}
	if err := l.load(conn, rel, "SELECT 1::BIGINT AS id", true); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("appending to nothing: %v", err)
	}
	l.must(l.load(conn, rel, "SELECT 1::BIGINT AS id", false))
	// A run that died while it made a folder of it.
	l.put("main/t/part-0.parquet", "SELECT 1::BIGINT AS id", "FORMAT parquet")
	l.put("main/t/part-dead.parquet", "SELECT 9::BIGINT AS id", "FORMAT parquet")
	l.holds(conn, rel, 1)
	l.must(l.load(conn, rel, "SELECT 2::BIGINT AS id", true))
	l.holds(conn, rel, 2)
	if err := l.load(conn, rel, "SELECT 2::BIGINT AS id", true); err == nil || !strings.Contains(err.Error(), "has appended already") {
		t.Errorf("appending twice: %v", err)
	}
	l.put("main/t/_ignored.parquet", "SELECT 3 AS x", "FORMAT parquet")
	l.holds(conn, rel, 2)
	l.must(l.load(conn, rel, "SELECT 3::BIGINT AS id FROM range(5)", false))
	l.holds(conn, rel, 5)
	keys, err := l.bucket.List(l.prefix + "/main/t")
	if want := []string{l.prefix + "/main/t.parquet", l.prefix + "/main/t/_ignored.parquet"}; err != nil || fmt.Sprint(keys) != fmt.Sprint(want) {
		t.Errorf("the objects are %v, %v, want %v", keys, err, want)
	}
	l.put("main/d/_delta_log/0.json", "SELECT 1 AS a", "FORMAT json")
	l.put("main/d/x.parquet", "SELECT 1 AS a", "FORMAT parquet")
	if _, err := conn.Describe(context.Background(), connectors.Relation{Schema: "main", Name: "d"}); err == nil || !strings.Contains(err.Error(), "Delta table") {
		t.Errorf("a Delta table: %v", err)
	}
}

// TestSources: patterns, folders, schemas that differ, and an object replaced in between.
func TestSources(t *testing.T) {
	defer func(n int64) { *blob.HeldBytes = n }(*blob.HeldBytes)
	*blob.HeldBytes = 0
	l := newLake(t)
	conn := l.open(nil)
	ctx := context.Background()
	l.put("main/logs/2024/a.csv", "SELECT 1::BIGINT AS id, 'x' AS name", "FORMAT csv")
	l.put("main/logs/2025/b.csv", "SELECT i::BIGINT AS id, 'y' || i AS name FROM range(2, 10) r(i)", "FORMAT csv")
	l.put("main/mixed/a.parquet", "SELECT 1::INTEGER AS id, 1.5 AS x", "FORMAT parquet")
	l.put("main/mixed/b.parquet", "SELECT 5000000000::BIGINT AS id, 'late' AS y", "FORMAT parquet")
	l.put("main/days/day=2024-01-01/a.csv", "SELECT 1::BIGINT AS id", "FORMAT csv")
	l.put("main/days/day=2024-01-02/a.csv", "SELECT 2::BIGINT AS id", "FORMAT csv")
	for _, c := range []struct{ name, where, want string }{
		{"logs/*/*.csv", "", "[1 2 3 4 5 6 7 8 9]"},
		{"logs/**", "", "error"}, // no object of the output's own format
		{"logs/2024/a.csv", "", "[1]"},
		{"logs/2024/a", "", "[1]"},
		{"mixed", "", "[1 5000000000]"},
		{"mix*/*", "id > 2", "[5000000000]"},
		{"days", "day = DATE '2024-01-02'", "[2]"},
	} {
		table, err := conn.Describe(ctx, connectors.Relation{Schema: "main", Name: c.name})
		var got []int64
		if err == nil {
			got, err = ids(conn, table, c.where)
		}
		if text := fmt.Sprint(got); err != nil && c.want != "error" || err == nil && text != c.want {
			t.Errorf("%s where %q: %s, %v, want %s", c.name, c.where, text, err, c.want)
		}
	}
	table, err := conn.Describe(ctx, connectors.Relation{Schema: "main", Name: "mixed"})
	l.must(err)
	l.put("main/mixed/b.parquet", "SELECT 7::BIGINT AS id, 'new' AS y", "FORMAT parquet")
	if got, err := ids(conn, table, ""); err != nil || fmt.Sprint(got) != "[1 7]" {
		t.Errorf("an object replaced after it was described: %v, %v", got, err)
	}
}
