package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/dvt-dev/dvt/connectors"
)

func TestMain(m *testing.M) {
	// The client's zone must not matter; the test server's is not UTC either.
	if err := os.Setenv("TZ", "America/New_York"); err != nil {
		panic(err)
	}
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	time.Local = loc
	goleak.VerifyTestMain(m)
}

// testOutput is the profile output of the test server.
func testOutput(t testing.TB) connectors.Output {
	t.Helper()
	get := func(name string) string {
		v, ok := os.LookupEnv("DVT_TEST_PG_" + name)
		if !ok {
			t.Fatalf("DVT_TEST_PG_%s is not set: the tests need a PostgreSQL server", name)
		}
		return v
	}
	return connectors.Output{Name: "pg", Type: "postgres", Keys: map[string]any{"host": get("HOST"), "port": get("PORT"),
		"user": get("USER"), "password": get("PASSWORD"), "dbname": get("DATABASE")}}
}

// db is a connection under test, a schema of its own and a plain session beside it.
type db struct {
	*conn
	t      testing.TB
	schema string
	plain  *pgx.Conn
}

func open(t testing.TB, keys map[string]any) *db {
	t.Helper()
	out := testOutput(t)
	schema := fmt.Sprintf("t%d_%d", os.Getpid(), rand.Uint32())
	out.Keys["schema"] = schema
	for k, v := range keys {
		out.Keys[k] = v
	}
	c, err := Open(out, connectors.Env{ConnectTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	d := &db{conn: c.(*conn), t: t, schema: schema}
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	d.mem = checked
	ctx := context.Background()
	if d.plain, err = pgx.Connect(ctx, connString(d.settings)); err != nil {
		t.Fatal(err)
	}
	d.exec("CREATE SCHEMA " + schema)
	d.exec("SET search_path = " + schema + ", public")
	d.exec("SET synchronous_commit = off") // the server may die, the tests need not survive it
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		d.exec("DROP SCHEMA " + schema + " CASCADE")
		if err := d.plain.Close(ctx); err != nil {
			t.Error(err)
		}
		checked.AssertSize(t, 0)
	})
	return d
}

// exec runs a statement on the plain session.
func (d *db) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.plain.Exec(context.Background(), sql, args...); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

// text is the one value, in text, of a query on the plain session.
func (d *db) text(sql string, args ...any) string {
	d.t.Helper()
	var s *string
	if err := d.plain.QueryRow(context.Background(), sql, args...).Scan(&s); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	if s == nil {
		return "NULL"
	}
	return *s
}

func (d *db) rel(name string) connectors.Relation {
	return connectors.Relation{Schema: d.schema, Name: name}
}

func (d *db) describe(name string) *connectors.Table {
	d.t.Helper()
	tab, err := d.Describe(context.Background(), d.rel(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return tab
}

// query is the full read of a described relation; numerics without a declared scale are
// probed.
func (d *db) query(tab *connectors.Table) connectors.Query {
	d.t.Helper()
	cols := append([]connectors.Column(nil), tab.Columns...)
	all := make([]int, len(cols))
	for i := range cols {
		all[i] = i
		if cols[i].Type.Kind == connectors.Decimal && cols[i].Type.Precision == 0 {
			types, err := d.Probe(context.Background(), tab, []int{i}, "")
			if err != nil {
				d.t.Fatal(err)
			}
			cols[i].Type = types[0]
		}
	}
	return connectors.Query{SQL: d.Dialect().Select(connectors.Extract{Table: tab, Columns: all, Limit: -1}), Columns: cols}
}

// read gathers all batches of q; the caller releases them.
func (d *db) read(q connectors.Query) []arrow.RecordBatch {
	d.t.Helper()
	var recs []arrow.RecordBatch
	err := d.Read(context.Background(), q, func(rec arrow.RecordBatch) error {
		rec.Retain()
		recs = append(recs, rec)
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return recs
}

func release(recs []arrow.RecordBatch) {
	for _, r := range recs {
		r.Release()
	}
}

// stage loads recs into a new staging table of target.
func (d *db) stage(spec connectors.StageSpec, recs []arrow.RecordBatch) (connectors.Staging, int64, error) {
	ctx := context.Background()
	if spec.RunID == "" {
		spec.RunID = fmt.Sprintf("%08x", rand.Uint32())
	}
	st, err := d.Stage(ctx, spec)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range recs {
		if err := st.Write(ctx, r); err != nil {
			return st, 0, err
		}
	}
	n, err := st.Seal(ctx)
	return st, n, err
}

// load replaces target by recs.
func (d *db) load(spec connectors.StageSpec, recs []arrow.RecordBatch) error {
	st, _, err := d.stage(spec, recs)
	if st != nil {
		defer func() { _ = st.Discard(context.Background()) }()
	}
	if err != nil {
		return err
	}
	return d.Replace(context.Background(), st)
}

func (d *db) mustLoad(spec connectors.StageSpec, recs []arrow.RecordBatch) {
	d.t.Helper()
	if err := d.load(spec, recs); err != nil {
		d.t.Fatal(err)
	}
}
