package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

const allTypes = `SELECT true AS b, (-128)::TINYINT t, 255::UTINYINT ut, 18446744073709551615::UBIGINT ub, 99999999999999999999999999999999999999::HUGEINT h, 1.5::FLOAT f, 0.1::DOUBLE d,
	12345678901234567890.12345678::DECIMAL(38,8) dc, 'tä𝄞x' v, '' e, NULL::VARCHAR n, '\xAA\x00'::BLOB bl, DATE '0001-01-01' da, TIME '23:59:59.999999' ti, TIMETZ '01:02:03.000004+02' tz,
	TIMESTAMP '2020-02-29 23:59:59.999999' ts, TIMESTAMP_NS '2020-01-01 00:00:00.000000001' tn, TIMESTAMPTZ '2020-01-01 00:00:00.000001+00' tt, INTERVAL '1 month 2 days 3.000004 seconds' i,
	'00112233-4455-6677-8899-aabbccddeeff'::UUID u, '{"a": 1.0}'::JSON j, '101'::BIT bi, [1, NULL]::BIGINT[] l, {'a': 1::INTEGER, 'b': ['x']} s, map {'k': 1::INTEGER} m, [INTERVAL 1 DAY] li`

func TestParquetRoundTrip(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "parquet")
	rel := connectors.Relation{Schema: "a schema", Name: "t x"}
	replace(t, e, c, connectors.StageSpec{Target: rel}, allTypes)
	want := `b BOOLEAN, t TINYINT, ut UTINYINT, ub UBIGINT, h DECIMAL(38,0), f FLOAT, d DOUBLE, dc DECIMAL(38,8), v VARCHAR, e VARCHAR, n VARCHAR, bl BLOB, da DATE, ti TIME, tz VARCHAR, ts TIMESTAMP, tn TIMESTAMP_NS, tt TIMESTAMP WITH TIME ZONE, i VARCHAR, u UUID, j JSON, bi VARCHAR, l BIGINT[], s STRUCT("a" INTEGER, "b" VARCHAR[]), m MAP(VARCHAR, INTEGER), li VARCHAR[]`
	if got := described(t, c, rel); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got := read(t, c, rel)
	row := `true|-128|255|18446744073709551615|99999999999999999999999999999999999999|1.5|0.1|12345678901234567890.12345678|tä𝄞x||(null)|qgA=|0001-01-01|23:59:59.999999|01:02:03.000004+02|2020-02-29T23:59:59.999999|2020-01-01T00:00:00.000000001|2020-01-01T00:00:00.000001Z|1 month 2 days 00:00:03.000004|ABEiM0RVZneImaq7zN3u/w==|{"a": 1.0}|101|[1,null]|{"a":1,"b":["x"]}|[{"key":"k","value":1}]|["1 day"]`
	if got[0] != row {
		t.Errorf("got  %s\nwant %s", got[0], row)
	}
	tab, err := c.Describe(bg, rel)
	if err != nil || tab.RowEstimate != 1 {
		t.Error(tab.RowEstimate, err)
	}
}

func TestCSVRoundTrip(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "csv")
	rel := connectors.Relation{Name: "t"}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT * FROM (VALUES (1::BIGINT, 'a,\"b\"\n', '', 0.30000000000000004::DOUBLE, TIMESTAMPTZ '2020-01-01 00:00:00.5+00', [1, 2], 'nan'::FLOAT), (NULL, NULL, 'x', 1e100, NULL, NULL, NULL)) v(i, s, e, d, t, l, f)")
	if got := described(t, c, rel); got != "i BIGINT, s VARCHAR, e VARCHAR, d DOUBLE, t TIMESTAMP WITH TIME ZONE, l INTEGER[], f FLOAT" {
		t.Error(got)
	}
	if got := read(t, c, rel); got[0] != "1|a,\"b\"\n||0.30000000000000004|2020-01-01T00:00:00.5Z|[1,2]|NaN" || got[1] != "(null)|(null)|x|1e+100|(null)|(null)|(null)" {
		t.Error(got)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "json")
	rel := connectors.Relation{Name: "t"}
	replace(t, e, c, connectors.StageSpec{Target: rel}, `SELECT 1::BIGINT i, 'a"b' s, ''::VARCHAR e, 1.5::DOUBLE d, '{"k": 12345678901234567890.5, 
 "x": "a\nb"}'::JSON j, {'NaN': [1::DOUBLE]} st, 1.10::DECIMAL(38,20) dc`)
	text, err := os.ReadFile(filepath.Join(c.root, "t.json"))
	if want := `{"i":1,"s":"a\"b","e":"","d":1.5,"j":{"k": 12345678901234567890.5,   "x": "a\nb"},"st":{"NaN":[1.0]},"dc":1.10000000000000000000}` + "\n"; err != nil || string(text) != want {
		t.Errorf("got  %swant %s", text, want)
	}
	for _, bad := range []string{"'nan'::DOUBLE", "['inf'::FLOAT]", "{'a': ['nan'::DOUBLE]}", "{'NaN': ['-inf'::DOUBLE]}"} {
		st := stage(t, e, c, connectors.StageSpec{Target: rel}, "SELECT "+bad+" AS x")
		_, err := st.Seal(bg)
		var ve *connectors.ValueError
		if !errors.As(err, &ve) || ve.Column != "x" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestValueThatDoesNotFit(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "parquet")
	rel := connectors.Relation{Name: "t"}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 'old' AS v")
	st := stage(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 170141183460469231731687303715884105727::HUGEINT AS h")
	_, err := st.Seal(bg)
	var bad *connectors.ValueError
	if !errors.As(err, &bad) || bad.Column != "h" {
		t.Error(err)
	}
	if err := st.Discard(bg); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(read(t, c, rel), hidden(t, c.root)); got != "[old] []" {
		t.Error(got)
	}
}

// hidden are the hidden files below a folder.
func hidden(t *testing.T, root string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestEmptyResults(t *testing.T) {
	e := newEngine(t)
	for format, want := range map[string]string{"parquet": "a INTEGER, b DECIMAL(9,2)", "csv": "a INTEGER, b DECIMAL(9,2)", "json": "a INTEGER, b DECIMAL(9,2)"} {
		c := at(t, e, t.TempDir(), format)
		replace(t, e, c, connectors.StageSpec{Target: connectors.Relation{Name: "t"}}, "SELECT 1 AS a, 1.5::DECIMAL(9,2) AS b WHERE false")
		if got := described(t, c, connectors.Relation{Name: "t"}); got != want {
			t.Errorf("%s: %s", format, got)
		}
		if got := read(t, c, connectors.Relation{Name: "t"}); len(got) != 0 {
			t.Error(got)
		}
	}
}

func TestOrdered(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "parquet")
	spec := connectors.StageSpec{Target: connectors.Relation{Name: "t"}, Options: connectors.TargetOptions{Ordered: true}}
	inOrder := func() {
		t.Helper()
		s, err := e.Session(bg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		n, err := s.Count(bg, "SELECT count(*) FROM read_parquet("+literal(filepath.Join(c.root, "t.parquet"))+", file_row_number = true) WHERE i <> 399999 - file_row_number")
		if err != nil || n != 0 {
			t.Error(n, "rows out of order", err)
		}
	}
	sql := "SELECT i FROM range(400000) r(i) ORDER BY i DESC"
	replace(t, e, c, spec, sql)
	inOrder()
	spec.Columns = []connectors.Column{{Name: "i", Type: connectors.T(connectors.BigInt)}}
	spec.RunID = "x"
	st, err := c.Stage(bg, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Discard(bg) }()
	if n, err := st.(connectors.Filler).Fill(bg, sql+" -- end"); err != nil || n != 400000 {
		t.Fatal(n, err)
	}
	if n, err := st.Seal(bg); err != nil || n != 400000 {
		t.Fatal(n, err)
	}
	if err := c.Replace(bg, st); err != nil {
		t.Fatal(err)
	}
	inOrder()
}

func TestAppendAndReplace(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "parquet")
	rel := connectors.Relation{Schema: "s", Name: "t"}
	add := func(run, sql string) {
		t.Helper()
		st := stage(t, e, c, connectors.StageSpec{RunID: run, Target: rel}, sql)
		if _, err := st.Seal(bg); err != nil {
			t.Fatal(err)
		}
		if out, err := c.Append(bg, st); err != nil || out.Inserted != 1 {
			t.Fatal(out, err)
		}
		if err := st.Discard(bg); err != nil {
			t.Fatal(err)
		}
	}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 1 AS a")
	add("run-1", "SELECT 2 AS a")
	add("run-2", "SELECT 3 AS a")
	if got := len(read(t, c, rel)); got != 3 {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(c.root, "s/t.parquet")); !os.IsNotExist(err) {
		t.Error("the single file stays beside its folder", err)
	}
	again := stage(t, e, c, connectors.StageSpec{RunID: "run-2", Target: rel}, "SELECT 3 AS a")
	if _, err := again.Seal(bg); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(bg, again); err == nil {
		t.Error("a part was overwritten")
	}
	if err := again.Discard(bg); err != nil {
		t.Error(err)
	}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 9 AS a, 'new' AS b")
	if got := fmt.Sprint(read(t, c, rel)); got != "[9|new]" {
		t.Error(got)
	}
	if got := hidden(t, filepath.Join(c.root, "s")); len(got) != 0 {
		t.Error(got)
	}
}

func TestCleanStaging(t *testing.T) {
	c := at(t, nil, t.TempDir(), "parquet")
	rel := connectors.Relation{Name: "t"}
	mine := filepath.Join(c.root, stagingPrefix+"deadbeef"+c.hash12(rel)+".parquet")
	other := filepath.Join(c.root, stagingPrefix+"deadbeef"+c.hash12(connectors.Relation{Name: "u"})+".parquet")
	write(t, mine, "x")
	write(t, other, "x")
	if err := c.CleanStaging(bg, rel); err != nil {
		t.Fatal(err)
	}
	if got := hidden(t, c.root); len(got) != 1 || got[0] != filepath.Base(other) {
		t.Error(got)
	}
	if err := c.CleanStaging(bg, connectors.Relation{Schema: "none", Name: "t"}); err != nil {
		t.Error(err)
	}
}

func TestLock(t *testing.T) {
	c := at(t, nil, filepath.Join(t.TempDir(), "new"), "parquet")
	release, err := c.Lock(bg, connectors.Relation{Name: "t"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var locked *connectors.LockedError
	if _, err := c.Lock(bg, connectors.Relation{Schema: ".", Name: "t"}, 30*time.Millisecond, nil); !errors.As(err, &locked) {
		t.Error(err)
	}
	release()
}

// Parts keep their types; a file that another program wrote does not have them.
func TestWrittenTypes(t *testing.T) {
	e := newEngine(t)
	c := at(t, e, t.TempDir(), "csv")
	rel := connectors.Relation{Schema: "s", Name: "t"}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 1.50::DECIMAL(9,2) AS a")
	for _, run := range []string{"run-1", "run-2"} {
		st := stage(t, e, c, connectors.StageSpec{RunID: run, Target: rel}, "SELECT 2::DECIMAL(9,2) AS a")
		if _, err := st.Seal(bg); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Append(bg, st); err != nil {
			t.Fatal(err)
		}
		if err := st.Discard(bg); err != nil {
			t.Fatal(err)
		}
		if got := described(t, c, rel); got != "a DECIMAL(9,2)" {
			t.Error(run, got)
		}
	}
	write(t, filepath.Join(c.root, "s", "t", "part-0.csv"), "a\n2.5\n")
	if got := described(t, c, rel); got != "a DOUBLE" {
		t.Error(got)
	}
	replace(t, e, c, connectors.StageSpec{Target: rel}, "SELECT 7::TINYINT AS a")
	if got := described(t, c, rel); got != "a TINYINT" {
		t.Error(got)
	}
}
