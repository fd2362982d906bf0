// Package conformance is the suite of tests that every connector passes: values of each
// type are written in the source engine's own SQL, read as extracts are, staged in the
// compute engine, landed as results are, and compared with what the target engine itself
// says that it holds. It is for tests only; engines are reached through the registry, and
// judged through their own drivers.
//
// What a pair of engines may change is written down in the rules (rules.go), and nowhere
// else: a value that no rule names must arrive as it was. docs/types.md is made of what
// happened.
package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// Engines are the registered types that take part, in the order of docs/types.md.
var Engines = []string{"postgres", "mysql", "clickhouse", "sqlite", "duckdb", "file", "s3"}

// full says that the suite runs at acceptance size instead of CI's.
func full() bool { return os.Getenv("DVT_ACCEPTANCE") == "full" }

// Bench is a compute engine and the connections of one test. A test opens one.
type Bench struct {
	testing.TB
	Compute *compute.Engine
	mem     *memory.CheckedAllocator // of all batches
	ctx     context.Context
	sites   map[string]*Site
	dir     string
	name    string // of schemas, unique on the servers
	models  int
	read    map[string]*Staged // what cases have staged, by its columns
}

// NewBench opens the compute engine; connections open when they are asked for.
func NewBench(t testing.TB) *Bench {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	e, err := compute.Open(compute.Config{MemoryLimit: 1 << 30, Threads: 2, TempDirectory: t.TempDir(), RunID: "conformance", Mem: mem})
	if err != nil {
		t.Fatal(err)
	}
	var b [4]byte
	_, _ = rand.Read(b[:])
	bench := &Bench{TB: t, Compute: e, mem: mem, ctx: context.Background(), sites: map[string]*Site{}, read: map[string]*Staged{}, dir: t.TempDir(),
		name: fmt.Sprintf("dvt_conf_%d_%s", os.Getpid(), hex.EncodeToString(b[:]))}
	t.Cleanup(func() {
		for _, st := range bench.read {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, s := range bench.sites {
			s.close()
		}
		if err := e.Close(); err != nil {
			t.Errorf("closing the compute engine: %v", err)
		}
		mem.AssertSize(t, 0)                      // each batch that a connection or the engine made was released
		http.DefaultClient.CloseIdleConnections() // to ClickHouse
	})
	return bench
}

// Site is one engine with a schema, file or folder of the bench's own.
type Site struct {
	*dialect
	Engine string
	Conn   connectors.Conn
	Schema string // of its relations
	bench  *Bench
	driver string         // as enginetest names it
	path   string         // database file or folder, "" for servers
	bucket *enginetest.S3 // of s3, whose files are brought to path to be looked at
	prefix string         // there
	own    *enginetest.DB
	made   int
	// untyped: what is read back has the types that the project declares, for the format
	// has none.
	untyped bool
}

// Site opens an engine once per bench.
func (b *Bench) Site(engine string) *Site {
	b.Helper()
	if s := b.sites[engine]; s != nil {
		return s
	}
	s := b.OpenSite(engine, nil)
	b.sites[engine] = s
	return s
}

// OpenSite opens an engine with further keys of its output.
func (b *Bench) OpenSite(engine string, keys map[string]any) *Site {
	b.Helper()
	b.models++
	s := &Site{Engine: engine, bench: b, dialect: dialects[engine], Schema: fmt.Sprintf("%s_%d", b.name, b.models)}
	if s.dialect == nil {
		b.Fatalf("no engine %q is known here", engine)
	}
	out := connectors.Output{Name: engine, Type: engine, Keys: map[string]any{}}
	switch engine {
	case "postgres":
		s.driver = "pg"
		s.serverKeys(out.Keys, "PG", "host", "port", "user", "password", "dbname")
	case "mysql":
		s.driver = "my"
		s.serverKeys(out.Keys, "MY", "server", "port", "username", "password", "")
	case "clickhouse":
		s.driver = "ch"
		s.serverKeys(out.Keys, "CH", "host", "port", "user", "password", "")
	case "sqlite", "duckdb":
		s.driver, s.Schema = engine, "main"
		s.path = filepath.Join(b.dir, fmt.Sprintf("%s%d.db", engine, b.models))
		out.Keys["path"] = s.path
	case "file", "s3":
		s.driver, s.Schema = "duckdb", "main"
		s.path = filepath.Join(b.dir, fmt.Sprintf("files%d", b.models))
		if err := os.MkdirAll(filepath.Join(s.path, s.Schema), 0o755); err != nil {
			b.Fatal(err)
		}
		out.Keys["path"] = s.path
		if engine == "s3" {
			s.inBucket(&out)
		}
	}
	out.Keys["schema"] = s.Schema
	for k, v := range keys {
		out.Keys[k] = v
	}
	kindred, err := connectors.Lookup(engine)
	if err != nil {
		b.Fatal(err)
	}
	env := connectors.Env{ProjectDir: b.dir, RunID: "conformance", Mem: b.mem, Engine: func(context.Context) (connectors.Engine, error) { return b.Compute, nil }}
	if s.Conn, err = kindred.Open(out, env); err != nil {
		b.Fatal(err)
	}
	if s.path == "" {
		if err := s.open().Exec(s.createSchema(s.Schema)); err != nil {
			b.Fatal(err)
		}
	}
	b.sites[s.Schema+s.path] = s
	return s
}

// serverKeys are host, port, user, password and database, as the engine calls them.
func (s *Site) serverKeys(keys map[string]any, prefix string, names ...string) {
	for i, n := range []string{"HOST", "PORT", "USER", "PASSWORD", "DATABASE"} {
		v := os.Getenv("DVT_TEST_" + prefix + "_" + n)
		if v == "" {
			s.bench.Fatalf("DVT_TEST_%s_%s is not set: the suite needs the test servers", prefix, n)
		}
		if names[i] == "" {
			continue
		}
		keys[names[i]] = v
		if n == "PORT" {
			port, err := strconv.Atoi(v)
			if err != nil {
				s.bench.Fatal(err)
			}
			keys[names[i]] = port
		}
	}
}

// open connects with the engine's own driver. Files are opened for one call at a time,
// for DuckDB's belong to the compute engine in between.
func (s *Site) open() *enginetest.DB {
	s.bench.Helper()
	if s.own != nil {
		return s.own
	}
	path := s.path
	if s.inFiles() {
		path = ""
	}
	db, err := enginetest.Open(s.driver, path)
	if err != nil {
		s.bench.Fatal(err)
	}
	s.own = db
	for _, sql := range s.session {
		if err := db.Exec(sql); err != nil {
			s.bench.Fatalf("%s: %v", sql, err)
		}
	}
	return db
}

// shut ends the own driver's hold on a file.
func (s *Site) shut() {
	if s.path == "" || s.own == nil {
		return
	}
	if err := s.own.Close(); err != nil {
		s.bench.Errorf("closing %s: %v", s.Engine, err)
	}
	s.own = nil
}

// Exec runs statements in the engine's own driver.
func (s *Site) Exec(sql string) {
	s.bench.Helper()
	defer s.shut()
	if err := s.open().Exec(sql); err != nil {
		s.bench.Fatalf("%s: %s: %v", s.Engine, connectors.Shorten(sql), err)
	}
}

// Query gives rows in the engine's own text.
func (s *Site) Query(sql string) [][]*string {
	s.bench.Helper()
	defer s.shut()
	_, rows, err := s.open().Query(sql)
	if err != nil {
		s.bench.Fatalf("%s: %s: %v", s.Engine, sql, err)
	}
	return rows
}

// Name is a new relation.
func (s *Site) Name() connectors.Relation {
	s.made++
	return connectors.Relation{Schema: s.Schema, Name: fmt.Sprintf("t%d", s.made)}
}

func (s *Site) close() {
	if s.Conn == nil {
		return
	}
	if err := s.Conn.Close(); err != nil {
		s.bench.Errorf("closing the connection of %s: %v", s.Engine, err)
	}
	s.Conn = nil
	if s.bucket != nil {
		if err := s.bucket.Clean(s.prefix + "/"); err != nil {
			s.bench.Errorf("cleaning the bucket: %v", err)
		}
		s.bucket.Close()
	}
	if s.path == "" {
		if err := s.open().Exec(s.dropSchema(s.Schema)); err != nil {
			s.bench.Errorf("%s: %v", s.Engine, err)
		}
		if err := s.own.Close(); err != nil {
			s.bench.Errorf("closing %s: %v", s.Engine, err)
		}
	}
}

// Version is the engine's name and version, without the numbers that patches change.
func (s *Site) Version() string {
	s.bench.Helper()
	switch s.Engine {
	case "file":
		return "Parquet"
	case "s3":
		return "Parquet in S3"
	}
	info, err := s.Conn.Ping(s.bench.ctx)
	if err != nil {
		s.bench.Fatal(err)
	}
	keep := 2
	if s.Engine == "postgres" {
		keep = 1
	}
	words := strings.Fields(info.Version)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789") {
			parts := strings.Split(strings.Trim(w, "v,"), ".")
			return strings.Join(append(words[:i:i], strings.Join(parts[:min(keep, len(parts))], ".")), " ")
		}
	}
	return info.Version
}
