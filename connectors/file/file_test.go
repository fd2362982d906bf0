package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
)

var bg = context.Background()

func newEngine(t testing.TB) *compute.Engine {
	t.Helper()
	e, err := compute.Open(compute.Config{MemoryLimit: 512 << 20, Threads: 2, TempDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func at(t testing.TB, e *compute.Engine, root, format string, keys ...string) *conn {
	t.Helper()
	out := connectors.Output{Name: "lake", Type: "file", Keys: map[string]any{"path": root, "format": format}}
	for i := 0; i+1 < len(keys); i += 2 {
		out.Keys[keys[i]] = keys[i+1]
	}
	c, err := open(out, connectors.Env{ProjectDir: t.TempDir(), Engine: func(context.Context) (connectors.Engine, error) { return e, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// described are a relation's columns as "name TYPE, …".
func described(t testing.TB, c *conn, rel connectors.Relation) string {
	t.Helper()
	tab, err := c.Describe(bg, rel)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, col := range tab.Columns {
		out = append(out, col.Name+" "+col.Type.String())
	}
	return strings.Join(out, ", ")
}

// read gives all rows of a relation through Describe, Select and Read.
func read(t testing.TB, c *conn, rel connectors.Relation) (rows []string) {
	t.Helper()
	tab, err := c.Describe(bg, rel)
	if err != nil {
		t.Fatal(err)
	}
	x := connectors.Extract{Table: tab, Limit: -1}
	for i := range tab.Columns {
		x.Columns = append(x.Columns, i)
	}
	err = c.Read(bg, connectors.Query{SQL: c.Dialect().Select(x), Columns: tab.Columns}, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			var parts []string
			for _, col := range rec.Columns() {
				parts = append(parts, col.ValueStr(i))
			}
			rows = append(rows, strings.Join(parts, "|"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func stage(t testing.TB, e *compute.Engine, c *conn, spec connectors.StageSpec, sql string) connectors.Staging {
	t.Helper()
	s, err := e.Session(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if spec.Columns, err = s.Columns(bg, sql); err != nil {
		t.Fatal(err)
	}
	if spec.RunID == "" {
		spec.RunID = "0123-4567-89"
	}
	st, err := c.Stage(bg, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Discard(bg); err != nil {
			t.Error(err)
		}
	})
	if err := s.Query(bg, sql, func(rec arrow.RecordBatch) error { return st.Write(bg, rec) }); err != nil {
		t.Fatal(err)
	}
	return st
}

func replace(t testing.TB, e *compute.Engine, c *conn, spec connectors.StageSpec, sql string) {
	t.Helper()
	st := stage(t, e, c, spec, sql)
	if _, err := st.Seal(bg); err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(bg, st); err != nil {
		t.Fatal(err)
	}
	if err := st.Discard(bg); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, keys := range []map[string]any{
		{}, {"path": "s3://b/x"}, {"path": "x", "format": "xml"}, {"path": "x", "header": "maybe"}, {"path": "x", "quote": "ab"}, {"path": "a\x00b"},
	} {
		if _, err := open(connectors.Output{Name: "o", Keys: keys}, connectors.Env{}); err == nil {
			t.Errorf("%v was accepted", keys)
		}
	}
}

func TestPathsStayInside(t *testing.T) {
	e := newEngine(t)
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.csv"), "a\n1\n")
	write(t, filepath.Join(root, "ok.csv"), "a\n1\n")
	for link, to := range map[string]string{"link.csv": filepath.Join(outside, "secret.csv"), "folder": outside, "inner.csv": filepath.Join(root, "ok.csv")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := at(t, e, root, "csv")
	for _, rel := range []connectors.Relation{
		{Name: "../" + filepath.Base(outside) + "/secret.csv"}, {Schema: "..", Name: "x"}, {Schema: "a/../..", Name: "x"}, {Name: filepath.Join(outside, "secret.csv")},
		{Schema: outside, Name: "secret.csv"}, {Name: "link.csv"}, {Schema: "folder", Name: "secret"}, {Name: `..\x`}, {Name: "a\x00"}, {Name: ""}, {Name: "l*"},
	} {
		if _, err := c.Describe(bg, rel); err == nil || errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("%q: %v", rel, err)
		}
	}
	if got := described(t, c, connectors.Relation{Name: "inner"}); got != "a BIGINT" {
		t.Error(got)
	}
	for _, rel := range []connectors.Relation{{Schema: "..", Name: "t"}, {Name: "../t"}, {Name: "a/b"}, {Name: ".hidden"}, {Name: "st*r"}, {Schema: "folder", Name: "t"}, {Schema: "folder/new", Name: "t"}} {
		st, err := c.Stage(bg, connectors.StageSpec{RunID: "r", Target: rel, Columns: []connectors.Column{{Name: "a", Type: connectors.T(connectors.Integer)}}})
		if err == nil {
			_, err = st.Seal(bg)
			if e := st.Discard(bg); e != nil {
				t.Error(e)
			}
		}
		if err == nil {
			t.Errorf("%q was written", rel)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Error("something was made outside", entries, err)
	}
}

func TestResolve(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"a.parquet", "sub/b.csv", "sub/b2.csv", "sub/deep/b3.csv", "sub/.hidden.csv", "t/part-1.parquet", "t/part-2.parquet", "t.parquet", "odd[1]*.csv", "x.json", "x.parquet", "plain", "mixed/a.csv", "mixed/b.json"} {
		write(t, filepath.Join(root, f), "")
	}
	c := at(t, nil, root, "parquet")
	for name, want := range map[connectors.Relation]string{
		{Name: "a"}:                       "parquet a.parquet",
		{Name: "a.parquet"}:               "parquet a.parquet",
		{Schema: "sub", Name: "b"}:        "csv sub/b.csv",
		{Schema: "sub", Name: "b*.csv"}:   "csv sub/b.csv sub/b2.csv",
		{Name: "sub/**/*.csv"}:            "csv sub/b.csv sub/b2.csv sub/deep/b3.csv",
		{Name: "**/b?.csv"}:               "csv sub/b2.csv sub/deep/b3.csv",
		{Name: "t"}:                       "parquet t/part-1.parquet t/part-2.parquet",
		{Schema: ".", Name: "x"}:          "parquet x.parquet",
		{Name: "x.json"}:                  "json x.json",
		{Name: "plain"}:                   "parquet plain",
		{Name: "[ax]"}:                    "parquet a.parquet x.parquet",
		{Schema: "sub", Name: "nothing"}:  "not found",
		{Schema: "none", Name: "nothing"}: "not found",
		{Name: "**/nothing*"}:             "not found",
		{Name: "x.*"}:                     "parquet x.parquet",
		{Name: "mixed"}:                   "mixed: files of several formats, csv and json",
	} {
		f, err := c.resolve(name)
		got := f.format
		for _, file := range f.files {
			rel, _ := filepath.Rel(root, file)
			got += " " + rel
		}
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			got = "not found"
		case err != nil:
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestCSVTypes(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	var big strings.Builder
	big.WriteString("n,late\n")
	for i := range 60000 {
		fmt.Fprintf(&big, "%d,%d\n", i, i)
	}
	big.WriteString("60000,x\n") // far beyond any sample
	write(t, filepath.Join(root, "big.csv"), big.String())
	write(t, filepath.Join(root, "t.csv"), "id,zip,money,long,flag,day,us,at,tz,empty,mix,\"q,\"\"n\"\n"+
		"1,01234,1.50,1234567890.12345678,true,2020-02-29,02/01/2020,2020-01-01 10:00:00,2020-01-01T10:00:00.5Z,,1,\"\"\n"+
		"-2,98765,-0.25,2.5,FALSE,0001-01-01,03/01/2020,2020-01-01T10:00:00.123456,2020-01-01 10:00:00+02,,x,\n")
	c := at(t, e, root, "csv")
	if got := described(t, c, connectors.Relation{Name: "big"}); got != "n BIGINT, late VARCHAR" {
		t.Error(got)
	}
	want := `id BIGINT, zip VARCHAR, money DOUBLE, long VARCHAR, flag BOOLEAN, day DATE, us VARCHAR, at TIMESTAMP, tz TIMESTAMP WITH TIME ZONE, empty VARCHAR, mix VARCHAR, q,"n VARCHAR`
	if got := described(t, c, connectors.Relation{Name: "t"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rows := read(t, c, connectors.Relation{Name: "t"})
	if want := "1|01234|1.5|1234567890.12345678|true|2020-02-29|02/01/2020|2020-01-01T10:00:00|2020-01-01T10:00:00.5Z|(null)|1|"; rows[0] != want {
		t.Errorf("got  %s\nwant %s", rows[0], want)
	}
	if !strings.HasSuffix(rows[1], "|(null)|x|(null)") {
		t.Error("an unquoted empty field is NULL:", rows[1])
	}
}

func TestCSVOptions(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	write(t, filepath.Join(root, "t.csv"), "1;'a;b';NA\n2;'it''s';x\n")
	c := at(t, e, root, "csv", "delim", ";", "quote", "'", "header", "false", "nullstr", "NA")
	if got := fmt.Sprint(read(t, c, connectors.Relation{Name: "t"})); got != "[1|a;b|(null) 2|it's|x]" {
		t.Error(got)
	}
	write(t, filepath.Join(root, "parts/1.csv"), "a;b\n1;2\n")
	write(t, filepath.Join(root, "parts/2.csv"), "b;a\n2;1\n")
	c = at(t, e, root, "csv")
	if _, err := c.Describe(bg, connectors.Relation{Name: "parts"}); err == nil || !strings.Contains(err.Error(), "has the columns a, b but") {
		t.Error(err)
	}
	write(t, filepath.Join(root, "parts/2.csv"), "a;b\nx;1\n")
	rows := read(t, c, connectors.Relation{Name: "parts/*"})
	slices.Sort(rows) // two files come in any order
	if got := fmt.Sprint(rows); got != "[1|2 x|1]" {
		t.Error("a changed file must be looked at again:", got)
	}
	write(t, filepath.Join(root, "bad.csv"), "a,b\n1,2\n1,2,3\n")
	if _, err := c.Describe(bg, connectors.Relation{Name: "bad"}); err == nil {
		t.Error("a row with too many fields was accepted")
	}
}

// TestCSVHead: the first line decides, not what most lines look like.
func TestCSVHead(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("a;b,c\n1;2,5\n"))
	_ = z.Close()
	for name, f := range map[string][2]string{
		"short.csv":      {"a,b,c\n1,2,3\n1,2\n4,5,6\n", "short.csv, line 3: expected 3 columns, found 2"},
		"long.csv":       {"a,b\n1,2\n1,2,3\n3\n", "long.csv, line 3: expected 2 columns, found 3"},
		"sentence.csv":   {"note\nhello; world\nfoo; bar\n", "note VARCHAR: foo; bar, hello; world"},
		"comma.csv":      {"note\nhello, world\nfoo, bar\n", "comma.csv, line 2: expected 1 columns, found 2"},
		"remark.csv":     {"# made by hand\na,b\n1,2\n", "remark.csv, line 2: expected 1 columns, found 2"},
		"apostrophe.csv": {"a,b\n1,'tis\n2,so'\n", "a BIGINT, b VARCHAR: 1|'tis, 2|so'"},
		"escaped.csv":    {"a,b\n1,\"say \\\"hi\\\"\"\n", `a BIGINT, b VARCHAR: 1|say "hi"`},
		"open.csv":       {"a,b\n1,\"x\n2,y\n", "open.csv, line 2: a quote is not closed"},
		"semi.csv":       {"a;b\n1,5;2\n", "a VARCHAR, b BIGINT: 1,5|2"},
		"quoted.csv":     {"\ufeff\"a,b\";\"c\n\"\"d\"\r\n1;2\r\n", "a,b BIGINT, c\n\"d BIGINT: 1|2"},
		"names.csv":      {"id, v ,v,,V\n1,2,3,4,5\n", "id BIGINT, v BIGINT, v_1 BIGINT, column3 BIGINT, V_2 BIGINT: 1|2|3|4|5"},
		"tabs.tsv":       {"a\tb,c\n1\t2\n", "a BIGINT, b,c BIGINT: 1|2"},
		"zip.csv.gz":     {zipped.String(), "a;b VARCHAR, c BIGINT: 1;2|5"},
		"empty.csv":      {"", "empty.csv is empty: its first line must name the columns"},
		"blank.csv":      {"\na,b\n1,2\n", "blank.csv begins with an empty line"},
		"latin.csv":      {"a,b\n1,\xe9\n", "latin.csv, line 2: it is not UTF-8"},
		"utf16.csv":      {"\xff\xfea\x00,\x00b\x00\n\x00", "utf16.csv is not UTF-8"},
	} {
		write(t, filepath.Join(root, name), f[0])
		c := at(t, e, root, "csv")
		rel := connectors.Relation{Name: name}
		_, err := c.Describe(bg, rel)
		got := fmt.Sprint(err)
		if err == nil {
			rows := read(t, c, rel)
			slices.Sort(rows)
			got = described(t, c, rel) + ": " + strings.Join(rows, ", ")
		}
		if !strings.Contains(got, f[1]) || strings.Contains(got, "strict_mode") {
			t.Errorf("%s: got %s, want %s", name, got, f[1])
		}
	}
}

func TestJSON(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	write(t, filepath.Join(root, "t.json"), `{"id": 1, "day": "2020-01-01", "x": 1.5, "big": 12345678901234567890123, "u": 18446744073709551615, "s": {"a": [1, 2], "b": "t"}, "mix": 1 }
{"id": -2, "x": 2, "big": 1, "u": 1, "s": null, "mix": "s", "l": [0.5]}
`)
	write(t, filepath.Join(root, "arr.json"), `[{"a": 1}, {"a": null, "b": []}]`)
	write(t, filepath.Join(root, "empty.json"), ``)
	write(t, filepath.Join(root, "scalar.json"), `[1, 2]`)
	c := at(t, e, root, "json")
	want := `id BIGINT, day VARCHAR, x DOUBLE, big JSON, u JSON, s STRUCT("a" UBIGINT[], "b" VARCHAR), mix JSON, l JSON`
	if got := described(t, c, connectors.Relation{Name: "t"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got := read(t, c, connectors.Relation{Name: "t"})
	if want := `1|2020-01-01|1.5|12345678901234567890123|18446744073709551615|{"a":[1,2],"b":"t"}|1|(null)`; got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
	if want := `-2|(null)|2|1|1|(null)|"s"|[0.5]`; got[1] != want {
		t.Errorf("got  %s\nwant %s", got[1], want)
	}
	if got := fmt.Sprint(read(t, c, connectors.Relation{Name: "arr"})); got != "[1|(null) (null)|[]]" {
		t.Error(got)
	}
	for _, name := range []string{"empty", "scalar"} {
		if _, err := c.Describe(bg, connectors.Relation{Name: name}); err == nil {
			t.Errorf("%s has columns", name)
		}
	}
}

// The largest row is the buffer of each reader: files are read under a small memory limit, and
// a larger row than that is an error that names the setting.
func TestJSONRows(t *testing.T) {
	e, err := compute.Open(compute.Config{MemoryLimit: 256 << 20, Threads: 2, TempDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	root := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(root, fmt.Sprintf("many/%d.json", i)), fmt.Sprintf(`{"a": %d}`, i))
	}
	write(t, filepath.Join(root, "long.json"), `{"a": "`+strings.Repeat("x", 34<<20)+`"}`+"\n"+`{"a": "y"}`)
	c := at(t, e, root, "json")
	if got := read(t, c, connectors.Relation{Name: "many"}); len(got) != 20 {
		t.Error(got)
	}
	if _, err := c.Describe(bg, connectors.Relation{Name: "long"}); err == nil || !strings.Contains(err.Error(), "maximum_object_size") {
		t.Error(err)
	}
	c = at(t, newEngine(t), root, "json", "maximum_object_size", "40000000")
	columns := []connectors.Column{{Name: "a", Type: connectors.T(connectors.Varchar)}}
	got := 0
	err = c.Read(bg, connectors.Query{SQL: "SELECT CAST(length(json::VARCHAR) AS VARCHAR) AS a FROM " + c.json([]string{filepath.Join(root, "long.json")}).objects(), Columns: columns}, func(rec arrow.RecordBatch) error { got += int(rec.NumRows()); return nil })
	if err != nil || got != 2 {
		t.Error(got, err)
	}
	out := connectors.Output{Name: "lake", Type: "file", Keys: map[string]any{"path": root, "format": "json", "maximum_object_size": "big"}}
	if _, err := open(out, connectors.Env{}); err == nil || !strings.Contains(err.Error(), "the bytes of the largest JSON row") {
		t.Error(err)
	}
}

// Columns that the project declares need no look at the file.
func TestDeclaredColumns(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	write(t, filepath.Join(root, "t.csv"), "id,name\n1,x\n")
	c := at(t, e, root, "csv")
	tab := &connectors.Table{Relation: connectors.Relation{Name: "t"}, Columns: []connectors.Column{{Name: "id", Type: connectors.T(connectors.Integer)}, {Name: "name", Type: connectors.T(connectors.Varchar)}}}
	sql := c.Dialect().Select(connectors.Extract{Table: tab, Columns: []int{1, 0}, Where: `"id" = 1`, Limit: -1})
	n := 0
	err := c.Read(bg, connectors.Query{SQL: sql, Columns: []connectors.Column{tab.Columns[1], tab.Columns[0]}}, func(rec arrow.RecordBatch) error { n += int(rec.NumRows()); return nil })
	if err != nil || n != 1 {
		t.Error(n, err, sql)
	}
	tab.Name = "missing"
	err = c.Read(bg, connectors.Query{SQL: c.Dialect().Select(connectors.Extract{Table: tab, Columns: []int{0}, Limit: -1}), Columns: tab.Columns[:1]}, func(arrow.RecordBatch) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}
