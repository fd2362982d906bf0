package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// staged loads rows of cols, given as texts (nil: NULL), into a sealed staging table of
// the relation called name. Columns are BigInt or Varchar.
func staged(t testing.TB, c *Conn, name string, cols []connectors.Column, key []string, rows ...[]any) connectors.Staging {
	t.Helper()
	ctx := context.Background()
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: "delta1", Target: connectors.Relation{Name: name}, Columns: cols, Options: connectors.TargetOptions{UniqueKey: key}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
	})
	rec := batch(t, c, cols, func(b *array.RecordBuilder) {
		for _, r := range rows {
			for i, v := range r {
				switch b := b.Field(i).(type) {
				case *array.Int64Builder:
					if v == nil {
						b.AppendNull()
					} else {
						b.Append(int64(v.(int)))
					}
				case *array.StringBuilder:
					if v == nil {
						b.AppendNull()
					} else {
						b.Append(v.(string))
					}
				}
			}
		}
	})
	if err := st.Write(ctx, rec); err != nil {
		t.Fatal(err)
	}
	if n, err := st.Seal(ctx); err != nil || n != int64(len(rows)) {
		t.Fatal(n, err)
	}
	return st
}

func bigint(name string) connectors.Column { return column(name, connectors.T(connectors.BigInt)) }
func text20(name string) connectors.Column {
	return column(name, connectors.Type{Kind: connectors.Varchar, Length: 20})
}

func names(cols []connectors.Column) []string {
	var out []string
	for _, c := range cols {
		out = append(out, c.Name)
	}
	return out
}

// content is a table as one text, rows in byte order.
func content(t testing.TB, c *Conn, sql string) string {
	t.Helper()
	var out []string
	for _, r := range query(t, c, sql) {
		out = append(out, strings.Join(r, "|"))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const (
	appendAll = connectors.StrategyAppend
	merging   = connectors.StrategyMerge
	replacing = connectors.StrategyDeleteInsert
)

// TestApply: every strategy meets keys that are NULL, that differ in case, in a trailing
// space or in an accent, by an index of the target and without one.
func TestApply(t *testing.T) {
	c := connect(t)
	cols := []connectors.Column{text20("v"), text20("k"), bigint("n")}
	delta := [][]any{{"A2", "A", 1}, {"pad", "b ", 1}, {"null", nil, 1}, {"e", "é", 1}, {"both", nil, nil}, {"new", "日本", 7}}
	for _, table := range []struct{ name, ddl string }{
		{"dvt's own", "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, n bigint, KEY dvt_key (k, n)"},
		{"ignores case", "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n bigint, KEY i (n, k)"},
		{"ignores accents, prefix", "k longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, n bigint, KEY i (k(3), n)"},
		{"pads", "k char(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci, n bigint, KEY i (k, n)"},
		{"utf16", "k varchar(20) CHARACTER SET utf16, n bigint, KEY i (k, n), KEY j (n) IGNORED"},
		{"no index", "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n bigint"},
		{"half an index", "k longtext CHARACTER SET utf8mb4, n bigint, KEY i (k(2))"},
		{"ignored index", "k varchar(20) CHARACTER SET utf8mb4, n bigint, KEY i (k, n) IGNORED"},
	} {
		if testing.Short() && !slices.Contains([]string{"ignores case", "pads", "no index"}, table.name) {
			continue
		}
		execSQL(t, c, "CREATE OR REPLACE TABLE t (x varchar(9) DEFAULT 'd', v varchar(20), "+table.ddl+") DEFAULT CHARSET utf8mb4")
		for _, s := range []struct {
			d    connectors.Delta
			want string
			out  connectors.Applied
		}{
			{connectors.Delta{Strategy: appendAll}, "A|1|A2|d A|1|A|keep NULL|1|null|d NULL|1|one|keep NULL|1|two|keep NULL|NULL|both|d a|1|a|keep b |1|pad|d b|1|b|keep e|1|e|keep é|1|e|d 日本|7|new|d", connectors.Applied{Inserted: 6}},
			{connectors.Delta{Strategy: appendAll, SkipExisting: true}, "A|1|A|keep NULL|1|one|keep NULL|1|two|keep NULL|NULL|both|d a|1|a|keep b |1|pad|d b|1|b|keep e|1|e|keep é|1|e|d 日本|7|new|d", connectors.Applied{Inserted: 4}},
			{connectors.Delta{Strategy: merging}, "A|1|A2|keep NULL|1|null|keep NULL|1|null|keep NULL|NULL|both|d a|1|a|keep b |1|pad|d b|1|b|keep e|1|e|keep é|1|e|d 日本|7|new|d", connectors.Applied{Updated: 3, Inserted: 4}},
			{connectors.Delta{Strategy: merging, Update: []string{}}, "A|1|A|keep NULL|1|one|keep NULL|1|two|keep NULL|NULL|both|d a|1|a|keep b |1|pad|d b|1|b|keep e|1|e|keep é|1|e|d 日本|7|new|d", connectors.Applied{Inserted: 4}},
			{connectors.Delta{Strategy: replacing}, "A|1|A2|d NULL|1|null|d NULL|NULL|both|d a|1|a|keep b |1|pad|d b|1|b|keep e|1|e|keep é|1|e|d 日本|7|new|d", connectors.Applied{Deleted: 3, Inserted: 6}},
		} {
			if table.name == "pads" { // a char has no trailing spaces to compare
				s.want = strings.ReplaceAll(s.want, " b |1|pad|d", "")
			}
			execSQL(t, c, "DELETE FROM t; INSERT INTO t (x, k, n, v) VALUES ('keep','a',1,'a'),('keep','A',1,'A'),('keep','b',1,'b'),('keep',NULL,1,'one'),('keep',NULL,1,'two'),('keep','e',1,'e')")
			rows := delta
			if table.name == "pads" {
				rows = slices.Delete(slices.Clone(delta), 1, 2)
				s.out.Inserted--
			}
			s.d.Key, s.d.Columns = []string{"k", "n"}, []string{"n", "v", "k"}
			st := staged(t, c, "t", cols, s.d.Key, rows...)
			out, err := c.Apply(context.Background(), st, s.d)
			if err != nil || out != s.out {
				t.Errorf("%s, %s: %+v, %v", table.name, s.d.Strategy, out, err)
			}
			if err := st.Discard(context.Background()); err != nil {
				t.Error(err)
			}
			if got := content(t, c, "SELECT k, n, v, x FROM t"); got != s.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", table.name, s.d.Strategy, got, s.want)
			}
		}
	}
	if l := leftovers(t, c); len(l) > 0 {
		t.Errorf("left behind %v", l)
	}
}

// TestApplyRepeats: under delete+insert a key may repeat, in the target and in the delta.
func TestApplyRepeats(t *testing.T) {
	c := connect(t)
	for _, index := range []string{"", ", KEY (day)"} {
		execSQL(t, c, "CREATE OR REPLACE TABLE t (day bigint, v varchar(20)"+index+"); INSERT INTO t VALUES (1,'x'),(1,'y'),(2,'z')")
		cols := []connectors.Column{bigint("day"), text20("v")}
		st := staged(t, c, "t", cols, []string{"day"}, []any{1, "p"}, []any{1, "p"}, []any{3, "q"})
		for range 1 {
			out, err := c.Apply(context.Background(), st, connectors.Delta{Strategy: replacing, Key: []string{"day"}, Columns: names(cols)})
			if err != nil || out != (connectors.Applied{Deleted: 2, Inserted: 3}) {
				t.Error(out, err)
			}
		}
		if got := content(t, c, "SELECT * FROM t"); got != "1|p 1|p 2|z 3|q" {
			t.Error(got)
		}
	}
}

// TestApplyRefuses: what would leave part of a delta, or change a value, is refused and
// nothing has changed.
func TestApplyRefuses(t *testing.T) {
	c := connect(t)
	cols := []connectors.Column{bigint("id"), text20("v")}
	key := []string{"id"}
	for _, x := range []struct {
		name, setup string
		strategy    connectors.Strategy
		rows        [][]any
		want        string
	}{
		{"trigger", "CREATE TABLE t (id bigint PRIMARY KEY, v text); INSERT INTO t VALUES (1,'a'),(2,'b'); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW IF NEW.v = 'bad' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this'; END IF", replacing, [][]any{{1, "A"}, {3, "bad"}}, "not this"},
		{"foreign key", "CREATE TABLE t (id bigint PRIMARY KEY, v text); CREATE TABLE child (p bigint, FOREIGN KEY (p) REFERENCES t (id)); INSERT INTO t VALUES (1,'a'),(2,'b'); INSERT INTO child VALUES (2)", replacing, [][]any{{1, "A"}, {2, "B"}}, "foreign key constraint fails"},
		{"cascade", "CREATE TABLE t (id bigint PRIMARY KEY, v text); CREATE TABLE child (p bigint, CONSTRAINT fk9 FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE); INSERT INTO t VALUES (1,'a'),(2,'b')", replacing, [][]any{{1, "A"}}, "fk9 has ON DELETE CASCADE"},
		{"unique", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20) UNIQUE); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {3, "b"}}, "Duplicate entry"},
		{"check", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20) CHECK (v <> 'no')); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {2, "no"}}, "CONSTRAINT"},
		{"not null", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20) NOT NULL); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {3, nil}}, "cannot be null"},
		{"too long", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(2)); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {3, "xyz"}}, "Data too long"},
		{"too long by a space", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(2)); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {3, "xy "}}, "truncated"},
		{"charset", "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20) CHARACTER SET latin1); INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}, {3, "日"}}, "Incorrect string value"},
		{"char", "CREATE TABLE t (id bigint PRIMARY KEY, v char(20)); INSERT INTO t VALUES (1,'a'),(2,'b')", appendAll, [][]any{{4, "z"}, {3, "x "}}, "does not hold it exactly"},
		{"enum", "CREATE TABLE t (id bigint PRIMARY KEY, v enum('a','b')); INSERT INTO t VALUES (1,'a'),(2,'b')", appendAll, [][]any{{4, "a"}, {3, "B"}}, "does not hold it exactly"},
		{"next number", "CREATE TABLE t (id bigint AUTO_INCREMENT PRIMARY KEY, v text); INSERT INTO t VALUES (1,'a'),(2,'b')", appendAll, [][]any{{4, "a"}, {nil, "B"}}, "a value of its own"},
		{"storage engine", "CREATE TABLE t (id bigint PRIMARY KEY, v text) ENGINE=Aria; INSERT INTO t VALUES (1,'a'),(2,'b')", merging, [][]any{{1, "z"}}, "Aria has no transactions"},
		{"view", "CREATE VIEW t AS SELECT 1 AS id, 'a' AS v UNION ALL SELECT 2, 'b'", merging, [][]any{{1, "z"}}, "takes no delta"},
	} {
		execSQL(t, c, "DROP TABLE IF EXISTS child; DROP TABLE IF EXISTS t; DROP VIEW IF EXISTS t; "+x.setup)
		st := staged(t, c, "t", cols, key, x.rows...)
		if err := c.CheckDelta(context.Background(), describe(t, c, "t"), connectors.Delta{}); (err != nil) != (x.name == "storage engine") {
			t.Errorf("%s: before anything is read: %v", x.name, err)
		}
		out, err := c.Apply(context.Background(), st, connectors.Delta{Strategy: x.strategy, Key: key, Columns: names(cols)})
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "applying to ") || out != (connectors.Applied{}) {
			t.Errorf("%s: %+v, %v", x.name, out, err)
		}
		if got := content(t, c, "SELECT * FROM t"); got != "1|a 2|b" {
			t.Errorf("%s: the target holds %s", x.name, got)
		}
		if err := st.Discard(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestApplyPermission: what the user may not do ends the delta as a whole.
func TestApplyPermission(t *testing.T) {
	c := connect(t)
	user := fmt.Sprintf("dvt_m%d", time.Now().UnixNano()%1e9)
	execSQL(t, c, fmt.Sprintf(`CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20)); INSERT INTO t VALUES (1, 'a');
		CREATE USER '%[1]s'@'%%' IDENTIFIED BY 'x'; GRANT ALL ON %[2]s.* TO '%[1]s'@'%%'; REVOKE INSERT ON %[2]s.* FROM '%[1]s'@'%%'`, user, quote(c.schema)))
	defer execSQL(t, c, "DROP USER '"+user+"'@'%'")
	cols := []connectors.Column{bigint("id"), text20("v")}
	st := staged(t, c, "t", cols, []string{"id"}, []any{1, "z"}, []any{2, "y"})
	weak := open(t, map[string]any{"username": user, "password": "x", "schema": c.schema}, connectors.Env{})
	st.(*staging).c, st.(*staging).s.c = weak, weak
	_, err := weak.Apply(context.Background(), st, connectors.Delta{Strategy: replacing, Key: []string{"id"}, Columns: names(cols)})
	if err == nil || !strings.Contains(err.Error(), "INSERT command denied") {
		t.Error(err)
	}
	st.(*staging).c, st.(*staging).s.c = c, c
	if got := content(t, c, "SELECT * FROM t"); got != "1|a" {
		t.Error(got)
	}
}

// TestApplyTable: generated columns, defaults and triggers work for a delta as for any
// other client.
func TestApplyTable(t *testing.T) {
	var log bytes.Buffer
	c := connect(t, "", &log)
	execSQL(t, c, `CREATE TABLE log (n int); CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, v varchar(20), twice bigint AS (id * 2) STORED, st varchar(9) NOT NULL DEFAULT 'new', un int, seen int NOT NULL);
		INSERT INTO t (id, v, st, un, seen) VALUES (1, 'a', 'old', 5, 3); CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id)`)
	var filled []string
	for _, col := range describe(t, c, "t").Columns {
		if col.Attrs[attrDefault] != "" {
			filled = append(filled, col.Name)
		}
	}
	if fmt.Sprint(filled) != "[st]" {
		t.Errorf("columns with a default: %v", filled)
	}
	cols := []connectors.Column{bigint("id"), text20("v"), bigint("twice"), bigint("seen"), text20("more")}
	d := connectors.Delta{Strategy: merging, Key: []string{"id"}, Columns: []string{"id", "v", "twice", "seen"}, Update: []string{"v", "twice"}}
	st := staged(t, c, "t", cols, d.Key, []any{1, "A", 0, 9, nil}, []any{2, "B", 0, 9, nil})
	if out, err := c.Apply(context.Background(), st, d); err != nil || out != (connectors.Applied{Inserted: 1, Updated: 1}) {
		t.Fatal(out, err)
	}
	if got := content(t, c, "SELECT id, v, twice, st, un, seen FROM t"); got != "1|A|2|old|5|3 2|B|4|new|NULL|9" {
		t.Error(got)
	}
	if got := content(t, c, "SELECT * FROM log"); got != "1" {
		t.Error(got)
	}
	if !strings.Contains(log.String(), "twice") {
		t.Errorf("no word about the generated column: %s", log.String())
	}
}

// TestApplyCost: a delta of 100 rows touches rows of the target in proportion to itself.
func TestApplyCost(t *testing.T) {
	c := connect(t)
	rows := 300_000
	if testing.Short() {
		rows = 30_000
	}
	execSQL(t, c, fmt.Sprintf("CREATE TABLE t (k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n bigint, v varchar(20), KEY dvt_key (k, n)); INSERT INTO t SELECT CONCAT('k', seq), seq, 'old' FROM seq_1_to_%d", rows))
	cols := []connectors.Column{text20("k"), bigint("n"), text20("v")}
	var delta [][]any
	for i := range 100 {
		delta = append(delta, []any{fmt.Sprint("k", i*100+1), i*100 + 1, "new"})
	}
	delta[0] = []any{nil, 5, "new"}
	for _, s := range []connectors.Strategy{merging, replacing, appendAll} {
		st := staged(t, c, "t", cols, []string{"k", "n"}, delta...)
		read := func() (n int) {
			for _, r := range query(t, c, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROWS_READ'") {
				_, _ = fmt.Sscan(r[0], &n)
			}
			return n
		}
		var touched []int // other clients of the server count too: the least of three
		for range 3 {
			before := read()
			d := connectors.Delta{Strategy: s, Key: []string{"k", "n"}, Columns: names(cols), SkipExisting: true}
			if _, err := c.Apply(context.Background(), st, d); err != nil {
				t.Fatal(err)
			}
			touched = append(touched, read()-before)
			st.(*staging).written = 100 // the mark took one out
			execSQL(t, c, "TRUNCATE "+quote(st.(*staging).rel.Name)+"; INSERT INTO "+quote(st.(*staging).rel.Name)+" SELECT k, n, 'x' FROM t WHERE n < 10001 AND n % 100 = 1 LIMIT 100")
			st.(*staging).written = int64(len(query(t, c, "SELECT n FROM "+quote(st.(*staging).rel.Name))))
		}
		if n := slices.Min(touched); n > 3000 {
			t.Errorf("%s read %d rows: %v", s, n, touched)
		}
		if err := st.Discard(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestApplyWaits: a delta waits for the lock of another client, and begins again after a
// deadlock.
func TestApplyWaits(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20)); INSERT INTO t SELECT seq, 'old' FROM seq_1_to_1000")
	cols := []connectors.Column{bigint("id"), text20("v")}
	var delta [][]any
	for i := range 1000 {
		delta = append(delta, []any{i + 1, "new"})
	}
	st := staged(t, c, "t", cols, []string{"id"}, delta...)
	ctx := context.Background()
	other, err := c.open(ctx, c.schema, false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	run := func(sql string) {
		t.Helper()
		if _, err := other.exec(ctx, sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	run(beginSQL)
	run("UPDATE t SET v = 'theirs' WHERE id = 1000")
	var wg sync.WaitGroup
	wg.Go(func() {
		out, err := c.Apply(ctx, st, connectors.Delta{Strategy: merging, Key: []string{"id"}, Columns: names(cols)})
		if err != nil || out.Updated != 1000 {
			t.Error(out, err)
		}
	})
	for len(query(t, c, "SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'UPDATE %STRAIGHT_JOIN%'")) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	// The delta waits for row 1000 and holds row 1: this makes a deadlock, in which the
	// transaction that has changed less is the victim: either is good.
	if _, err := other.exec(ctx, "UPDATE t SET v = 'theirs' WHERE id = 1"); err != nil && !isCode(err, errDeadlock) {
		t.Error(err)
	}
	run(commitSQL)
	wg.Wait()
	if got := content(t, c, "SELECT DISTINCT v FROM t"); got != "new" {
		t.Error(got)
	}
}

// TestCommitLost: a COMMIT whose answer is lost is looked up.
func TestCommitLost(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(20)); INSERT INTO t VALUES (1, 'a')")
	cols := []connectors.Column{bigint("id"), text20("v")}
	ctx := context.Background()
	cause := errors.New("the connection is lost")
	for _, commits := range []bool{true, false} {
		st := staged(t, c, "t", cols, []string{"id"}, []any{1, "z"}, []any{2, "y"}).(*staging)
		m := &merge{st: st}
		m.source = st.rel
		var err error
		if m.s, err = c.open(ctx, c.schema, false); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{beginSQL, markSQL(st.rel)} {
			if _, err := m.s.exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		if commits {
			// The answer comes late: until then the transaction is open.
			done := make(chan struct{})
			time.AfterFunc(200*time.Millisecond, func() {
				defer close(done)
				_, _ = m.s.exec(ctx, commitSQL)
			})
			if err := m.committed(ctx, cause); err != nil {
				t.Error(err)
			}
			<-done
		} else {
			// The session hangs, and the server does not know yet.
			if !testing.Short() {
				if err := m.committed(ctx, cause); err != cause { //nolint:errorlint // this very error: the outcome is known
					t.Error(err)
				}
			}
			m.s.close()
			if err := m.committed(ctx, cause); err != cause { //nolint:errorlint // this very error: the outcome is known
				t.Error(err)
			}
		}
		m.s.close()
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
	}
}
