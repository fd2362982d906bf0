package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// full says that acceptance tests run at full size instead of CI's sample.
func full() bool { return os.Getenv("DVT_ACCEPTANCE") == "full" }

// buildDVT builds the program as users have it.
func buildDVT(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "dvt")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

const wideSQL = `CREATE TABLE %s.wide AS SELECT i::bigint AS id, (i * 7919 %% 1000003)::int AS k, (i * 0.37)::float8 AS amount,
 ((i * 7919 %% 99999999) / 10000.0)::numeric(18,4) AS price, substr(md5(i::text), 1, 14 + (i %% 12)::int)::text AS name,
 'city_' || (i * 3 %% 500) AS city, (DATE '2000-01-01' + (i %% 9000)::int) AS d,
 (TIMESTAMP '2015-01-01' + (i * 7919 %% 315360000) * interval '1 second') AS ts, (i %% 2 = 0) AS flag,
 CASE WHEN i %% 10 < 3 THEN NULL ELSE md5((i + 1)::text) || ' ' || md5((i + 2)::text) END AS note,
 ('{"a": ' || i %% 100000 || ', "b": "' || substr(md5((i + 5)::text), 1, 10) || '", "c": [1, 2, 3]}')::json AS doc,
 (substr(md5((i + 9)::text), 1, 12) || '4' || substr(md5((i + 9)::text), 14, 3) || '8' || substr(md5((i + 9)::text), 18, 15))::uuid AS uid
 FROM generate_series(1::bigint, %d) i`

// TestAcceptanceMemory moves a wide table from PostgreSQL into each target kind under a
// limit of 512 MB and holds the process to the limit + 300 MB, as the operating system
// counts it.
func TestAcceptanceMemory(t *testing.T) {
	rows := 1_000_000
	if full() {
		rows = 5_000_000
	}
	bin := buildDVT(t)
	schema := newSchema(t)
	t.Setenv("SCHEMA", schema)
	pg := openDB(t, "pg", "")
	mustExec(t, pg, fmt.Sprintf(wideSQL, schema, rows))
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/chinook", dir)
	if err := os.RemoveAll(filepath.Join(dir, "models")); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("models/sources.yml", "version: 2\nsources:\n  - name: big\n    meta: {connection: pg}\n    schema: "+schema+"\n    tables: [{name: wide}]\n")
	const body = "select * from {{ source('big', 'wide') }}\n"
	write("models/to_pg.sql", "{{ config(target='pg') }}\n"+body)
	write("models/to_my.sql", "{{ config(target='my') }}\n"+body)
	write("models/to_ch.sql", "{{ config(target='ch') }}\n"+body)
	write("models/to_lite.sql", "{{ config(target='lite_out') }}\n"+body)
	write("models/to_duck.sql", "{{ config(target='duck') }}\n"+body)
	write("models/to_parquet.sql", "{{ config(target='lake', format='parquet') }}\n"+body)
	write("models/to_csv.sql", "{{ config(target='lake', format='csv') }}\n"+body)
	write("models/to_json.sql", "{{ config(target='lake', format='json') }}\n"+body)

	targets := []string{"pg", "my", "ch", "lite", "duck", "parquet", "csv", "json"}
	if only := os.Getenv("DVT_TARGETS"); only != "" {
		targets = strings.Split(only, ",")
	}
	for _, target := range targets {
		cmd := exec.Command(bin, "--project-dir", dir, "run", "-s", "to_"+target)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", target, err, out)
			continue
		}
		elapsed := time.Since(start)
		peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		t.Logf("%-8s %d rows  %.1f s  %.0f krows/s  peak %d MB", target, rows, elapsed.Seconds(), float64(rows)/1000/elapsed.Seconds(), peak>>20)
		if limit := int64(512+300) << 20; peak > limit {
			t.Errorf("%s: peak resident memory %d MB, the limit allows %d MB", target, peak>>20, limit>>20)
		}
		checkWide(t, dir, schema, target, rows)
		if left, _ := filepath.Glob(filepath.Join(dir, ".dvt", "tmp", "*")); len(left) > 0 {
			t.Errorf("%s: %s is left in .dvt/tmp", target, left[0])
		}
	}
}

// checkWide compares count and sums as the target's own engine computes them.
func checkWide(t *testing.T, dir, schema, target string, rows int) {
	t.Helper()
	const sums = "count(*), sum(id), sum(k), sum(price), count(note), min(name), max(city)"
	_, want := mustQuery(t, openDB(t, "pg", ""), "SELECT "+sums+" FROM "+schema+".wide")
	var got [][]*string
	switch target {
	case "pg", "my", "ch":
		_, got = mustQuery(t, openDB(t, target, ""), "SELECT "+sums+" FROM "+schema+".to_"+target)
	case "lite":
		// Decimals of up to 15 digits are numbers in SQLite, longer ones exact text.
		_, got = mustQuery(t, openDB(t, "sqlite", filepath.Join(dir, "out.sqlite")), "SELECT "+strings.Replace(sums, "sum(price)", "printf('%.4f', sum(round(price * 10000)) / 10000)", 1)+" FROM to_lite")
	case "duck":
		_, got = mustQuery(t, openDB(t, "duckdb", filepath.Join(dir, "out.duckdb")), "SELECT COLUMNS(*)::VARCHAR FROM (SELECT "+sums+" FROM to_duck)")
	default:
		_, got = mustQuery(t, openDB(t, "duckdb", ""), "SELECT COLUMNS(*)::VARCHAR FROM (SELECT "+strings.Replace(sums, "sum(price)", "sum(price::decimal(18,4))", 1)+" FROM read_"+target+"('"+filepath.Join(dir, "lake", "to_"+target+"."+target)+"'))")
	}
	for i := range want[0] {
		if *got[0][i] != *want[0][i] {
			t.Errorf("%s: column %d of %s is %s, want %s", target, i, sums, *got[0][i], *want[0][i])
		}
	}
}
