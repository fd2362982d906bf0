package sqlite

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// The twelve columns by which engines are compared.
const benchTable = `CREATE TABLE b (id INTEGER PRIMARY KEY, k INTEGER, amount REAL, price DECIMAL(15,4), name TEXT, city TEXT, d DATE, ts DATETIME, flag BOOLEAN, note TEXT, doc JSON, uid UUID);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
	INSERT INTO b SELECT i, i % 1000, i * 0.37, round(i * 1.0001, 4), 'customer name ' || i, 'city ' || (i % 50), date('2000-01-01', (i % 9000) || ' days'),
		datetime('2000-01-01', i || ' minutes') || '.123456', i % 2, CASE WHEN i % 3 = 0 THEN NULL ELSE 'a note about ' || i END,
		'{"k": ' || i || ', "tags": ["a", "b"], "f": 1.5}', substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21, 12)
	FROM (SELECT i, lower(hex(randomblob(16))) AS h FROM n)`

func benchConn(b *testing.B) (*conn, *connectors.Table) {
	b.Helper()
	c, err := open(connectors.Output{Name: "b", Keys: map[string]any{"path": b.TempDir() + "/b.db"}}, connectors.Env{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := c.Exec(b.Context(), benchTable); err != nil {
		b.Fatal(err)
	}
	table, err := c.Describe(b.Context(), connectors.Relation{Name: "b"})
	if err != nil {
		b.Fatal(err)
	}
	return c, table
}

// BenchmarkRead/columns is what stepping and decoding costs alone.
func BenchmarkRead(b *testing.B) {
	c, table := benchConn(b)
	e, cols := extract(table, "")
	q := connectors.Query{SQL: c.d.Select(e), Columns: cols}
	b.Run("columns", func(b *testing.B) {
		s, release, err := c.reader(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer release()
		for range b.N {
			st, err := s.prepare(q.SQL)
			if err != nil {
				b.Fatal(err)
			}
			r, err := newReader(st, cols, mismatchError, c.alloc)
			if err != nil {
				b.Fatal(err)
			}
			for done := false; !done; {
				if done, err = r.fill(); err != nil {
					b.Fatal(err)
				}
			}
			r.free()
			st.close()
		}
	})
	b.Run("batches", func(b *testing.B) {
		for range b.N {
			if err := c.Read(b.Context(), q, func(arrow.RecordBatch) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	c, table := benchConn(b)
	e, cols := extract(table, "")
	var recs []arrow.RecordBatch
	err := c.Read(b.Context(), connectors.Query{SQL: c.d.Select(e), Columns: cols}, func(rec arrow.RecordBatch) error {
		rec.Retain()
		recs = append(recs, rec)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		st, err := c.Stage(b.Context(), connectors.StageSpec{RunID: "bench", Target: connectors.Relation{Name: "w"}, Columns: cols})
		if err != nil {
			b.Fatal(err)
		}
		for _, rec := range recs {
			if err := st.Write(b.Context(), rec); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := st.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := c.Replace(b.Context(), st); err != nil {
			b.Fatal(err)
		}
		if err := st.Discard(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
