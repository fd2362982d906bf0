package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

func col(name string, k connectors.Kind) connectors.Column {
	return connectors.Column{Name: name, Type: connectors.T(k)}
}

func names(cols []connectors.Column) []string {
	var all []string
	for _, c := range cols {
		all = append(all, c.Name)
	}
	return all
}

// staged loads rows, in JSON, into a staging table of t.
func (d *db) staged(cols []connectors.Column, rows string) connectors.Staging {
	d.t.Helper()
	rec, _, err := array.RecordFromJSON(d.mem, connectors.ArrowSchema(cols), strings.NewReader(rows))
	if err != nil {
		d.t.Fatal(err)
	}
	defer rec.Release()
	st, err := d.Stage(context.Background(), connectors.StageSpec{RunID: "m", Target: d.rel("t"), Columns: cols})
	if err == nil {
		err = st.Write(context.Background(), rec)
	}
	if err == nil {
		_, err = st.Seal(context.Background())
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return st
}

// apply brings rows into t.
func (d *db) apply(cols []connectors.Column, rows string, delta connectors.Delta) (connectors.Applied, error) {
	d.t.Helper()
	st := d.staged(cols, rows)
	if delta.Columns == nil {
		delta.Columns = names(cols)
	}
	out, err := d.Apply(context.Background(), st, delta)
	if err := st.Discard(context.Background()); err != nil {
		d.t.Error(err)
	}
	d.leftovers()
	return out, err
}

func (d *db) mustApply(want connectors.Applied, cols []connectors.Column, rows string, delta connectors.Delta) {
	d.t.Helper()
	if out, err := d.apply(cols, rows, delta); err != nil || out != want {
		d.t.Errorf("%s: %+v, %v; want %+v", delta.Strategy, out, err, want)
	}
}

// content is t in the order of its texts, each row as JSON.
func (d *db) content() string {
	d.t.Helper()
	return d.text("SELECT string_agg(x, ' ' ORDER BY x COLLATE \"C\") FROM (SELECT to_json(t)::text x FROM t) q")
}

const (
	appendAll = connectors.StrategyAppend
	upsert    = connectors.StrategyMerge
	replace   = connectors.StrategyDeleteInsert
)

func TestApply(t *testing.T) {
	d := open(t, nil)
	cols := []connectors.Column{col("id", connectors.Integer), col("s", connectors.Varchar)}
	key := []string{"id"}
	delta := `[{"id":1,"s":"one"},{"id":3,"s":"three"},{"id":null,"s":"null"}]`
	for name, tt := range map[string]struct {
		delta connectors.Delta
		rows  string
		out   connectors.Applied
		want  string
	}{
		"append": {connectors.Delta{Strategy: appendAll}, delta, connectors.Applied{Inserted: 3},
			`["a",1,true] ["b",2,true] ["n",null,true] ["null",null,null] ["one",1,null] ["three",3,null]`},
		"append new": {connectors.Delta{Strategy: appendAll, Key: key, SkipExisting: true}, delta, connectors.Applied{Inserted: 1},
			`["a",1,true] ["b",2,true] ["n",null,true] ["three",3,null]`},
		"merge": {connectors.Delta{Strategy: upsert, Key: key}, delta, connectors.Applied{Inserted: 1, Updated: 2},
			`["b",2,true] ["null",null,true] ["one",1,true] ["three",3,null]`},
		"merge no column": {connectors.Delta{Strategy: upsert, Key: key, Update: []string{}}, delta, connectors.Applied{Inserted: 1},
			`["a",1,true] ["b",2,true] ["n",null,true] ["three",3,null]`},
		"merge some columns": {connectors.Delta{Strategy: upsert, Key: key, Update: []string{"s"}}, delta, connectors.Applied{Inserted: 1, Updated: 2},
			`["b",2,true] ["null",null,true] ["one",1,true] ["three",3,null]`},
		"delete+insert": {connectors.Delta{Strategy: replace, Key: key}, `[{"id":1,"s":"x"},{"id":1,"s":"y"},{"id":null,"s":"z"},{"id":null,"s":"z"}]`,
			connectors.Applied{Inserted: 4, Deleted: 2}, `["b",2,true] ["x",1,null] ["y",1,null] ["z",null,null] ["z",null,null]`},
		"nothing": {connectors.Delta{Strategy: upsert, Key: key}, `[]`, connectors.Applied{}, `["a",1,true] ["b",2,true] ["n",null,true]`},
	} {
		d.exec("DROP TABLE IF EXISTS t")
		d.exec("CREATE TABLE t (s text, id int, kept boolean)")
		d.exec("INSERT INTO t VALUES ('a', 1, true), ('b', 2, true), ('n', NULL, true)")
		d.mustApply(tt.out, cols, tt.rows, tt.delta)
		d.want(tt.want, "SELECT string_agg(x, ' ' ORDER BY x COLLATE \"C\") FROM (SELECT replace(json_build_array(s, id, kept)::text, ', ', ',') x FROM t) q")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestApplyOnce: a staging is used up, also by a delta that fails.
func TestApplyOnce(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	d.exec("CREATE TABLE t (id int UNIQUE)")
	cols := []connectors.Column{col("id", connectors.Integer)}
	for _, rows := range []string{`[{"id":1}]`, `[{"id":1}]`} {
		st := d.staged(cols, rows)
		_, first := d.Apply(ctx, st, connectors.Delta{Columns: names(cols)})
		if _, err := d.Apply(ctx, st, connectors.Delta{Columns: names(cols)}); err == nil || !strings.Contains(err.Error(), "used already") {
			t.Errorf("after %v: %v", first, err)
		}
		if err := d.Replace(ctx, st); err == nil {
			t.Error("a used staging replaced the table")
		}
		d.leftovers()
	}
	d.want("1", "SELECT count(*)::text FROM t")
	st, err := d.Stage(ctx, connectors.StageSpec{RunID: "m", Target: d.rel("t"), Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(ctx, st, connectors.Delta{Columns: names(cols)}); err == nil {
		t.Error("a staging that is not sealed was applied")
	}
	if err := st.Discard(ctx); err != nil {
		t.Error(err)
	}
}

// keyKinds are declared types of keys with values that some rule of theirs confuses.
var keyKinds = []struct {
	decl   string
	kind   connectors.Kind
	values []string // JSON
}{
	{"integer", connectors.Integer, []string{"1", "2", "-1"}},
	{"numeric(10,2)", connectors.BigInt, []string{"1", "2", "10"}},
	{"text", connectors.Varchar, []string{`"a"`, `"A"`, `"a "`, `""`, `"é"`, `"é"`, `"😀"`, `"ß"`, `"ss"`}},
	{"varchar(5) COLLATE ci", connectors.Varchar, []string{`"a"`, `"A"`, `"a "`, `"á"`, `""`}},
	{"citext", connectors.Varchar, []string{`"a"`, `"A"`, `"a "`, `"É"`, `"é"`}},
	{"citext COLLATE \"C\"", connectors.Varchar, []string{`"a"`, `"A"`}},
	{"bpchar", connectors.Varchar, []string{`"a"`, `"a "`, `"A"`, `""`, `" "`}},
	{"char(3)", connectors.Varchar, []string{`"a"`, `"A"`, `"ab"`, `""`}},
	{"char(3) COLLATE ci", connectors.Varchar, []string{`"a"`, `"A"`, `"ab"`}},
	{"dom", connectors.Varchar, []string{`"a"`, `"A"`}},
	{"text[] COLLATE ci", connectors.Varchar, []string{`"{a}"`, `"{A}"`, `"{a,NULL}"`, `"{}"`}},
	{"json", connectors.JSON, []string{`"{}"`, `"{ }"`, `"[1]"`}},
	{"point", connectors.Varchar, []string{`"(1,2)"`, `"(1,3)"`}},
	{"date", connectors.Date, []string{`"2024-01-01"`, `"2024-01-02"`}},
	{"double precision", connectors.Double, []string{"1.5", "-2"}},
	{"uuid", connectors.Varchar, []string{`"00000000-0000-0000-0000-000000000001"`, `"00000000-0000-0000-0000-00000000000a"`}},
}

type keyed struct {
	keys []string // JSON values, "null" included
	v    int
}

func (r keyed) same(o keyed) bool { return slices.Equal(r.keys, o.keys) }

func jsonRows(rows []keyed) string {
	var all []string
	for _, r := range rows {
		s := fmt.Sprintf(`{"v":%d`, r.v)
		for i, k := range r.keys {
			s += fmt.Sprintf(`,"k%d":%s`, i, k)
		}
		all = append(all, s+"}")
	}
	return "[" + strings.Join(all, ",") + "]"
}

// oracle applies a delta to rows in memory.
func oracle(rows, delta []keyed, d connectors.Delta) (out []keyed, n connectors.Applied) {
	in := func(all []keyed, r keyed) bool { return slices.ContainsFunc(all, r.same) }
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
		if in(rows, r) && (d.Strategy == upsert || d.SkipExisting) {
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
	d := open(t, map[string]any{"search_path": "public"})
	d.exec("CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public")
	d.exec("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
	d.exec("CREATE DOMAIN dom AS citext")
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom(keyKinds), 1, 3).Draw(rt, "kinds")
		cols := []connectors.Column{col("v", connectors.Integer)}
		var decl, keys, casts, texts []string
		for i, k := range kinds {
			name := fmt.Sprint("k", i)
			c := col(name, k.kind)
			cols, keys = append(cols, c), append(keys, name)
			decl = append(decl, name+" "+k.decl)
			typ, _, _ := strings.Cut(k.decl, " COLLATE")
			casts = append(casts, name+"::"+typ)
			x := name + "::text"
			if strings.HasPrefix(k.decl, "bpchar") {
				x = "convert_from(bpcharsend(" + name + "), 'UTF8')"
			}
			texts = append(texts, x)
		}
		row := rapid.Custom(func(rt *rapid.T) keyed {
			r := keyed{v: rapid.IntRange(0, 9).Draw(rt, "v")}
			for _, k := range kinds {
				r.keys = append(r.keys, rapid.SampledFrom(append([]string{"null"}, k.values...)).Draw(rt, "key"))
			}
			return r
		})
		rows := rapid.SliceOfN(row, 0, 8).Draw(rt, "rows")
		staged := rapid.SliceOfN(row, 0, 8).Draw(rt, "delta")
		delta := connectors.Delta{Strategy: rapid.SampledFrom([]connectors.Strategy{appendAll, upsert, replace}).Draw(rt, "strategy"), Key: keys, Columns: names(cols)}
		if delta.Strategy == appendAll {
			delta.SkipExisting = rapid.Bool().Draw(rt, "skip")
		}
		if delta.Strategy == upsert || delta.SkipExisting {
			var unique []keyed
			for _, r := range staged {
				if !slices.ContainsFunc(unique, r.same) {
					unique = append(unique, r)
				}
			}
			staged = unique
		}
		d.exec("DROP TABLE IF EXISTS t")
		d.exec("CREATE TABLE t (" + strings.Join(decl, ", ") + ", v integer)")
		d.exec("INSERT INTO t SELECT "+strings.Join(casts, ", ")+", v FROM json_to_recordset($1::text::json) AS x("+strings.Join(keys, " text, ")+" text, v int)", jsonRows(rows))
		if rapid.Bool().Draw(rt, "index") && !strings.Contains(strings.Join(decl, " "), "json") && !strings.Contains(strings.Join(decl, " "), "point") {
			d.exec("CREATE INDEX ON t (" + strings.Join(keys, ", ") + ")")
		}
		want, counts := oracle(rows, staged, delta)
		out, err := d.apply(cols, jsonRows(staged), delta)
		if err != nil || out != counts {
			rt.Fatalf("%v: %+v, %v; want %+v", delta.Strategy, out, err, counts)
		}
		got := d.text("SELECT coalesce(json_agg(json_build_array(v, " + strings.Join(texts, ", ") + ")), '[]')::text FROM t")
		if a, b := spelled(rt, got), spelledKeyed(want); !slices.Equal(a, b) {
			rt.Fatalf("%v:\n got %q\nwant %q", delta.Strategy, a, b)
		}
	})
}

// spelled reads rows of [v, key, …] into sorted texts.
func spelled(rt *rapid.T, text string) []string {
	var rows [][]any
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		rt.Fatal(err)
	}
	out := []string{}
	for _, r := range rows {
		s := fmt.Sprint(r[0])
		for _, k := range r[1:] {
			if k == nil {
				s += "|null"
			} else {
				s += fmt.Sprintf("|%q", strings.TrimSuffix(k.(string), ".00"))
			}
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func spelledKeyed(rows []keyed) []string {
	out := []string{}
	for _, r := range rows {
		s := fmt.Sprint(r.v)
		for _, k := range r.keys {
			var text string
			switch {
			case k == "null":
				s += "|null"
				continue
			case json.Unmarshal([]byte(k), &text) != nil:
				text = k
			}
			s += fmt.Sprintf("|%q", text)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// TestApplyRefusals: what cannot be right fails, and leaves the table as it was.
func TestApplyRefusals(t *testing.T) {
	d := open(t, nil)
	d.exec("CREATE TABLE other (k int PRIMARY KEY); INSERT INTO other VALUES (1)")
	d.exec("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'not on my watch'; END$$")
	d.exec("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$")
	cols := []connectors.Column{col("id", connectors.Integer), col("s", connectors.Varchar)}
	rows := `[{"id":1,"s":"one"},{"id":3,"s":"three"}]`
	key := []string{"id"}
	for _, tt := range []struct {
		name, table, rows string
		cols              []connectors.Column
		delta             connectors.Delta
		err               string
	}{
		{"trigger", "(id int, s text); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, "not on my watch"},
		{"trigger that keeps rows out", "(id int, s text); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION keep()", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, "0 of 1 rows were inserted"},
		{"append into it", "(id int, s text); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION keep()", rows, cols, connectors.Delta{}, "0 of 2 rows were inserted"},
		{"trigger that keeps rows as they are", "(id int, s text); CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION keep()", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, "0 of 1 rows were updated"},
		{"trigger that keeps rows", "(id int, s text); CREATE TRIGGER g BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep()", rows, cols, connectors.Delta{Strategy: replace, Key: key}, "0 of 1 rows were deleted"},
		{"rule", "(id int, s text); CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING", rows, cols, connectors.Delta{Strategy: replace, Key: key}, "0 of 1 rows were deleted"},
		{"check", "(id int CHECK (id < 3), s text)", rows, cols, connectors.Delta{Strategy: replace, Key: key}, "violates check constraint"},
		{"foreign key", "(id int PRIMARY KEY, s text); INSERT INTO t VALUES (1, 'a'); CREATE TABLE child (id int REFERENCES t); INSERT INTO child VALUES (1)", `[{"id":1,"s":"one"}]`, cols, connectors.Delta{Strategy: replace, Key: key}, "violates foreign key constraint"},
		{"foreign key checked late", "(id int REFERENCES other DEFERRABLE INITIALLY DEFERRED, s text)", rows, cols, connectors.Delta{Strategy: appendAll}, "violates foreign key constraint"},
		{"unique", "(id int, s text UNIQUE)", `[{"id":1,"s":"x"},{"id":3,"s":"x"}]`, cols, connectors.Delta{Strategy: upsert, Key: key}, "duplicate key"},
		{"not null", "(id int, s text, must int NOT NULL)", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, "null value in column"},
		{"repeated key", "(id int, s text)", `[{"id":7,"s":"x"},{"id":7,"s":"y"}]`, cols, connectors.Delta{Strategy: upsert, Key: key}, "several rows of the delta: id = 7"},
		{"repeated NULL key", "(id int, s text)", `[{"id":null,"s":"x"},{"id":null,"s":"y"}]`, cols, connectors.Delta{Strategy: upsert, Key: key}, "several rows of the delta: id = NULL"},
		{"keys that the type makes one", "(id int, s char(3))", `[{"id":1,"s":"x"},{"id":3,"s":"x "}]`, cols, connectors.Delta{Strategy: upsert, Key: []string{"s"}}, "several rows of the delta"},
		{"too long", "(id int, s varchar(3))", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, `column "s": value three in row id = 3: the column of type character varying(3)`},
		{"blanks that would be cut", "(id int, s varchar(3))", `[{"id":1,"s":"abc  "}]`, cols, connectors.Delta{Strategy: upsert, Key: key}, `value abc  `},
		{"rounded", "(id int, s numeric(10,1))", `[{"id":1,"s":"1.25"}]`, []connectors.Column{cols[0], {Name: "s", Type: connectors.Dec(10, 2)}}, connectors.Delta{Strategy: upsert, Key: key}, "value 1.25"},
		{"rounded time", "(id int, s timestamp(0))", `[{"id":1,"s":"2024-01-01 00:00:00.5"}]`, []connectors.Column{cols[0], col("s", connectors.Timestamp)}, connectors.Delta{}, "value 2024-01-01 00:00:00.5"},
		{"out of range", "(id smallint, s text)", `[{"id":40000,"s":"x"}]`, cols, connectors.Delta{}, "smallint out of range"},
		{"no such column", "(id int)", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, `column "s" is not in both`},
		{"no such key", "(id int, s text)", rows, cols, connectors.Delta{Strategy: upsert, Key: []string{"x"}}, `key column "x"`},
		{"no key", "(id int, s text)", rows, cols, connectors.Delta{Strategy: upsert}, "needs a key"},
		{"identity", "(id int, s int GENERATED ALWAYS AS IDENTITY)", `[{"id":1,"s":5},{"id":3,"s":6}]`, []connectors.Column{cols[0], col("s", connectors.Integer)}, connectors.Delta{Strategy: upsert, Key: key}, "1 rows of the delta have another value"},
		{"hidden rows", "(id int, s text); ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY", rows, cols, connectors.Delta{Strategy: upsert, Key: key}, "row-level security"},
		{"view over a dropped column", "(id int, s text, gone int); CREATE VIEW w AS SELECT gone FROM t", rows, cols, connectors.Delta{Strategy: upsert, Key: key, Alter: []connectors.Alteration{{Kind: connectors.DropColumn, Column: col("gone", 0)}}}, "making the dependent view"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := *d
			d.t = t
			d.exec("DROP TABLE IF EXISTS t CASCADE; DROP TABLE IF EXISTS child")
			if d.text("SELECT rolbypassrls::text FROM pg_roles WHERE rolname = current_user") == "true" && tt.name == "hidden rows" {
				d.conn = d.as(map[string]any{"role": d.role()}).conn // a superuser is never kept from rows
			}
			create, more, _ := strings.Cut(tt.table, ";")
			d.exec("CREATE TABLE t " + create)
			if !strings.Contains(tt.table, "INSERT INTO t") && !strings.Contains(tt.table, "must") {
				d.exec("INSERT INTO t (id) VALUES (1)")
			}
			d.exec(more)
			d.exec("GRANT ALL ON t TO PUBLIC")
			before := d.content()
			out, err := d.apply(tt.cols, tt.rows, tt.delta)
			if err == nil || !strings.Contains(err.Error(), tt.err) || out != (connectors.Applied{}) {
				t.Errorf("%+v, %v; want …%s…", out, err, tt.err)
			}
			if got := d.content(); got != before {
				t.Errorf("the table changed:\n got %s\nwant %s", got, before)
			}
		})
	}
	d.t = t
	d.exec("DROP TABLE t CASCADE")
	d.exec("CREATE VIEW t AS SELECT 1 AS id")
	if _, err := d.apply(cols[:1], `[{"id":1}]`, connectors.Delta{}); err == nil || !strings.Contains(err.Error(), "it is a view") {
		t.Error(err)
	}
	d.exec("DROP VIEW t")
	if _, err := d.apply(cols[:1], `[{"id":1}]`, connectors.Delta{}); !errors.Is(err, connectors.ErrNotFound) {
		t.Error(err)
	}
}

// TestApplyGenerated: columns that the table computes itself.
func TestApplyGenerated(t *testing.T) {
	d := open(t, nil)
	d.exec(`CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "Order" text, twice int GENERATED ALWAYS AS (id * 2) STORED, dflt int DEFAULT 7)`)
	d.exec(`INSERT INTO t ("Order") VALUES ('a'), ('b')`)
	cols := []connectors.Column{col("Order", connectors.Varchar), col("twice", connectors.Integer), col("id", connectors.Integer)}
	d.mustApply(connectors.Applied{Inserted: 1, Updated: 1}, cols, `[{"id":2,"Order":"x","twice":0},{"id":5,"Order":"y","twice":0}]`, connectors.Delta{Strategy: upsert, Key: []string{"id"}})
	d.mustApply(connectors.Applied{}, cols, `[{"id":5,"Order":"y","twice":1}]`, connectors.Delta{Strategy: upsert, Key: []string{"Order"}})
	d.mustApply(connectors.Applied{Inserted: 1, Deleted: 1}, cols, `[{"id":1,"Order":"z","twice":0}]`, connectors.Delta{Strategy: replace, Key: []string{"id"}})
	d.want(`{"id":1,"Order":"z","twice":2,"dflt":7} {"id":2,"Order":"x","twice":4,"dflt":7} {"id":5,"Order":"y","twice":10,"dflt":7}`,
		`SELECT string_agg(to_json(t)::text, ' ' ORDER BY id) FROM t`)
}

func TestApplyAlters(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("CREATE TABLE t (id int PRIMARY KEY, n varchar(3), old text)")
	d.exec("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')")
	d.exec("CREATE INDEX i ON t (n)")
	d.exec("CREATE VIEW v AS SELECT id, n FROM t")
	d.exec("CREATE VIEW w AS SELECT n FROM v")
	d.exec("COMMENT ON VIEW v IS 'a view'; GRANT SELECT ON v TO " + role)
	delta := connectors.Delta{Strategy: upsert, Key: []string{"id"}, Alter: []connectors.Alteration{
		{Kind: connectors.AddColumn, Column: col("fresh", connectors.Date)},
		{Kind: connectors.WidenColumn, Column: col("id", connectors.BigInt)},
		{Kind: connectors.WidenColumn, Column: col("n", connectors.Varchar)},
		{Kind: connectors.DropColumn, Column: col("old", 0)},
	}}
	cols := []connectors.Column{col("id", connectors.BigInt), col("n", connectors.Varchar), col("fresh", connectors.Date)}
	d.mustApply(connectors.Applied{Inserted: 1, Updated: 1}, cols, `[{"id":1,"n":"longer","fresh":"2020-01-01"},{"id":5000000000,"n":null,"fresh":null}]`, delta)
	d.want(`{"id":1,"n":"longer","fresh":"2020-01-01"} {"id":2,"n":"b","fresh":null} {"id":5000000000,"n":null,"fresh":null}`, "SELECT string_agg(to_json(t)::text, ' ' ORDER BY id) FROM t")
	d.want("i,t_pkey", "SELECT string_agg(indexname, ',' ORDER BY indexname) FROM pg_indexes WHERE schemaname = $1", d.schema)
	d.want("3|a view|true", "SELECT (SELECT count(*) FROM w) || '|' || obj_description('v'::regclass) || '|' || has_table_privilege($1, 'v', 'SELECT')", role)

	// A failure undoes the alterations too.
	delta.Alter = []connectors.Alteration{{Kind: connectors.AddColumn, Column: col("again", connectors.Date)}}
	if _, err := d.apply(append(cols[:2:2], col("again", connectors.Date)), `[{"id":null,"n":"x","again":null}]`, delta); err == nil {
		t.Error("a NULL in a primary key: no error")
	}
	d.want("3", "SELECT count(*)::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped")
}

// TestApplyGrants: a role needs what the strategy does, and no more for an append.
func TestApplyGrants(t *testing.T) {
	d := open(t, nil)
	role := d.role()
	d.exec("CREATE TABLE t (id int, s text)")
	d.exec("INSERT INTO t VALUES (1, 'old')")
	o := d.as(map[string]any{"role": role})
	cols := []connectors.Column{col("id", connectors.Integer), col("s", connectors.Varchar)}
	for _, tt := range []struct {
		grant string
		delta connectors.Delta
		err   string
	}{
		{"SELECT", connectors.Delta{}, "permission denied for table t"},
		{"INSERT", connectors.Delta{}, ""},
		{"INSERT, SELECT", connectors.Delta{Strategy: replace, Key: []string{"id"}}, "permission denied for table t"},
		{"INSERT, SELECT, UPDATE", connectors.Delta{Strategy: replace, Key: []string{"id"}}, "permission denied for table t"},
		{"INSERT, SELECT, UPDATE", connectors.Delta{Strategy: upsert, Key: []string{"id"}}, ""},
		{"INSERT, SELECT, DELETE", connectors.Delta{Strategy: replace, Key: []string{"id"}}, ""},
		{"ALL", connectors.Delta{Strategy: upsert, Key: []string{"id"}, Alter: []connectors.Alteration{{Kind: connectors.AddColumn, Column: col("n", connectors.Date)}}}, "must be owner of table t"},
	} {
		d.exec("TRUNCATE t; INSERT INTO t VALUES (1, 'old'); REVOKE ALL ON t FROM " + role + "; GRANT " + tt.grant + " ON t TO " + role)
		before := d.content()
		_, err := o.apply(cols, `[{"id":1,"s":"one"},{"id":3,"s":"three"}]`, tt.delta)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s by a role with %s: %v; want %q", tt.delta.Strategy, tt.grant, err, tt.err)
		}
		if got := d.content(); (got == before) != (tt.err != "") {
			t.Errorf("%s by a role with %s: the table holds %s", tt.delta.Strategy, tt.grant, got)
		}
	}
}
