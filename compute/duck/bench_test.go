package duck

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// benchRows makes the mixed table of the project's speed figures: 12 columns, about
// 230 bytes a row as text.
const benchRows = `SELECT i::BIGINT id, (hash(i) % 1000003)::INTEGER k, (hash(i * 7) % 1000000000 / 977.0)::DOUBLE amount,
	((hash(i * 13) % 999999999)::BIGINT)::DECIMAL(18,4) price, substr(md5(i::VARCHAR), 1, (14 + hash(i + 3) % 12)::INTEGER) AS name,
	'city_' || (hash(i * 3) % 500) city, DATE '2000-01-01' + (hash(i * 5) % 9000)::INTEGER d, TIMESTAMP '2015-01-01' + to_microseconds((hash(i * 11) % 315360000000000)::BIGINT) ts,
	hash(i * 17) % 2 = 0 flag, CASE WHEN hash(i * 19) % 10 >= 3 THEN md5((i + 1)::VARCHAR) END note,
	('{"a":' || hash(i * 29) % 100000 || ',"b":"' || substr(md5(i::VARCHAR), 1, 10) || '","c":[1,2,3]}')::JSON doc, md5(i::VARCHAR)::UUID uid FROM range(200000) r(i)`

func BenchmarkStream(b *testing.B) {
	c := open(b)
	exec(b, c, "CREATE TABLE bench AS "+benchRows)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		if err := c.Query(bg, "SELECT * FROM bench", func(rec arrow.RecordBatch) error { rows += int(rec.NumRows()); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkAppend(b *testing.B) {
	c := open(b)
	exec(b, c, "CREATE TABLE bench AS "+benchRows)
	cols, err := c.Columns(bg, "FROM bench")
	if err != nil {
		b.Fatal(err)
	}
	var recs []arrow.RecordBatch
	if err := c.Query(bg, "SELECT * FROM bench", func(rec arrow.RecordBatch) error { rec.Retain(); recs = append(recs, rec); return nil }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		exec(b, c, "CREATE OR REPLACE TABLE copy AS SELECT * FROM bench LIMIT 0")
		a, err := c.Appender(bg, "memory", "main", "copy", cols)
		if err != nil {
			b.Fatal(err)
		}
		for _, rec := range recs {
			if err := a.Append(rec); err != nil {
				b.Fatal(err)
			}
			rows += int(rec.NumRows())
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	for _, rec := range recs {
		rec.Release()
	}
}
