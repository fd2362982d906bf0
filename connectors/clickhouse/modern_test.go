package clickhouse

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// Types that came after 2018. What the server lacks is listed as not run.
func TestNewerTypes(t *testing.T) {
	f := newFixture(t, "")
	caps, err := f.capabilities(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var notRun []string
	for _, c := range []struct{ family, typ, value, want, kind string }{
		{"Bool", "Bool", "true", "true", "BOOLEAN"},
		{"Int128", "Int128", "toInt128('-170141183460469231731687303715884105728')", "-1.701411834604692317316873037158841057", "HUGEINT"},
		{"Date32", "Date32", "'1900-01-01'", "1900-01-01", "DATE"},
		{"Date32", "Nullable(Date32)", "'2299-12-31'", "2299-12-31", "DATE"},
		{"DateTime64", "DateTime64(0, 'UTC')", "'1969-12-31 23:59:59'", "1969-12-31T23:59:59Z", "TIMESTAMP WITH TIME ZONE"},
		{"DateTime64", "DateTime64(3, 'Asia/Tokyo')", "toDateTime64('2024-01-02 03:04:05.678', 3, 'UTC')", "2024-01-02T03:04:05.678Z", "TIMESTAMP WITH TIME ZONE"},
		{"DateTime64", "DateTime64(6, 'UTC')", "'2299-12-31 23:59:59.999999'", "2299-12-31T23:59:59.999999Z", "TIMESTAMP WITH TIME ZONE"},
		{"DateTime64", "DateTime64(7, 'UTC')", "'2024-01-02 03:04:05.1234567'", "2024-01-02T03:04:05.1234567", "TIMESTAMP_NS"},
		{"DateTime64", "DateTime64(9, 'UTC')", "'1969-12-31 23:59:59.999999999'", "1969-12-31T23:59:59.999999999", "TIMESTAMP_NS"},
		{"IPv4", "IPv4", "'192.168.0.1'", "192.168.0.1", "VARCHAR"},
		{"IPv6", "IPv6", "'2001:db8::1'", "2001:db8::1", "VARCHAR"},
		{"Map", "Map(String, Nullable(Int8))", "map('a', 1, 'b', NULL)", `[{"key":"a","value":1},{"key":"b","value":null}]`, "MAP(VARCHAR, TINYINT)"},
		{"Map", "Map(LowCardinality(String), Array(LowCardinality(String)))", "map('a', ['x', 'x'])", `[{"key":"a","value":["x","x"]}]`, "MAP(VARCHAR, VARCHAR[])"},
		{"Map", "Array(Tuple(a Int8, `b c` Nullable(String)))", "[(1, NULL)]", `[{"a":1,"b c":null}]`, `STRUCT("a" TINYINT, "b c" VARCHAR)[]`},
		{"SimpleAggregateFunction", "SimpleAggregateFunction(sum, UInt64)", "7", "7", "UBIGINT"},
		{"JSON", "JSON", `'{"a": [1, 2]}'`, `{"a":[1,2]}`, "JSON"},
		{"UInt256", "UInt256", "7", "", "INVALID"},
		{"Int256", "Int256", "7", "", "INVALID"},
		{"Decimal256", "Decimal(76, 1)", "7", "", "INVALID"},
		{"Variant", "Variant(String, Int8)", "7", "", "INVALID"},
	} {
		if !caps.types[c.family] {
			notRun = append(notRun, c.typ)
			continue
		}
		t.Run(c.typ, func(t *testing.T) {
			f.exec("DROP TABLE IF EXISTS " + f.db + ".t")
			f.exec("CREATE TABLE " + f.db + ".t (c " + c.typ + ") ENGINE = Memory")
			f.exec("INSERT INTO " + f.db + ".t VALUES (" + c.value + ")")
			tab := f.describe("t")
			if got := tab.Columns[0].Type.String(); got != c.kind {
				t.Fatalf("type %s, want %s", got, c.kind)
			}
			if c.kind == "INVALID" {
				return
			}
			if got := f.table("t", "")[0][0]; !strings.HasPrefix(got, c.want) {
				t.Errorf("read %q, want %q", got, c.want)
			}
			if c.typ != "JSON" {
				f.roundTrip(t, tab)
				if got, want := f.post("SELECT * FROM "+f.db+".dst"), f.post("SELECT * FROM "+f.db+".t"); got != want {
					t.Errorf("written %q, was %q", got, want)
				}
			}
		})
	}
	if len(notRun) > 0 {
		t.Logf("not run, the server (%s) lacks them: %s", caps.info.version(), strings.Join(notRun, ", "))
	}
}

// roundTrip reads tab and loads it into dst.
func (f *fixture) roundTrip(t *testing.T, tab *connectors.Table) {
	t.Helper()
	e := connectors.Extract{Table: tab, Limit: -1}
	for i := range tab.Columns {
		e.Columns = append(e.Columns, i)
	}
	ctx := context.Background()
	st, err := f.Stage(ctx, connectors.StageSpec{RunID: "run00001", Target: f.rel("dst"), Columns: tab.Columns})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
	}()
	if err := f.Read(ctx, connectors.Query{SQL: f.Dialect().Select(e), Columns: tab.Columns}, func(rec arrow.RecordBatch) error { return st.Write(ctx, rec) }); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(ctx, st); err != nil {
		t.Fatal(err)
	}
}
