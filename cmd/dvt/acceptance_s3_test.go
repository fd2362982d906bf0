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

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// lakeProject is a project with PostgreSQL, a DuckDB file and a bucket, whose server is
// behind a proxy that counts.
type lakeProject struct {
	t      *testing.T
	bin    string
	dir    string
	schema string
	bucket *enginetest.S3
	proxy  *faultproxy.Proxy
}

func newLakeProject(t *testing.T) *lakeProject {
	t.Helper()
	l := &lakeProject{t: t, bin: buildDVT(t), dir: t.TempDir(), schema: newSchema(t)}
	var err error
	if l.bucket, err = enginetest.OpenS3(); err != nil {
		t.Fatal(err)
	}
	if l.proxy, err = faultproxy.Listen(strings.TrimPrefix(l.bucket.Endpoint, "http://")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.proxy.Close()
		if err := l.bucket.Clean(l.schema + "/"); err != nil {
			t.Error(err)
		}
		l.bucket.Close()
	})
	l.write("dbt_project.yml", "name: lake\nprofile: lake\nmodels:\n  +materialized: f_table\n")
	l.write("dvt_project.yml", "federation_memory_limit: 512MB\n")
	l.write("profiles.yml", fmt.Sprintf(`lake:
  target: duck
  outputs:
    duck: {type: duckdb, path: out.duckdb, schema: main}
    pg: {type: postgres, host: %s, port: %s, user: %s, password: '%s', dbname: %s, schema: %s}
    s3: {type: s3, bucket: %s, prefix: %s, endpoint: 'http://127.0.0.1:%s', region: %s, access_key_id: %s, secret_access_key: %s}
`, os.Getenv("DVT_TEST_PG_HOST"), os.Getenv("DVT_TEST_PG_PORT"), os.Getenv("DVT_TEST_PG_USER"), os.Getenv("DVT_TEST_PG_PASSWORD"), os.Getenv("DVT_TEST_PG_DATABASE"), l.schema,
		l.bucket.Bucket, l.schema, l.proxy.Port(), l.bucket.Region, l.bucket.AccessKey, l.bucket.SecretKey))
	return l
}

func (l *lakeProject) write(path, text string) {
	l.t.Helper()
	path = filepath.Join(l.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// run gives what the program printed, its peak memory in MB and how long it took.
func (l *lakeProject) run(args ...string) (out string, peak int64, elapsed time.Duration) {
	l.t.Helper()
	cmd := exec.Command(l.bin, append([]string{"--project-dir", l.dir}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	start := time.Now()
	raw, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("dvt %s: %v\n%s", strings.Join(args, " "), err, raw)
	}
	return string(raw), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10, time.Since(start)
}

// TestAcceptanceS3 moves a wide table from PostgreSQL into an object and back under a
// limit of 512 MB, holding the process to the limit + 300 MB.
func TestAcceptanceS3(t *testing.T) {
	rows := 300_000
	if full() {
		rows = 5_000_000
	}
	l := newLakeProject(t)
	pg := openDB(t, "pg", "")
	mustExec(t, pg, fmt.Sprintf(wideSQL, l.schema, rows))
	l.write("models/sources.yml", "sources:\n  - {name: big, meta: {connection: pg}, schema: "+l.schema+", tables: [{name: wide}]}\n")
	l.write("models/there.sql", "{{ config(target='s3', format='parquet') }}\nselect * from {{ source('big', 'wide') }}\n")
	l.write("models/back.sql", "{{ config(target='pg') }}\nselect * from {{ ref('there') }}\n")
	for _, model := range []string{"there", "back"} {
		_, peak, elapsed := l.run("run", "-s", model)
		t.Logf("%-5s %d rows  %.1f s  %.0f krows/s  peak %d MB", model, rows, elapsed.Seconds(), float64(rows)/1000/elapsed.Seconds(), peak)
		if limit := int64(512 + 300); peak > limit {
			t.Errorf("%s: peak resident memory %d MB, the limit allows %d MB", model, peak, limit)
		}
	}
	const columns = "id, k, amount, price, name, city, d, ts, flag, note, doc::text, uid"
	for _, q := range []string{"wide EXCEPT ALL SELECT " + columns + " FROM %[1]s.back", "back EXCEPT ALL SELECT " + columns + " FROM %[1]s.wide"} {
		_, got := mustQuery(t, pg, fmt.Sprintf("SELECT count(*) FROM (SELECT "+columns+" FROM %[1]s."+q+") d", l.schema))
		if *got[0][0] != "0" {
			t.Errorf("%s rows of %s", *got[0][0], q)
		}
	}
	if uploads, err := l.bucket.Uploads(l.schema + "/"); err != nil || len(uploads) > 0 {
		t.Error(uploads, err)
	}
}

// TestAcceptanceS3Filters measures what filters read of a data set: 24 folders of months,
// sorted by id.
func TestAcceptanceS3Filters(t *testing.T) {
	l := newLakeProject(t)
	rows, files := 60_000, 24
	if full() {
		rows = 1_000_000
	}
	db := openDB(t, "duckdb", "")
	var size int64
	for month := range files {
		file := filepath.Join(t.TempDir(), "part.parquet")
		mustExec(t, db, fmt.Sprintf(`COPY (SELECT (%[1]d * %[2]d + i)::BIGINT AS id, md5(i::VARCHAR) AS a, md5((i + %[1]d)::VARCHAR) AS b, i / 7.0 AS x FROM range(%[2]d) r(i) ORDER BY id)
			TO '%[3]s' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE %[4]d)`, month, rows, file, rows/8))
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		if err := l.bucket.PutFile(fmt.Sprintf("%s/data/events/month=%d/part-0.parquet", l.schema, month+1), file); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	l.write("models/lake.yml", "sources:\n  - {name: data, meta: {connection: s3}, tables: [{name: events}]}\n")
	from := rows*7 + rows/3
	for _, c := range []struct {
		what, where string
		want        int
	}{
		{"partition column", "month = 8", rows},
		{"sorted column", fmt.Sprintf("id >= %d and id < %d", from, from+1000), 1000},
		{"both", fmt.Sprintf("month in (8, 9) and id < %d", from), rows / 3},
	} {
		before := l.proxy.Passed(faultproxy.ToClient)
		out, peak, elapsed := l.run("show", "--inline", "select count(*) as n, count(a) as a, count(b) as b, count(x) as x from {{ source('data', 'events') }} where "+c.where, "--output", "csv")
		read := l.proxy.Passed(faultproxy.ToClient) - before
		t.Logf("filter on the %s: %.2f of %.2f MB read, %.1f %%, %.1f s, peak %d MB", c.what, float64(read)/1e6, float64(size)/1e6, 100*float64(read)/float64(size), elapsed.Seconds(), peak)
		if want := fmt.Sprintf("%d,%[1]d,%[1]d,%[1]d", c.want); !strings.Contains(out, want) {
			t.Errorf("filter on the %s: it gives %s, want %s", c.what, out, want)
		}
		if read > size*15/100 {
			t.Errorf("filter on the %s: %d of %d bytes were read", c.what, read, size)
		}
	}
}
