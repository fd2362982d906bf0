package postgres

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

const benchRows = 200_000

func benchTable(b *testing.B) (*db, connectors.Query) {
	d := open(b, nil)
	d.mem = memory.DefaultAllocator
	d.exec(`CREATE TABLE t AS SELECT i::bigint AS id, (i % 1000)::int AS k, i / 7.0::float8 AS amount, (i / 100.0)::numeric(18,4) AS price,
		'customer ' || i AS name, 'city ' || i % 50 AS city, '2024-01-01'::date + i % 1000 AS d, '2024-01-01'::timestamp + i * interval '1 s' AS ts,
		i % 2 = 0 AS flag, CASE WHEN i % 3 > 0 THEN repeat('note', i % 10) END AS note, '{"a": 1, "b": [1, 2, 3]}'::json AS doc,
		md5(i::text)::uuid AS uid FROM generate_series(1, $1::int) i`, benchRows)
	return d, d.query(d.describe("t"))
}

// BenchmarkRaw is the limit: the same COPY read and thrown away.
func BenchmarkRaw(b *testing.B) {
	d, q := benchTable(b)
	for b.Loop() {
		if err := d.session(context.Background(), func(pc *pgconn.PgConn) error {
			_, err := pc.CopyTo(context.Background(), io.Discard, copyToSQL(q.SQL))
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	d, q := benchTable(b)
	for b.Loop() {
		n := 0
		if err := d.Read(context.Background(), q, func(r arrow.RecordBatch) error { n += int(r.NumRows()); return nil }); err != nil || n != benchRows {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	d, q := benchTable(b)
	recs := d.read(q)
	defer release(recs)
	for b.Loop() {
		if err := d.load(connectors.StageSpec{Target: d.rel("u"), Columns: q.Columns}, recs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode is this side's part of a load.
func BenchmarkEncode(b *testing.B) {
	d, q := benchTable(b)
	recs := d.read(q)
	defer release(recs)
	st, err := d.Stage(context.Background(), connectors.StageSpec{RunID: "bench", Target: d.rel("u"), Columns: q.Columns})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Discard(context.Background()) }()
	e := st.(*staging).enc
	for b.Loop() {
		for _, r := range recs {
			if err := e.batch(r, func(full []byte) ([]byte, error) { return full[:0], nil }); err != nil {
				b.Fatal(err)
			}
		}
	}
}
