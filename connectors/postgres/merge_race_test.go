package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// version is n rows with ids from 1 and the text v.
func version(mem memory.Allocator, n int, v string) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, connectors.ArrowSchema([]connectors.Column{intCol, textCol}))
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int32Builder).Append(int32(i + 1))
		b.Field(1).(*array.StringBuilder).Append(v)
	}
	return b.NewRecordBatch()
}

// applyVersion merges n rows of the text v into t.
func applyVersion(c *conn, target connectors.Relation, n int, v string, delta connectors.Delta) (out connectors.Applied, err error) {
	ctx := context.Background()
	rec := version(memory.DefaultAllocator, n, v)
	defer rec.Release()
	delta.Columns = []string{"id", "s"}
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: fmt.Sprintf("%08x", os.Getpid()), Target: target, Columns: []connectors.Column{intCol, textCol}})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Discard(ctx)) }()
	if err = st.Write(ctx, rec); err == nil {
		_, err = st.Seal(ctx)
	}
	if err != nil {
		return out, err
	}
	return c.Apply(ctx, st, delta)
}

var byID = connectors.Delta{Strategy: upsert, Key: []string{"id"}}

// closed reports whether done is closed.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestApplyReader: whoever reads while deltas are applied sees one of them, whole.
func TestApplyReader(t *testing.T) {
	d := open(t, nil)
	d.mustLoadRows("t", 500, "v", connectors.TargetOptions{UniqueKey: []string{"id"}})
	d.exec("UPDATE t SET s = 'v0'")
	stop, done := make(chan struct{}), make(chan struct{})
	reader := d.as(nil)
	var reads atomic.Int64
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			release(reader.read(reader.query(reader.describe("t")))) // planning and reading are never held up
			var got string
			err := reader.session(context.Background(), func(pc *pgconn.PgConn) error {
				rows, err := reader.conn.query(context.Background(), pc, "SELECT count(*)::text || '/' || count(DISTINCT id)::text || '/' || count(DISTINCT s)::text FROM "+d.schema+".t")
				if err == nil {
					got = rows[0][0].s
				}
				return err
			})
			if err != nil || got != "500/500/1" {
				t.Errorf("a reader saw %s, %v", got, err)
				return
			}
			reads.Add(1)
		}
	}()
	for i := 0; i < 24 || reads.Load() < 5 && !closed(done); i++ {
		delta := byID
		if i%2 == 1 {
			delta.Strategy = replace
		}
		if _, err := applyVersion(d.conn, d.rel("t"), 500, fmt.Sprint("v", i+1), delta); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-done
}

// TestApplyChild is the process that TestApplyKilled kills.
func TestApplyChild(t *testing.T) {
	schema := os.Getenv("DVT_TEST_PG_CHILD")
	if schema == "" {
		return
	}
	out := testOutput(t)
	out.Keys["schema"] = schema
	c, err := Open(out, connectors.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		delta := byID
		if i%2 == 1 {
			delta.Strategy = replace
		}
		if _, err := applyVersion(c.(*conn), connectors.Relation{Name: "t"}, 300, fmt.Sprintf("%d.%d", os.Getpid(), i), delta); err != nil {
			t.Fatal(err)
		}
		fmt.Println("applied")
	}
}

// TestApplyKilled: two processes without a lock merge into one table until they are
// killed. No key is twice there, no delta half, and nothing is left behind.
func TestApplyKilled(t *testing.T) {
	d := open(t, nil)
	d.mustLoadRows("t", 200, "v", connectors.TargetOptions{UniqueKey: []string{"id"}})
	for round := range 4 {
		var children []*exec.Cmd
		var applied atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestApplyChild$", "-test.v")
			cmd.Env = append(os.Environ(), "DVT_TEST_PG_CHILD="+d.schema)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				buf := make([]byte, 4096)
				for {
					n, err := out.Read(buf)
					applied.Add(int64(bytes.Count(buf[:n], []byte("applied"))))
					if bytes.Contains(buf[:n], []byte("FAIL")) {
						t.Errorf("%s", buf[:n])
					}
					if err != nil {
						return
					}
				}
			})
			children = append(children, cmd)
		}
		for start := time.Now(); applied.Load() < 8 && time.Since(start) < 10*time.Second; {
			time.Sleep(time.Duration(1+round) * time.Millisecond)
		}
		for _, cmd := range children {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		wg.Wait()
		if applied.Load() < 8 {
			t.Fatalf("only %d deltas were applied", applied.Load())
		}
		d.want("300/300/1", "SELECT count(*) || '/' || count(DISTINCT id) || '/' || count(DISTINCT s) FROM t")
	}
	if out, err := applyVersion(d.conn, d.rel("t"), 301, "last", byID); err != nil || out.Inserted != 1 || out.Updated != 300 {
		t.Error(out, err)
	}
	d.leftovers()
}

// TestApplyWaits: another session's lock is waited for, and the staged rows survive it.
func TestApplyWaits(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (id int, s text)")
	defer func(p, l time.Duration) { swapPatience, applyLockTimeout = p, l }(swapPatience, applyLockTimeout)
	applyLockTimeout = 100 * time.Millisecond
	for _, lock := range []string{"LOCK TABLE t IN ACCESS EXCLUSIVE MODE", "INSERT INTO t VALUES (1, 'theirs')"} {
		swapPatience = time.Minute
		d.exec("BEGIN; " + lock)
		done := make(chan error, 1)
		go func() {
			_, err := applyVersion(d.conn, d.rel("t"), 3, "ours", byID)
			done <- err
		}()
		select {
		case err := <-done:
			t.Errorf("%s: not waited for: %v", lock, err)
		case <-time.After(600 * time.Millisecond): // more than one attempt
		}
		d.exec("COMMIT")
		if err := <-done; err != nil {
			t.Errorf("%s: %v", lock, err)
		}
	}
	d.want("4/ours", "SELECT count(*) || '/' || min(s) FROM t")
	swapPatience = 0
	d.exec("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
	_, err := applyVersion(d.conn, d.rel("t"), 5, "late", byID)
	d.exec("ROLLBACK")
	if err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("no error for a lock that stays: %v", err)
	}
	d.want("4/ours", "SELECT count(*) || '/' || min(s) FROM t")
	d.leftovers()
}

// TestApplyDeadlock: a deadlock undoes an attempt, not the delta.
func TestApplyDeadlock(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE other (k int PRIMARY KEY, n int)")
	d.exec("INSERT INTO other VALUES (1, 0)")
	d.exec("CREATE TABLE t (id int, s text)")
	d.exec("CREATE SEQUENCE attempts")
	d.exec(`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
		IF nextval('` + d.schema + `.attempts') < 3 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected'; END IF;
		UPDATE ` + d.schema + `.other SET n = n + 1; RETURN NULL; END$$`)
	d.exec("CREATE TRIGGER g AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION f()")
	if out, err := applyVersion(d.conn, d.rel("t"), 3, "x", byID); err != nil || out.Inserted != 3 {
		t.Error(out, err)
	}
	d.want("3/1", "SELECT count(*) || '/' || (SELECT n FROM other) FROM t")
}

// TestApplyOutcome cuts the connection at COMMIT, before and after the server has it.
func TestApplyOutcome(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (id int, s text)")
	for _, forward := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var armed atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() { serve(t, listener, d.settings, &armed, forward, &wg) })
		o := d.as(map[string]any{"host": "127.0.0.1", "port": fmt.Sprint(listener.Addr().(*net.TCPAddr).Port), "schema": d.schema})
		st := o.stagedVersion(4, fmt.Sprint("forward ", forward))
		armed.Store(true)
		out, err := o.Apply(context.Background(), st, connectors.Delta{Strategy: upsert, Key: []string{"id"}, Columns: []string{"id", "s"}})
		switch {
		case forward && (err != nil || out.Inserted != 4):
			t.Errorf("committed, but %+v, %v", out, err)
		case !forward && (err == nil || !strings.Contains(err.Error(), "not committed")):
			t.Errorf("not committed, but %+v, %v", out, err)
		}
		if err := st.Discard(context.Background()); err != nil {
			t.Error(err)
		}
		d.want("4/forward true", "SELECT count(*) || '/' || min(s) FROM t")
		_ = o.Close()
		_ = listener.Close()
		wg.Wait()
	}
	d.leftovers()
}

func (d *db) stagedVersion(n int, v string) connectors.Staging {
	d.t.Helper()
	ctx := context.Background()
	rec := version(memory.DefaultAllocator, n, v)
	defer rec.Release()
	st, err := d.Stage(ctx, d.spec("t", connectors.TargetOptions{}))
	if err == nil {
		err = st.Write(ctx, rec)
	}
	if err == nil {
		_, err = st.Seal(ctx)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return st
}

// serve passes connections on. Once armed it cuts the first that sends COMMIT, having
// passed that on or not.
func serve(t *testing.T, l net.Listener, s *settings, armed *atomic.Bool, forward bool, wg *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", net.JoinHostPort(s.host, s.port))
		if err != nil {
			t.Error(err)
			return
		}
		var cut atomic.Bool
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			for {
				n, err := client.Read(buf)
				if n > 0 && bytes.Contains(buf[:n], []byte("COMMIT\x00")) && armed.CompareAndSwap(true, false) {
					cut.Store(true)
					_ = client.Close()
					if forward {
						_, _ = server.Write(buf[:n])
						time.Sleep(100 * time.Millisecond)
					}
					_ = server.Close()
					return
				}
				if _, werr := server.Write(buf[:n]); err != nil || werr != nil {
					_ = server.Close()
					return
				}
			}
		})
		wg.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
}

// TestApplyCost: a small delta into a large table that dvt made reads rows by the index
// alone, NULL keys included, also before the table has been analyzed.
func TestApplyCost(t *testing.T) {
	for _, key := range [][]string{{"id"}, {"id", "s"}} {
		t.Run(strings.Join(key, "+"), func(t *testing.T) { applyCost(t, key) })
	}
}

func applyCost(t *testing.T, key []string) {
	d := open(t, nil)
	const size = 300000
	once := func(f func(o *db)) { // a session tells its statistics at its end
		o := d.as(nil)
		f(o)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
	once(func(o *db) {
		o.mustLoadRows("t", size, "v", connectors.TargetOptions{UniqueKey: key})
	})
	d.exec("ALTER TABLE t SET (autovacuum_enabled = false)")
	d.exec("ALTER TABLE t ADD n int")
	null := "id"
	if len(key) > 1 {
		null = "s"
	}
	d.exec("UPDATE t SET " + null + " = NULL WHERE id % 10000 = 0")
	read := func() (seq, changed int) {
		d.exec("SELECT pg_stat_clear_snapshot()")
		_, err := fmt.Sscanf(d.text("SELECT seq_tup_read || ' ' || n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relid = 't'::regclass"), "%d %d", &seq, &changed)
		if err != nil {
			t.Fatal(err)
		}
		return seq, changed
	}
	settled := func(atLeast int) (seq, changed int) {
		for range 50 {
			if seq, changed = read(); changed >= atLeast {
				return seq, changed
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("statistics: %d changes, expected %d", changed, atLeast)
		return
	}
	before, changed := settled(size + size/10000)
	cols := []connectors.Column{intCol, textCol, {Name: "n", Type: intCol.Type}}
	var rows []string
	for i := range 100 {
		id, s := fmt.Sprint((i+1)*2990+i/90*size), fmt.Sprintf(`"v%d"`, (i+1)*2990) // some new
		switch {
		case i%30 == 0 && len(key) > 1:
			s = "null"
		case i == 0:
			id = "null"
		}
		rows = append(rows, fmt.Sprintf(`{"id":%s,"s":%s,"n":%d}`, id, s, i))
	}
	for _, delta := range []connectors.Delta{
		{Strategy: upsert}, {Strategy: replace}, {Strategy: appendAll, SkipExisting: true},
	} {
		delta.Key = key
		var out connectors.Applied
		var err error
		once(func(o *db) { out, err = o.apply(cols, "["+strings.Join(rows, ",")+"]", delta) })
		if err != nil || out.Inserted+out.Updated == 0 && !delta.SkipExisting {
			t.Fatalf("%s: %+v, %v", delta.Strategy, out, err)
		}
		changed += int(out.Inserted + out.Updated + out.Deleted)
		seq, now := settled(changed)
		if seq != before || now != changed {
			t.Errorf("%s of 100 rows read %d rows without the index, changed %d for %+v", delta.Strategy, seq-before, now-changed, out)
		}
	}
}
