package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// proxied puts a proxy before an output's server and sets further keys of the output.
func (p *caseProject) proxied(output, typ, more string) *faultproxy.Proxy {
	p.t.Helper()
	e := "DVT_TEST_" + strings.ToUpper(output) + "_"
	proxy, err := faultproxy.Listen(os.Getenv(e+"HOST") + ":" + os.Getenv(e+"PORT"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = proxy.Close() })
	text, err := os.ReadFile(filepath.Join(p.dir, "profiles.yml"))
	if err != nil {
		p.t.Fatal(err)
	}
	line := p.output(output, typ, "")
	changed := strings.Replace(p.output(output, typ, more), "port: "+os.Getenv(e+"PORT"), "port: "+proxy.Port(), 1)
	p.write("profiles.yml", strings.Replace(string(text), line, changed, 1))
	return proxy
}

// peak runs the program as a process and returns its peak resident memory in bytes.
func (p *caseProject) peak(args ...string) int64 {
	p.t.Helper()
	m := p.measure(nil, args...)
	if m.code != 0 {
		p.t.Fatalf("exit code %d\n%s", m.code, m.out)
	}
	return m.peak
}

func (p *caseProject) rowsTable(n int) {
	p.t.Helper()
	p.source("pg", "t")
	p.exec("pg", fmt.Sprintf("CREATE TABLE $S.t AS SELECT i AS id, md5(i::text) AS h, 'v' || i AS v FROM generate_series(1, %d) i", n))
}

// Many Parquet files into one, sorted: the limit holds, by spilling.
func TestCaseG1(t *testing.T) {
	p := newCase(t)
	files, rows, limit := 30, 10_000, 128
	if full() {
		files, rows, limit = 200, 100_000, 512
	}
	p.write("dvt_project.yml", fmt.Sprintf("federation_memory_limit: %dMB\n", limit))
	p.write("lake/in/.keep", "")
	db := p.open("lake")
	defer func() { _ = db.Close() }()
	for i := range files {
		mustExec(t, db, fmt.Sprintf("COPY (SELECT i + %d AS id, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) AS h, hash(i) AS x FROM range(%d) r(i)) TO '%s' (FORMAT parquet)",
			i*rows, rows, filepath.Join(p.dir, "lake", "in", fmt.Sprintf("part%03d.parquet", i))))
	}
	p.write("models/sources.yml", "version: 2\nsources:\n  - name: files\n    meta: {connection: lake}\n    schema: in\n    tables: [{name: parts, identifier: '*.parquet'}]\n")
	p.model("m", "target='lake'", "select * from {{ source('files', 'parts') }} order by x, id")
	if peak := p.peak(); peak > int64(limit+300)<<20 {
		t.Errorf("peak memory %d MB of a limit of %d MB + 300 MB", peak>>20, limit)
	}
	n := int64(files * rows)
	p.is("lake", "SELECT count(*)::VARCHAR, sum(id)::VARCHAR FROM "+p.parquet("m.parquet"), fmt.Sprintf("%d\t%d", n, n*(n-1)/2))
}

func TestCaseG2(t *testing.T) {
	p := newCase(t)
	p.rowsTable(500_000)
	p.model("m", "target='ch'", "select * from {{ source('pg', 't') }}")
	p.run()
	p.is("ch", "SELECT count(), uniqExact(h) FROM $S.m", "500000\t500000")
}

// Memory does not grow from one model to the next.
func TestCaseG3(t *testing.T) {
	p := newCase(t)
	p.rowsTable(30_000)
	for i := range 8 {
		p.model(fmt.Sprintf("m%d", i), "target='"+[]string{"pg", "my", "ch", "duck"}[i%4]+"'", "select *, upper(v) as u from {{ source('pg', 't') }}")
	}
	one, all := p.peak("--threads", "1", "-s", "m3"), p.peak("--threads", "1")
	t.Logf("one model %d MB, eight %d MB", one>>20, all>>20)
	if all > one+150<<20 {
		t.Errorf("peak memory grows from %d MB for one model to %d MB for eight", one>>20, all>>20)
	}
}

// A large merge into DuckDB stays within its limit.
func TestCaseG4(t *testing.T) {
	p := newCase(t)
	p.write("dvt_project.yml", "federation_memory_limit: 256MB\n")
	rows := 60_000
	if full() {
		rows = 5_000_000
	}
	p.rowsTable(rows)
	p.model("m", "materialized='f_incremental', target='duck', unique_key='id'", "select * from {{ source('pg', 't') }}{% if is_incremental() %} where true{% endif %}")
	p.peak()
	p.exec("pg", "UPDATE $S.t SET v = 'w' || id")
	if peak := p.peak(); peak > (256+300)<<20 {
		t.Errorf("peak memory %d MB of a limit of 256 MB + 300 MB", peak>>20)
	}
	p.is("duck", "SELECT count(*)::VARCHAR, count(*) FILTER (WHERE v = 'w' || id)::VARCHAR FROM m", fmt.Sprintf("%d\t%d", rows, rows))
}

// Merging the same rows again and again does not let the file grow without end.
func TestCaseG5(t *testing.T) {
	p := newCase(t)
	p.rowsTable(20_000)
	p.model("m", "materialized='f_incremental', target='duck', unique_key='id'", "select * from {{ source('pg', 't') }}{% if is_incremental() %} where true{% endif %}")
	size := func() int64 {
		info, err := os.Stat(filepath.Join(p.dir, "out.duckdb"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 3 {
		p.run()
	}
	first := size()
	for range 12 {
		p.run()
	}
	if last := size(); last > 3*first {
		t.Errorf("the file grew from %d to %d bytes", first, last)
	}
	p.is("duck", "SELECT count(*)::VARCHAR FROM m", "20000")
}

// A stream that ends early is read again, and an error if it always ends early: never a
// shorter table.
func TestCaseG8(t *testing.T) {
	t.Parallel()
	for out, typ := range map[string]string{"pg": "postgres", "my": "mysql", "ch": "clickhouse"} {
		t.Run(out, func(t *testing.T) {
			t.Parallel()
			p := newCase(t)
			p.source(out, "t")
			switch out {
			case "pg":
				p.exec(out, "CREATE TABLE $S.t AS SELECT i AS id, repeat('x', 100) AS v FROM generate_series(1, 30000) i")
			case "my":
				p.exec(out, "CREATE TABLE $S.t (id int, v text) SELECT seq AS id, repeat('x', 100) AS v FROM seq_1_to_30000")
			case "ch":
				p.exec(out, "CREATE TABLE $S.t ENGINE = MergeTree ORDER BY id AS SELECT number AS id, toString(rand64()) AS v FROM numbers(300000)")
			}
			p.model("m", "target='duck'", "select * from {{ source('"+out+"', 't') }}")
			proxy := p.proxied(out, typ, "")
			p.run()
			want := p.rows("duck", "SELECT count(*)::VARCHAR FROM m")
			passed := proxy.Passed(faultproxy.ToClient)
			proxy.Set(faultproxy.Rule{Fault: faultproxy.Truncate, Bytes: passed / 10 * 9})
			if out := p.run(); !strings.Contains(out, "nothing was applied yet, trying again") {
				t.Error(out)
			}
			p.is("duck", "SELECT count(*)::VARCHAR FROM m", want)
			stop := p.repeat(func() { proxy.Set(faultproxy.Rule{Fault: faultproxy.Truncate, Bytes: passed / 10 * 9}) }, proxy.Fired)
			p.fails([]string{"nothing was applied yet, trying again"})
			stop()
			proxy.Heal()
			p.is("duck", "SELECT count(*)::VARCHAR FROM m", want)
		})
	}
}

// repeat calls f, and again whenever again says so, until stop is called.
func (p *caseProject) repeat(f func(), again func() bool) (stop func()) {
	over := make(chan struct{})
	var done sync.WaitGroup
	f()
	done.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if again() {
				f()
			}
		}
	})
	return func() {
		close(over)
		done.Wait()
	}
}

// A server that ends the session in the middle of every stream: an error soon.
func TestCaseG9(t *testing.T) {
	t.Parallel()
	p := newCase(t)
	p.rowsTable(300_000)
	p.model("m", "target='duck'", "select * from {{ source('pg', 't') }}")
	proxy := p.proxied("pg", "postgres", "")
	before := proxy.Passed(faultproxy.ToClient)
	proxy.Set(faultproxy.Rule{Fault: faultproxy.Slow, Rate: 6 << 20})
	db := p.open("pg")
	defer func() { _ = db.Close() }()
	stop := p.repeat(func() {}, func() bool {
		passed := proxy.Passed(faultproxy.ToClient)
		if passed < before+100_000 {
			return false
		}
		before = passed
		mustExec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%COPY (%"+p.schema+"%'")
		return false
	})
	defer stop()
	start := time.Now()
	p.fails([]string{"the connection to postgres 127.0.0.1:" + proxy.Port() + "/" + os.Getenv("DVT_TEST_PG_DATABASE") + " was lost"})
	if d := time.Since(start); d > 40*time.Second {
		t.Errorf("the error took %s", d)
	}
}

// Connections to the target that a firewall has dropped during a long read are opened
// again before the load.
func TestCaseG10(t *testing.T) {
	t.Parallel()
	for out, typ := range map[string]string{"pg": "postgres", "my": "mysql", "ch": "clickhouse"} {
		t.Run(out, func(t *testing.T) {
			t.Parallel()
			p := newCase(t)
			source, kind := "pg", "postgres"
			if out == "pg" {
				source, kind = "ch", "clickhouse"
			}
			p.source(source, "t")
			if source == "pg" {
				p.exec("pg", "CREATE TABLE $S.t AS SELECT i AS id, repeat('x', 100) AS v FROM generate_series(1, 20000) i")
			} else {
				p.exec("ch", "CREATE TABLE $S.t ENGINE = MergeTree ORDER BY id AS SELECT toInt64(number) AS id, toString(rand64()) AS v FROM numbers(100000)")
			}
			p.model("m", "target='"+out+"', lane='compute'", "select * from {{ source('"+source+"', 't') }}")
			from, to := p.proxied(source, kind, ""), p.proxied(out, typ, "")
			p.run()
			before := from.Passed(faultproxy.ToClient)
			from.Set(faultproxy.Rule{Fault: faultproxy.Slow, Rate: 2 << 20})
			go func() {
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if from.Passed(faultproxy.ToClient) > before+300_000 {
						to.Set(faultproxy.Rule{Fault: faultproxy.Cut})
						from.Heal()
						return
					}
				}
			}()
			p.run()
			if !to.Fired() {
				t.Fatal("the connections were not cut")
			}
			want := map[string]string{"pg": "20000", "ch": "100000"}[source]
			p.is(out, "SELECT count(*) FROM $S.m", want)
		})
	}
}

// A delta whose lock went with its connection is not applied, for another run may have
// applied the same rows, but read again under a new lock.
func TestLostLock(t *testing.T) {
	t.Parallel()
	for out, typ := range map[string]string{"pg": "postgres", "my": "mysql"} {
		t.Run(out, func(t *testing.T) {
			t.Parallel()
			p := newCase(t)
			p.source("ch", "t")
			p.exec("ch", "CREATE TABLE $S.t ENGINE = MergeTree ORDER BY id AS SELECT toInt64(number) AS id, toString(rand64()) AS v FROM numbers(10)")
			p.model("m", "materialized='f_incremental', target='"+out+"', incremental_strategy='append', watermark_column='id'", "select * from {{ source('ch', 't') }}")
			from, to := p.proxied("ch", "clickhouse", ""), p.proxied(out, typ, "")
			p.run()
			p.exec("ch", "INSERT INTO $S.t SELECT toInt64(number + 10) AS id, toString(rand64()) AS v FROM numbers(100000)")
			before := from.Passed(faultproxy.ToClient)
			from.Set(faultproxy.Rule{Fault: faultproxy.Slow, Rate: 2 << 20})
			go func() {
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if from.Passed(faultproxy.ToClient) > before+300_000 {
						to.Set(faultproxy.Rule{Fault: faultproxy.Cut})
						from.Heal()
						return
					}
				}
			}()
			text := "the lock of " + p.schema + ".m was lost while the delta was read; the target is unchanged"
			if out := p.run(); !strings.Contains(out, text) {
				t.Errorf("%q is missing:\n%s", text, out)
			}
			p.is(out, "SELECT count(*), count(DISTINCT id) FROM $S.m", "100010\t100010")
		})
	}
}

// Every part of an appended folder counts.
func TestCaseG14(t *testing.T) {
	p := newCase(t)
	p.source("pg", "delta")
	p.exec("pg", "CREATE TABLE $S.delta (id int, v text)", "INSERT INTO $S.delta SELECT i, 'a' FROM generate_series(1, 100) i")
	p.model("m", "materialized='f_incremental', target='lake', incremental_strategy='append', watermark_column='id'", "select * from {{ source('pg', 'delta') }}")
	p.run()
	for from := 101; from < 400; from += 100 {
		p.exec("pg", fmt.Sprintf("INSERT INTO $S.delta SELECT i, 'b' FROM generate_series(%d, %d) i", from, from+99))
		p.run()
	}
	p.model("back", "", "select * from {{ ref('m') }}")
	p.run("-s", "back")
	p.is("pg", "SELECT count(*), count(DISTINCT id), sum(id) FROM $S.back", "400\t400\t80200")
}

func TestCaseG15(t *testing.T) {
	p := newCase(t)
	p.rowsTable(1000)
	p.model("m", "target='duck', chunk_column='id', chunk_size=250", "select * from {{ source('pg', 't') }}")
	p.model("n", "target='duck', chunk_column='id', chunk_size=250", "select * from {{ source('pg', 't') }}")
	if out := p.run("--threads", "4"); strings.Count(out, "1000 rows → 4 chunks") != 2 {
		t.Error(out)
	}
	p.is("duck", "SELECT count(*)::VARCHAR, count(DISTINCT id)::VARCHAR FROM m", "1000\t1000")
	p.is("duck", "SELECT count(*)::VARCHAR FROM n", "1000")
}

// Many bad values are one failure, not a table without them.
func TestCaseG17(t *testing.T) {
	each(t, []string{"pg", "my"}, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE TABLE $S.t AS SELECT i AS id, CASE WHEN i <= 5 THEN 'ok' ELSE 'far too long' END AS v FROM generate_series(1, 26) i")
		p.exec(out, "CREATE TABLE $S.m (id int, v varchar(3))", "INSERT INTO $S.m VALUES (0, 'old')")
		p.model("m", "target='"+out+"', column_types={'v': 'varchar(3)'}", "select * from {{ source('pg', 't') }}")
		p.fails([]string{`"v"`})
		p.is(out, "SELECT id, v FROM $S.m", "0\told")
	})
}

// A mutation that the server has not finished on the old table does not hold up the swap,
// nor the end of the run.
func TestCaseG18(t *testing.T) {
	t.Parallel()
	p := newCase(t)
	p.rowsTable(1000)
	p.model("m", "target='ch', order_by='id'", "select * from {{ source('pg', 't') }}")
	p.run()
	for range 8 { // a part each
		p.exec("ch", "INSERT INTO $S.m SELECT * FROM $S.m LIMIT 500")
	}
	p.exec("ch", "ALTER TABLE $S.m DELETE WHERE sleepEachRow(0.003) = 1")
	if p.rows("ch", "SELECT count() FROM system.mutations WHERE database || '.' = '$S.' AND is_done = 0") == "0" {
		t.Fatal("the mutation is over already")
	}
	start := time.Now()
	p.run()
	if d := time.Since(start); d > 40*time.Second {
		t.Errorf("the run took %s", d)
	}
	p.is("ch", "SELECT count() FROM $S.m", "1000")
}

// A count that lags behind the load is asked for again before the model fails.
func TestCaseG22(t *testing.T) {
	t.Parallel()
	p := newCase(t)
	p.rowsTable(1000)
	p.model("m", "target='ch'", "select * from {{ source('pg', 't') }}")
	p.stagingAway(func(db *enginetest.DB, staging string) {
		for _, s := range []string{"CREATE TABLE " + p.schema + ".aside ENGINE = Log AS SELECT * FROM " + staging, "TRUNCATE TABLE " + staging} {
			if err := db.Exec(s); err != nil {
				t.Error(err)
			}
		}
		time.AfterFunc(time.Second, func() {
			if err := db.Exec("INSERT INTO " + staging + " SELECT * FROM " + p.schema + ".aside"); err != nil {
				t.Error(err)
			}
		})
	})
	p.run()
	p.is("ch", "SELECT count(), uniqExact(id) FROM $S.m", "1000\t1000")
}

// A stream of 200 million rows under a query_timeout: an error, nothing left, the target
// unchanged.
func TestCaseG20(t *testing.T) {
	t.Parallel()
	each(t, []string{"pg", "duck"}, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE VIEW $S.t AS SELECT generate_series(1, 1000) AS id")
		p.model("m", "target='"+out+"'", "select * from {{ source('pg', 't') }}")
		p.run()
		p.exec("pg", "CREATE OR REPLACE VIEW $S.t AS SELECT generate_series(1, 200000000) AS id")
		p.proxied("pg", "postgres", ", query_timeout: 2")
		start := time.Now()
		p.fails([]string{"statement timeout"})
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("it took %s", d)
		}
		if out == "pg" {
			p.is(out, "SELECT count(*) FROM $S.m", "1000")
			p.is(out, "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname || '.' = '$S.' AND left(relname, 5) = '__dvt'", "0")
		} else {
			p.is(out, "SELECT count(*)::VARCHAR FROM m", "1000")
		}
	})
}

// State does not move with a load that fails after its first rows.
func TestCaseG23(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "pg/"+p.schema)
	p.source("my", "t")
	p.exec("my", "CREATE TABLE $S.t (id int PRIMARY KEY, ts int, v int) SELECT seq AS id, seq AS ts, seq AS v FROM seq_1_to_1000")
	p.model("m", "materialized='f_incremental', unique_key='id', update_key='ts'", "select id, ts, v from {{ source('my', 't') }} where {{ incremental_where_cond() }}")
	p.run()
	state := func() string {
		return p.rows("pg", "SELECT value FROM $S._sling_state WHERE model = 'm'")
	}
	if state() != "1000" {
		t.Fatal(state())
	}
	p.exec("my", "INSERT INTO $S.t SELECT seq, seq, seq FROM seq_1001_to_30000")
	p.exec("pg", "ALTER TABLE $S.m ADD CHECK (v < 29000)")
	p.fails([]string{"violates check constraint"})
	if state() != "1000" {
		t.Errorf("state moved to %s", state())
	}
	p.is("pg", "SELECT count(*) FROM $S.m", "1000")
	p.exec("my", "UPDATE $S.t SET v = 0 WHERE v >= 29000")
	p.run()
	if state() != "30000" {
		t.Error(state())
	}
	p.is("pg", "SELECT count(*) FROM $S.m", "30000")
}

// A chunk that fails leaves the old target, and the run says how to go on.
func TestCaseG25(t *testing.T) {
	each(t, tableOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "t")
		p.exec("pg", "CREATE VIEW $S.t AS SELECT i AS id, i AS v FROM generate_series(1, 400) i")
		p.model("m", "target='"+out+"', chunk_column='id', chunk_size=100", "select * from {{ source('pg', 't') }}")
		p.run()
		p.exec("pg", "CREATE OR REPLACE VIEW $S.t AS SELECT i AS id, CASE WHEN i = 250 THEN 1 / (i - i) ELSE i + 1 END AS v FROM generate_series(1, 400) i")
		p.fails([]string{"chunk 3/4 failed — resume with: dvt run --resume -s m", "division by zero"})
		from := "$S.m"
		if out == "lake" {
			from = p.parquet("m.parquet")
		}
		cast := map[bool]string{true: "::VARCHAR"}[out == "duck" || out == "lake"]
		p.is(out, "SELECT count(*)"+cast+", sum(v - id)"+cast+" FROM "+from, "400\t0")
		p.exec("pg", "CREATE OR REPLACE VIEW $S.t AS SELECT i AS id, i + 1 AS v FROM generate_series(1, 400) i")
		p.run("--resume", "-s", "m")
		p.is(out, "SELECT count(*)"+cast+", sum(v - id)"+cast+" FROM "+from, "400\t400")
	})
}

// Months are calendar months, and a row at the end instant belongs to the next window.
func TestCaseG27(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", "CREATE TABLE $S.t AS SELECT i AS id, timestamp '2023-12-31' + i * interval '1 day' AS ts FROM generate_series(0, 120) i")
	p.model("m", "materialized='f_incremental', target='my', unique_key='id', update_key='ts'", "select id, ts from {{ source('pg', 't') }} where {{ incremental_where_cond() }}")
	out := p.run("-s", "m", "--range", "2024-01-01,2024-04-01,1mo")
	for _, s := range []string{"chunk 1/3 ts=[2024-01-01, 2024-02-01) OK", "chunk 2/3 ts=[2024-02-01, 2024-03-01) OK", "chunk 3/3 ts=[2024-03-01, 2024-04-01) OK"} {
		if !strings.Contains(out, s) {
			t.Errorf("%q is missing:\n%s", s, out)
		}
	}
	p.is("my", "SELECT count(*), count(DISTINCT id), min(ts), max(ts) FROM $S.m", "91\t91\t2024-01-01 00:00:00.000000\t2024-03-31 00:00:00.000000")
}

func TestCaseG28(t *testing.T) {
	p := newCase(t)
	p.source("pg", "t")
	p.exec("pg", "CREATE TABLE $S.t (id int, ts timestamp)", "INSERT INTO $S.t VALUES (1, '2024-01-01'), (2, '2024-01-31 23:59:59.999999'), (3, '2024-02-01'), (4, '2024-03-01')")
	p.model("m", "materialized='f_incremental', unique_key='id', update_key='ts'", "select id, ts from {{ source('pg', 't') }} where {{ incremental_where_cond() }}")
	p.run("-s", "m", "--range", "2024-01-01,2024-02-01")
	p.is("pg", "SELECT string_agg(id::text, ',' ORDER BY id) FROM $S.m", "1,2")
	p.run("-s", "m", "--range", "2024-02-01,2024-03-01")
	p.is("pg", "SELECT string_agg(id::text, ',' ORDER BY id) FROM $S.m", "1,2,3")
}
