package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
)

// wide is the table of 12 mixed columns: n rows that the seed decides. DuckDB's hash gives
// the same values on every machine.
func wide(n, seed int64) string {
	h := func(k int) string { return fmt.Sprintf("hash(i * 16 + %d + %d)", k, seed*1_000_003) }
	return fmt.Sprintf(`SELECT i::BIGINT AS id, (%s %% 1000000)::INTEGER AS k, ((%s %% 2000000000)::DOUBLE - 1e9) / 997 AS amount,
		((%s %% 1000000000000)::DECIMAL(18,0) / 10000)::DECIMAL(18,4) AS price, 'customer ' || (%s %% 10000000) || ' name' AS name,
		'city ' || (%s %% 500) AS city, DATE '2000-01-01' + (%s %% 9000)::INTEGER AS d,
		TIMESTAMP '2000-01-01 00:00:00' + to_microseconds((%s %% 700000000000000)::BIGINT) AS ts, %s %% 2 = 0 AS flag,
		CASE WHEN %s %% 10 < 7 THEN 'a note about row ' || i || ' of the table' END AS note,
		('{"k": ' || (%s %% 1000) || ', "tags": ["a", "b"], "f": 1.5}')::JSON AS doc,
		format('{:08x}-{:04x}-{:04x}-{:04x}-{:012x}', (%s %% 4294967296)::BIGINT, (%s %% 65536)::BIGINT, 16384 + (%s %% 4096)::BIGINT, 32768 + (%s %% 16384)::BIGINT, (%s %% 281474976710656)::BIGINT)::UUID AS uid
		FROM range(%d) AS r(i)`,
		h(1), h(2), h(3), h(4), h(5), h(6), h(7), h(8), h(9), h(10), h(11), h(12), h(13), h(14), h(15), n)
}

// columns are the wide table's, whole is all of it. ClickHouse before 20.1 keeps whole
// seconds only.
const (
	whole   = "SELECT * FROM src.t"
	seconds = "SELECT * REPLACE (date_trunc('second', ts) AS ts) FROM src.t"
)

var columns = []string{"id", "k", "amount", "price", "name", "city", "d", "ts", "flag", "note", "doc", "uid"}

func (w *world) dataFile() string { return filepath.Join(w.s.dir, "data.duckdb") }

// attach opens the generated data as src.
func (w *world) attach(ctx context.Context) error {
	return w.exec(ctx, "ATTACH '"+w.dataFile()+"' AS src (READ_ONLY)")
}

func (w *world) exec(ctx context.Context, sql string) error {
	s, err := w.engine.Session(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.Exec(ctx, sql), s.Close())
}

func (w *world) count(ctx context.Context, sql string) (int64, error) {
	s, err := w.engine.Session(ctx)
	if err != nil {
		return 0, err
	}
	n, err := s.Count(ctx, sql)
	return n, errors.Join(err, s.Close())
}

// selected is a SELECT of the compute engine as what a load takes.
type selected struct {
	w   *world
	sql string
}

func (q selected) columns(ctx context.Context) ([]connectors.Column, error) {
	s, err := q.w.engine.Session(ctx)
	if err != nil {
		return nil, err
	}
	cols, err := s.Columns(ctx, q.sql)
	return cols, errors.Join(err, s.Close())
}

func (q selected) Rows(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	s, err := q.w.engine.Session(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.Query(ctx, q.sql, emit), s.Close())
}

func (q selected) Fill(ctx context.Context, to connectors.Filler) (int64, bool, error) {
	rows, err := to.Fill(ctx, q.sql)
	return rows, true, err
}

// load lands a SELECT on a connection as the table name.
func (w *world) load(ctx context.Context, conn, name, sql string) (int64, error) {
	c, err := w.conn(conn)
	if err != nil {
		return 0, err
	}
	q := selected{w, sql}
	cols, err := q.columns(ctx)
	if err != nil {
		return 0, err
	}
	rel := connectors.Relation{Schema: schema, Name: name}
	switch conn {
	case "lite", "duck":
		rel.Schema = "main"
	case "lake":
		rel.Schema = "."
	}
	res, err := load.Replace(ctx, c, connectors.StageSpec{RunID: "bench0001", Target: rel, Columns: cols, Options: connectors.TargetOptions{Format: "parquet"}}, q)
	return res.Inserted, err
}

// prepareData makes one thing that routes need.
func prepareData(ctx context.Context, s settings, name string) error {
	return inWorld(s, func(w *world) error {
		if name == "data" {
			return w.generate(ctx)
		}
		if err := w.attach(ctx); err != nil {
			return err
		}
		var err error
		switch name {
		case "pg":
			if _, err = w.load(ctx, "pg", "t", whole); err == nil {
				err = pgSettled(ctx)
			}
		case "my":
			_, err = w.load(ctx, "my", "t", whole)
		case "ch":
			_, err = w.load(ctx, "ch", "t", seconds)
		case "lite":
			_, err = w.load(ctx, "lite", "t", whole)
		case "join":
			if _, err = w.load(ctx, "my", "customers", "SELECT * FROM src.customers"); err == nil {
				_, err = w.load(ctx, "ch", "cities", "SELECT * FROM src.cities")
			}
		case "pg bytes":
			err = pgBytes(ctx, s)
		case "ch bytes":
			err = chBytes(s)
		case "tsv":
			err = w.exec(ctx, "COPY (SELECT * REPLACE (flag::TINYINT AS flag) FROM src.t) TO '"+tsvFile(s)+"' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '', ESCAPE '', NULLSTR '\\N')")
		default:
			err = fmt.Errorf("there is nothing called %q to prepare", name)
		}
		return err
	})
}

// generate makes the data's file.
func (w *world) generate(ctx context.Context) error {
	n := w.s.rows
	for _, sql := range []string{
		"ATTACH '" + w.dataFile() + "' AS gen",
		"CREATE OR REPLACE TABLE gen.t AS " + wide(n, w.s.seed),
		fmt.Sprintf("CREATE OR REPLACE TABLE gen.customers AS SELECT i::INTEGER AS k, (hash(i) %% %d)::INTEGER AS city_id, 'c' || i AS label FROM range(1000000) r(i) WHERE i < %d", max(n/500, 1), n/5),
		fmt.Sprintf("CREATE OR REPLACE TABLE gen.cities AS SELECT i::INTEGER AS city_id, 'region ' || i AS region FROM range(%d) r(i)", max(n/500, 1)),
		"DETACH gen",
	} {
		if err := w.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func tsvFile(s settings) string    { return filepath.Join(s.dir, "t.tsv") }
func pgFile(s settings) string     { return filepath.Join(s.dir, "t.pgcopy") }
func nativeFile(s settings) string { return filepath.Join(s.dir, "t.native") }

func quoted(q string) string {
	return q + strings.Join(columns, q+", "+q) + q
}

func removed(paths ...string) error {
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
	}
	return nil
}
