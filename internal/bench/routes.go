package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/internal/bench/lite"
	"github.com/dvt-dev/dvt/planner"
)

// route is one way of rows, with what limits it.
type route struct {
	name, title, against string
	bar                  float64 // the ratio to reach
	needs                []string
	raw, dvt             job
}

var routes = []route{
	{"pg-read", "PostgreSQL → compute staging", "binary COPY thrown away", 1.15, []string{"data", "pg"}, pgDiscard(copyOut(quoted(`"`))), stage("pg")},
	{"my-read", "MariaDB → compute staging", "rows of the binary protocol thrown away", 1.2, []string{"data", "my"}, myDiscard("SELECT " + quoted("`") + " FROM t"), stage("my")},
	{"ch-read", "ClickHouse → compute staging", "native blocks decoded", 3, []string{"data", "ch"}, chDecode, stage("ch")},
	{"lite-read", "SQLite → compute staging", "stepped, columns read in C", 1.3, []string{"data", "lite"}, liteStep, stage("lite")},
	{"pg-load", "compute → PostgreSQL", "COPY FROM the ready bytes", 1.2, []string{"data", "pg", "pg bytes"}, pgCopyIn, land("pg", whole)},
	{"my-load", "compute → MariaDB", "LOAD DATA of a ready file", 1.2, []string{"data", "my", "tsv"}, myLoadFile, land("my", whole)},
	{"ch-load", "compute → ClickHouse", "ready native blocks inserted", 1.3, []string{"data", "ch", "ch bytes"}, chInsert, land("ch", seconds)},
	{"duck-load", "compute → DuckDB file", "CREATE TABLE AS in DuckDB", 1.1, []string{"data"}, duckCTAS, land("duck", whole)},
	{"parquet-load", "compute → Parquet", "COPY TO in DuckDB", 1.1, []string{"data"}, duckCopy, land("lake", whole)},
	{"pg-pg", "f_table PostgreSQL → PostgreSQL", "psql COPY into psql COPY", 1.4, []string{"data", "pg"}, psqlPipe, model("pg", "select * from {{ source('pg', 't') }}")},
	{"my-pg", "f_table MariaDB → PostgreSQL", "COPY FROM the ready bytes", 0, []string{"data", "my", "pg", "pg bytes"}, pgCopyIn, model("pg", "select * from {{ source('my', 't') }}")},
	{"pg-lite", "f_table PostgreSQL → SQLite", "binary COPY thrown away", 0, []string{"data", "pg"}, pgDiscard(copyOut(quoted(`"`))), model("lite", "select * from {{ source('pg', 't') }}")},
	{"join", "join of three engines, aggregated", "COPY of the needed columns thrown away", 1.3, []string{"data", "pg", "join"}, pgDiscard(copyOut("k, amount")), model("pg", threeJoin)},
}

const threeJoin = `select ci.region, count(*) as n, sum(f.amount) as amount, min(c.label) as least
from {{ source('pg', 't') }} f join {{ source('my', 'customers') }} c on c.k = f.k
join {{ source('ch', 'cities') }} ci on ci.city_id = c.city_id group by 1`

func liteStep(_ context.Context, s settings, timed func(func() (int64, error)) error) error {
	return timed(func() (int64, error) {
		return lite.StepAll(filepath.Join(s.dir, "t.db"), "SELECT "+quoted(`"`)+" FROM t")
	})
}

// stage reads a whole table into the compute engine as the plan of a model does.
func stage(name string) job {
	return func(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
		return inWorld(s, func(w *world) error {
			rel := connectors.Relation{Schema: schema, Name: "t"}
			if name == "lite" {
				rel.Schema = "main"
			}
			plan, err := w.plan(ctx, name, rel)
			if err != nil {
				return err
			}
			m, err := w.engine.Model("bench")
			if err != nil {
				return err
			}
			defer func() { _ = m.Close() }()
			return timed(func() (int64, error) {
				_, stats, err := extract.Run(ctx, plan, m, w.conn, extract.NewLimits(4), &extract.Progress{})
				if err != nil {
					return 0, err
				}
				return stats[0].Rows, nil
			})
		})
	}
}

func (w *world) plan(ctx context.Context, name string, rel connectors.Relation) (*planner.Plan, error) {
	c, err := w.conn(name)
	if err != nil {
		return nil, err
	}
	t, err := c.Describe(ctx, rel)
	if err != nil {
		return nil, err
	}
	p := planner.New()
	defer func() { _ = p.Close() }()
	return p.Plan(ctx, planner.Input{
		Model: "bench", SQL: fmt.Sprintf(`SELECT * FROM "%s%s"."%s"."%s"`, name, planner.Marker, rel.Schema, rel.Name), Now: time.Now(), ForceCompute: true,
		Relations:        []planner.Relation{{Catalog: name, Schema: rel.Schema, Name: rel.Name, Label: "t", Connection: name, Table: t, Dialect: c.Dialect()}},
		TargetConnection: "none", Target: connectors.Relation{Name: "none"},
	})
}

// land loads the generated rows from the compute engine.
func land(name, sql string) job {
	return func(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
		return inWorld(s, func(w *world) error {
			if err := w.attach(ctx); err != nil {
				return err
			}
			return timed(func() (int64, error) { return w.load(ctx, name, "landed", sql) })
		})
	}
}

func duckCTAS(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	return inWorld(s, func(w *world) error {
		path := filepath.Join(s.dir, "raw.duckdb")
		if err := removed(path); err != nil {
			return err
		}
		if err := w.attach(ctx); err != nil {
			return err
		}
		defer func() { _ = removed(path) }()
		return timed(func() (int64, error) {
			if err := w.exec(ctx, "ATTACH '"+path+"' AS raw"); err != nil {
				return 0, err
			}
			n, err := w.count(ctx, "CREATE TABLE raw.t AS "+whole)
			if err != nil {
				return n, err
			}
			return n, w.exec(ctx, "DETACH raw")
		})
	})
}

func duckCopy(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	return inWorld(s, func(w *world) error {
		path := filepath.Join(s.dir, "raw.parquet")
		defer func() { _ = removed(path) }()
		if err := w.attach(ctx); err != nil {
			return err
		}
		return timed(func() (int64, error) {
			return w.count(ctx, "COPY ("+whole+") TO '"+path+"' (FORMAT parquet, COMPRESSION zstd)")
		})
	})
}
