package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

// record makes one batch of one column from JSON, the values' natural notation.
func record(t *testing.T, mem memory.Allocator, cols []connectors.Column, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(mem, connectors.ArrowSchema(cols), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func one(typ connectors.Type) []connectors.Column {
	return []connectors.Column{{Name: "v", Type: typ}}
}

func structOf(fields ...connectors.Field) connectors.Type {
	return connectors.Type{Kind: connectors.Struct, Fields: fields}
}

// TestForeignTypes loads types that PostgreSQL does not have, each into the narrowest
// type that holds it.
func TestForeignTypes(t *testing.T) {
	d := open(t, nil)
	f := func(name string, t connectors.Type) connectors.Field { return connectors.Field{Name: name, Type: t} }
	T := connectors.T
	for i, tc := range []struct {
		typ  connectors.Type
		json string
		decl string
		want string
	}{
		{T(connectors.TinyInt), `[{"v":-128},{"v":127},{"v":null}]`, "smallint", "-128,127,NULL"},
		{T(connectors.UTinyInt), `[{"v":255}]`, "smallint", "255"},
		{T(connectors.USmallInt), `[{"v":65535}]`, "integer", "65535"},
		{T(connectors.UInteger), `[{"v":4294967295}]`, "bigint", "4294967295"},
		{T(connectors.UBigInt), `[{"v":18446744073709551615},{"v":0},{"v":10000}]`, "numeric(20,0)", "18446744073709551615,0,10000"},
		{connectors.Dec(38, 10), `[{"v":"1234567890123456789012345678.0123456789"},{"v":"-0.0000000001"}]`, "numeric(38,10)", "1234567890123456789012345678.0123456789,-0.0000000001"},
		{T(connectors.TimestampNS), `[{"v":"2024-01-02 03:04:05.678901"},{"v":"1969-12-31 23:59:59.999999"}]`, "timestamp without time zone", "2024-01-02 03:04:05.678901,1969-12-31 23:59:59.999999"},
		{connectors.ListOf(T(connectors.UBigInt)), `[{"v":[18446744073709551615,null]},{"v":[]}]`, "numeric(20,0)[]", "{18446744073709551615,NULL},{}"},
		{connectors.ListOf(connectors.ListOf(T(connectors.Integer))), `[{"v":[[1,2],[3],null,[]]},{"v":[]}]`, "jsonb", "[[1, 2], [3], null, []],[]"},
		{structOf(f("a", T(connectors.Integer)), f(`b"c`, T(connectors.Varchar))), `[{"v":{"a":1,"b\"c":"x\"\n\u0001é"}},{"v":{"a":null,"b\"c":null}}]`, "jsonb",
			`{"a": 1, "b\"c": "x\"\n\u0001é"},{"a": null, "b\"c": null}`},
		{connectors.ListOf(structOf(f("d", T(connectors.Date)), f("t", T(connectors.TimestampTZ)), f("f", T(connectors.Double)), f("b", T(connectors.Boolean)))),
			`[{"v":[{"d":"2024-02-29","t":"2024-01-02 03:04:05Z","f":0.1,"b":true}]}]`, "jsonb", `[{"b": true, "d": "2024-02-29", "f": 0.1, "t": "2024-01-02 03:04:05+00"}]`},
		{connectors.Type{Kind: connectors.Map, Fields: []connectors.Field{f("key", T(connectors.Varchar)), f("value", connectors.Dec(38, 2))}},
			`[{"v":[{"key":"k","value":"123456789012345678901234567890123456.78"},{"key":"n","value":null}]}]`, "jsonb", `{"k": 123456789012345678901234567890123456.78, "n": null}`},
	} {
		t.Run(tc.typ.String(), func(t *testing.T) {
			d.t = t
			name := fmt.Sprint("f", i)
			rec := record(t, d.mem, one(tc.typ), tc.json)
			defer rec.Release()
			if ddl, err := d.dialect.TargetType(one(tc.typ)[0]); err != nil || ddl != tc.decl {
				t.Errorf("target type %s, %v", ddl, err)
			}
			d.mustLoad(connectors.StageSpec{Target: d.rel(name), Columns: one(tc.typ)}, []arrow.RecordBatch{rec})
			d.want(tc.decl, "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum = 1", name)
			d.want(tc.want, "SELECT string_agg(coalesce(v::text, 'NULL'), ',' ORDER BY ctid) FROM "+name)
		})
	}
	huge := array.NewDecimal128Builder(d.mem, &arrow.Decimal128Type{Precision: 38})
	for _, n := range []decimal128.Num{decimal128.New(math.MinInt64, 0), decimal128.New(math.MaxInt64, math.MaxUint64), decimal128.FromI64(-1)} {
		huge.Append(n)
	}
	a := huge.NewArray()
	huge.Release()
	rec := array.NewRecordBatch(connectors.ArrowSchema(one(T(connectors.HugeInt))), []arrow.Array{a}, 3)
	a.Release()
	d.t = t
	d.mustLoad(connectors.StageSpec{Target: d.rel("huge"), Columns: one(T(connectors.HugeInt))}, []arrow.RecordBatch{rec})
	rec.Release()
	d.want("-170141183460469231731687303715884105728,170141183460469231731687303715884105727,-1", "SELECT string_agg(v::text, ',' ORDER BY ctid) FROM huge")
}

// TestColumnTypes: what the model asks for is honoured where it loses nothing.
func TestColumnTypes(t *testing.T) {
	d := open(t, nil)
	createTypes(d)
	T := connectors.T
	for i, tc := range []struct {
		typ   connectors.Type
		asked string
		json  string
		want  string // text of the value; or, with !, part of the error
	}{
		{T(connectors.Varchar), "inet", `"10.0.0.1"`, "10.0.0.1"},
		{T(connectors.Varchar), "jsonb", `"{\"b\":1, \"a\":2}"`, `{"a": 2, "b": 1}`},
		{T(connectors.JSON), "jsonb", `"{\"b\":1}"`, `{"b": 1}`},
		{T(connectors.JSON), "text", `"{\"b\":1}"`, `{"b":1}`},
		{T(connectors.JSON), "jsonb", `"\"\\u0000\""`, `!\u0000`},
		{T(connectors.JSON), "jsonb", `"\"\\\\u0000\""`, `"\\u0000"`},
		{T(connectors.Varchar), "varchar(3)", `"日本語"`, "日本語"},
		{T(connectors.Varchar), "varchar(3)", `"abc "`, "!longer than the 3"},
		{T(connectors.Varchar), "char(3)", `"ab"`, "ab "},
		{T(connectors.Varchar), "name", `"` + strings.Repeat("é", 32) + `"`, "!longer than the 63"},
		{T(connectors.Varchar), "mood", `"sad"`, "sad"},
		{T(connectors.Varchar), "mood", `"glad"`, "!invalid input value for enum"},
		{T(connectors.Varchar), "citext", `"X"`, "X"},
		{T(connectors.Varchar), "xml", `"<a>\\N\t\n</a>"`, "<a>\\N\t\n</a>"},
		{T(connectors.Varchar), "uuid", `"00000000-0000-0000-0000-000000000001"`, "00000000-0000-0000-0000-000000000001"},
		{T(connectors.Varchar), "integer", `"12"`, "12"},
		{T(connectors.Varchar), "date", `"2024-01-02 10:00"`, "!without loss"},
		{T(connectors.Varchar), "timestamp", `"2024-01-02"`, "!without loss"},
		{T(connectors.Varchar), "real", `"0.1"`, "!without loss"},
		{T(connectors.BigInt), "integer", `12`, "12"},
		{T(connectors.BigInt), "integer", `2147483648`, "!out of the range of integer"},
		{T(connectors.BigInt), "smallint", `-32769`, "!out of the range"},
		{T(connectors.BigInt), "numeric(3,1)", `99`, "99.0"},
		{T(connectors.BigInt), "numeric(3,1)", `100`, "!numeric(3,1)"},
		{T(connectors.BigInt), "numeric", `100`, "100"},
		{T(connectors.BigInt), "double precision", `9007199254740993`, "!exactly"},
		{T(connectors.BigInt), "text", `-5`, "-5"},
		{T(connectors.BigInt), "boolean", `1`, "!without loss"},
		{T(connectors.UBigInt), "bigint", `9223372036854775807`, "9223372036854775807"},
		{T(connectors.UBigInt), "bigint", `9223372036854775808`, "!9223372036854775808"},
		{connectors.Dec(10, 4), "numeric(10,2)", `"1.2300"`, "1.23"},
		{connectors.Dec(10, 4), "numeric(10,2)", `"1.2345"`, "!numeric(10,2) does not hold it"},
		{connectors.Dec(38, 30), "numeric(38,0)", `"12345678.000000000000000000000000000000"`, "12345678"},
		{connectors.Dec(38, 30), "numeric(38,0)", `"12345678.000000000000000000000000000001"`, "!does not hold it"},
		{connectors.Dec(10, 0), "numeric(5,-2)", `"1234500"`, "1234500"},
		{connectors.Dec(10, 0), "numeric(5,-2)", `"1234501"`, "!does not hold it"},
		{connectors.Dec(10, 0), "numeric(2,4)", `"0"`, "0.0000"},
		{connectors.Dec(10, 0), "integer", `"5"`, "5"},
		{connectors.Dec(10, 0), "smallint", `"50000"`, "!out of the range"},
		{connectors.Dec(10, 2), "integer", `"5.00"`, "!without loss"},
		{connectors.Dec(10, 2), "text", `"-0.05"`, "-0.05"},
		{T(connectors.Double), "real", `0.5`, "0.5"},
		{T(connectors.Double), "real", `0.1`, "!round"},
		{T(connectors.Double), "numeric", `0.1`, "!without loss"},
		{T(connectors.Timestamp), "timestamp(3)", `"2024-01-02 03:04:05.678"`, "2024-01-02 03:04:05.678"},
		{T(connectors.Timestamp), "timestamp(0)", `"2024-01-02 03:04:05.678"`, "!more digits"},
		{T(connectors.Timestamp), "timestamptz", `"2024-01-02 03:04:05"`, "2024-01-02 03:04:05+00"},
		{T(connectors.TimestampTZ), "timestamp", `"2024-01-02 03:04:05Z"`, "2024-01-02 03:04:05"},
		{T(connectors.TimestampTZ), "text", `"2024-01-02 03:04:05.5Z"`, "2024-01-02 03:04:05.5+00"},
		{T(connectors.Timestamp), "date", `"2024-01-02 00:00:00"`, "!without loss"},
		{T(connectors.TimestampNS), "timestamp", `"2024-01-02 03:04:05.678901234"`, "!nanoseconds"},
		{T(connectors.Time), "time(0)", `"03:04:05.5"`, "!more digits"},
		{T(connectors.Boolean), "text", `true`, "true"},
		{T(connectors.Bit), "bit(3)", `"101"`, "101"},
		{T(connectors.Bit), "bit(3)", `"1010"`, "!length"},
		{T(connectors.Bit), "bit(3)", `"10"`, "!length"},
		{T(connectors.Bit), "varbit(3)", `"10"`, "10"},
		{connectors.ListOf(T(connectors.Integer)), "jsonb", `[1,null]`, "[1, null]"},
		{connectors.ListOf(T(connectors.Varchar)), "text", `["a\"",null]`, `["a\"", null]`},
		{connectors.ListOf(connectors.ListOf(T(connectors.Integer))), "int[]", `[[1,2],[3,4]]`, "{{1,2},{3,4}}"},
		{connectors.ListOf(connectors.ListOf(T(connectors.Integer))), "int[]", `[[1,2],[3]]`, "!rectangular"},
		{connectors.ListOf(connectors.ListOf(T(connectors.Integer))), "int[]", `[[1],null]`, "!NULL list"},
		{connectors.ListOf(connectors.ListOf(T(connectors.Integer))), "int[]", `[[],[]]`, "!empty lists"},
		{connectors.ListOf(T(connectors.Integer)), "smallint[]", `[70000]`, "!out of the range"},
		{connectors.ListOf(T(connectors.Varchar)), "inet[]", `["10.0.0.1",null]`, "{10.0.0.1,NULL}"},
		{T(connectors.Blob), "text", `"AAH/"`, `\x0001ff`},
		{T(connectors.Integer), "no_such_type", `1`, "!does not exist"},
	} {
		t.Run(tc.typ.String()+" "+tc.asked, func(t *testing.T) {
			d.t = t
			name, asked := fmt.Sprint("c", i), tc.asked
			if asked == "mood" {
				asked = d.schema + ".mood"
			}
			rec := record(t, d.mem, one(tc.typ), `[{"v":null},{"v":`+tc.json+`}]`)
			defer rec.Release()
			err := d.load(connectors.StageSpec{Target: d.rel(name), Columns: one(tc.typ),
				Options: connectors.TargetOptions{ColumnTypes: map[string]string{"v": asked}}}, []arrow.RecordBatch{rec})
			if want, fails := strings.CutPrefix(tc.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d.exec("SET TimeZone = 'UTC'")
			d.want(tc.want, "SELECT format('%s', v) FROM "+name+" WHERE v IS NOT NULL")
		})
	}
}

// TestTextForm: when one column has no binary form, the others still get their checks.
func TestTextForm(t *testing.T) {
	d := open(t, nil)
	cols := []connectors.Column{{Name: "ip", Type: connectors.T(connectors.Varchar)}, {Name: "n", Type: connectors.Dec(10, 4)}}
	rec := record(t, d.mem, cols, `[{"ip":"10.0.0.1","n":"1.2345"}]`)
	defer rec.Release()
	err := d.load(connectors.StageSpec{Target: d.rel("x"), Columns: cols, Options: connectors.TargetOptions{ColumnTypes: map[string]string{"ip": "inet", "n": "numeric(10,2)"}}}, []arrow.RecordBatch{rec})
	var bad *connectors.ValueError
	if !errors.As(err, &bad) {
		t.Errorf("a decimal that would be rounded: %v", err)
	}
}

func TestNULBytes(t *testing.T) {
	cols := []connectors.Column{intCol, textCol, {Name: "l", Type: connectors.ListOf(connectors.T(connectors.Varchar))}}
	rows := `[{"id":7,"s":"a"},{"id":8,"s":"b\u0000c","l":["x"]}]`
	d := open(t, nil)
	rec := record(t, d.mem, cols, rows)
	defer rec.Release()
	for _, keys := range [][]string{nil, {"id"}} {
		err := d.load(connectors.StageSpec{Target: d.rel("t"), Columns: cols, Options: connectors.TargetOptions{UniqueKey: keys}}, []arrow.RecordBatch{rec})
		row := `number 2 (id = 8, s = "b\x00c", l = {"x"})`
		if keys != nil {
			row = "id = 8"
		}
		var bad *connectors.ValueError
		if !errors.As(err, &bad) || bad.Column != "s" || bad.Row != row || bad.Value != `"b\x00c"` {
			t.Errorf("%v", err)
		}
	}
	d.leftovers()
	s := open(t, map[string]any{"nul_bytes": "strip"})
	rec2 := record(t, s.mem, cols, rows)
	defer rec2.Release()
	s.mustLoad(connectors.StageSpec{Target: s.rel("t"), Columns: cols}, []arrow.RecordBatch{rec2})
	s.want("a,bc", "SELECT string_agg(s, ',' ORDER BY id) FROM t")
}

func TestStageServerError(t *testing.T) {
	d := open(t, nil)
	ctx := context.Background()
	cols := one(connectors.T(connectors.JSON))
	rec := record(t, d.mem, cols, `[{"v":"{}"},{"v":"{broken"}]`)
	defer rec.Release()
	st, err := d.Stage(ctx, connectors.StageSpec{RunID: "aaaaaaaa", Target: d.rel("t"), Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // the refusal arrives while more is written
		err = st.Write(ctx, rec)
		if err == nil {
			_, err = st.Seal(ctx)
		}
	}
	var refused *connectors.StatementError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "invalid input syntax for type json") || !strings.Contains(err.Error(), "line 2, column v") {
		t.Errorf("%v", err)
	}
	if err := d.Replace(ctx, st); err == nil {
		t.Error("a failed staging table was swapped in")
	}
	if err := st.Discard(ctx); err != nil {
		t.Error(err)
	}
	d.leftovers()
}

// TestNativeElsewhere: a type of another database is given back only where it exists.
func TestNativeElsewhere(t *testing.T) {
	d := open(t, nil)
	col := func(native string, typ connectors.Type) []connectors.Column {
		return []connectors.Column{{Name: "v", Type: typ, Native: native, Engine: engineName}}
	}
	text := connectors.T(connectors.Varchar)
	for i, tc := range []struct {
		cols []connectors.Column
		want string
	}{
		{col("elsewhere.mood", text), "text"},
		{col("elsewhere.mood[]", connectors.ListOf(text)), "text[]"},
		{col("character varying(20)", text), "character varying(20)"},
		{col("character varying(20)", connectors.T(connectors.Integer)), "integer"}, // an override has changed the type
		{col("numeric", connectors.Dec(38, 4)), "numeric"},
		{col("inet", text), "inet"},
		{[]connectors.Column{{Name: "v", Type: text, Native: "longtext", Engine: "mysql"}}, "text"},
		{[]connectors.Column{{Name: "v", Type: connectors.T(connectors.BigInt), Native: "bigint(20) unsigned", Engine: "mysql"}}, "bigint"},
	} {
		name := fmt.Sprint("t", i)
		d.mustLoad(connectors.StageSpec{Target: d.rel(name), Columns: tc.cols}, nil)
		d.want(tc.want, "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum = 1", name)
	}
}

// TestNumericCodec: any count of any scale survives, and its text is what big numbers
// say.
func TestNumericCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		n := number{hi: rapid.Uint64Range(0, 1<<63-1).Draw(t, "hi") >> rapid.IntRange(0, 63).Draw(t, "shift"), lo: rapid.Uint64().Draw(t, "lo")}
		if rapid.Bool().Draw(t, "round") { // many zeros
			n = pow10[rapid.IntRange(0, 38).Draw(t, "exp")]
		}
		n.neg = rapid.Bool().Draw(t, "neg") && !n.isZero()
		b := appendNumeric(nil, n, scale)
		back, err := parseNumeric(b, scale)
		if err != nil || back != n {
			t.Fatalf("%v with scale %d came back as %v, %v: % x", n, scale, back, err, b)
		}
		if got, want := numericText(b), n.text(scale); got != want {
			t.Fatalf("text %s, want %s", got, want)
		}
		v := n.big()
		if n.neg {
			v.Neg(v)
		}
		if want := decimal128.FromBigInt(v); n.decimal() != want {
			t.Fatalf("decimal %v, want %v", n.decimal(), want)
		}
		if m := magnitude(n.decimal().HighBits(), n.decimal().LowBits()); m != n {
			t.Fatalf("magnitude %v, want %v", m, n)
		}
		for _, other := range []int{0, scale / 2, scale - 1} {
			if other < 0 {
				continue
			}
			_, err := parseNumeric(b, other)
			rest := new(big.Int).Mod(n.big(), pow10[scale-other].big())
			if (err == nil) != (rest.Sign() == 0) {
				t.Fatalf("%s read with scale %d: %v", n.text(scale), other, err)
			}
		}
	})
}

// TestQuoting: no name and no text leaves its quotes.
func TestQuoting(t *testing.T) {
	d := open(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.ReplaceAll(rapid.StringOfN(rapid.RuneFrom([]rune(`'"\;-/*$ aé日`+"\n\U0001F600")), 0, 20, -1).Draw(rt, "s"), "\x00", "")
		if got := d.text("SELECT " + quoteText(s) + "::text"); got != s && !(s == "NULL") {
			rt.Fatalf("%q became %q", s, got)
		}
		if s != "" && len(s) <= maxIdent {
			if got := d.text("SELECT n.* FROM (SELECT 'ok') n(" + quoteIdent(s) + ") WHERE n." + quoteIdent(s) + " = 'ok'"); got != "ok" {
				rt.Fatalf("%q: %q", s, got)
			}
		}
		if got := skipIdent(quoteIdent(s) + " USING"); got != " USING" {
			rt.Fatalf("%q left %q", s, got)
		}
	})
	d.exec("SET standard_conforming_strings = off")
	d.want(`a\b'c`, "SELECT "+quoteText(`a\b'c`)+"::text")
}
