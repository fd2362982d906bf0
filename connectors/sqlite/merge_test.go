package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	appendAll = connectors.StrategyAppend
	upsert    = connectors.StrategyMerge
	replace   = connectors.StrategyDeleteInsert
)

func column(name string, k connectors.Kind) connectors.Column {
	return connectors.Column{Name: name, Type: connectors.T(k)}
}

var idS = []connectors.Column{column("id", connectors.BigInt), column("s", connectors.Varchar)}

func staged(t *testing.T, c *conn, cols []connectors.Column, rows [][]any) connectors.Staging {
	t.Helper()
	rec := record(t, cols, rows...)
	defer rec.Release()
	st, err := c.Stage(t.Context(), connectors.StageSpec{RunID: "m", Target: connectors.Relation{Name: "t"}, Columns: cols})
	if err == nil {
		err = st.Write(t.Context(), rec)
	}
	if err == nil {
		_, err = st.Seal(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// apply brings rows into t.
func apply(t *testing.T, c *conn, cols []connectors.Column, rows [][]any, d connectors.Delta) (connectors.Applied, error) {
	t.Helper()
	st := staged(t, c, cols, rows)
	for _, col := range cols {
		if d.Columns = append(d.Columns, col.Name); len(d.Columns) > len(cols) {
			t.Fatal("columns twice")
		}
	}
	out, err := c.Apply(t.Context(), st, d)
	if err := st.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if left := engineRows(t, c, "SELECT name FROM sqlite_master WHERE name LIKE '\\_\\_dvt%' ESCAPE '\\'"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	return out, err
}

func TestApply(t *testing.T) {
	delta := [][]any{{"1", "one"}, {"3", "three"}, {"∅", "null"}}
	key := []string{"id"}
	for name, tt := range map[string]struct {
		d    connectors.Delta
		rows [][]any
		out  connectors.Applied
		want string
	}{
		"append":        {connectors.Delta{Strategy: appendAll}, delta, connectors.Applied{Inserted: 3}, "∅|n|1 ∅|null|∅ 1|a|1 1|one|∅ 2|b|1 3|three|∅"},
		"append new":    {connectors.Delta{Strategy: appendAll, Key: key, SkipExisting: true}, delta, connectors.Applied{Inserted: 1}, "∅|n|1 1|a|1 2|b|1 3|three|∅"},
		"merge":         {connectors.Delta{Strategy: upsert, Key: key}, delta, connectors.Applied{Inserted: 1, Updated: 2}, "∅|null|1 1|one|1 2|b|1 3|three|∅"},
		"merge nothing": {connectors.Delta{Strategy: upsert, Key: key, Update: []string{}}, delta, connectors.Applied{Inserted: 1}, "∅|n|1 1|a|1 2|b|1 3|three|∅"},
		"delete+insert": {connectors.Delta{Strategy: replace, Key: key}, [][]any{{"1", "x"}, {"1", "y"}, {"∅", "z"}, {"∅", "z"}}, connectors.Applied{Inserted: 4, Deleted: 2}, "∅|z|∅ ∅|z|∅ 1|x|∅ 1|y|∅ 2|b|1"},
		"no rows":       {connectors.Delta{Strategy: upsert, Key: key}, nil, connectors.Applied{}, "∅|n|1 1|a|1 2|b|1"},
	} {
		for _, index := range []string{"", "; CREATE INDEX i ON t (id)"} {
			c := newConn(t)
			run(t, c, "CREATE TABLE t (s TEXT, id INTEGER, kept BOOLEAN); INSERT INTO t VALUES ('a', 1, true), ('b', 2, true), ('n', NULL, true)"+index)
			out, err := apply(t, c, idS, tt.rows, tt.d)
			if err != nil || out != tt.out {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			if got := strings.Join(engineRows(t, c, "SELECT id, s, kept FROM t ORDER BY id, s"), " "); got != tt.want {
				t.Errorf("%s: got %s, want %s", name, got, tt.want)
			}
		}
	}
}

func TestApplyOnce(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER, s TEXT)")
	st := staged(t, c, idS, [][]any{{"1", "a"}})
	d := connectors.Delta{Columns: []string{"id", "s"}}
	if _, err := c.Apply(t.Context(), st, d); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), st, d); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Error(err)
	}
	if err := st.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Apply(t.Context(), st, d); err == nil {
		t.Error("a discarded staging was applied")
	}
	if _, err := newConn(t).Apply(t.Context(), st, d); err == nil {
		t.Error("a staging of another connection was applied")
	}
	if got := engineRows(t, c, "SELECT count(*) FROM t"); got[0] != "1" {
		t.Error(got)
	}
}

// keyKinds are declared keys with values that some rule of SQLite's confuses.
var keyKinds = []struct {
	decl   string
	kind   connectors.Kind
	values []string
}{
	{"INTEGER", connectors.BigInt, []string{"1", "2", "-1", "9007199254740993"}},
	{"TEXT", connectors.Varchar, []string{"a", "A", "a ", "", "01", "1", "é", "é", "😀"}},
	{"VARCHAR(3) COLLATE NOCASE", connectors.Varchar, []string{"a", "A", "a ", "É", "é"}},
	{"TEXT COLLATE RTRIM", connectors.Varchar, []string{"a", "a ", "A", "", " "}},
	{"", connectors.Varchar, []string{"1", "01", "a", "A"}},
	{"MONEY", connectors.Varchar, []string{"1", "a", "A", "10"}},
	{"BLOB", connectors.Blob, []string{"a", "A", "b"}},
	{"DATE", connectors.Date, []string{"2024-01-01", "2024-01-02"}},
	{"DECIMAL(30,2)", connectors.BigInt, []string{"1", "2"}},
}

type keyed struct {
	keys []string
	v    int
}

func (r keyed) same(o keyed) bool { return slices.Equal(r.keys, o.keys) }

// oracle applies a delta to rows in memory.
func oracle(rows, delta []keyed, d connectors.Delta) (out []keyed, n connectors.Applied) {
	for _, r := range rows {
		switch i := slices.IndexFunc(delta, r.same); {
		case i < 0 || d.Strategy == appendAll:
		case d.Strategy == upsert:
			n.Updated++
			r.v = delta[i].v
		default:
			n.Deleted++
			continue
		}
		out = append(out, r)
	}
	for _, r := range delta {
		if slices.ContainsFunc(rows, r.same) && (d.Strategy == upsert || d.SkipExisting) {
			continue
		}
		n.Inserted++
		out = append(out, r)
	}
	return out, n
}

// TestApplyKeys compares all strategies over keys of all kinds with an oracle that knows
// bytes and NULL only.
func TestApplyKeys(t *testing.T) {
	c := newConn(t)
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom(keyKinds), 1, 3).Draw(rt, "kinds")
		cols := []connectors.Column{column("v", connectors.BigInt)}
		var decl, keys []string
		for i, k := range kinds {
			name := fmt.Sprint("k", i)
			cols, keys, decl = append(cols, column(name, k.kind)), append(keys, name), append(decl, name+" "+k.decl)
		}
		withoutRowid := rapid.Bool().Draw(rt, "without rowid")
		row := rapid.Custom(func(rt *rapid.T) keyed {
			r := keyed{v: rapid.IntRange(0, 9).Draw(rt, "v")}
			for _, k := range kinds {
				values := k.values
				if !withoutRowid {
					values = append([]string{"∅"}, values...)
				}
				r.keys = append(r.keys, rapid.SampledFrom(values).Draw(rt, "key"))
			}
			return r
		})
		unique := func(all []keyed) (out []keyed) {
			for _, r := range all {
				if !slices.ContainsFunc(out, r.same) {
					out = append(out, r)
				}
			}
			return out
		}
		rows, delta := rapid.SliceOfN(row, 0, 8).Draw(rt, "rows"), rapid.SliceOfN(row, 0, 8).Draw(rt, "delta")
		d := connectors.Delta{Strategy: rapid.SampledFrom([]connectors.Strategy{appendAll, upsert, replace}).Draw(rt, "strategy"), Key: keys}
		d.SkipExisting = d.Strategy == appendAll && rapid.Bool().Draw(rt, "skip")
		if d.Strategy == upsert || d.SkipExisting {
			delta = unique(delta)
		}
		create := "BEGIN; DROP TABLE IF EXISTS t; CREATE TABLE t (" + strings.Join(decl, ", ") + ", v INTEGER"
		switch {
		case withoutRowid:
			// Not the key: that may be of a collation which makes rows one.
			create += ", n INTEGER NOT NULL DEFAULT (abs(random())), m INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (n, m)) WITHOUT ROWID"
		default:
			create += ")"
		}
		for _, r := range rows {
			create += "; INSERT INTO t (" + strings.Join(keys, ", ") + ", v) VALUES (" + literals(r, kindsOf(cols)) + ")"
		}
		if rapid.Bool().Draw(rt, "index") {
			create += "; CREATE INDEX i ON t (" + strings.Join(keys, ", ") + ")"
		}
		run(t, c, create+"; COMMIT")
		want, counts := oracle(rows, delta, d)
		var recs [][]any
		for _, r := range delta {
			rec := []any{fmt.Sprint(r.v)}
			for i, k := range r.keys {
				if cols[i+1].Type.Kind == connectors.Blob && k != "∅" {
					rec = append(rec, []byte(k))
				} else {
					rec = append(rec, k)
				}
			}
			recs = append(recs, rec)
		}
		out, err := apply(t, c, cols, recs, d)
		if err != nil || out != counts {
			rt.Fatalf("%v: %+v, %v; want %+v", d.Strategy, out, err, counts)
		}
		var exp []string
		for _, r := range want {
			exp = append(exp, strings.Join(append([]string{fmt.Sprint(r.v)}, r.keys...), "|"))
		}
		slices.Sort(exp)
		got := engineRows(t, c, "SELECT v, "+strings.Join(keys, ", ")+" FROM t")
		slices.Sort(got)
		if !slices.Equal(got, exp) {
			rt.Fatalf("%v:\n got %q\nwant %q", d.Strategy, got, exp)
		}
	})
}

func kindsOf(cols []connectors.Column) []connectors.Kind {
	var all []connectors.Kind
	for _, c := range cols[1:] {
		all = append(all, c.Type.Kind)
	}
	return all
}

func literals(r keyed, kinds []connectors.Kind) string {
	var all []string
	for i, k := range r.keys {
		switch {
		case k == "∅":
			all = append(all, "NULL")
		case kinds[i] == connectors.Blob:
			all = append(all, fmt.Sprintf("x'%x'", k))
		default:
			all = append(all, literal(k))
		}
	}
	return strings.Join(append(all, fmt.Sprint(r.v)), ", ")
}

// TestApplyRefusals: what cannot be right fails, and leaves the table as it was.
func TestApplyRefusals(t *testing.T) {
	rows := [][]any{{"1", "one"}, {"3", "three"}}
	key := []string{"id"}
	for _, tt := range []struct {
		name, table string
		cols        []connectors.Column
		rows        [][]any
		delta       connectors.Delta
		err         string
	}{
		{"trigger", "(id INTEGER, s TEXT); CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'not on my watch'); END", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "not on my watch"},
		{"trigger that keeps rows out", "(id INTEGER, s TEXT); CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "0 of 1 rows were inserted"},
		{"append into it", "(id INTEGER, s TEXT); CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END", idS, rows, connectors.Delta{}, "0 of 2 rows were inserted"},
		{"trigger that keeps rows as they are", "(id INTEGER, s TEXT); CREATE TRIGGER g BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE); END", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "0 of 1 rows were updated"},
		{"trigger that keeps rows", "(id INTEGER, s TEXT); CREATE TRIGGER g BEFORE DELETE ON t BEGIN SELECT RAISE(IGNORE); END", idS, rows, connectors.Delta{Strategy: replace, Key: key}, "0 of 1 rows were deleted"},
		{"check", "(id INTEGER CHECK (id < 3), s VARCHAR(9))", idS, rows, connectors.Delta{Strategy: replace, Key: key}, "CHECK constraint failed"},
		{"conflict that would replace", "(id INTEGER, s TEXT COLLATE NOCASE UNIQUE ON CONFLICT REPLACE)", idS, [][]any{{"3", "OLD"}}, connectors.Delta{Strategy: upsert, Key: key}, "UNIQUE constraint failed"},
		{"foreign key", "(id INTEGER, s TEXT, x INTEGER DEFAULT 7 REFERENCES other (k))", idS, rows, connectors.Delta{Strategy: appendAll}, "FOREIGN KEY constraint failed"},
		{"child", "(id INTEGER PRIMARY KEY, s TEXT UNIQUE); CREATE TABLE child (s TEXT REFERENCES t (s)); INSERT INTO child VALUES ('old')", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "FOREIGN KEY constraint failed"},
		{"not null", "(id INTEGER, s TEXT, must INTEGER NOT NULL DEFAULT NULL)", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "NOT NULL constraint failed"},
		{"strict", "(id INTEGER, s INTEGER) STRICT", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, "cannot store TEXT value"},
		{"repeated key", "(id INTEGER, s TEXT)", idS, [][]any{{"7", "x"}, {"7", "y"}}, connectors.Delta{Strategy: upsert, Key: key}, "several rows of the delta: id = 7"},
		{"repeated NULL key", "(id INTEGER, s TEXT)", idS, [][]any{{"∅", "x"}, {"∅", "y"}}, connectors.Delta{Strategy: upsert, Key: key}, "several rows of the delta: id = NULL"},
		{"number of a text", "(id INTEGER, s MONEY)", idS, [][]any{{"1", "05"}}, connectors.Delta{Strategy: upsert, Key: key}, `column "s": value 05 in row id = 1: the column declares MONEY, which would make it 5`},
		{"digits lost", "(id INTEGER, s DECIMAL(30,2))", []connectors.Column{idS[0], {Name: "s", Type: connectors.Dec(30, 2)}}, [][]any{{"1", "12345678901234567890.12"}}, connectors.Delta{Strategy: upsert, Key: key}, "value 12345678901234567890.12"},
		{"no such column", "(id INTEGER)", idS, rows, connectors.Delta{Strategy: upsert, Key: key}, `column "s" is not in both`},
		{"no such key", "(id INTEGER, s TEXT)", idS, rows, connectors.Delta{Strategy: upsert, Key: []string{"x"}}, `key column "x"`},
		{"no key", "(id INTEGER, s TEXT)", idS, rows, connectors.Delta{Strategy: upsert}, "needs a key"},
		{"view over a dropped column", "(id INTEGER, s TEXT, gone INTEGER); CREATE VIEW w AS SELECT gone FROM t", idS, rows, connectors.Delta{Strategy: upsert, Key: key, Alter: []connectors.Alteration{{Kind: connectors.DropColumn, Column: column("gone", 0)}}}, `the view "w" reads`},
		{"child of a widened table", "(id INTEGER PRIMARY KEY, s VARCHAR(3) UNIQUE); CREATE TABLE child (s TEXT REFERENCES t (s)); INSERT INTO child VALUES ('old')", idS, rows, connectors.Delta{Strategy: upsert, Key: key, Alter: []connectors.Alteration{{Kind: connectors.WidenColumn, Column: idS[1]}}}, "FOREIGN KEY constraint failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newConn(t)
			create, more, _ := strings.Cut(tt.table, ";")
			run(t, c, "CREATE TABLE other (k INTEGER PRIMARY KEY); CREATE TABLE t "+create)
			switch {
			case strings.Contains(create, "s TEXT") || strings.Contains(create, "VARCHAR"):
				if !strings.Contains(create, "must") {
					run(t, c, "INSERT INTO t (id, s) VALUES (1, 'old')")
				}
			default:
				run(t, c, "INSERT INTO t (id) VALUES (1)")
			}
			run(t, c, more)
			dump := "SELECT (SELECT group_concat(sql) FROM sqlite_master), (SELECT group_concat(id) FROM t), (SELECT count(*) FROM t)"
			before := engineRows(t, c, dump)
			out, err := apply(t, c, tt.cols, tt.rows, tt.delta)
			if err == nil || !strings.Contains(err.Error(), tt.err) || out != (connectors.Applied{}) {
				t.Errorf("%+v, %v; want …%s…", out, err, tt.err)
			}
			if got := engineRows(t, c, dump); !slices.Equal(got, before) {
				t.Errorf("the file changed:\n got %q\nwant %q", got, before)
			}
		})
	}
	c := newConn(t)
	if _, err := apply(t, c, idS, rows, connectors.Delta{}); !errors.Is(err, connectors.ErrNotFound) {
		t.Error(err)
	}
	run(t, c, "CREATE VIEW t AS SELECT 1 AS id, 's' AS s")
	if _, err := apply(t, c, idS, rows, connectors.Delta{}); err == nil || !strings.Contains(err.Error(), "view") {
		t.Error(err)
	}
}

// TestApplyKeysOfChildren: a row deleted and inserted again leaves its children alone,
// and generated columns compute themselves.
func TestApplyChildren(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (ID INTEGER PRIMARY KEY, s TEXT, twice INTEGER AS (id * 2) STORED, n INTEGER DEFAULT 7); INSERT INTO t (id, s) VALUES (1, 'a'), (2, 'b')",
		"CREATE TABLE child (t_id INTEGER REFERENCES t); INSERT INTO child VALUES (1)")
	cols := append(slices.Clone(idS), column("twice", connectors.BigInt))
	out, err := apply(t, c, cols, [][]any{{"1", "x", "0"}, {"5", "y", "0"}}, connectors.Delta{Strategy: replace, Key: []string{"id"}})
	if err != nil || out != (connectors.Applied{Inserted: 2, Deleted: 1}) {
		t.Error(out, err)
	}
	if got := engineRows(t, c, "SELECT * FROM t ORDER BY id"); !slices.Equal(got, []string{"1|x|2|7", "2|b|4|7", "5|y|10|7"}) {
		t.Error(got)
	}
}

func TestApplyAlters(t *testing.T) {
	c := newConn(t)
	run(t, c, `CREATE TABLE "T" (id INTEGER PRIMARY KEY AUTOINCREMENT, -- the key, (really)
		"n" VARCHAR ( 3 ) COLLATE NOCASE NOT NULL DEFAULT 'd)', old TEXT, d DECIMAL(5,2) CHECK (id > 0), /* , */ [big] INT);
		INSERT INTO t VALUES (1, 'a', 'x', 1.5, 5), (2, 'b', 'y', 0.1, -7), (9, 'c', NULL, NULL, NULL); DELETE FROM t WHERE id = 9;
		CREATE INDEX i ON t (n); CREATE INDEX o ON t (old, id); CREATE VIEW v AS SELECT id, n FROM t; CREATE TABLE log (x);
		CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.n); END;
		CREATE TABLE child (t_id INTEGER REFERENCES t (id)); INSERT INTO child VALUES (1)`)
	d := connectors.Delta{Strategy: upsert, Key: []string{"id"}, Alter: []connectors.Alteration{
		{Kind: connectors.AddColumn, Column: column("fresh", connectors.Date)},
		{Kind: connectors.WidenColumn, Column: column("n", connectors.Varchar)},
		{Kind: connectors.WidenColumn, Column: connectors.Column{Name: "d", Type: connectors.Dec(20, 4)}},
		{Kind: connectors.WidenColumn, Column: column("big", connectors.HugeInt)},
		{Kind: connectors.DropColumn, Column: column("old", 0)},
	}}
	cols := []connectors.Column{idS[0], column("n", connectors.Varchar), {Name: "d", Type: connectors.Dec(20, 4)}, column("fresh", connectors.Date)}
	out, err := apply(t, c, cols, [][]any{{"1", "longer", "99.1234", "2020-01-01"}, {"3", "x", "∅", "∅"}}, d)
	if err != nil || out != (connectors.Applied{Inserted: 1, Updated: 1}) {
		t.Fatal(out, err)
	}
	got, err := rows(t, c, describe(t, c, "t"))
	if err != nil || !slices.Equal(got, []string{"1|longer|99.1234|5|2020-01-01", "2|b|0.1000|-7|∅", "3|x|∅|∅|∅"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got := engineRows(t, c, "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name"); !slices.Equal(got, []string{"T", "child", "g", "i", "log", "v"}) {
		t.Error(got)
	}
	if got := engineRows(t, c, "SELECT (SELECT group_concat(x) FROM log WHERE x = 'x'), (SELECT count(*) FROM v WHERE n = 'LONGER'), (SELECT seq FROM sqlite_sequence)"); got[0] != "x|1|9" {
		t.Error(got)
	}
	if got := engineRows(t, c, "SELECT group_concat(type) FROM pragma_table_info('t')"); got[0] != "INTEGER,TEXT,DECIMAL_TEXT(20,4),DECIMAL_TEXT(39,0),DATE" {
		t.Error(got)
	}
}

func TestRetype(t *testing.T) {
	for _, tt := range [][3]string{
		{"CREATE TABLE t (a INT, b)", "b", "CREATE TABLE t (a INT, b NEW)"},
		{"CREATE TABLE t (a INT, b)", "A", "CREATE TABLE t (a NEW, b)"},
		{"CREATE TABLE \"a(b\" (`a b` LONG INT (3, 4) PRIMARY KEY, [x,y] CHAR)", "a b", "CREATE TABLE \"a(b\" (`a b` NEW PRIMARY KEY, [x,y] CHAR)"},
		{"CREATE TABLE t ([x,y] CHAR(3)CHECK(x in (1,a)), a INT)", "x,y", "CREATE TABLE t ([x,y] NEWCHECK(x in (1,a)), a INT)"},
		{"CREATE TABLE t (x CHECK (x IN ('a', b)), \"a\"\"b\" TEXT DEFAULT 'a,b' /* c */) STRICT", `a"b`, "CREATE TABLE t (x CHECK (x IN ('a', b)), \"a\"\"b\" NEW DEFAULT 'a,b' /* c */) STRICT"},
		{"CREATE TABLE t (x)", "y", ""},
	} {
		got, ok := retype(tt[0], tt[1], "NEW")
		if ok != (tt[2] != "") || ok && got != tt[2] {
			t.Errorf("%s, %s:\n got %s\nwant %s", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestApplyPlan: each statement of a delta looks staged keys up in the target and reads
// no more of it.
func TestApplyPlan(t *testing.T) {
	c := newConn(t)
	for _, table := range []string{
		"(k TEXT, j INTEGER, v INTEGER); CREATE INDEX i ON t (k, j)",
		"(k TEXT COLLATE NOCASE, j INTEGER, v INTEGER); CREATE INDEX i ON t (k, j)",
		"(k TEXT NOT NULL, j INTEGER NOT NULL, v INTEGER, PRIMARY KEY (k, j)) WITHOUT ROWID",
		"(k INTEGER PRIMARY KEY, v INTEGER)",
		"(k TEXT, v INTEGER)", // SQLite makes an index for the statement
	} {
		run(t, c, "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS s; CREATE TABLE t "+table+"; CREATE TABLE s AS SELECT * FROM t")
		m := &merge{}
		m.table = describe(t, c, "t")
		m.texts = mergeTexts{dialect: c.d, target: connectors.Relation{Schema: "main", Name: "t"}, source: "main.s", columns: []string{"k", "v"}}
		for _, col := range m.table.Columns[:len(m.table.Columns)-1] {
			m.texts.keys = append(m.texts.keys, mergeKey{col.Name, col.Collation})
		}
		m.rowID()
		for _, sql := range []string{m.texts.insert(m.texts.missing()), m.texts.update([]string{"v"}), m.texts.delete()} {
			var plan []string
			s, err := c.writer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = s.rows(context.Background(), "EXPLAIN QUERY PLAN "+sql, func(r *stmt) error {
				plan = append(plan, r.text(3))
				return nil
			})
			s.close()
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			all := strings.Join(plan, "; ")
			if strings.Contains(all, "SCAN t") || !strings.Contains(all, "SCAN s") || !strings.Contains(all, "SEARCH t") ||
				strings.Contains(all, "AUTOMATIC") != (table == "(k TEXT, v INTEGER)") {
				t.Errorf("%s\n%s\n%s", table, sql, all)
			}
		}
	}
}
