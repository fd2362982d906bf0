package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// typeCases are types with values in PostgreSQL's own spelling; each is written by the
// engine, read, loaded into another table and compared by the engine's text.
var typeCases = []struct {
	decl   string
	want   string // the logical type
	values []string
}{
	{"boolean", "BOOLEAN", []string{"true", "false"}},
	{"smallint", "SMALLINT", []string{"0", "-32768", "32767"}},
	{"integer", "INTEGER", []string{"0", "-2147483648", "2147483647"}},
	{"bigint", "BIGINT", []string{"0", "-9223372036854775808", "9223372036854775807"}},
	{"real", "FLOAT", []string{"0", "-0", "NaN", "Infinity", "-Infinity", "3.4028235e38", "1e-45", "0.1", "16777217"}},
	{"double precision", "DOUBLE", []string{"0", "-0", "NaN", "Infinity", "-Infinity", "1.7976931348623157e308", "5e-324", "0.1", "9007199254740993"}},
	{"numeric(10,2)", "DECIMAL(10,2)", []string{"0", "0.01", "-0.01", "99999999.99", "-99999999.99", "1", "10000", "10000.5"}},
	{"numeric(38,0)", "DECIMAL(38,0)", []string{"0", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "10000000000000000000000000000000000000", "100000000"}},
	{"numeric(38,38)", "DECIMAL(38,38)", []string{"0", "0.00000000000000000000000000000000000001", "-0.99999999999999999999999999999999999999", "0.0001", "0.5"}},
	{"numeric(38,10)", "DECIMAL(38,10)", []string{"1234567890123456789012345678.0123456789", "-0.0000000001", "1000000000000"}},
	{"numeric(18,4)", "DECIMAL(18,4)", []string{"1.2345", "99999999999999.9999", "-99999999999999.9999", "1234.0000"}},
	{"numeric(5,3)", "DECIMAL(5,3)", []string{"1.234", "99.999", "0.001"}},
	{"numeric(3,-2)", "DECIMAL(5,0)", []string{"99900", "100", "-100", "0"}},
	{"numeric(3,5)", "DECIMAL(5,5)", []string{"0.00999", "-0.00001"}},
	{"numeric(39,0)", "HUGEINT", []string{"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "0", "99999999999999999999999999999999999999"}},
	{"numeric", "DECIMAL(38,10)", []string{"1.0000000001", "-123456789012345678901234567.5000000000", "100.0000000000"}},
	{"text", "VARCHAR", textValues()},
	{"character varying(20)", "VARCHAR", []string{"", "a", "日本語日本語日本語日本語日本語日本語日本", "trailing  "}},
	{"character varying", "VARCHAR", []string{"", "ab"}},
	{"character(6)", "VARCHAR", []string{"", "a", "ab    ", "日本"}},
	{"character(1)", "VARCHAR", []string{"", "x"}},
	{"bpchar", "VARCHAR", []string{"", "x ", "xy"}},
	{"name", "VARCHAR", []string{"", "pg_class", strings.Repeat("n", 63)}},
	{`"char"`, "VARCHAR", []string{"a", "", `\377`}},
	{"citext", "VARCHAR", []string{"AbC", "abc", ""}},
	{"mood", "VARCHAR", []string{"sad", "very happy", "it's"}},
	{"email", "VARCHAR", []string{"a@b", "@"}},
	{"posint", "INTEGER", []string{"1", "2147483647"}},
	{"posint2", "INTEGER", []string{"5"}},
	{"money2", "DECIMAL(12,2)", []string{"1.10", "0"}},
	{"bytea", "BLOB", []string{`\x`, `\x00`, `\x` + allBytes(), `\x5c782e`}},
	{"date", "DATE", []string{"0001-01-01", "9999-12-31", "2024-02-29", "1970-01-01", "2000-01-01", "infinity", "-infinity", "4713-11-24 BC", "5874897-12-31", "0044-03-15 BC"}},
	{"time", "TIME", []string{"00:00:00", "24:00:00", "23:59:59.999999", "12:34:56.000001"}},
	{"time(3)", "TIME", []string{"12:34:56.123"}},
	{"time with time zone", "TIME WITH TIME ZONE", []string{"00:00:00+00", "24:00:00-15:59:59", "12:34:56.789+05:30", "23:59:59.999999+15:59"}},
	{"timestamp", "TIMESTAMP", []string{"0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "infinity", "-infinity", "4713-11-24 00:00:00 BC", "294246-12-31 23:59:59.999999", "2024-03-10 02:30:00", "1969-12-31 23:59:59.999999", "2024-11-03 01:30:00"}},
	{"timestamp(3)", "TIMESTAMP", []string{"2024-01-02 03:04:05.678"}},
	{"timestamp(0)", "TIMESTAMP", []string{"2024-01-02 03:04:05"}},
	{"timestamp with time zone", "TIMESTAMP WITH TIME ZONE", []string{"0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00", "infinity", "-infinity", "2024-03-10 07:30:00+00", "2024-11-03 05:30:00+00", "2024-11-03 06:30:00+00", "1883-11-18 12:03:58-04:56:02"}},
	{"interval", "INTERVAL", []string{"0", "1 year -2 mons 3 days -04:05:06.000007", "-1 day +24:00:00", "178000000 years", "-00:00:00.000001", "2500000 hours"}},
	{"interval(3)", "INTERVAL", []string{"00:00:01.123"}},
	{"interval year", "INTERVAL", []string{"3 years"}},
	{"interval day", "INTERVAL", []string{"1 mon 3 days"}},
	{"interval hour to minute", "INTERVAL", []string{"3 days 04:05:00"}},
	{"interval day to second", "INTERVAL", []string{"1 day 02:03:04.5"}},
	{"uuid", "UUID", []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "12345678-9abc-def0-8000-000000000001"}},
	{"json", "JSON", []string{`{"b":1, "a" : [1.0, 1e400, null], "b":2}`, `"\u0000"`, `null`, `12345678901234567890.10`, `"日本\n\\"`}},
	{"jsonb", "JSON", []string{`{"b":1, "a" : [1.0, null], "b":2}`, `"\\u0000"`, `null`, `12345678901234567890.10`, strings.Repeat("[", 300) + strings.Repeat("]", 300)}},
	{"bit(9)", "BIT", []string{"101010101", "000000000"}},
	{"bit varying(20)", "BIT", []string{"1", "00000001", "111111110"}},
	{"bit varying", "BIT", []string{"1", "0101"}},
	{"integer[]", "INTEGER[]", []string{"{}", "{1,NULL,3}", "{NULL}", "{2147483647}"}},
	{"integer[][]", "INTEGER[][]", []string{"{}", "{{1,2},{3,NULL}}", "{{1},{2},{3}}"}},
	{"integer[][][]", "INTEGER[][][]", []string{"{}", "{{{1,2}},{{3,4}}}"}},
	{"text[]", "VARCHAR[]", []string{"{}", `{a,"b c","d\"e\\f",NULL,"NULL",""," ","{x}","y,z"}`}},
	{"boolean[]", "BOOLEAN[]", []string{"{t,f,NULL}"}},
	{"bigint[]", "BIGINT[]", []string{"{9223372036854775807,-1}"}},
	{"smallint[]", "SMALLINT[]", []string{"{1,2}"}},
	{"double precision[]", "DOUBLE[]", []string{"{NaN,-Infinity,0.1}"}},
	{"real[]", "FLOAT[]", []string{"{NaN,0.1}"}},
	{"numeric(10,2)[]", "DECIMAL(10,2)[]", []string{"{1.10,NULL,-99999999.99}"}},
	{"numeric[]", "VARCHAR[]", []string{"{1.10,NaN,123456789012345678901234567890123456789012345.5}"}},
	{"character varying(5)[]", "VARCHAR[]", []string{"{abc,日本}"}},
	{"date[]", "DATE[]", []string{"{2024-02-29,infinity}"}},
	{"timestamp[]", "TIMESTAMP[]", []string{`{"2024-02-29 12:00:00"}`}},
	{"timestamp with time zone[]", "TIMESTAMP WITH TIME ZONE[]", []string{`{"2024-02-29 12:00:00+00"}`}},
	{"interval[]", "INTERVAL[]", []string{`{"1 day"}`}},
	{"uuid[]", "UUID[]", []string{"{00000000-0000-0000-0000-000000000001,NULL}"}},
	{"jsonb[]", "JSON[]", []string{`{"{\"a\": 1}",NULL,"[]"}`}},
	{"json[]", "JSON[]", []string{`{"{\"a\" : 1}"}`}},
	{"bytea[]", "BLOB[]", []string{`{"\\x00ff",NULL}`}},
	{"bit(3)[]", "BIT[]", []string{`{101,NULL}`}},
	{"mood[]", "VARCHAR[]", []string{`{sad,"very happy",NULL}`}},
	{"citext[]", "VARCHAR[]", []string{`{A,b}`}},
	{"posint[]", "INTEGER[]", []string{`{1,NULL}`}},
	{"inet[]", "VARCHAR[]", []string{`{10.0.0.1/8,::1}`}},
	{"intlist", "INTEGER[]", []string{`{1,2}`, `{}`}},
	{"inet", "VARCHAR", []string{"10.0.0.1", "10.0.0.1/8", "::1", "fe80::1/64"}},
	{"cidr", "VARCHAR", []string{"10.0.0.0/8", "::/0"}},
	{"macaddr", "VARCHAR", []string{"08:00:2b:01:02:03"}},
	{"macaddr8", "VARCHAR", []string{"08:00:2b:01:02:03:04:05"}},
	{"money", "VARCHAR", []string{"1.05", "-92233720368547758.08"}},
	{"xml", "VARCHAR", []string{"<a>b &amp; c</a>", "text", "<a/><b/>", `<?xml version="1.0"?><q>ü</q>`}},
	{"int4range", "VARCHAR", []string{"empty", "[1,5)", "(,)"}},
	{"numrange", "VARCHAR", []string{"[1.10,2.5]"}},
	{"tstzrange", "VARCHAR", []string{`["2024-01-01 00:00:00+00",)`}},
	{"int4multirange", "VARCHAR", []string{"{}", "{[1,2),[5,6)}"}},
	{"hstore", "VARCHAR", []string{`"a"=>"1", "b"=>NULL`, ""}},
	{"tsvector", "VARCHAR", []string{"'a':1A 'fat':2B,4C", "'it''s'"}},
	{"tsquery", "VARCHAR", []string{"'a' & !'b'"}},
	{"point", "VARCHAR", []string{"(1,2)", "(0.1,-1e+300)"}},
	{"box", "VARCHAR", []string{"(3,4),(1,2)"}},
	{"path", "VARCHAR", []string{"[(1,2),(3,4)]", "((1,2),(3,4))"}},
	{"circle", "VARCHAR", []string{"<(1,2),3>"}},
	{"pair", "VARCHAR", []string{`(1,"a b")`, "(,)", "(1,)"}},
	{"pair[]", "VARCHAR[]", []string{`{"(1,x)",NULL}`}},
	{"oid", "VARCHAR", []string{"0", "4294967295"}},
	{"pg_lsn", "VARCHAR", []string{"16/B374D848"}},
	{"jsonpath", "VARCHAR", []string{`$."a"[*]`}},
	{"int2vector", "VARCHAR", []string{"1 2 3"}},
}

func textValues() []string {
	return []string{"", " ", "a", "it's", `"q"`, `back\slash`, `\N`, `\\`, "tab\tnew\nline\rcr", "\U0001F600", "e\u0301", "ß", "日本",
		"NULL", "\x01\x7f", `\x41`, "{a,b}", strings.Repeat("日本語x", 1<<20/10), "-- ; /* $$ */"}
}

func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%02x", i)
	}
	return b.String()
}

// createTypes makes the types that typeCases name beyond the built-in ones.
func createTypes(d *db) {
	d.exec("CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public")
	d.exec("CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA public")
	d.exec(`CREATE TYPE mood AS ENUM ('sad', 'very happy', 'it''s')`)
	d.exec(`CREATE DOMAIN email AS text CHECK (value ~ '@')`)
	d.exec(`CREATE DOMAIN posint AS integer CHECK (value > 0)`)
	d.exec(`CREATE DOMAIN posint2 AS posint CHECK (value > 1)`)
	d.exec(`CREATE DOMAIN money2 AS numeric(12,2)`)
	d.exec(`CREATE DOMAIN intlist AS integer[]`)
	d.exec(`CREATE TYPE pair AS (a integer, b text)`)
}

// ownSpelling says how to make the engine spell a value as this package does, where the
// two differ by design; "" where they cannot be compared.
var ownSpelling = map[string]string{"real": "", "double precision": "", "interval": "", "interval(3)": "", "interval day to second": "",
	"interval year": "", "interval day": "", "interval hour to minute": "", "character(6)": "rpad(v::text, 6)", "character(1)": "rpad(v::text, 1)",
	"bpchar": "convert_from(bpcharsend(v), 'UTF8')", "numeric": "v::numeric(38,10)::text", "inet": "abbrev(v)"}

// TestRoundTrip writes every value of every type with the engine's own SQL, reads it and
// compares what arrives with the engine's own text; then loads it back, once by binary
// COPY and once, beside a column without a binary form, in text, and compares the
// engine's text again.
func TestRoundTrip(t *testing.T) {
	d := open(t, map[string]any{"search_path": "public"})
	createTypes(d)
	d.exec("SET TimeZone = 'UTC'")
	for i, tc := range typeCases {
		t.Run(tc.decl, func(t *testing.T) {
			d.t = t
			src, binary, text := fmt.Sprint("src", i), fmt.Sprint("bin", i), fmt.Sprint("txt", i)
			d.exec("CREATE TABLE " + src + " (id int, v " + tc.decl + ", ip inet)")
			d.exec("INSERT INTO "+src+" SELECT n, x::text::"+tc.decl+", '10.0.0.0'::inet + n FROM unnest($1::text[]) WITH ORDINALITY u(x, n)", tc.values)
			d.exec("INSERT INTO " + src + " VALUES (999, NULL, NULL)")
			q := d.query(d.describe(src))
			if got := q.Columns[1].Type.String(); got != tc.want {
				t.Fatalf("described as %s, want %s", got, tc.want)
			}
			recs := d.read(q)
			defer release(recs)
			d.checkOwnText(src, tc.decl, q, recs)
			d.mustLoad(connectors.StageSpec{Target: d.rel(text), Columns: q.Columns}, recs)
			d.checkSame(src, text, tc.decl)
			two := make([]arrow.RecordBatch, len(recs))
			for n, r := range recs {
				two[n] = array.NewRecordBatch(connectors.ArrowSchema(q.Columns[:2]), r.Columns()[:2], r.NumRows())
			}
			defer release(two)
			d.mustLoad(connectors.StageSpec{Target: d.rel(binary), Columns: q.Columns[:2]}, two)
			d.checkSame(src, binary, tc.decl)
		})
	}
}

// checkSame compares column v of two tables by the engine's text.
func (d *db) checkSame(src, dst, native string) {
	d.t.Helper()
	decl := "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attname = 'v'"
	if got, want := d.text(decl, dst), d.text(decl, src); got != want && native != `"char"` {
		d.t.Errorf("came back as %s, was %s", got, want)
	}
	d.want(d.text("SELECT count(*)::text FROM "+src), "SELECT count(*)::text FROM "+dst)
	diff := "SELECT string_agg(left(format('%s: %s, was %s', a.id, b.v::text, a.v::text), 300), E'\\n') FROM " + src + " a FULL JOIN " + dst +
		" b USING (id) WHERE (textsend(a.v::text), a.v IS NULL) IS DISTINCT FROM (textsend(b.v::text), b.v IS NULL)"
	if got := d.text(diff); got != "NULL" {
		d.t.Errorf("changed on the way:\n%s", got)
	}
}

// checkOwnText compares what was read, spelled by this package, with the engine's text.
// Without it a mistake made alike in both directions would go unseen.
func (d *db) checkOwnText(src, decl string, q connectors.Query, recs []arrow.RecordBatch) {
	d.t.Helper()
	spelled, special := ownSpelling[decl]
	if special && spelled == "" || q.Columns[1].Type.Kind == connectors.List {
		return
	}
	if !special {
		spelled = "v::text"
	}
	for _, r := range recs {
		say := textEncoder(q.Columns[1].Type, false, false)(r.Column(1))
		for row := range int(r.NumRows()) {
			if r.Column(1).IsNull(row) {
				continue
			}
			got, err := say(nil, row)
			if err != nil {
				d.t.Fatal(err)
			}
			want := d.text("SELECT " + spelled + " FROM " + src + " WHERE id = " + r.Column(0).ValueStr(row))
			if string(got) != want {
				d.t.Errorf("%s: read %q, the engine says %q", decl, connectors.Shorten(string(got)), connectors.Shorten(want))
			}
		}
	}
}
