package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/internal/enginetest"
	"github.com/dvt-dev/dvt/project"
)

// keyWorld has a fact table on PostgreSQL, with an index on its key, and its dimension on
// MySQL, of which 1,000 rows pass the model's filter. One fact row in a hundred has a key
// of those. The number of fact rows is DVT_BENCH_FACTS, 200,000 by default.
func keyWorld(b *testing.B) (dir string, facts int64) {
	b.Helper()
	facts = 200_000
	if v := os.Getenv("DVT_BENCH_FACTS"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			b.Fatalf("DVT_BENCH_FACTS: %v", err)
		}
		facts = n
	}
	const dims = 100_000
	schema := fmt.Sprintf("keys_%d_%d", os.Getpid(), time.Now().UnixNano()%1_000_000_000)
	do := func(engine string, statements ...string) {
		db, err := enginetest.Open(engine, "")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, q := range statements {
			if err := db.Exec(q); err != nil {
				b.Fatalf("%.200s: %v", q, err)
			}
		}
	}
	do("my", "CREATE DATABASE "+schema, "CREATE TABLE "+schema+".dim (id INT PRIMARY KEY, region VARCHAR(10), name VARCHAR(40))",
		fmt.Sprintf("INSERT INTO %s.dim WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT a.i * 100 + b.i - 100, IF(b.i = 7, 'north', 'south'), CONCAT('customer ', a.i) FROM n a JOIN n b ON b.i <= 100 WHERE a.i <= %d", schema, dims/100))
	b.Cleanup(func() { do("my", "DROP DATABASE "+schema) })
	do("pg", "CREATE SCHEMA "+schema, fmt.Sprintf("CREATE UNLOGGED TABLE %s.fact AS SELECT i AS id, (i * 7919 %% %d + 1)::int AS dim_id, (i %% 1000)::numeric(12,2) AS amount, md5(i::text) AS note FROM generate_series(1, %d::bigint) i", schema, dims, facts),
		"CREATE INDEX ON "+schema+".fact (dim_id)", "ANALYZE "+schema+".fact")
	b.Cleanup(func() { do("pg", "DROP SCHEMA "+schema+" CASCADE") })
	dir = b.TempDir()
	for name, text := range map[string]string{
		"dbt_project.yml":    "name: fed\nprofile: fed\nmodels: {+materialized: f_table}\n",
		"profiles.yml":       fedProfile,
		"models/sources.yml": fmt.Sprintf("sources:\n  - {name: f, meta: {connection: pg}, schema: %s, tables: [{name: fact}]}\n  - {name: d, meta: {connection: my}, schema: %s, tables: [{name: dim}]}\n", schema, schema),
		"models/m.sql":       "select d.name, count(*) as n, sum(f.amount) as amount, max(f.note) as note from {{ source('f', 'fact') }} f join {{ source('d', 'dim') }} d on d.id = f.dim_id where d.region = 'north' group by d.name",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir, facts
}

// BenchmarkKeyReduction joins a fact table of one engine with 1,000 rows of a dimension on
// another: with the join's keys in the fact's extract, and without.
func BenchmarkKeyReduction(b *testing.B) {
	dir, facts := keyWorld(b)
	ctx := context.Background()
	for _, off := range []bool{false, true} {
		name := map[bool]string{false: "keys", true: "whole"}[off]
		b.Run(fmt.Sprintf("%s/%d", name, facts), func(b *testing.B) {
			var rows int64
			for b.Loop() {
				p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "run"})
				if err != nil {
					b.Fatal(err)
				}
				r := New(p, Options{DisabledRules: map[string]bool{"keys": off}}, nowhere{}, slog.New(slog.DiscardHandler))
				nodes, _, err := p.Select(nil, nil, "model")
				if err != nil || len(nodes) != 1 {
					b.Fatal(len(nodes), err)
				}
				rows = moved(b, r, nodes[0])
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows), "rows-moved")
		})
	}
}

// moved computes a model and gives the rows that left its sources.
func moved(b *testing.B, r *Runner, n *project.Node) (rows int64) {
	b.Helper()
	ctx := context.Background()
	p, err := r.prepare(ctx, n, planMode{live: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	engine, err := r.Engine()
	if err != nil {
		b.Fatal(err)
	}
	m, err := engine.Model("keys")
	if err != nil {
		b.Fatal(err)
	}
	_, stats, err := extract.Run(ctx, p.Plan, m, r.Conns.Get, r.limits, &extract.Progress{})
	if err != nil {
		b.Fatal(err)
	}
	got, err := m.Int(ctx, "SELECT sum(n)::BIGINT FROM ("+p.Plan.SQL+")")
	if err != nil || got == 0 {
		b.Fatal(got, err)
	}
	for _, s := range stats {
		rows += s.Rows
	}
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	return rows
}
