package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"

	"github.com/dvt-dev/dvt/connectors"
)

// TestSnapshotChanged: what others do to a relation after the snapshot was taken is an
// error where PostgreSQL would give other rows than those of the snapshot, or none.
func TestSnapshotChanged(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	for _, c := range []struct {
		name, sql string
		names     string // what the error names, "" if the rows of the snapshot come
	}{
		{"nothing", "SELECT 1", ""},
		{"rows", "INSERT INTO plain VALUES (9); DELETE FROM plain WHERE id = 1; UPDATE parts SET id = 3 WHERE id = 2", ""},
		{"index", "CREATE INDEX later ON plain (id); CREATE INDEX ON parts (id); REINDEX TABLE plain; ALTER INDEX later RENAME TO other; ANALYZE plain; ANALYZE parts", ""},
		{"vacuum", "VACUUM plain", ""},
		{"column", "ALTER TABLE plain ADD later text DEFAULT 'x'", ""},
		{"truncate", "TRUNCATE plain", "plain"},
		{"reload", "BEGIN; TRUNCATE plain; INSERT INTO plain VALUES (1), (2); COMMIT", "plain"},
		{"rewrite", "ALTER TABLE plain ADD later float8 DEFAULT random()", "plain"},
		{"swap", "CREATE TABLE made AS TABLE plain; BEGIN; ALTER TABLE plain RENAME TO gone; ALTER TABLE made RENAME TO plain; COMMIT; DROP TABLE gone CASCADE", "plain"},
		{"rename", "BEGIN; ALTER TABLE plain RENAME TO gone; ALTER TABLE spare RENAME TO plain; COMMIT", "plain"},
		{"partition", "TRUNCATE parts_1", "parts_1"},
		{"partition dropped", "DROP TABLE parts_1", "parts"},
		{"partition detached", "ALTER TABLE parts DETACH PARTITION parts_1", "parts"},
		{"child", "TRUNCATE child", "child"},
		{"refreshed", "REFRESH MATERIALIZED VIEW stored", "stored"},
		{"below a view", "TRUNCATE below", "below"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.exec("DROP SCHEMA " + d.schema + " CASCADE; CREATE SCHEMA " + d.schema)
			d.exec(`CREATE TABLE plain (id int); INSERT INTO plain VALUES (1), (2); CREATE TABLE spare (id int);
				CREATE TABLE below (id int); INSERT INTO below VALUES (1), (2); CREATE VIEW above AS SELECT * FROM below;
				CREATE TABLE parent (id int); CREATE TABLE child () INHERITS (parent); INSERT INTO child VALUES (1), (2);
				CREATE MATERIALIZED VIEW stored AS SELECT * FROM below;
				CREATE TABLE parts (id int) PARTITION BY LIST (id);
				CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1); CREATE TABLE parts_2 PARTITION OF parts DEFAULT; INSERT INTO parts VALUES (1), (2)`)
			queries := map[string]connectors.Query{}
			for _, name := range []string{"plain", "parts", "parent", "stored", "above"} {
				queries[name] = d.query(d.describe(name))
			}
			s, err := d.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for _, sql := range strings.Split(c.sql, "; ") {
				d.exec(sql)
			}
			one, err := s.(connectors.SerialSnapshot).Serial(ctx)
			if err != nil {
				t.Fatal(err)
			}
			changed := false
			for name, q := range queries {
				n := int64(0)
				err := s.Read(ctx, q, func(r arrow.RecordBatch) error { n += r.NumRows(); return nil })
				if err != nil {
					changed = true
					if !errors.Is(err, connectors.ErrChanged) || !strings.Contains(err.Error(), "replaced "+d.schema+"."+c.names+", ") || c.names == "" {
						t.Errorf("%s: %v", name, err)
					}
					serial := one.Read(ctx, q, func(arrow.RecordBatch) error { return nil })
					if fmt.Sprint(serial) != err.Error() {
						t.Errorf("in a session for several reads: %v", serial)
					}
				} else if n != 2 {
					t.Errorf("%s: %d rows of the snapshot's 2 and no error", name, n)
				}
			}
			if changed == (c.names == "") {
				t.Errorf("an error: %t", changed)
			}
			if err := one.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReadWaits: a read that waits for one that empties and fills the relation again finds
// it full.
func TestReadWaits(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec(`CREATE TABLE parts (id int) PARTITION BY LIST (id); CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
		CREATE TABLE parts_2 PARTITION OF parts DEFAULT; INSERT INTO parts VALUES (1), (2);
		CREATE TABLE below (id int); INSERT INTO below VALUES (1), (2); CREATE VIEW above AS SELECT * FROM below`)
	other, err := pgx.Connect(ctx, connString(d.settings))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(ctx) }()
	for relation, table := range map[string]string{"parts": "parts_1", "parts_1": "parts_1", "below": "below", "above": "below"} {
		q := d.query(d.describe(relation))
		rows := d.text("SELECT count(*)::text FROM " + relation)
		name := d.schema + "." + table
		if _, err := other.Exec(ctx, fmt.Sprintf("BEGIN; CREATE TEMP TABLE kept AS TABLE %s; TRUNCATE %[1]s; INSERT INTO %[1]s TABLE kept; DROP TABLE kept", name)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		n := int64(0)
		go func() {
			done <- d.Read(ctx, q, func(r arrow.RecordBatch) error { n += r.NumRows(); return nil })
		}()
		for d.text("SELECT count(*)::text FROM pg_locks WHERE NOT granted AND relation = $1::regclass", name) == "0" {
			time.Sleep(time.Millisecond)
		}
		if _, err := other.Exec(ctx, "COMMIT"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || fmt.Sprint(n) != rows {
			t.Errorf("%s: %d rows of %s: %v", relation, n, rows, err)
		}
	}
}
