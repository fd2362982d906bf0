package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// numbers is a batch with n rows (1 … n, and the text of generation g).
func numbers(t *testing.T, c *Conn, n, g int) (cols []connectors.Column, load func(name string, opts connectors.TargetOptions) error) {
	t.Helper()
	cols = []connectors.Column{column("id", connectors.T(connectors.BigInt)), column("g", connectors.T(connectors.Varchar))}
	rec := batch(t, c, cols, func(b *array.RecordBuilder) {
		for i := range n {
			b.Field(0).(*array.Int64Builder).Append(int64(i + 1))
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("g", g))
		}
	})
	return cols, func(name string, opts connectors.TargetOptions) error { return tryStage(c, name, cols, opts, rec) }
}

func TestReplaceKinds(t *testing.T) {
	c := connect(t)
	_, load := numbers(t, c, 3, 1)
	check := func(name string) {
		t.Helper()
		if err := load(name, connectors.TargetOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := query(t, c, "SELECT COUNT(*), MAX(g) FROM "+name)[0]; got[0] != "3" || got[1] != "g1" {
			t.Errorf("%s holds %v", name, got)
		}
		if l := leftovers(t, c); len(l) > 0 {
			t.Errorf("%s: left behind %v", name, l)
		}
	}
	check("missing")
	execSQL(t, c, "CREATE TABLE tab (x int); INSERT INTO tab VALUES (1)")
	check("tab")
	execSQL(t, c, "CREATE VIEW vw AS SELECT 1 AS x")
	check("vw")
	execSQL(t, c, "CREATE TABLE base (x int); CREATE VIEW broken AS SELECT x FROM base; DROP TABLE base")
	check("broken")
	execSQL(t, c, "CREATE SEQUENCE sq")
	if err := load("sq", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "sequence") {
		t.Errorf("a sequence: %v", err)
	}
	execSQL(t, c, "CREATE TABLE ver (x int) WITH SYSTEM VERSIONING")
	if err := load("ver", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "system versioned") {
		t.Errorf("a versioned table: %v", err)
	}
}

// TestReplaceKeeps: what hangs on the old table hangs on the new one.
func TestReplaceKeeps(t *testing.T) {
	var log bytes.Buffer
	c := connect(t, "", &log)
	user := fmt.Sprintf("'dvt_u%d'@'%%'", time.Now().UnixNano()%1e9)
	execSQL(t, c, "CREATE USER "+user+" IDENTIFIED BY 'x'")
	defer execSQL(t, c, "DROP USER "+user)
	execSQL(t, c, `CREATE TABLE other (k bigint PRIMARY KEY); INSERT INTO other VALUES (1),(2),(3);
		CREATE TABLE audit (n int);
		CREATE TABLE kept (id bigint NOT NULL COMMENT 'the ''key''', g longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT 'none', gone int,
		  PRIMARY KEY (id), KEY by_g (g(20), id DESC) COMMENT 'c', FULLTEXT KEY ft (g), KEY with_gone (id, gone),
		  CONSTRAINT fk FOREIGN KEY (id) REFERENCES other (k) ON DELETE CASCADE) COMMENT 'about it';
		INSERT INTO kept VALUES (1, 'x', 2);
		CREATE VIEW dependent AS SELECT COUNT(*) AS n FROM kept;
		GRANT SELECT ON kept TO `+user+`;
		SET sql_mode = 'ANSI_QUOTES';
		CREATE TRIGGER "t one" AFTER INSERT ON kept FOR EACH ROW INSERT INTO audit VALUES (NEW."id");
		CREATE TRIGGER t2 BEFORE UPDATE ON kept FOR EACH ROW SET NEW.g = 'é;'`)
	for round := range 3 {
		_, load := numbers(t, c, 3, round)
		if err := load("kept", connectors.TargetOptions{UniqueKey: []string{"id"}}); err != nil {
			t.Fatal(err)
		}
		if got := query(t, c, "SELECT n FROM dependent")[0][0]; got != "3" {
			t.Errorf("the view says %s", got)
		}
		ddl := query(t, c, "SHOW CREATE TABLE kept")[0][1]
		for _, want := range []string{"`id` bigint(20) NOT NULL COMMENT 'the ''key'''", "DEFAULT 'none'", "PRIMARY KEY (`id`)", "KEY `by_g` (`g`(20),`id` DESC) COMMENT 'c'",
			"FULLTEXT KEY `ft` (`g`)", "REFERENCES `other` (`k`) ON DELETE CASCADE", "COMMENT='about it'"} {
			if !strings.Contains(ddl, want) {
				t.Errorf("round %d: %s is gone:\n%s", round, want, ddl)
			}
		}
		if n, m := strings.Count(ddl, "FOREIGN KEY"), strings.Count(ddl, "KEY "); n != 1 || m != 4 {
			t.Errorf("%d foreign keys, %d keys in all:\n%s", n, m, ddl)
		}
		if got := query(t, c, "SHOW GRANTS FOR "+user); !strings.Contains(fmt.Sprint(got), "`kept`") {
			t.Errorf("grants: %v", got)
		}
		execSQL(t, c, "DELETE FROM kept WHERE id = 2; DELETE FROM audit; INSERT INTO kept (id, g) VALUES (2, 'new'); UPDATE kept SET g = 'y' WHERE id = 2")
		if got := query(t, c, "SELECT (SELECT COUNT(*) FROM audit WHERE n = 2), g FROM kept WHERE id = 2")[0]; got[0] != "1" || got[1] != "é;" {
			t.Errorf("round %d: the triggers did %v", round, got)
		}
		if got := query(t, c, "SELECT TRIGGER_NAME, SQL_MODE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() ORDER BY 1"); len(got) != 2 || got[0][0] != "t one" || !strings.Contains(got[0][1], "ANSI_QUOTES") {
			t.Errorf("triggers %v", got)
		}
		if l := leftovers(t, c); len(l) > 0 {
			t.Errorf("left behind %v", l)
		}
	}
	if !strings.Contains(log.String(), "index with_gone is not kept") {
		t.Errorf("nothing said of the index that does not fit:\n%s", log.String())
	}
}

// TestReplaceChecks: constraints stay where no column changed, and refuse what they
// refused.
func TestReplaceChecks(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE ck (id bigint NOT NULL, g longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin CHECK (g <> 'g2'), CONSTRAINT small CHECK (id < 5))")
	for round := range 4 {
		_, load := numbers(t, c, 3+round, round)
		err := load("ck", connectors.TargetOptions{})
		if refused := round >= 2; refused != (err != nil) {
			t.Errorf("round %d: %v", round, err)
		}
	}
	if got := query(t, c, "SELECT COUNT(*), MAX(g) FROM ck")[0]; got[0] != "4" || got[1] != "g1" {
		t.Errorf("the target holds %v", got)
	}
	execSQL(t, c, "CREATE TABLE uq (id bigint, g varchar(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, UNIQUE KEY one (g)); INSERT INTO uq VALUES (9, 'old')")
	_, load := numbers(t, c, 2, 0)
	if err := load("uq", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "Duplicate entry") {
		t.Errorf("duplicates in a unique index: %v", err)
	}
	if got := query(t, c, "SELECT id, g FROM uq"); len(got) != 1 || got[0][1] != "old" {
		t.Errorf("the target holds %v", got)
	}
	_, load = numbers(t, c, 1, 0)
	if err := load("uq", connectors.TargetOptions{}); err != nil {
		t.Fatal(err)
	}
	if ddl := query(t, c, "SHOW CREATE TABLE uq")[0][1]; !strings.Contains(ddl, "UNIQUE KEY `one` (`g`)") || !strings.Contains(ddl, "varchar(30)") {
		t.Errorf("the unique index is gone:\n%s", ddl)
	}
}

// TestReplaceReferenced: a table that foreign keys point to keeps them pointing.
func TestReplaceReferenced(t *testing.T) {
	c := connect(t)
	execSQL(t, c, `CREATE TABLE parent (id bigint PRIMARY KEY, g varchar(9)); INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c');
		CREATE TABLE child (p bigint, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE); INSERT INTO child VALUES (1), (3), (NULL)`)
	_, load := numbers(t, c, 4, 7)
	if err := load("parent", connectors.TargetOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT COUNT(*), MIN(g), (SELECT COUNT(*) FROM child) FROM parent")[0]; got[0] != "4" || got[1] != "g7" || got[2] != "3" {
		t.Errorf("parent and child hold %v", got)
	}
	_, load = numbers(t, c, 2, 8) // child 3 would lose its parent
	if err := load("parent", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "child") {
		t.Errorf("a missing parent: %v", err)
	}
	execSQL(t, c, "ALTER TABLE parent ADD more int")
	_, load = numbers(t, c, 4, 9)
	if err := load("parent", connectors.TargetOptions{}); err == nil || !strings.Contains(err.Error(), "keeps its 3 columns") {
		t.Errorf("other columns: %v", err)
	}
	if got := query(t, c, "SELECT COUNT(*), MIN(g) FROM parent")[0]; got[0] != "4" || got[1] != "g7" {
		t.Errorf("parent holds %v", got)
	}
	if l := leftovers(t, c); len(l) > 0 {
		t.Errorf("left behind %v", l)
	}
}

// TestIndexes: those of the model, its key and its watermark, in one round after another.
func TestIndexes(t *testing.T) {
	c := connect(t)
	cols := []connectors.Column{column("a", connectors.T(connectors.BigInt)), column("b", connectors.Type{Kind: connectors.Varchar, Length: 40}),
		column("c", connectors.T(connectors.Varchar)), column("d", connectors.T(connectors.Blob)), column("e", connectors.Type{Kind: connectors.Varchar, Length: 900})}
	opts := connectors.TargetOptions{UniqueKey: []string{"a", "b"}, Watermark: "a", Indexes: []connectors.Index{
		{Columns: []string{"b", "a"}, Unique: true}, {Columns: []string{"d"}, Type: "hash"}, {Columns: []string{"e", "b"}}, {Columns: []string{"b"}, Type: "fulltext"}}}
	for range 2 {
		stage(t, c, "ixs", cols, opts)
		ddl := query(t, c, "SHOW CREATE TABLE ixs")[0][1]
		for _, want := range []string{"`b` varchar(40)", "`c` longtext", "`e` varchar(900)", "KEY `dvt_key` (`a`,`b`)", "KEY `dvt_watermark` (`a`)", "UNIQUE KEY `dvt_ix_",
			"(`b`,`a`)", "(`d`(255))", "(`e`(384),`b`)", "FULLTEXT KEY"} {
			if !strings.Contains(ddl, want) {
				t.Errorf("%s is missing:\n%s", want, ddl)
			}
		}
		if n := strings.Count(ddl, "KEY "); n != 6 {
			t.Errorf("%d indexes:\n%s", n, ddl)
		}
	}
	if err := tryStage(c, "ixs", cols, connectors.TargetOptions{Indexes: []connectors.Index{{Columns: []string{"a"}, Type: "gin"}}}); err == nil || !strings.Contains(err.Error(), "btree") {
		t.Errorf("an unknown type of index: %v", err)
	}
}

// TestReplaceIsAtomic polls the target while it is replaced again and again.
func TestReplaceIsAtomic(t *testing.T) {
	c := connect(t)
	const n = 500
	_, load := numbers(t, c, n, 0)
	if err := load("polled", connectors.TargetOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	polls := make([]int, 2)
	for w := range polls {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				err := c.with(ctx, func(s *session) error {
					rows, err := s.rows(context.Background(), "SELECT COUNT(*), COUNT(DISTINCT g) FROM polled")
					if err == nil && (rows[0][0].s != fmt.Sprint(n) || rows[0][1].s != "1") {
						t.Errorf("a reader saw %v", rows)
					}
					return err
				})
				if err != nil && ctx.Err() == nil {
					t.Errorf("a reader got %v", err)
					return
				}
				polls[w]++
			}
		}()
	}
	for g := 1; g <= 8; g++ {
		_, load := numbers(t, c, n, g)
		if err := load("polled", connectors.TargetOptions{}); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if polls[0] < 20 {
		t.Errorf("only %d polls", polls[0])
	}
}

// TestReplaceWaits: a transaction that uses the target delays the swap, and readers that
// come meanwhile do not hang behind it for long.
func TestReplaceWaits(t *testing.T) {
	c := connect(t)
	_, load := numbers(t, c, 3, 1)
	execSQL(t, c, "CREATE TABLE busy (id int); INSERT INTO busy VALUES (1)")
	snap, err := c.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snap.(*snapshot).s.rows(context.Background(), "SELECT * FROM busy"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- load("busy", connectors.TargetOptions{}) }()
	time.Sleep(300 * time.Millisecond)
	begin := time.Now()
	query(t, c, "SELECT COUNT(*) FROM busy")
	if d := time.Since(begin); d > 4*time.Second {
		t.Errorf("a reader waited %s", d)
	}
	if err := snap.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCleanStaging(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	rel := connectors.Relation{Name: "clean"}
	cols, load := numbers(t, c, 3, 1)
	execSQL(t, c, "CREATE TABLE log (n int); CREATE TABLE clean (id bigint, g text); INSERT INTO clean VALUES (1, 'old'); CREATE TRIGGER tr AFTER INSERT ON clean FOR EACH ROW INSERT INTO log VALUES (1)")
	dead := func() string {
		st, err := c.Stage(ctx, connectors.StageSpec{RunID: "DEAD-beef", Target: rel, Columns: cols})
		if err != nil {
			t.Fatal(err)
		}
		s := st.(*staging)
		s.sink.abort()
		c.release(s.s)
		return s.rel.Name
	}
	triggers := func() string {
		return fmt.Sprint(query(t, c, "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()"))
	}
	check := func(when, want string) {
		t.Helper()
		if err := c.CleanStaging(ctx, rel); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if l := leftovers(t, c); len(l) != 1 || l[0] != stagingPrefix+"another0"+strings.Repeat("f", 12) {
			t.Errorf("%s: left %v", when, l)
		}
		if got := query(t, c, "SELECT MAX(g) FROM clean")[0][0]; got != want {
			t.Errorf("%s: the target holds %s, want %s", when, got, want)
		}
		if got := triggers(); got != "[[tr clean]]" {
			t.Errorf("%s: triggers %s", when, got)
		}
	}
	execSQL(t, c, "CREATE TABLE "+stagingPrefix+"another0"+strings.Repeat("f", 12)+" (x int)") // another relation's

	name := dead()
	if len(name) != 26 || !strings.HasPrefix(name, "__dvt_deadbeef") {
		t.Errorf("staging is called %s", name)
	}
	check("died while loading", "old")

	name = dead()
	execSQL(t, c, "RENAME TABLE clean TO "+name+"_old")
	check("server died between the renames", "old")

	save := "CREATE TABLE %[1]s_trg (`pos` int PRIMARY KEY, `name` varchar(64), `mode` text, `body` longtext); INSERT INTO %[1]s_trg VALUES (0, 'tr', '', 'CREATE TRIGGER tr AFTER INSERT ON clean FOR EACH ROW INSERT INTO log VALUES (1)');"
	name = dead()
	execSQL(t, c, fmt.Sprintf(save, name)+"INSERT INTO "+name+" VALUES (1, 'new'); RENAME TABLE clean TO "+name+"_old, "+name+" TO clean")
	check("died after the swap", "new")

	name = dead()
	execSQL(t, c, fmt.Sprintf(save, name)+"INSERT INTO "+name+" VALUES (1, 'new2'); RENAME TABLE clean TO "+name+"_old, "+name+" TO clean; DROP TRIGGER tr")
	check("died without a trigger", "new2")

	if err := load("clean", connectors.TargetOptions{}); err != nil {
		t.Fatal(err)
	}
	check("after a run", "g1")
}

// TestReplaceUndo: a trigger that cannot be recreated puts the old content back.
func TestReplaceUndo(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE un (id bigint, lost int); INSERT INTO un VALUES (42, 1); CREATE TRIGGER tr BEFORE INSERT ON un FOR EACH ROW SET NEW.lost = 1")
	_, load := numbers(t, c, 3, 1)
	err := load("un", connectors.TargetOptions{})
	if err == nil || !strings.Contains(err.Error(), "recreating trigger tr") {
		t.Fatalf("got %v", err)
	}
	if got := query(t, c, "SELECT id FROM un"); len(got) != 1 || got[0][0] != "42" {
		t.Errorf("the target holds %v", got)
	}
	if got := query(t, c, "SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()"); len(got) != 1 || got[0][0] != "un" {
		t.Errorf("triggers %v", got)
	}
	if l := leftovers(t, c); len(l) > 0 {
		t.Errorf("left behind %v", l)
	}
}

func TestStageCreatesDatabase(t *testing.T) {
	c := connect(t)
	db := c.schema + "_new"
	defer execSQL(t, c, "DROP DATABASE IF EXISTS "+quote(db))
	st, err := c.Stage(context.Background(), connectors.StageSpec{RunID: "x", Target: connectors.Relation{Schema: db, Name: "t"}, Columns: []connectors.Column{column("a", connectors.T(connectors.Integer))}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Seal(context.Background()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Replace(context.Background(), st), st.Discard(context.Background()), st.Discard(context.Background())); err != nil {
		t.Error(err)
	}
	if _, err := c.Describe(context.Background(), connectors.Relation{Schema: db, Name: "t"}); err != nil {
		t.Error(err)
	}
}
