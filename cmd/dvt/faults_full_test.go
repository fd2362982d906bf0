package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
	"github.com/dvt-dev/dvt/internal/servers"
)

// fullBytes are what a file of a server of the world's own may hold at most: more than its
// own files need, and less than a staging table of f_table.
var fullBytes = map[string]uint64{"pg": 2 << 20, "my": 13 << 20, "ch": 64 << 10}

// engineEnv is a fact of a test server, of pg or of pg.own.
func engineEnv(engine, fact string) string {
	engine, own, _ := strings.Cut(engine, ".")
	if own != "" {
		engine = own + "_" + engine
	}
	return os.Getenv("DVT_TEST_" + strings.ToUpper(engine) + "_" + fact)
}

// engine is the target's name for enginetest.
func (w *world) engine() string {
	if w.own != nil {
		return w.target + ".own"
	}
	return w.target
}

// ownWorld has a server of its own as its target, whose files can be limited. No other one
// for this engine may be there at the same time.
func ownWorld(t *testing.T, bin, target string) *world {
	own, err := servers.StartOne(context.Background(), target, "OWN")
	if own != nil {
		t.Cleanup(func() {
			if err := own.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range own.Env() {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil { // the tests run in parallel
			t.Fatal(err)
		}
	}
	return makeWorld(t, bin, target, own)
}

// openOwn makes the schema on the world's own server.
func (w *world) openOwn() {
	w.secrets = append(w.secrets, engineEnv(w.engine(), "PASSWORD"))
	kind := "DATABASE "
	if w.target == "pg" {
		kind = "SCHEMA "
	}
	db, err := enginetest.Open(w.engine(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	mustExec(w.t, db, "CREATE "+kind+w.schema)
}

// onFullServer runs the model on a server whose files may not grow.
func (w *world) onFullServer(n next, bad func(string, ...any)) ran {
	if err := w.own.Limit(fullBytes[w.target]); err != nil {
		w.t.Fatal(err)
	}
	r := w.run(n, nil)
	if err := w.own.Limit(0); err != nil {
		w.t.Fatal(err)
	}
	said := strings.ToLower(failureLine(r.out))
	if !strings.Contains(said, "too large") && !strings.Contains(said, "full") && !strings.Contains(said, "no space") {
		bad("the error does not say that there is no room: %s", said)
	}
	if left := w.leftovers(); len(left) > 0 {
		bad("left behind by the run that failed: %s", strings.Join(left, ", "))
	}
	return r
}
