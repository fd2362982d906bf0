package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// apart runs dvt in a process of its own: this test's binary, which testscript has put
// into PATH under that name.
func (p *caseProject) apart(args ...string) (out string, took time.Duration) {
	p.t.Helper()
	start := time.Now()
	text, err := exec.Command("dvt", append([]string{"--project-dir", p.dir}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("dvt %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return string(text), time.Since(start)
}

// peakMB is the last run's peak of resident memory, in MB.
func (p *caseProject) peakMB() int64 {
	data, err := os.ReadFile(filepath.Join(p.dir, "target", "run_results.json"))
	must(p.t, err)
	var doc struct {
		Results []struct {
			Dvt struct {
				Peak int64 `json:"peak_memory_bytes"`
			}
		}
	}
	must(p.t, json.Unmarshal(data, &doc))
	return doc.Results[0].Dvt.Peak >> 20
}

func benchSizes(t *testing.T) (sizes []int) {
	text := os.Getenv("DVT_BENCH_SIZES")
	if text == "" {
		t.Skip("DVT_BENCH_SIZES (100000,1000000,10000000) is not set")
	}
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		must(t, err)
		sizes = append(sizes, n)
	}
	return sizes
}

// TestDeltaGrowth measures a delta of 1,000 rows, half of them new, on targets of growing
// size, and a run that finds nothing new; best of three.
func TestDeltaGrowth(t *testing.T) {
	sizes := benchSizes(t)
	for _, route := range [][2]string{{"pg", "my"}, {"my", "pg"}} {
		var first time.Duration
		for _, size := range sizes {
			p := newCase(t)
			from, to := route[0], route[1]
			fill := fmt.Sprintf("SELECT i AS id, concat('customer ', i %% 9973) AS v, CAST(i %% 100000 / 100.0 AS decimal(12,2)) AS amount, timestamp '2020-01-01 00:00:00' + i * interval '1 second' AS ts FROM generate_series(1, %d) i", size)
			create := []string{"CREATE TABLE $S.src (id bigint, v varchar(40), amount decimal(12,2), ts timestamp)", "INSERT INTO $S.src " + fill, "CREATE INDEX ON $S.src (ts)", "CREATE UNIQUE INDEX ON $S.src (id)", "ANALYZE $S.src"}
			if from == "my" {
				fill = fmt.Sprintf("SELECT seq, concat('customer ', seq %% 9973), seq %% 100000 / 100.0, timestamp('2020-01-01') + interval seq second FROM seq_1_to_%d", size)
				create = []string{"CREATE TABLE $S.src (id bigint PRIMARY KEY, v varchar(40), amount decimal(12,2), ts datetime(6))", "INSERT INTO $S.src " + fill, "CREATE INDEX ts ON $S.src (ts)"}
			}
			p.exec(from, create...)
			p.source(from, "src")
			p.model("m", "materialized='f_incremental', target='"+to+"', unique_key='id', watermark_column='ts'", "select id, v, amount, ts from {{ source('"+from+"', 'src') }}")
			_, whole := p.apart("run")
			var delta, idle time.Duration
			var rows moved
			for n := range 3 {
				at := fmt.Sprintf("'20%d-01-01 00:00:0%d'", 30+n, n)
				next := size + 1 + n*500
				update := fmt.Sprintf("UPDATE $S.src SET ts = %s, v = 'changed' WHERE id BETWEEN %d AND %d", at, 1+n*20000, 500+n*20000)
				insert := fmt.Sprintf("INSERT INTO $S.src SELECT i, 'new', 1.5, %s FROM generate_series(%d, %d) i", at, next, next+499)
				if from == "my" {
					insert = fmt.Sprintf("INSERT INTO $S.src SELECT seq, 'new', 1.5, %s FROM seq_%d_to_%d", at, next, next+499)
				}
				p.exec(from, update, insert)
				_, took := p.apart("run")
				if delta == 0 || took < delta {
					delta = took
				}
				rows = p.moved("m")
				if _, took = p.apart("run"); idle == 0 || took < idle {
					idle = took
				}
				if nothing := p.moved("m"); nothing.Sources[0].Rows != 0 || nothing.Inserted+nothing.Updated+nothing.Deleted != 0 {
					t.Errorf("a run without news moved %+v", nothing)
				}
			}
			if rows.Sources[0].Rows != 1000 || rows.Inserted != 500 || rows.Updated != 500 {
				t.Errorf("the delta moved %+v", rows)
			}
			if first == 0 {
				first = delta
			}
			fmt.Printf("%s to %s, %9d rows: first load %.1f s, delta of 1,000 rows %.3f s (%.2f×; %d rows, %d bytes read), nothing new %.3f s, peak %d MB\n", from, to, size,
				whole.Seconds(), delta.Seconds(), float64(delta)/float64(first), rows.Sources[0].Rows, rows.Sources[0].Bytes, idle.Seconds(), p.peakMB())
			p.exec(from, "DROP TABLE $S.src")
			p.exec(to, "DROP TABLE $S.m")
		}
	}
}

// TestIndexGrowth measures an anti join with {{ this }} over targets of growing size:
// making the index, using it, and following a delta of 1,000 rows.
func TestIndexGrowth(t *testing.T) {
	for _, size := range benchSizes(t) {
		p := newCase(t)
		p.write("dvt_project.yml", "federation_memory_limit: 512MB\n")
		p.exec("my", "CREATE TABLE $S.src (id bigint PRIMARY KEY, v varchar(20))", "INSERT INTO $S.src VALUES (1, 'one')")
		p.source("my", "src")
		p.model("m", "materialized='f_incremental', target='pg', unique_key='id'",
			"select id, v from {{ source('my', 'src') }} {% if is_incremental() %} where id not in (select id from {{ this }}) {% endif %}")
		p.apart("run")
		p.exec("pg", fmt.Sprintf("INSERT INTO $S.m SELECT i, 'k' FROM generate_series(2, %d) i", size))
		step := func(what string, reads, adds int64) {
			_, took := p.apart("run")
			m := p.moved("m")
			if m.thisRows() != reads || m.Inserted != adds {
				t.Errorf("%s: %d rows of the target were read and %d added, want %d and %d", what, m.thisRows(), m.Inserted, reads, adds)
			}
			info, err := os.Stat(filepath.Join(p.dir, ".dvt", "index", "pg", "m"))
			must(t, err)
			fmt.Printf("index of %d keys, %s: %.2f s, peak %d MB, file %d MB\n", size, what, took.Seconds(), p.peakMB(), info.Size()>>20)
		}
		step("made anew", int64(size), 0)
		step("used", 0, 0)
		p.exec("my", fmt.Sprintf("INSERT INTO $S.src SELECT seq, 'new' FROM seq_%d_to_%d", size+1, size+1000))
		step("followed by 1,000 rows", 0, 1000)
		step("used again", 0, 0)
	}
}

// TestSnapshotGrowth measures snapshot runs over histories of 1, 10 and 100 versions a
// key: one without news, and one in which a thousand keys have.
func TestSnapshotGrowth(t *testing.T) {
	keys := benchSizes(t)[0]
	for _, out := range []string{"pg", "my", "duck"} {
		var first [2]time.Duration
		for _, versions := range []int{1, 10, 100} {
			p := newCase(t)
			p.source("pg", "src")
			p.exec("pg", "CREATE TABLE $S.src (k int, v text, ts timestamp)", fmt.Sprintf("INSERT INTO $S.src SELECT i, 'a', '2024-01-01' FROM generate_series(1, %d) AS i", keys))
			p.model("h", "materialized='f_snapshot', target='"+out+"', unique_key='k', strategy='timestamp', updated_at='ts'", "select k, v, ts from {{ source('pg', 'src') }}")
			p.run()
			if versions > 1 {
				numbers := map[string]string{"pg": "generate_series(1, %d) AS n(i)", "my": "(SELECT seq AS i FROM seq_1_to_%d) AS n", "duck": "generate_series(1, %d) AS n(i)"}[out]
				p.exec(out, "INSERT INTO $S.h (k, v, ts, dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to) SELECT k, 'old', ts, concat(n.i, '-', left(dbt_scd_id, 20)), dbt_updated_at, dbt_valid_from, dbt_valid_from FROM $S.h CROSS JOIN "+fmt.Sprintf(numbers, versions-1))
			}
			best := [2]time.Duration{}
			for n := range 3 {
				_, idle := p.apart("run")
				if rows, _ := openReads(t, p); rows != int64(keys) {
					t.Errorf("%d rows of the history were read, want the %d open versions", rows, keys)
				}
				p.exec("pg", fmt.Sprintf("UPDATE $S.src SET v = 'b', ts = '2025-01-0%d' WHERE k <= 1000", n+1))
				_, news := p.apart("run")
				for i, took := range []time.Duration{idle, news} {
					if best[i] == 0 || took < best[i] {
						best[i] = took
					}
				}
			}
			if versions == 1 {
				first = best
			}
			p.is(out, "SELECT count(*) FROM $S.h", fmt.Sprint(keys*versions+3000))
			fmt.Printf("f_snapshot on %s, %d keys with %3d versions: nothing new %.3f s (%.2f×), 1,000 keys changed %.3f s (%.2f×), peak %d MB\n", out, keys, versions,
				best[0].Seconds(), float64(best[0])/float64(first[0]), best[1].Seconds(), float64(best[1])/float64(first[1]), p.peakMB())
			p.exec(out, "DROP TABLE $S.h")
		}
	}
}
