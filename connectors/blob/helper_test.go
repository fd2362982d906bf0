package blob_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// lake is a prefix of the test bucket with a compute engine.
type lake struct {
	*testing.T
	bucket *enginetest.S3
	prefix string
	engine *compute.Engine
	duck   *enginetest.DB
}

func newLake(t *testing.T) *lake {
	t.Helper()
	var b [5]byte
	_, _ = rand.Read(b[:])
	l := &lake{T: t, prefix: "blob_" + hex.EncodeToString(b[:])}
	var err error
	if l.bucket, err = enginetest.OpenS3(); err != nil {
		t.Fatal(err)
	}
	if l.engine, err = compute.Open(compute.Config{MemoryLimit: 512 << 20, Threads: 2, TempDirectory: t.TempDir(), RunID: "blob"}); err != nil {
		t.Fatal(err)
	}
	if l.duck, err = enginetest.Open("duckdb", ""); err != nil {
		t.Fatal(err)
	}
	l.must(l.duck.Exec("SET TimeZone = 'UTC'"))
	t.Cleanup(func() {
		for _, err := range []error{l.duck.Close(), l.engine.Close(), l.bucket.Clean(l.prefix + "/")} {
			if err != nil {
				t.Error(err)
			}
		}
		l.bucket.Close()
	})
	return l
}

func (l *lake) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// open opens the prefix, with other keys.
func (l *lake) open(keys map[string]any) connectors.Conn {
	l.Helper()
	all := l.bucket.Keys(l.prefix)
	for k, v := range keys {
		all[k] = v
	}
	kind, err := connectors.Lookup("s3")
	l.must(err)
	conn, err := kind.Open(connectors.Output{Name: "lake", Type: "s3", Keys: all}, connectors.Env{ProjectDir: l.TempDir(), RunID: "blob",
		Engine: func(context.Context) (connectors.Engine, error) { return l.engine, nil }})
	l.must(err)
	l.Cleanup(func() {
		if err := conn.Close(); err != nil {
			l.Error(err)
		}
	})
	return conn
}

// proxied is the prefix behind a proxy.
func (l *lake) proxied() (connectors.Conn, *faultproxy.Proxy) {
	l.Helper()
	p, err := faultproxy.Listen(strings.TrimPrefix(l.bucket.Endpoint, "http://"))
	l.must(err)
	l.Cleanup(func() { _ = p.Close() })
	return l.open(map[string]any{"endpoint": "http://" + p.Addr()}), p
}

// put writes the rows of a query of DuckDB to an object, and returns the file they are in.
func (l *lake) put(key, query, options string) string {
	l.Helper()
	file := filepath.Join(l.TempDir(), filepath.Base(key))
	l.must(l.duck.Exec("COPY (" + query + ") TO '" + file + "' (" + options + ")"))
	l.must(l.bucket.PutFile(l.prefix+"/"+key, file))
	return file
}

// ids reads the column id of the rows that a predicate leaves, and sorts it.
func ids(conn connectors.Conn, t *connectors.Table, where string) (out []int64, err error) {
	at := t.Index("id")
	q := connectors.Query{SQL: conn.Dialect().Select(connectors.Extract{Table: t, Columns: []int{at}, Where: where, Limit: -1}), Columns: t.Columns[at : at+1]}
	err = conn.Read(context.Background(), q, func(rec arrow.RecordBatch) error {
		out = append(out, rec.Column(0).(*array.Int64).Int64Values()...)
		return nil
	})
	slices.Sort(out)
	return out, err
}
