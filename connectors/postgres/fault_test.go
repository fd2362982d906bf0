package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// TestLeastGrants: a role that may use the database and create in one schema reads what
// it is granted and replaces what it owns.
func TestLeastGrants(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("ALTER ROLE " + role + " LOGIN PASSWORD 'pw'")
	d.exec("CREATE TABLE src (id int, s text)")
	d.exec("INSERT INTO src VALUES (1, 'a')")
	d.exec("CREATE TABLE secret (id int, s text)")
	d.exec("GRANT SELECT ON src TO " + role)
	o := d.as(map[string]any{"user": role, "password": "pw"})
	ctx := context.Background()
	recs := rows(o, 3, "x")
	defer release(recs)
	src, err := o.Describe(ctx, d.rel("src"))
	if err != nil {
		t.Fatal(err)
	}
	release(o.read(o.query(src)))
	secret, err := o.Describe(ctx, d.rel("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Read(ctx, o.query(secret), func(arrow.RecordBatch) error { return nil }); err == nil || !strings.Contains(err.Error(), "permission denied for table secret") {
		t.Errorf("a table without a grant: %v", err)
	}
	for range 2 {
		o.mustLoad(connectors.StageSpec{Target: d.rel("t"), Columns: []connectors.Column{intCol, textCol}, Options: connectors.TargetOptions{UniqueKey: []string{"id"}}}, recs)
	}
	d.exec("CREATE VIEW v AS SELECT * FROM t")
	o.mustLoad(connectors.StageSpec{Target: d.rel("t"), Columns: []connectors.Column{intCol, textCol}}, recs)
	d.want("3", "SELECT count(*)::text FROM v")
	if err := o.load(connectors.StageSpec{Target: d.rel("secret"), Columns: []connectors.Column{intCol, textCol}}, recs); err == nil || !strings.Contains(err.Error(), "must be ") {
		t.Errorf("a table of another owner: %v", err)
	}
	if err := o.load(connectors.StageSpec{Target: connectors.Relation{Schema: d.schema + "_none", Name: "t"}, Columns: []connectors.Column{intCol}}, nil); err == nil || !strings.Contains(err.Error(), "permission denied for database") {
		t.Errorf("a schema that may not be created: %v", err)
	}
	// The same role taken on by key.
	r := d.as(map[string]any{"role": role})
	if err := r.Exec(ctx, "SELECT * FROM "+d.schema+".secret"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("role is not taken on: %v", err)
	}
	d.leftovers()
}

// as is another connection to the same schema.
func (d *db) as(keys map[string]any) *db {
	d.t.Helper()
	out := testOutput(d.t)
	for k, v := range keys {
		out.Keys[k] = v
	}
	c, err := Open(out, connectors.Env{})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return &db{conn: c.(*conn), t: d.t, schema: d.schema, plain: d.plain}
}

// TestSessionKilled ends the load's session at each step: the target keeps its old
// content, nothing is left behind, and the next load succeeds.
func TestSessionKilled(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.mustLoadRows("t", 5, "old", connectors.TargetOptions{})
	recs := rows(d, 20000, strings.Repeat("new", 50))
	defer release(recs)
	for step := range 4 {
		st, err := d.Stage(ctx, d.spec("t", connectors.TargetOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		kill := func(at int) {
			if at == step {
				d.exec("SELECT pg_terminate_backend($1)", st.(*staging).conn().PID())
			}
		}
		err = func() error {
			kill(0)
			for range 3 {
				if err := st.Write(ctx, recs[0]); err != nil {
					return err
				}
				kill(1)
			}
			kill(2)
			if _, err := st.Seal(ctx); err != nil {
				return err
			}
			kill(3)
			return d.Replace(ctx, st)
		}()
		if err == nil {
			t.Errorf("step %d: no error", step)
		}
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
		d.want("5/old1", "SELECT count(*) || '/' || min(s) FROM t")
		d.leftovers()
	}
	d.mustLoadRows("t", 6, "next", connectors.TargetOptions{})
	d.want("6", "SELECT count(*)::text FROM t")
}

// TestLoadCut: a connection that breaks while rows are sent.
func TestLoadCut(t *testing.T) {
	d := open(t, nil)
	d.mustLoadRows("t", 5, "old", connectors.TargetOptions{})
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
			wg.Go(func() { _, _ = io.CopyN(server, client, 3<<20); _ = server.Close(); _ = client.Close() })
			wg.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		}
	})
	out := testOutput(t)
	out.Keys["host"], out.Keys["port"], _ = net.SplitHostPort(listener.Addr().String())
	c, err := Open(out, connectors.Env{})
	if err != nil {
		t.Fatal(err)
	}
	recs := rows(d, 16000, strings.Repeat("new", 50))
	defer release(recs)
	ctx := context.Background()
	st, err := c.(connectors.Stager).Stage(ctx, d.spec("t", connectors.TargetOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err = st.Write(ctx, recs[0]); err != nil {
			break
		}
	}
	if err == nil {
		_, err = st.Seal(ctx)
	}
	if err == nil {
		t.Error("a cut connection: no error")
	}
	if err := st.Discard(ctx); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	_ = listener.Close()
	wg.Wait()
	d.want("5/old1", "SELECT count(*) || '/' || min(s) FROM t")
	d.gone(d.schema + `"."__dvt`)
	d.leftovers()
}

// TestManyAtOnce: loads and reads of several models do not hold each other up.
func TestManyAtOnce(t *testing.T) {
	d := open(t, map[string]any{"schema": "unused"})
	extra := d.schema + "_many"
	t.Cleanup(func() { d.exec("DROP SCHEMA IF EXISTS " + extra + " CASCADE") })
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rel := connectors.Relation{Schema: extra, Name: fmt.Sprint("t", i)}
			unlock, err := d.Lock(ctx, rel, 0, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			recs := rows(d, 100, "a")
			defer release(recs)
			if err := errors.Join(d.CleanStaging(ctx, rel), d.load(connectors.StageSpec{Target: rel, Columns: []connectors.Column{intCol, textCol}}, recs)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d.want("8", "SELECT count(*)::text FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r'", extra)
}
