package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func alters(cols ...any) (out []connectors.Alteration) {
	for i := 0; i < len(cols); i += 2 {
		out = append(out, connectors.Alteration{Kind: cols[i].(connectors.AlterKind), Column: cols[i+1].(connectors.Column)})
	}
	return out
}

// TestApplyAlters: columns come, grow and go with the delta, and all else stays.
func TestApplyAlters(t *testing.T) {
	c := connect(t)
	execSQL(t, c, `CREATE TABLE parent (p int PRIMARY KEY); INSERT INTO parent VALUES (1);
		CREATE TABLE t (id int NOT NULL AUTO_INCREMENT COMMENT 'no', v varchar(3) CHARACTER SET latin1 NOT NULL DEFAULT 'x' COMMENT 'it''s v', old date, p int, twice bigint AS (id * 2) VIRTUAL,
		  PRIMARY KEY (id), KEY by_v (v), KEY by_old (old), CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (p), CONSTRAINT pos CHECK (v <> 'bad')) COMMENT 'about' DEFAULT CHARSET utf8mb4;
		INSERT INTO t (id, v, old, p) VALUES (1, 'a', '2024-01-01', 1), (2, 'é', NULL, NULL); ALTER TABLE t AUTO_INCREMENT = 100;
		CREATE VIEW w AS SELECT id, v FROM t`)
	long := column("v", connectors.Type{Kind: connectors.Varchar, Length: 9})
	cols := []connectors.Column{bigint("id"), long, text20("added")}
	d := connectors.Delta{Strategy: merging, Key: []string{"id"}, Columns: names(cols),
		Alter: alters(connectors.AddColumn, cols[2], connectors.WidenColumn, cols[0], connectors.WidenColumn, long, connectors.DropColumn, column("old", connectors.T(connectors.Date))),
		State: &connectors.StateSave{Record: connectors.StateRecord{Model: "m", Target: "t", Value: "1"}}}
	st := staged(t, c, "t", cols, d.Key, []any{2, "longer", nil}, []any{5_000_000_000, "ü", "日"})
	out, err := c.Apply(context.Background(), st, d)
	if err != nil || out != (connectors.Applied{Inserted: 1, Updated: 1}) {
		t.Fatal(out, err)
	}
	if got := content(t, c, "SELECT id, v, p, twice, added FROM t"); got != "1|a|1|2|NULL 2|longer|NULL|4|NULL 5000000000|ü|NULL|10000000000|日" {
		t.Error(got)
	}
	ddl := query(t, c, "SHOW CREATE TABLE t")[0][1]
	for _, want := range []string{"`id` bigint(20) NOT NULL AUTO_INCREMENT COMMENT 'no'", "`v` varchar(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL DEFAULT 'x' COMMENT 'it''s v'",
		"PRIMARY KEY (`id`)", "KEY `by_v` (`v`)", "REFERENCES `parent` (`p`)", "CONSTRAINT `pos` CHECK (`v` <> 'bad')", "COMMENT='about'", "`added` longtext", "AUTO_INCREMENT=5000000001"} {
		if !strings.Contains(ddl, want) {
			t.Errorf("%s is gone:\n%s", want, ddl)
		}
	}
	if strings.Contains(ddl, "`old`") {
		t.Error(ddl)
	}
	if got := content(t, c, "SELECT COUNT(*) FROM w"); got != "3" {
		t.Error(got)
	}
	if l := leftovers(t, c); len(l) != 1 {
		t.Errorf("left behind %v", l)
	}
	// A failure leaves neither rows nor columns.
	d.Alter = alters(connectors.AddColumn, text20("again"))
	d.Columns = []string{"id", "again", "v"}
	st2 := staged(t, c, "t", []connectors.Column{bigint("id"), text20("again"), text20("v")}, d.Key, []any{1, "x", "y"}, []any{3, "x", "bad"})
	if _, err := c.Apply(context.Background(), st2, d); err == nil || !strings.Contains(err.Error(), "pos") {
		t.Error(err)
	}
	if got := query(t, c, "SHOW CREATE TABLE t")[0][1]; got != ddl {
		t.Errorf("the table has changed:\n%s", got)
	}
	if l := leftovers(t, c); len(l) != 1 { // the staging itself
		t.Errorf("left behind %v", l)
	}
	for name, setup := range map[string]string{
		"trigger g": "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW SET @x = 1",
		"key fk2":   "CREATE TABLE child (id bigint, CONSTRAINT fk2 FOREIGN KEY (id) REFERENCES t (id))",
	} {
		execSQL(t, c, setup)
		if _, err := c.Apply(context.Background(), st2, d); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		execSQL(t, c, "DROP TRIGGER IF EXISTS g; DROP TABLE IF EXISTS child")
	}
}

// TestApplyAltersUnderWriter: what another client writes while the table is copied is in
// the new one.
func TestApplyAltersUnderWriter(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20)); INSERT INTO t SELECT seq, 'old' FROM seq_1_to_20000")
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wrote := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			err := c.with(context.Background(), func(s *session) error {
				_, err := s.exec(context.Background(), fmt.Sprintf("INSERT INTO t (id, v) VALUES (%d, 'theirs')", 1_000_000+wrote))
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			wrote++
		}
	})
	for i := range 3 {
		fresh := text20(fmt.Sprint("c", i))
		cols := []connectors.Column{bigint("id"), fresh}
		st := staged(t, c, "t", cols, []string{"id"}, []any{1, "x"})
		d := connectors.Delta{Strategy: merging, Key: []string{"id"}, Columns: names(cols), Alter: alters(connectors.AddColumn, fresh)}
		if _, err := c.Apply(context.Background(), st, d); err != nil {
			t.Error(err)
		}
		if err := st.Discard(context.Background()); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if got := content(t, c, "SELECT COUNT(*) FROM t WHERE v = 'theirs'"); got != fmt.Sprint(wrote) || wrote < 3 {
		t.Errorf("%s of %d rows of another client are there", got, wrote)
	}
}

// TestApplyUnderReader: a reader that polls sees each delta as a whole or not at all.
func TestApplyUnderReader(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE t (id bigint PRIMARY KEY, g bigint); INSERT INTO t SELECT seq, 0 FROM seq_1_to_200")
	cols := []connectors.Column{bigint("id"), bigint("g")}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	polls := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			err := c.with(context.Background(), func(s *session) error {
				rows, err := s.rows(context.Background(), "SELECT COUNT(*), COUNT(DISTINCT g), SUM(id) - COUNT(*) * (COUNT(*) + 1) / 2 FROM t")
				if err == nil && (rows[0][1].s != "1" || !strings.HasPrefix(rows[0][2].s, "0")) {
					t.Errorf("a reader saw %v", rows)
				}
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			polls++
		}
	})
	for g := 1; g <= 12; g++ {
		d := connectors.Delta{Strategy: []connectors.Strategy{merging, replacing}[g%2], Key: []string{"id"}, Columns: names(cols)}
		if g%4 == 0 {
			d.Alter = alters(connectors.AddColumn, text20(fmt.Sprint("c", g)))
		}
		cols := cols
		for _, a := range d.Alter {
			cols = append(cols[:2:2], a.Column)
		}
		var rows [][]any
		for i := range 200 + g {
			rows = append(rows, append([]any{i + 1, g}, make([]any, len(cols)-2)...))
		}
		st := staged(t, c, "t", cols, d.Key, rows...)
		if _, err := c.Apply(context.Background(), st, d); err != nil {
			t.Error(err)
		}
		if err := st.Discard(context.Background()); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if polls < 20 {
		t.Errorf("%d polls", polls)
	}
}

func TestState(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	rec := connectors.StateRecord{Model: "m'1 ", Target: "db.`t`", UpdateKey: "at", Value: "2020-01-01T00:00:00+02:00", ColumnType: "timestamp", UpdatedAt: time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC), RunID: "r"}
	for _, schema := range []string{"", c.schema + "_state"} {
		if all, err := c.ListState(ctx, schema); err != nil || all != nil {
			t.Error(all, err)
		}
		if err := c.DeleteState(ctx, schema, "m", "t"); err != nil {
			t.Error(err)
		}
		if err := c.SaveState(ctx, connectors.StateSave{Schema: schema, Record: rec}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.LoadState(ctx, schema, rec.Model, rec.Target); err != nil || got == nil || *got != rec {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := c.LoadState(ctx, schema, "m'1", rec.Target); err != nil || got != nil { // another name
			t.Errorf("%+v, %v", got, err)
		}
		if err := c.SaveState(ctx, connectors.StateSave{Schema: schema, Record: rec}); !errors.Is(err, connectors.ErrStateMoved) {
			t.Error(err)
		}
		other := rec
		other.Model = "M'1 "
		if err := c.SaveState(ctx, connectors.StateSave{Schema: schema, Record: other}); err != nil {
			t.Error(err)
		}
		if all, err := c.ListState(ctx, schema); err != nil || len(all) != 2 || all[0] != other {
			t.Error(all, err)
		}
		// Of many that start from one value, one wins.
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			wg.Go(func() {
				next, prev := rec, rec.Value
				next.Value = fmt.Sprint("2021-", i)
				err := c.SaveState(ctx, connectors.StateSave{Schema: schema, Record: next, Previous: &prev})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, connectors.ErrStateMoved) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d won", won)
		}
		if err := c.DeleteState(ctx, schema, rec.Model, rec.Target); err != nil {
			t.Error(err)
		}
		if got, err := c.LoadState(ctx, schema, rec.Model, rec.Target); err != nil || got != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
	execSQL(t, c, "DROP DATABASE "+quote(c.schema+"_state"))
	execSQL(t, c, "ALTER TABLE _sling_state MODIFY value longtext NULL; UPDATE _sling_state SET value = NULL")
	if _, err := c.ListState(ctx, ""); err == nil || !strings.Contains(err.Error(), "unreadable") {
		t.Error(err)
	}
}

// TestStateWithDelta: the record moves with the rows, or stays with them.
func TestStateWithDelta(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	execSQL(t, c, "CREATE TABLE t (id bigint PRIMARY KEY)")
	cols := []connectors.Column{bigint("id")}
	save := connectors.StateSave{Record: connectors.StateRecord{Model: "m", Target: "t", Value: "1", UpdatedAt: time.Now()}}
	for i, want := range []connectors.Applied{{Inserted: 1, StateSaved: true}, {Inserted: 1, StateMoved: true}, {}} {
		st := staged(t, c, "t", cols, nil, []any{min(i, 1)})
		out, err := c.Apply(ctx, st, connectors.Delta{Strategy: appendAll, Columns: []string{"id"}, State: &save})
		if out != want || (err != nil) != (i == 2) {
			t.Error(i, out, err)
		}
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
	}
	prev := "1"
	save.Previous, save.Record.Value = &prev, "2"
	st := staged(t, c, "t", cols, nil, []any{1}) // a key that is there: nothing is applied
	if _, err := c.Apply(ctx, st, connectors.Delta{Strategy: appendAll, Columns: []string{"id"}, State: &save}); err == nil {
		t.Error("no error")
	}
	if got, err := c.LoadState(ctx, "", "m", "t"); err != nil || got.Value != "1" {
		t.Error(got, err)
	}
}
