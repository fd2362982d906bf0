package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dvt": main})
}

// serverVars are passed on to scripts; profiles read them with env_var.
func serverVars() []string {
	var out []string
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "DVT_TEST_") || strings.HasPrefix(v, "DVT_DATA=") {
			out = append(out, v)
		}
	}
	return out
}

// uniqueName is a schema or database name that no other test uses.
func uniqueName() string {
	var b [5]byte
	_, _ = rand.Read(b[:])
	return "s_" + hex.EncodeToString(b[:])
}

// TestScript runs testdata/script/*.txtar through the program. Each script has its own
// schema $SCHEMA on PostgreSQL and database $SCHEMA on MariaDB and ClickHouse.
//
//	db pg|my|ch 'sql'            run a statement, or print the rows of a query
//	db sqlite|duckdb FILE 'sql'
//
// and the prefix $SCHEMA/ of the S3 bucket:
//
//	s3 put KEY FILE            write an object
//	s3 list | uploads [KEY]    print keys below a prefix, of objects or of unfinished uploads,
//	                           or none
//	s3 begin KEY               leave an upload unfinished
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setupScript,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"db": scriptDB, "s3": scriptS3},
	})
}

func setupScript(e *testscript.Env) error {
	schema := uniqueName()
	e.Vars = append(e.Vars, serverVars()...)
	e.Vars = append(e.Vars, "SCHEMA="+schema, "NO_COLOR=1")
	bucket, err := enginetest.OpenS3()
	if err != nil {
		return err
	}
	e.Defer(func() { _ = bucket.Clean(schema + "/") })
	for engine, create := range map[string]string{"pg": "CREATE SCHEMA " + schema, "my": "CREATE DATABASE " + schema, "ch": "CREATE DATABASE " + schema} {
		db, err := enginetest.Open(engine, "")
		if err != nil {
			return err
		}
		if err := db.Exec(create); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		e.Defer(func() {
			drop := strings.Replace(create, "CREATE", "DROP", 1)
			if engine == "pg" {
				drop += " CASCADE"
			}
			_ = db.Exec(drop)
			_ = db.Close()
		})
	}
	return nil
}

func scriptDB(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: db engine [file] sql")
	}
	path := ""
	if len(args) == 3 {
		path = ts.MkAbs(args[1])
	}
	stmt := strings.ReplaceAll(args[len(args)-1], "$SCHEMA", ts.Getenv("SCHEMA")) // quoted words are not expanded
	db, err := enginetest.Open(args[0], path)
	ts.Check(err)
	defer func() { _ = db.Close() }()
	word := strings.ToLower(strings.Fields(stmt)[0])
	if word == "select" || word == "show" || word == "with" || word == "pragma" || word == "exists" {
		_, rows, err := db.Query(stmt)
		report(ts, neg, err)
		_, _ = fmt.Fprint(ts.Stdout(), enginetest.Text(rows))
		return
	}
	report(ts, neg, db.Exec(stmt))
}

func scriptS3(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: s3 put KEY FILE, s3 list|uploads [KEY], s3 begin KEY")
	}
	s, err := enginetest.OpenS3()
	ts.Check(err)
	prefix := ts.Getenv("SCHEMA") + "/"
	key := prefix
	if len(args) > 1 {
		key += args[1]
	}
	var keys []string
	switch args[0] {
	case "put":
		ts.Check(s.PutFile(key, ts.MkAbs(args[2])))
	case "begin":
		ts.Check(s.Begin(key))
	case "list":
		keys, err = s.List(key)
	case "uploads":
		keys, err = s.Uploads(key)
	default:
		ts.Fatalf("s3 %s is not known", args[0])
	}
	ts.Check(err)
	if args[0] != "put" && args[0] != "begin" && len(keys) == 0 {
		keys = []string{"none"}
	}
	for _, k := range keys {
		_, _ = fmt.Fprintln(ts.Stdout(), strings.TrimPrefix(k, prefix))
	}
}

func report(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case neg && err == nil:
		ts.Fatalf("the statement succeeded")
	case !neg:
		ts.Check(err)
	}
}
