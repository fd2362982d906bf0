package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/jackc/pgx/v5"

	"github.com/dvt-dev/dvt/connectors"
)

var (
	intCol  = connectors.Column{Name: "id", Type: connectors.T(connectors.Integer)}
	textCol = connectors.Column{Name: "s", Type: connectors.T(connectors.Varchar)}
)

// rows makes a batch of (id integer, s text) with ids 1 to n, s = prefix and the id.
func rows(d *db, n int, prefix string) []arrow.RecordBatch {
	b := array.NewRecordBuilder(d.mem, connectors.ArrowSchema([]connectors.Column{intCol, textCol}))
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int32Builder).Append(int32(i + 1))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint(prefix, i+1))
	}
	return []arrow.RecordBatch{b.NewRecordBatch()}
}

func (d *db) spec(name string, o connectors.TargetOptions) connectors.StageSpec {
	return connectors.StageSpec{Target: d.rel(name), Columns: []connectors.Column{intCol, textCol}, Options: o}
}

// loadRows replaces name by n rows.
func (d *db) loadRows(name string, n int, prefix string, o connectors.TargetOptions) error {
	recs := rows(d, n, prefix)
	defer release(recs)
	return d.load(d.spec(name, o), recs)
}

func (d *db) mustLoadRows(name string, n int, prefix string, o connectors.TargetOptions) {
	d.t.Helper()
	if err := d.loadRows(name, n, prefix, o); err != nil {
		d.t.Fatal(err)
	}
}

func (d *db) want(want, sql string, args ...any) {
	d.t.Helper()
	if got := d.text(sql, args...); got != want {
		d.t.Errorf("%s\n got %s\nwant %s", sql, got, want)
	}
}

// leftovers fails if a staging table has been left behind.
func (d *db) leftovers() {
	d.t.Helper()
	d.want("NULL", "SELECT string_agg(relname, ', ') FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relname LIKE '\\_\\_dvt%'", d.schema)
}

func TestReplaceFirst(t *testing.T) {
	d := open(t, nil)
	opts := connectors.TargetOptions{UniqueKey: []string{"id"}, Watermark: "id",
		Indexes: []connectors.Index{{Columns: []string{"s", "id"}, Unique: true}, {Columns: []string{"s"}, Type: "hash"}}}
	for range 3 { // indexes do not pile up
		d.mustLoadRows("t", 10, "a", opts)
		d.want("10/a1", "SELECT count(*) || '/' || min(s) FROM t")
		d.want("btree (id),btree (s, id),hash (s)", `SELECT string_agg(substr(indexdef, strpos(indexdef, 'USING ') + 6), ',' ORDER BY 1)
			FROM (SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY substr(indexdef, strpos(indexdef, 'USING '))) x`, d.schema)
		d.leftovers()
	}
	d.mustLoadRows("t", 0, "", connectors.TargetOptions{})
	d.want("0", "SELECT count(*)::text FROM t")
	if err := d.loadRows("t", 2, "x", connectors.TargetOptions{Indexes: []connectors.Index{{Columns: []string{"nope"}}}}); err == nil {
		t.Error("an index on a missing column: no error")
	}
	d.want("0", "SELECT count(*)::text FROM t")
	d.leftovers()
}

// everything is what hangs on a table and must survive.
func (d *db) everything(sql string) string {
	d.t.Helper()
	return d.text(`SELECT concat_ws(E'\n', obj_description('t'::regclass),
		(SELECT string_agg(attname || ':' || format_type(atttypid, atttypmod) || ':' || attnotnull || ':' || coalesce(col_description(attrelid, attnum), '-')
			|| ':' || coalesce(attacl::text, '-') || ':' || coalesce(pg_get_expr(adbin, adrelid), '-'), ', ' ORDER BY attname)
		   FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped),
		(SELECT string_agg(indexdef, ', ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = $1 AND tablename = 't'),
		(SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid) || coalesce(obj_description(oid), ''), ', ' ORDER BY conname) FROM pg_constraint
			WHERE conrelid = 't'::regclass OR confrelid = 't'::regclass),
		(SELECT string_agg(pg_get_triggerdef(oid) || tgenabled::text, ', ' ORDER BY tgname) FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal),
		(SELECT string_agg(pg_get_statisticsobjdef(oid), ', ') FROM pg_statistic_ext WHERE stxrelid = 't'::regclass),
		(SELECT relacl::text || pg_get_userbyid(relowner) || reloptions::text FROM pg_class WHERE oid = 't'::regclass),
		pg_get_serial_sequence('t', 'id'))`, d.schema)
}

func (d *db) role() string {
	d.t.Helper()
	name := "r_" + d.schema
	d.exec("CREATE ROLE " + name)
	d.t.Cleanup(func() {
		d.exec("DROP OWNED BY " + name + " CASCADE")
		d.exec("DROP ROLE " + name)
	})
	d.exec("GRANT USAGE, CREATE ON SCHEMA " + d.schema + " TO " + name)
	return name
}

func TestReplaceKeepsAll(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("CREATE TABLE other (k integer PRIMARY KEY)")
	d.exec("INSERT INTO other SELECT generate_series(1, 100)")
	d.exec(`CREATE TABLE t (id serial PRIMARY KEY, s text NOT NULL DEFAULT 'dflt' CONSTRAINT "long s" CHECK (length(s) < 100),
		CONSTRAINT us UNIQUE (s) DEFERRABLE, CONSTRAINT fk FOREIGN KEY (id) REFERENCES other) WITH (fillfactor = 70)`)
	d.exec("CREATE TABLE child (id integer CONSTRAINT child_fk REFERENCES t ON DELETE CASCADE)")
	d.exec("INSERT INTO t VALUES (1, 'old')")
	d.exec("INSERT INTO child VALUES (1)")
	d.exec(`CREATE INDEX "odd ""index""" ON t (lower(s)) WHERE id > 0`)
	d.exec("CREATE UNIQUE INDEX inc ON t (id) INCLUDE (s)")
	d.exec(`COMMENT ON TABLE t IS 'it''s \a table'`)
	d.exec("COMMENT ON COLUMN t.s IS 'text'")
	d.exec("COMMENT ON CONSTRAINT us ON t IS 'unique'")
	d.exec("CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'fired'; END $$")
	d.exec("CREATE TRIGGER a_stmt AFTER INSERT ON t EXECUTE FUNCTION audit()")
	d.exec("CREATE TRIGGER b_row BEFORE DELETE ON t FOR EACH ROW WHEN (old.id > 5) EXECUTE FUNCTION audit()")
	d.exec("CREATE TRIGGER c_off BEFORE UPDATE OF s ON t FOR EACH ROW EXECUTE FUNCTION audit()")
	d.exec("ALTER TABLE t DISABLE TRIGGER c_off")
	d.exec("CREATE STATISTICS st ON id, s FROM t")
	d.exec("GRANT SELECT, INSERT ON t TO " + role + " WITH GRANT OPTION")
	d.exec("GRANT UPDATE (s) ON t TO PUBLIC")
	d.exec("ALTER TABLE t OWNER TO " + role)
	d.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA " + d.schema + " GRANT DELETE ON TABLES TO PUBLIC")
	before := d.everything("t")
	oid := d.text("SELECT 't'::regclass::oid::text")
	d.mustLoadRows("t", 50, "n", connectors.TargetOptions{UniqueKey: []string{"id"}})
	if d.text("SELECT 't'::regclass::oid::text") == oid {
		t.Error("the table was not swapped by name")
	}
	if after := d.everything("t"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	d.want("50/n1", "SELECT count(*) || '/' || min(s) FROM t")
	// New content that breaks what the table promises leaves the old content.
	recs := rows(d, 200, "x") // 101 is not in other
	defer release(recs)
	err := d.load(d.spec("t", connectors.TargetOptions{}), recs)
	if err == nil || !strings.Contains(err.Error(), "fk") {
		t.Errorf("a broken foreign key: %v", err)
	}
	d.exec("DELETE FROM child")
	d.exec("INSERT INTO child VALUES (2)")
	err = d.loadRows("t", 1, "y", connectors.TargetOptions{})
	if err == nil || !strings.Contains(err.Error(), "child_fk") {
		t.Errorf("a child without its parent: %v", err)
	}
	d.want("50/n1", "SELECT count(*) || '/' || min(s) FROM t")
	if after := d.everything("t"); after != before {
		t.Errorf("after failures:\n%s", after)
	}
	d.leftovers()
}

// TestReplaceInPlace: a dependent view keeps the table itself, with equal columns.
func TestReplaceInPlace(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (s text, id integer, CONSTRAINT pk PRIMARY KEY (id))")
	d.exec("CREATE TABLE child (id integer REFERENCES t)")
	d.exec("INSERT INTO t VALUES ('old', 1), ('old2', 2)")
	d.exec("INSERT INTO child VALUES (1)")
	d.exec("CREATE VIEW v AS SELECT s, id FROM t")
	d.exec("CREATE MATERIALIZED VIEW mv AS SELECT count(*) AS n FROM v")
	d.exec("CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'fired'; END $$")
	d.exec("CREATE TRIGGER a_stmt AFTER INSERT OR DELETE ON t EXECUTE FUNCTION audit()")
	oid := d.text("SELECT 't'::regclass::oid::text")
	before := d.everything("t")
	d.mustLoadRows("t", 20, "n", connectors.TargetOptions{Indexes: []connectors.Index{{Columns: []string{"s"}}}})
	d.want(oid, "SELECT 't'::regclass::oid::text")
	d.want("20/n1/2", "SELECT count(*) || '/' || min(s) || '/' || (SELECT n FROM mv) FROM v")
	d.want("1", "SELECT count(*)::text FROM pg_indexes WHERE schemaname = $1 AND indexdef LIKE '%btree (s)'", d.schema)
	d.exec("DROP INDEX " + d.text("SELECT indexname FROM pg_indexes WHERE schemaname = $1 AND indexdef LIKE '%btree (s)'", d.schema))
	if after := d.everything("t"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	d.leftovers()
}

// TestReplaceRecreatesViews: with other columns, plain views are made again.
func TestReplaceRecreatesViews(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("CREATE TABLE t (id bigint, gone text, s text)")
	d.exec(`CREATE VIEW "V 1" WITH (security_barrier) AS SELECT id, s AS "s s" FROM t WHERE id > 1 WITH LOCAL CHECK OPTION`)
	d.exec(`CREATE VIEW v2 AS SELECT a.id, "s s" FROM "V 1" a JOIN t USING (id)`)
	d.exec(`CREATE FUNCTION ins() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
	d.exec("CREATE TRIGGER tr INSTEAD OF INSERT ON v2 FOR EACH ROW EXECUTE FUNCTION ins()")
	d.exec("COMMENT ON VIEW v2 IS 'second'")
	d.exec(`COMMENT ON COLUMN v2.id IS 'key'`)
	d.exec("GRANT SELECT ON v2 TO " + role)
	d.exec("GRANT SELECT ON t TO " + role)
	d.exec(`GRANT UPDATE ("s s") ON "V 1" TO PUBLIC`)
	d.exec(`ALTER VIEW "V 1" OWNER TO ` + role)
	views := `SELECT string_agg(concat_ws('/', c.relname, pg_get_viewdef(c.oid), pg_get_userbyid(relowner), relacl::text, reloptions::text, obj_description(c.oid),
		(SELECT string_agg(concat(attname, attacl, col_description(attrelid, attnum)), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
		(SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = c.oid)), E'\n' ORDER BY relname)
		FROM pg_class c WHERE relkind = 'v' AND relnamespace = '` + d.schema + `'::regnamespace`
	before := d.text(views)
	d.mustLoadRows("t", 5, "n", connectors.TargetOptions{})
	if after := d.text(views); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	d.want("4/n2", `SELECT count(*) || '/' || min("s s") FROM v2`)

	d.exec("CREATE VIEW v3 AS SELECT id + 1 AS x FROM t")
	d.exec("ALTER TABLE t ADD extra text")
	d.exec("CREATE VIEW v4 AS SELECT extra FROM t")
	err := d.loadRows("t", 7, "n", connectors.TargetOptions{})
	if err == nil || !strings.Contains(err.Error(), "v4") || !strings.Contains(err.Error(), "extra") {
		t.Errorf("a view over a column that goes: %v", err)
	}
	d.want("5", "SELECT count(*)::text FROM t")
	d.exec("DROP VIEW v4")
	d.exec("CREATE MATERIALIZED VIEW mv AS SELECT * FROM v3")
	err = d.loadRows("t", 7, "n", connectors.TargetOptions{})
	if err == nil || !strings.Contains(err.Error(), "materialized view") || !strings.Contains(err.Error(), "mv") {
		t.Errorf("a materialized view in the way: %v", err)
	}
	d.exec("DROP MATERIALIZED VIEW mv")
	d.exec("CREATE FUNCTION f(t) RETURNS int LANGUAGE sql AS 'SELECT 1'")
	err = d.loadRows("t", 7, "n", connectors.TargetOptions{})
	if err == nil || !strings.Contains(err.Error(), "function") {
		t.Errorf("a function over the row type: %v", err)
	}
	d.exec("DROP FUNCTION f(t)")
	d.mustLoadRows("t", 7, "n", connectors.TargetOptions{})
	d.want("7", "SELECT count(*)::text FROM v3")
	d.leftovers()
}

func TestReplaceView(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("CREATE VIEW t AS SELECT 1 AS id, 'x'::text AS s")
	d.exec("CREATE VIEW over AS SELECT s FROM t")
	d.exec("COMMENT ON VIEW t IS 'was a view'")
	d.exec("GRANT SELECT ON t TO " + role)
	d.mustLoadRows("t", 3, "n", connectors.TargetOptions{})
	d.want("r/was a view/3/true", "SELECT relkind::text || '/' || obj_description(oid) || '/' || (SELECT count(*) FROM over) || '/' || has_table_privilege($1, oid, 'SELECT') FROM pg_class WHERE oid = 't'::regclass", role)

	d.exec("CREATE MATERIALIZED VIEW m AS SELECT 1 AS id, 'x'::text AS s")
	d.exec("CREATE UNIQUE INDEX mi ON m (id)")
	d.mustLoadRows("m", 3, "n", connectors.TargetOptions{})
	d.want("r/mi", "SELECT relkind::text || '/' || (SELECT indexname FROM pg_indexes WHERE tablename = 'm' AND schemaname = $1) FROM pg_class WHERE oid = 'm'::regclass", d.schema)
	d.exec("CREATE SEQUENCE sq")
	if err := d.loadRows("sq", 1, "", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "sequence") {
		t.Errorf("a sequence of that name: %v", err)
	}
	d.leftovers()
}

// TestReplaceSpecial: what a new table cannot have keeps the old one, or is refused.
func TestReplaceSpecial(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE t (id integer GENERATED ALWAYS AS IDENTITY, s text)")
	d.exec("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
	d.exec("CREATE POLICY p ON t USING (id = 1)")
	d.exec("CREATE TABLE part (id integer, s text) PARTITION BY RANGE (id)")
	d.exec("CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)")
	d.exec("CREATE TABLE part2 PARTITION OF part DEFAULT")
	d.exec("INSERT INTO part VALUES (1, 'old'), (100, 'old')")
	for _, name := range []string{"t", "part"} {
		oid := d.text("SELECT $1::text::regclass::oid::text", name)
		d.mustLoadRows(name, 20, "n", connectors.TargetOptions{})
		d.want(oid+"/20", "SELECT $1::text::regclass::oid || '/' || (SELECT count(*) FROM "+name+")", name)
		d.exec("ALTER TABLE " + name + " ADD extra int")
		if err := d.loadRows(name, 1, "n", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "which a new table would lack") {
			t.Errorf("%s with other columns: %v", name, err)
		}
	}
	d.want("a", "SELECT attidentity::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'id'")
	d.leftovers()
}

// TestReplaceAtomic polls the target from other sessions while it is replaced in every
// way: each answer is one whole content.
func TestReplaceAtomic(t *testing.T) {
	d := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d.mustLoadRows("t", 1000, "g0-", connectors.TargetOptions{})
	var wg sync.WaitGroup
	seen := make(chan string, 1<<16)
	sql := "SELECT count(*) || ' ' || min(split_part(s, '-', 1)) || ' ' || max(split_part(s, '-', 1)) || ' ' || sum(id) FROM " + d.schema + ".t"
	for i := range 2 {
		wg.Go(func() {
			c, err := pgx.Connect(ctx, connString(d.settings))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close(context.Background()) }()
			for ctx.Err() == nil {
				var s string
				if i == 0 {
					err = c.QueryRow(ctx, sql).Scan(&s)
				} else { // a snapshot older than the swap that may happen inside it
					err = pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
						if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
							return err
						}
						time.Sleep(20 * time.Millisecond)
						return tx.QueryRow(ctx, sql).Scan(&s)
					})
				}
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("a reader got an error: %v", err)
					return
				}
				select {
				case seen <- s:
				default:
				}
			}
		})
	}
	for g := 1; g <= 24; g++ {
		switch g {
		case 9:
			d.exec("CREATE VIEW v AS SELECT * FROM t") // from here in place
		case 17:
			d.exec("DROP VIEW v")
			d.exec("ALTER TABLE t ADD gone int")
			d.exec("CREATE VIEW v AS SELECT id FROM t") // now recreated
		}
		d.mustLoadRows("t", 1000, fmt.Sprintf("g%d-", g), connectors.TargetOptions{})
	}
	cancel()
	wg.Wait()
	close(seen)
	generations := map[string]bool{}
	for s := range seen {
		f := strings.Fields(s)
		if f[0] != "1000" || f[1] != f[2] || f[3] != "500500" {
			t.Fatalf("a reader saw %q", s)
		}
		generations[f[1]] = true
	}
	if len(generations) < 3 {
		t.Errorf("readers saw %d generations only", len(generations))
	}
}

// TestReplaceWaits: a reader that holds its lock is waited for without others queueing
// behind, and the staged rows survive the attempts.
func TestReplaceWaits(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.mustLoadRows("t", 1, "old", connectors.TargetOptions{})
	holder, err := d.plain.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(ctx, "SELECT * FROM t"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.loadRows("t", 5, "new", connectors.TargetOptions{}) }()
	other, err := pgx.Connect(ctx, connString(d.settings))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(ctx) }()
	for range 6 {
		start := time.Now()
		var n int
		if err := other.QueryRow(ctx, "SELECT count(*) FROM "+d.schema+".t").Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows, %v", n, err)
		}
		if waited := time.Since(start); waited > 2500*time.Millisecond {
			t.Errorf("a reader waited %s behind the swap", waited)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := holder.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.want("5", "SELECT count(*)::text FROM t")

	defer func(p time.Duration) { swapPatience = p }(swapPatience)
	swapPatience = 300 * time.Millisecond
	if holder, err = d.plain.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(ctx, "SELECT * FROM t"); err != nil {
		t.Fatal(err)
	}
	err = d.loadRows("t", 7, "late", connectors.TargetOptions{})
	if !hasCode(err, codeLockNotAvailable) || !strings.Contains(err.Error(), "another session held its lock") {
		t.Errorf("a lock that is never given up: %v", err)
	}
	if err := holder.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	d.want("5", "SELECT count(*)::text FROM t")
	d.leftovers()
}
