package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// faultKinds are the kinds of models that a target takes.
var faultKinds = map[string][]string{
	"pg":   {"f_table", "merge", "window"},
	"my":   {"f_table", "merge", "window"},
	"ch":   {"f_table", "merge", "window"},
	"lite": {"f_table", "merge", "window"},
	"duck": {"f_table", "merge", "window"},
	"lake": {"f_table"},
	"s3":   {"f_table"},
}

// playAll builds what the cells need, plays them one after another and tells of each.
func (w *world) playAll(t *testing.T, cells []faultCell, played func(outcome)) {
	built := map[string]bool{}
	for _, c := range cells {
		if !built[c.kind] {
			built[c.kind] = true
			w.upto[c.kind] = 4500
			n := w.advance(c.kind, c.src, c.lane)
			if r := w.run(n, nil); r.code != 0 || w.content(c.kind) != n.want {
				t.Fatalf("the first build of %s on %s: exit code %d, %s instead of %s\n%s", c.kind, w.target, r.code, w.content(c.kind), n.want, r.out)
			}
		}
		o := w.playOn(t, c)
		if len(o.faults) > 0 {
			t.Logf("BAD %s: %s", c, o.faults[0])
		}
		played(o)
	}
}

// playOn plays a cell in a world of its own if it needs one.
func (w *world) playOn(t *testing.T, c faultCell) (o outcome) {
	if c.fault != "server full" {
		return w.play(c)
	}
	played := t.Run("own server", func(t *testing.T) {
		own := ownWorld(t, w.bin, w.target)
		n := own.advance(c.kind, c.src, c.lane)
		if r := own.run(n, nil); r.code != 0 {
			t.Fatalf("the first build on a server of its own: exit code %d\n%s", r.code, r.out)
		}
		// MariaDB's own files are large. What is there by now must be small: the limit is on
		// writing to old pages too, as no full disk is.
		own.fat = w.target == "my"
		o = own.play(c)
	})
	if !played {
		o.cell, o.faults = c, append(o.faults, "it could not be played")
	}
	return o
}

// measure runs a cell's model without a fault, to know how many bytes pass.
func (w *world) measure(c faultCell) {
	key := c.kind + c.src + c.lane
	if _, ok := w.bytes[key]; ok || c.fault == "server full" || !strings.HasPrefix(c.step, "extract") && !strings.HasPrefix(c.step, "stage") && w.usual > 0 {
		return
	}
	src := w.sources[c.src]
	from, to := src.Passed(faultproxy.ToClient), int64(0)
	if w.to != nil {
		to = w.to.Passed(faultproxy.ToServer)
	}
	n := w.advance(c.kind, c.src, c.lane)
	r := w.run(n, nil)
	if r.code != 0 {
		w.t.Errorf("a run without a fault: exit code %d\n%s", r.code, r.out)
	}
	w.usual = r.elapsed
	b := [2]int64{src.Passed(faultproxy.ToClient) - from, 0}
	if w.to != nil {
		b[1] = w.to.Passed(faultproxy.ToServer) - to
	}
	w.bytes[key] = b
	w.rewind(c.kind)
}

// beside runs the model twice at once: the second waits for the first.
func (w *world) beside(c faultCell, n next, bad func(string, ...any)) ran {
	src := w.sources[c.src]
	src.Set(faultproxy.Rule{Fault: faultproxy.Slow, Rate: 1 << 20})
	defer w.heal()
	first := make(chan ran, 1)
	before := src.Passed(faultproxy.ToClient)
	go func() { first <- w.run(n, nil) }()
	w.until(func() bool { return src.Passed(faultproxy.ToClient) > before+100_000 })
	r := w.run(n, nil)
	if f := <-first; f.code != 0 {
		bad("the first of two runs fails with exit code %d:\n%s", f.code, f.out)
	}
	return r
}

// held runs the model while another run, stalled, holds its lock.
func (w *world) held(c faultCell, n next, bad func(string, ...any)) ran {
	src := w.sources[c.src]
	src.Set(faultproxy.Rule{Fault: faultproxy.Stall, Bytes: 100_000})
	first := make(chan ran, 1)
	go func() { first <- w.run(n, nil) }()
	w.until(src.Fired)
	w.settings("lock_wait: 1s\n")
	// The waiting run must not be stalled by the same proxy before it comes to the lock:
	// an f_table is planned first.
	other := n
	other.vars = strings.Replace(n.vars, "src: "+c.src, "src: "+map[string]string{"pg": "my", "my": "ch", "ch": "pg"}[c.src], 1)
	r := w.run(other, nil)
	w.settings("")
	w.heal()
	if f := <-first; f.code != 0 {
		bad("the run that held the lock fails with exit code %d:\n%s", f.code, f.out)
	}
	if r.code != 1 || !strings.Contains(r.out, "another run holds the lock of") {
		bad("a held lock must be an error: exit code %d", r.code)
	}
	return r
}

func (w *world) until(done func() bool) {
	for end := time.Now().Add(20 * time.Second); !done() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// starved runs the model without something that it needs.
func (w *world) starved(c faultCell, n next, bad func(string, ...any)) ran {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	heavy := n
	heavy.vars = strings.Replace(n.vars, "{", "{heavy: true, ", 1)
	var r ran
	switch c.fault {
	case "full":
		cmd := w.command(ctx, n)
		limited := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `trap "" XFSZ; ulimit -f 120; exec "$@"`, "sh"}, cmd.Args...)...)
		limited.Env = cmd.Env
		r = finish(ctx, limited, nil)
	case "spill full":
		w.settings("max_temp_directory_size: 1MB\nfederation_memory_limit: 70MB\n")
		r = finish(ctx, w.command(ctx, heavy), nil)
	case "memory":
		w.settings("federation_memory_limit: 70MB\n")
		r = finish(ctx, w.command(ctx, heavy), nil)
		w.settings("")
		return r
	case "server full":
		r = w.onFullServer(n, bad)
	case "revoked":
		restore := w.revoke(c)
		r = w.run(n, nil)
		restore()
	}
	w.settings("")
	if r.code != 1 {
		bad("it must fail, exit code %d", r.code)
	}
	return r
}

// revoke lets the next run connect as somebody who may not read the source, or not
// create a table beside the target.
func (w *world) revoke(c faultCell) (restore func()) {
	name := "u" + w.schema[1:]
	output, engine := "TGT", c.target
	if strings.HasPrefix(c.step, "extract") {
		output, engine = "SRC_"+strings.ToUpper(c.src), c.src
	}
	password := os.Getenv("DVT_TEST_" + strings.ToUpper(engine) + "_PASSWORD")
	var db *enginetest.DB
	if engine != "s3" {
		db = openDB(w.t, engine, "")
	}
	switch engine {
	case "pg":
		mustExec(w.t, db, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'; GRANT USAGE ON SCHEMA %s TO %s", name, password, w.schema, name))
		if c.step != "extract first" {
			mustExec(w.t, db, fmt.Sprintf("GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s", w.schema, name))
		}
		if c.step == "apply" { // it may stage, but not change the target
			mustExec(w.t, db, fmt.Sprintf("GRANT CREATE ON SCHEMA %s TO %s", w.schema, name))
		}
	case "ch": // its users are made by its configuration
		name = map[bool]string{true: "stranger", false: "reader"}[output != "TGT"]
	case "s3":
		w.env = w.bucketReader(c)
		return func() { w.env = nil }
	case "my":
		mustExec(w.t, db, fmt.Sprintf("CREATE USER %s@'127.0.0.1' IDENTIFIED BY '%s'", name, password))
		// The new name of a source's user sees a table, but not the one that is read.
		table := map[string]string{"f_table": "events", "merge": "big", "window": "big"}[c.kind]
		if c.step != "extract first" {
			table = "*"
		}
		mustExec(w.t, db, fmt.Sprintf("GRANT SELECT ON %s.%s TO %s@'127.0.0.1'", w.schema, table, name))
		if c.step == "apply" {
			mustExec(w.t, db, fmt.Sprintf("GRANT CREATE, DROP, INDEX, INSERT ON %s.* TO %s@'127.0.0.1'", w.schema, name))
		}
	}
	w.env = []string{"DVT_TEST_" + output + "_AS=" + name}
	return func() {
		w.env = nil
		switch engine {
		case "pg":
			mustExec(w.t, db, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", name, name))
		case "my":
			mustExec(w.t, db, "DROP USER "+name+"@'127.0.0.1'")
		}
	}
}

// behindReader runs the model while a session of somebody else has read the target and not
// ended its transaction, or holds the file: the run waits for it.
func (w *world) behindReader(c faultCell, n next, bad func(string, ...any)) ran {
	begin, path := []string{"BEGIN", "SELECT count(*) FROM " + w.schema + ".t_" + c.kind}, ""
	engine := w.target
	switch w.target {
	case "lite":
		engine, path, begin = "sqlite", filepath.Join(w.dir, "out.sqlite"), []string{"BEGIN IMMEDIATE"}
	case "duck":
		engine, path, begin = "duckdb", filepath.Join(w.dir, "out.duckdb"), []string{"BEGIN", "SELECT count(*) FROM t_" + c.kind}
	case "ch":
		begin = begin[1:]
	}
	db, err := enginetest.Open(engine, path)
	if err != nil {
		bad("%v", err)
		return ran{}
	}
	for _, s := range begin {
		if err := db.Exec(s); err != nil {
			bad("%s: %v", s, err)
		}
	}
	time.AfterFunc(restartTime+time.Duration(c.at*float64(2*time.Second)), func() { _ = db.Close() })
	return w.run(n, nil)
}

// jump moves the clock as far as a project can see it: its files were written a day from
// now, or a day ago, whichever was not so before.
func (w *world) jump(c faultCell) {
	at := time.Now().Add(24 * time.Hour)
	if c.at < 0.5 {
		at = time.Now().Add(-24 * time.Hour)
	}
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		w.t.Error(err)
	}
}

// ageLocks takes away what stands for the minute after which a dead run's lock on
// ClickHouse is void; the first one is waited for.
func (w *world) ageLocks(c faultCell) {
	if w.target != "ch" {
		return
	}
	if c.fault == "kill" && !w.waited {
		w.waited = true
		return
	}
	db, err := enginetest.Open("ch", "")
	if err != nil {
		w.t.Error(err)
		return
	}
	defer func() { _ = db.Close() }()
	_, rows, err := db.Query("SELECT name FROM system.tables WHERE database = '" + w.schema + "' AND substring(name, 1, 10) = '__dvt_lock'")
	if err != nil {
		w.t.Error(err)
	}
	for _, r := range rows {
		if err := db.Exec("DROP TABLE " + w.schema + "." + *r[0]); err != nil {
			w.t.Error(err)
		}
	}
}
