package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
	"github.com/dvt-dev/dvt/internal/servers"
)

// faultRows are the rows of big, and of events, on each source.
const faultRows = 30_000

// faultSources make the same two tables on the three servers. In events a key comes
// back with later rows: the delta of a merge holds new keys and changed ones.
var faultSources = map[string][]string{
	"pg": {
		`CREATE TABLE %s.big AS SELECT r::bigint AS id, (r * 31)::bigint AS va, (r * 17 + 5)::bigint AS vb, 'name_' || r || repeat('x', 40) AS name FROM generate_series(1::bigint, %d) r`,
		`CREATE TABLE %s.events AS SELECT (r * 7919 %% 9973)::bigint AS id, r::bigint AS ts, (r * 31)::bigint AS v, 'name_' || r || repeat('y', 30) AS name FROM generate_series(1::bigint, %d) r`,
	},
	"my": {
		`CREATE TABLE %s.big (id bigint PRIMARY KEY, va bigint, vb bigint, name varchar(200)) SELECT seq AS id, seq * 31 AS va, seq * 17 + 5 AS vb, concat('name_', seq, repeat('x', 40)) AS name FROM seq_1_to_%d`,
		`CREATE TABLE %s.events (id bigint, ts bigint PRIMARY KEY, v bigint, name varchar(200)) SELECT seq * 7919 %% 9973 AS id, seq AS ts, seq * 31 AS v, concat('name_', seq, repeat('y', 30)) AS name FROM seq_1_to_%d`,
	},
	"ch": {
		`CREATE TABLE %s.big ENGINE = MergeTree ORDER BY id AS SELECT toInt64(number + 1) AS id, toInt64((number + 1) * 31) AS va, toInt64((number + 1) * 17 + 5) AS vb, concat('name_', toString(number + 1), 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') AS name FROM numbers(%d)`,
		`CREATE TABLE %s.events ENGINE = MergeTree ORDER BY ts AS SELECT toInt64((number + 1) * 7919 %% 9973) AS id, toInt64(number + 1) AS ts, toInt64((number + 1) * 31) AS v, concat('name_', toString(number + 1), 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy') AS name FROM numbers(%d)`,
	},
}

// faultModels are one model of each kind; --vars say what the next content is.
var faultModels = map[string]string{
	"f_table": `{{ config(materialized='f_table', lane=var('lane')) }}
select id, {{ var('column') }} as v, {% if var('fat', false) %}repeat(name, 12) as {% endif %}name from {{ source(var('src'), 'big') }} where id > {{ var('above') }}
{% if var('heavy', false) %} and id in (select max(id) from (select id, repeat(name, 250) as pad from {{ source(var('src'), 'big') }}) group by pad) {% endif %}`,
	"merge": `{{ config(materialized='f_incremental', unique_key='id', watermark_column='ts', lane=var('lane')) }}
select id, ts, v, name from {{ source(var('src'), 'events') }} where ts <= {{ var('upto') }}
{% if var('heavy', false) %} and id in (select max(id) from (select id, repeat(name, 250) as pad from {{ source(var('src'), 'big') }}) group by pad) {% endif %}`,
	"window": `{{ config(materialized='f_incremental', unique_key='id', update_key='ts', lane=var('lane')) }}
select id, ts, v, name from {{ source(var('src'), 'events') }} where {{ incremental_where_cond() }} and ts <= {{ var('upto') }}`,
}

// world is one target engine with its project, whose connections all pass proxies.
type world struct {
	t       *testing.T
	bin     string
	dir     string
	schema  string
	target  string
	sources map[string]*faultproxy.Proxy
	to      *faultproxy.Proxy // nil for a target that is a file
	bucket  *enginetest.S3    // of a target that is one
	own     *servers.Set      // the target's server, if it is one of the world's own
	fat     bool              // rows of f_table are long
	secrets []string
	upto    map[string]int      // what the incremental targets have been brought to
	flip    map[string]bool     // which of its two contents f_table has
	bytes   map[string][2]int64 // what a run takes from its source, and sends to its target
	usual   time.Duration       // that a run takes
	env     []string            // of the next run
	waited  bool                // a lock of a dead run on ClickHouse has been waited for once
}

func newWorld(t *testing.T, bin, target string) *world { return makeWorld(t, bin, target, nil) }

func makeWorld(t *testing.T, bin, target string, own *servers.Set) *world {
	w := &world{t: t, own: own, bin: bin, target: target, dir: t.TempDir(), schema: newSchema(t), sources: map[string]*faultproxy.Proxy{},
		upto: map[string]int{}, flip: map[string]bool{}, bytes: map[string][2]int64{}}
	for engine, stmts := range faultSources {
		db := openDB(t, engine, "")
		for _, s := range stmts {
			mustExec(t, db, fmt.Sprintf(s, w.schema, faultRows))
		}
		w.sources[engine] = w.proxy(engine)
		w.secrets = append(w.secrets, engineEnv(engine, "PASSWORD"))
	}
	if w.server() {
		w.to = w.proxy(w.engine())
	}
	if own != nil {
		w.openOwn()
	}
	if target == "s3" {
		w.openBucket()
	}
	w.write("models/sources.yml", "version: 2\nsources:\n"+w.source("pg")+w.source("my")+w.source("ch"))
	for kind, text := range faultModels {
		w.write("models/"+kind+".sql", strings.Replace(text, "lane=", "alias='t_"+kind+"', lane=", 1))
	}
	w.write("profiles.yml", w.profile())
	w.write("dbt_project.yml", "name: faults\nversion: '1.0'\nprofile: faults\n")
	w.settings("")
	return w
}

// server says that the target is a server, not a file.
func (w *world) server() bool { return w.target == "pg" || w.target == "my" || w.target == "ch" }

func (w *world) proxy(engine string) *faultproxy.Proxy {
	p, err := faultproxy.Listen(engineEnv(engine, "HOST") + ":" + engineEnv(engine, "PORT"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = p.Close() })
	return p
}

func (w *world) write(path, text string) {
	path = filepath.Join(w.dir, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) source(engine string) string {
	return fmt.Sprintf("  - name: %s\n    meta: {connection: src_%s}\n    schema: %s\n    tables: [{name: big}, {name: events}]\n", engine, engine, w.schema)
}

// settings writes dvt_project.yml; more holds lines that go before the usual ones.
func (w *world) settings(more string) {
	usual := map[string]string{"federation_memory_limit": "256MB", "federation_threads": "2", "lock_wait": "90s", "state": ".dvt/state"}
	if w.target != "lake" {
		usual["state"] = "tgt/" + w.targetSchema()
	}
	for key, value := range usual {
		if !strings.Contains(more, key) {
			more += key + ": " + value + "\n"
		}
	}
	w.write("dvt_project.yml", more)
}

func (w *world) targetSchema() string {
	if w.server() {
		return w.schema
	}
	return "main"
}

func (w *world) profile() string {
	server := func(name, engine, typ string, p *faultproxy.Proxy) string {
		text := fmt.Sprintf("    %s: {type: %s, host: 127.0.0.1, port: %s, user: \"{{ env_var('DVT_TEST_%s_AS', '%s') }}\", password: '%s', schema: %s, connect_timeout: 5, query_timeout: \"{{ env_var('DVT_TEST_QUERY_TIMEOUT', '600') }}\"",
			name, typ, p.Port(), strings.ToUpper(name), engineEnv(engine, "USER"), engineEnv(engine, "PASSWORD"), w.schema)
		if typ == "postgres" {
			text += ", dbname: " + engineEnv(engine, "DATABASE")
		}
		return text + "}\n"
	}
	types := map[string]string{"pg": "postgres", "my": "mysql", "ch": "clickhouse"}
	text := "faults:\n  target: tgt\n  outputs:\n"
	for engine, p := range w.sources {
		text += server("src_"+engine, engine, types[engine], p)
	}
	switch w.target {
	case "lite":
		return text + "    tgt: {type: sqlite, path: out.sqlite}\n"
	case "duck":
		return text + "    tgt: {type: duckdb, path: out.duckdb}\n"
	case "s3":
		return text + w.bucketOutput()
	case "lake":
		return text + "    tgt: {type: file, path: lake, format: parquet}\n"
	}
	return text + server("tgt", w.engine(), types[w.target], w.to)
}

// contentSums are numbers that no lost, doubled or cut row leaves equal.
const contentSums = "count(*), sum(id), sum(v), sum(v * id % 1009), sum(length(name))"

// content is what the target holds, in those numbers.
func (w *world) content(kind string) string {
	var db *enginetest.DB
	query := "SELECT " + contentSums + " FROM "
	var err error
	switch w.target {
	case "pg", "my", "ch":
		db, err = enginetest.Open(w.engine(), "")
		query += w.schema + ".t_" + kind
	case "lite":
		db, err = enginetest.Open("sqlite", filepath.Join(w.dir, "out.sqlite"))
		query += "t_" + kind
	case "duck":
		db, err = enginetest.Open("duckdb", filepath.Join(w.dir, "out.duckdb"))
		query = "SELECT COLUMNS(*)::VARCHAR FROM (" + query + "t_" + kind + ")"
	case "s3":
		got, err := w.bucketContent(kind)
		if err != nil {
			return "cannot be read: " + err.Error()
		}
		return got
	default:
		db, err = enginetest.Open("duckdb", "")
		query = "SELECT COLUMNS(*)::VARCHAR FROM (" + query + "read_parquet('" + filepath.Join(w.dir, "lake", "t_"+kind+".parquet") + "'))"
	}
	if err != nil {
		return err.Error()
	}
	defer func() { _ = db.Close() }()
	_, rows, err := db.Query(query)
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return strings.TrimSpace(enginetest.Text(rows))
}

// next is one content of a model: its --vars and the numbers that content gives.
type next struct {
	kind string
	vars string
	want string
}

// advance moves a model to its next content.
func (w *world) advance(kind, src, lane string) next {
	var query, vars string
	if kind == "f_table" {
		w.flip[kind] = !w.flip[kind]
		column, above := "va", 0
		if w.flip[kind] {
			column, above = "vb", 10
		}
		vars = fmt.Sprintf("column: %s, above: %d, upto: 0", column, above)
		name := "name"
		if w.fat {
			name = "repeat(name, 12) AS name"
			vars += ", fat: true"
		}
		query = fmt.Sprintf("SELECT id, %s AS v, %s FROM %s.big WHERE id > %d", column, name, w.schema, above)
	} else {
		w.upto[kind] += 1500
		vars = fmt.Sprintf("column: va, above: 0, upto: %d", w.upto[kind])
		query = fmt.Sprintf("SELECT DISTINCT ON (id) id, v, name FROM %s.events WHERE ts <= %d ORDER BY id, ts DESC", w.schema, w.upto[kind])
	}
	db, err := enginetest.Open("pg", "")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // not at the test's end: a full run comes here thousands of times
	_, rows := mustQuery(w.t, db, "SELECT "+contentSums+" FROM ("+query+") q")
	return next{kind: kind, vars: fmt.Sprintf("{src: %s, lane: %s, %s}", src, lane, vars), want: strings.TrimSpace(enginetest.Text(rows))}
}

// rewind starts an incremental model anew when its events are used up.
func (w *world) rewind(kind string) {
	if kind == "f_table" || w.upto[kind] > 0 && w.upto[kind]+1500 <= faultRows {
		return
	}
	w.upto[kind] = 4500
	n := w.advance(kind, "pg", "auto")
	if r := w.run(n, nil, "--full-refresh"); r.code != 0 {
		w.t.Fatalf("building %s anew: exit code %d\n%s", kind, r.code, r.out)
	}
}

// child is one run of the program.
type child struct {
	mu  sync.Mutex
	cmd *exec.Cmd
}

func (c *child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil && c.cmd.Process != nil {
		_ = c.cmd.Process.Signal(s)
	}
}

// ran is how a child ended.
type ran struct {
	out     string
	code    int // -1: killed
	elapsed time.Duration
	hung    bool
}

// hangs is when a run that does not end counts as hanging.
const hangs = 100 * time.Second

// command prepares a run of a model.
func (w *world) command(ctx context.Context, n next, more ...string) *exec.Cmd {
	args := append([]string{"--project-dir", w.dir, "run", "-s", n.kind, "--vars", n.vars}, more...)
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), w.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // where it hangs
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs a model; c, if given, is set as soon as the process is there.
func (w *world) run(n next, c *child, more ...string) ran {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	return finish(ctx, w.command(ctx, n, more...), c)
}

func finish(ctx context.Context, cmd *exec.Cmd, c *child) ran {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if c == nil {
		c = &child{}
	}
	c.mu.Lock()
	err := cmd.Start()
	c.cmd = cmd
	c.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	r := ran{out: out.String(), elapsed: time.Since(start), hung: ctx.Err() != nil}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		r.code, r.out = -2, r.out+err.Error()
	}
	return r
}

// leftovers lists what a run should have taken away: staging, lock tables, run folders.
func (w *world) leftovers() []string {
	var found []string
	add := func(engine, path, query string) {
		db, err := enginetest.Open(engine, path)
		if err != nil {
			found = append(found, err.Error())
			return
		}
		defer func() { _ = db.Close() }()
		_, rows, err := db.Query(query)
		if err != nil {
			found = append(found, err.Error())
		}
		for _, r := range rows {
			found = append(found, *r[0])
		}
	}
	switch w.target {
	case "pg":
		add(w.engine(), "", "SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = '"+w.schema+"' AND left(relname, 5) = '__dvt'")
	case "my":
		add(w.engine(), "", "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+w.schema+"' AND left(TABLE_NAME, 5) = '__dvt'")
	case "ch":
		add(w.engine(), "", "SELECT name FROM system.tables WHERE database = '"+w.schema+"' AND substring(name, 1, 5) = '__dvt'")
	case "lite":
		add("sqlite", filepath.Join(w.dir, "out.sqlite"), "SELECT name FROM sqlite_master WHERE substr(name, 1, 5) = '__dvt'")
	case "duck":
		add("duckdb", filepath.Join(w.dir, "out.duckdb"), "SELECT table_name FROM duckdb_tables() WHERE left(table_name, 5) = '__dvt'")
	case "s3":
		found = append(found, w.bucketLeftovers()...)
	default:
		_ = filepath.WalkDir(filepath.Join(w.dir, "lake"), func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.Contains(filepath.Base(path), "dvt") {
				found = append(found, path)
			}
			return nil
		})
	}
	folders, _ := filepath.Glob(filepath.Join(w.dir, ".dvt", "tmp", "[^.]*"))
	return append(found, folders...)
}

// statements lists what the servers still run for this world.
func (w *world) statements() []string {
	var found []string
	for engine, query := range map[string]string{
		"pg": "SELECT state || ' ' || query FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state <> 'idle' AND query LIKE '%" + w.schema + "%'",
		"my": "SELECT concat(command, ' ', info) FROM information_schema.PROCESSLIST WHERE id <> connection_id() AND command <> 'Sleep' AND info LIKE '%" + w.schema + "%'",
		"ch": "SELECT query FROM system.processes WHERE query LIKE '%" + w.schema + "%' AND query NOT LIKE '%system.processes%'",
	} {
		if engine == w.target {
			engine = w.engine()
		}
		db, err := enginetest.Open(engine, "")
		if err != nil {
			return []string{err.Error()}
		}
		_, rows, err := db.Query(query)
		if err != nil {
			found = append(found, engine+": "+err.Error())
		}
		for _, r := range rows {
			found = append(found, engine+": "+shortSQL(*r[0]))
		}
		_ = db.Close()
	}
	return found
}

// quiet waits until no server runs a statement of ours.
func (w *world) quiet(within time.Duration) []string {
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		left := w.statements()
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}
