package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// measureGrowth runs one model over tables of growing size: PostgreSQL through the compute
// engine and back.
func (b *bench) measureGrowth(ctx context.Context) error {
	for _, t := range []struct{ name, sizes string }{{"narrow", b.growNarrow}, {"wide", b.growWide}} {
		for _, size := range strings.Split(t.sizes, ",") {
			rows, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
			if err != nil {
				return fmt.Errorf("reading -grow-%s: %w", t.name, err)
			}
			if err := b.grown(ctx, t.name, rows); err != nil {
				return fmt.Errorf("making the %s table of %d rows: %w", t.name, rows, err)
			}
			g := growth{Table: map[string]string{"narrow": "3 narrow columns", "wide": "12 columns"}[t.name], Rows: rows}
			for n := range b.runs {
				f, err := b.once(ctx, "grow-"+t.name+"/"+size)
				if err != nil {
					return err
				}
				if f.Rows != rows {
					return fmt.Errorf("the %s table of %d rows: %d came out", t.name, rows, f.Rows)
				}
				if n == 0 || f.Seconds < g.Seconds {
					g.figure = f
				}
				if f.Seconds > 60 {
					break // long runs are steady
				}
			}
			b.report.Growth = append(b.report.Growth, g)
			b.progress("%-18s %12s rows %8.2f s  %.2f µs a row  %.0f MB", g.Table, grouped(rows), g.Seconds, g.Seconds*1e6/float64(rows), float64(g.Peak)/(1<<20))
		}
		if err := pgExec(ctx, "DROP TABLE IF EXISTS "+schema+"."+t.name, "DROP TABLE IF EXISTS "+schema+".landed"); err != nil {
			return err
		}
	}
	return b.measureDeltas(ctx)
}

// grown makes the table on the server.
func (b *bench) grown(ctx context.Context, name string, rows int64) error {
	body := "SELECT i AS id, (i * 7919 % 1000003)::int AS k, (i % 9973) / 7.0::float8 AS amount"
	if name == "wide" {
		body += ", (i % 1000000007 / 100.0)::numeric(18,4) AS price, 'customer ' || i * 31 % 9999991 AS name, 'city ' || i % 500 AS city, '2000-01-01'::date + (i % 9000)::int AS d," +
			" '2000-01-01'::timestamp + i * interval '1.000001 s' AS ts, i % 2 = 0 AS flag, CASE WHEN i % 10 < 7 THEN 'a note about row ' || i || ' of the table' END AS note," +
			` ('{"k": ' || i % 1000 || ', "tags": ["a", "b"], "f": 1.5}')::json AS doc, md5(i::text)::uuid AS uid`
	}
	return pgExec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema, "DROP TABLE IF EXISTS "+schema+"."+name,
		"CREATE UNLOGGED TABLE "+schema+"."+name+" AS "+body+" FROM generate_series(1, "+strconv.FormatInt(rows, 10)+"::bigint) i")
}

func pgExec(ctx context.Context, stmts ...string) error {
	return withPG(ctx, func(c *pgconn.PgConn) error {
		for _, sql := range stmts {
			if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
				return err
			}
		}
		return nil
	})
}

// deltaRows are the changed rows of a delta.
const deltaRows = 1000

// measureDeltas applies a delta of the same size to targets of growing size.
func (b *bench) measureDeltas(ctx context.Context) error {
	for _, target := range []string{"pg", "my", "lite", "duck"} {
		for _, size := range strings.Split(b.growDelta, ",") {
			rows, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
			if err != nil {
				return fmt.Errorf("reading -grow-delta: %w", err)
			}
			var best figure
			for n := range b.runs {
				f, err := b.once(ctx, "grow-delta-"+target+"/"+size)
				if err != nil {
					return err
				}
				if n == 0 || f.Seconds < best.Seconds {
					best = f
				}
			}
			name := map[string]string{"pg": "PostgreSQL", "my": "MariaDB", "lite": "SQLite", "duck": "DuckDB"}[target]
			b.report.Deltas = append(b.report.Deltas, growth{Table: name, Rows: rows, figure: best})
			b.progress("a delta into %-12s of %12s rows %8.3f s, CPU %.2f s", name, grouped(rows), best.Seconds, best.CPU+best.ServerCPU)
		}
	}
	return pgExec(ctx, "DROP TABLE IF EXISTS "+schema+".narrow")
}

// delta fills a target of rows, changes some at the source and measures the second run.
func delta(target, size string) job {
	return func(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
		err := pgExec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema, "DROP TABLE IF EXISTS "+schema+".narrow",
			"CREATE UNLOGGED TABLE "+schema+".narrow AS SELECT i AS id, i % 1000 AS k, timestamp '2024-01-01' + i * interval '1 ms' AS updated_at FROM generate_series(1, "+size+"::bigint) i",
			"CREATE INDEX ON "+schema+".narrow (updated_at)", "ANALYZE "+schema+".narrow")
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp(s.dir, "project-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		sql := "{{ config(materialized='f_incremental', unique_key='id', watermark_column='updated_at', indexes=[{'columns': ['updated_at']}]) }}\nselect id, k, updated_at from {{ source('pg', 'narrow') }}"
		if err := writeProject(dir, target, outputs(s), map[string]string{"delta_" + target: sql}); err != nil {
			return err
		}
		if _, err := runProject(ctx, dir, true); err != nil {
			return fmt.Errorf("the first load: %w", err)
		}
		err = pgExec(ctx, fmt.Sprintf("UPDATE %s.narrow SET k = k + 1, updated_at = timestamp '2030-01-01' WHERE id %% (%s / %d) = 0", schema, size, deltaRows))
		if err != nil {
			return err
		}
		return timed(func() (int64, error) { return runProject(ctx, dir, false) })
	}
}

// grow is the measured run of a size: grow-narrow, grow-wide, or grow-delta-TARGET. The
// first two stay in the compute lane.
func grow(name, size string) job {
	table := strings.TrimPrefix(name, "grow-")
	if target, ok := strings.CutPrefix(table, "delta-"); ok {
		return delta(target, size)
	}
	return model("pg", "{{ config(materialized='f_table', lane='compute') }}\nselect * from {{ source('pg', '"+table+"') }}")
}
