package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// batch builds one record batch: fill appends to the builders of cols.
func batch(t testing.TB, c *Conn, cols []connectors.Column, fill func(b *array.RecordBuilder)) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(c.alloc, connectors.ArrowSchema(cols))
	defer b.Release()
	fill(b)
	rec := b.NewRecordBatch()
	t.Cleanup(rec.Release)
	return rec
}

func column(name string, typ connectors.Type) connectors.Column {
	return connectors.Column{Name: name, Type: typ, Nullable: true}
}

// TestRoundTrip sends every type through dvt and back into the engine, by both load
// paths: the copy has the same types and the same values.
func TestRoundTrip(t *testing.T) {
	c := connect(t)
	var kept []edge
	for _, e := range edges {
		if e.ddl != "geometry" { // becomes WKB: its spatial reference is not carried
			kept = append(kept, e)
		}
	}
	edgeTable(t, c, "e", kept)
	ctx := context.Background()
	tab := describe(t, c, "e")
	var recs []arrow.RecordBatch
	err := c.Read(ctx, all(c, tab), func(rec arrow.RecordBatch) error {
		rec.Retain()
		recs = append(recs, rec)
		return nil
	})
	defer func() {
		for _, r := range recs {
			r.Release()
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"load", "insert"} {
		c.noInfile = mode == "insert"
		stage(t, c, "via_"+mode, tab.Columns, connectors.TargetOptions{}, recs...)
		now := describe(t, c, "via_"+mode)
		for k, e := range kept {
			name := tab.Columns[k+1].Name
			text := "SELECT v, HEX(v) FROM (SELECT i, " + name + " AS v FROM "
			a, b := query(t, c, text+"e) x ORDER BY i"), query(t, c, text+"via_"+mode+") x ORDER BY i")
			if len(a) != len(b) {
				t.Fatalf("%s: %d rows became %d", mode, len(a), len(b))
			}
			for i := range a {
				if a[i][0] != b[i][0] || a[i][1] != b[i][1] {
					t.Errorf("%s %s: %s became %s", mode, e.ddl, connectors.Shorten(a[i][0]), connectors.Shorten(b[i][0]))
				}
			}
			if x, y := tab.Columns[k+1], now.Columns[k+1]; x.Native != y.Native || x.Collation != y.Collation || !x.Type.Equal(y.Type) {
				t.Errorf("%s: type %s %s became %s %s", mode, x.Native, x.Collation, y.Native, y.Collation)
			}
		}
	}
}

// TestLoadEdges loads values that come from elsewhere and compares the server's text.
func TestLoadEdges(t *testing.T) {
	c := connect(t)
	list := connectors.ListOf(connectors.T(connectors.Varchar))
	strct := connectors.Type{Kind: connectors.Struct, Fields: []connectors.Field{{Name: "a", Type: connectors.Dec(38, 2)}, {Name: `q"`, Type: connectors.T(connectors.Timestamp)}}}
	mp := connectors.Type{Kind: connectors.Map, Fields: []connectors.Field{{Name: "key", Type: connectors.T(connectors.Integer)}, {Name: "value", Type: connectors.T(connectors.Double)}}}
	huge, _ := decimal128.FromString("99999999999999999999999999999999999999", 38, 0)
	cases := []struct {
		typ    connectors.Type
		ddl    string
		want   []string
		append func(b array.Builder)
	}{
		{connectors.T(connectors.Boolean), "tinyint(1)", []string{"1", "0"}, func(b array.Builder) { b.(*array.BooleanBuilder).AppendValues([]bool{true, false}, nil) }},
		{connectors.T(connectors.UBigInt), "bigint(20) unsigned", []string{"18446744073709551615"}, func(b array.Builder) { b.(*array.Uint64Builder).Append(math.MaxUint64) }},
		{connectors.T(connectors.HugeInt), "decimal(39,0)", []string{"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"}, func(b array.Builder) {
			b.(*array.Decimal128Builder).Append(decimal128.New(math.MaxInt64, math.MaxUint64))
			b.(*array.Decimal128Builder).Append(decimal128.New(math.MinInt64, 0))
		}},
		{connectors.Dec(38, 38), "decimal(38,38)", []string{"0.99999999999999999999999999999999999999", "-0.00000000000000000000000000000000000001"}, func(b array.Builder) {
			b.(*array.Decimal128Builder).Append(huge)
			b.(*array.Decimal128Builder).Append(decimal128.FromI64(-1))
		}},
		{connectors.T(connectors.Double), "double", []string{"5e-324", "1.7976931348623157e+308", "0", "0.1"}, func(b array.Builder) { // the engine has no negative zero
			b.(*array.Float64Builder).AppendValues([]float64{5e-324, math.MaxFloat64, math.Copysign(0, -1), 0.1}, nil)
		}},
		{connectors.T(connectors.Varchar), "longtext", []string{"a'b\"c\\d\ne\tf\r\x00\x1a\b", "", `\N`, "😀é e\u0301", " x "}, func(b array.Builder) {
			b.(*array.StringBuilder).AppendValues([]string{"a'b\"c\\d\ne\tf\r\x00\x1a\b", "", `\N`, "😀é e\u0301", " x "}, nil)
		}},
		{connectors.T(connectors.JSON), "longtext", []string{`{"a": "\u00e9\\\n", "b":[1.10]}`}, func(b array.Builder) {
			b.(*array.StringBuilder).Append(`{"a": "\u00e9\\\n", "b":[1.10]}`)
		}},
		{connectors.T(connectors.TimestampTZ), "datetime(6)", []string{"2024-11-03 06:30:00.000001", "0001-01-01 00:00:00.000000"}, func(b array.Builder) {
			b.(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1730615400000001, arrow.Timestamp(minDay * dayMicros)}, nil)
		}},
		{connectors.T(connectors.TimestampNS), "datetime(6)", []string{"1969-12-31 23:59:59.999999"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(-1000) }},
		{connectors.T(connectors.UUID), "char(36)", []string{"eccbc87e-4b5c-e2fe-2830-8fd9f2a7baf3"}, func(b array.Builder) {
			b.(*array.FixedSizeBinaryBuilder).Append([]byte("\xec\xcb\xc8\x7e\x4b\x5c\xe2\xfe\x28\x30\x8f\xd9\xf2\xa7\xba\xf3"))
		}},
		{connectors.T(connectors.Interval), "longtext", []string{"1 year 2 months -3 days -01:02:03.5", "00:00:00"}, func(b array.Builder) {
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{Months: 14, Days: -3, Nanoseconds: -3723500000000})
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{})
		}},
		{connectors.T(connectors.TimeTZ), "varchar(32)", []string{"12:00:00.000000+05:30"}, func(b array.Builder) {
			b.(*array.Uint64Builder).Append(uint64(43200000000)<<24 | uint64(57599-19800))
		}},
		{list, "longtext", []string{`["a\"\n",null,""]`, "[]"}, func(b array.Builder) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"a\"\n", "", ""}, []bool{true, false, true})
			l.Append(true)
		}},
		{strct, "longtext", []string{`{"a":-0.05,"q\"":"1970-01-01 00:00:00.000000"}`}, func(b array.Builder) {
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.Decimal128Builder).Append(decimal128.FromI64(-5))
			s.FieldBuilder(1).(*array.TimestampBuilder).Append(0)
		}},
		{mp, "longtext", []string{`{"7":0.5,"8":null}`}, func(b array.Builder) {
			m := b.(*array.MapBuilder)
			m.Append(true)
			m.KeyBuilder().(*array.Int32Builder).AppendValues([]int32{7, 8}, nil)
			m.ItemBuilder().(*array.Float64Builder).AppendValues([]float64{0.5, 0}, []bool{true, false})
		}},
	}
	for _, mode := range []string{"load", "insert"} {
		c.noInfile = mode == "insert"
		for _, tc := range cases {
			t.Run(mode+" "+tc.typ.String(), func(t *testing.T) {
				cols := []connectors.Column{column("i", connectors.T(connectors.Integer)), column("the `v`", tc.typ)}
				rec := batch(t, c, cols, func(b *array.RecordBuilder) {
					tc.append(b.Field(1))
					b.Field(1).AppendNull()
					for i := range len(tc.want) + 1 {
						b.Field(0).(*array.Int32Builder).Append(int32(i))
					}
				})
				stage(t, c, "edge", cols, connectors.TargetOptions{}, rec)
				got := query(t, c, "SELECT `the ``v``` FROM edge ORDER BY i")
				for i, want := range append(tc.want, "NULL") {
					if got[i][0] != want {
						t.Errorf("value %d is %q, want %q", i, got[i][0], want)
					}
				}
				if tab := describe(t, c, "edge"); tab.Columns[1].Native != tc.ddl {
					t.Errorf("type %s, want %s", tab.Columns[1].Native, tc.ddl)
				}
			})
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE refused (v int); INSERT INTO refused VALUES (42)")
	text := func(s string) func(array.Builder) {
		return func(b array.Builder) { b.(*array.StringBuilder).Append(s) }
	}
	double := func(f float64) func(array.Builder) {
		return func(b array.Builder) { b.(*array.Float64Builder).Append(f) }
	}
	stamp := func(us int64) func(array.Builder) {
		return func(b array.Builder) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(us)) }
	}
	varchar, enum := connectors.T(connectors.Varchar), connectors.T(connectors.Varchar)
	cases := []struct {
		name   string
		col    connectors.Column
		opts   connectors.TargetOptions
		append func(array.Builder)
		reason string // of a *ValueError; "" = the server's own warning
	}{
		{"NaN", column("v", connectors.T(connectors.Double)), connectors.TargetOptions{}, double(math.NaN()), "NaN"},
		{"infinity", column("v", connectors.T(connectors.Double)), connectors.TargetOptions{}, double(math.Inf(-1)), "NaN"},
		{"date", column("v", connectors.T(connectors.Date)), connectors.TargetOptions{}, func(b array.Builder) { b.(*array.Date32Builder).Append(math.MaxInt32) }, "years"},
		{"timestamp", column("v", connectors.T(connectors.Timestamp)), connectors.TargetOptions{}, stamp(math.MaxInt64), "years"},
		{"nanoseconds", column("v", connectors.T(connectors.TimestampNS)), connectors.TargetOptions{}, stamp(1001), "nanoseconds"},
		{"key too long", column("v", varchar), connectors.TargetOptions{UniqueKey: []string{"v"}}, text(strings.Repeat("é", 256)), "longer than the 255"},
		{"declared length", column("v", connectors.Type{Kind: connectors.Varchar, Length: 3}), connectors.TargetOptions{Watermark: "v"}, text("abcd"), "longer than the 3"},
		{"fraction", column("v", connectors.T(connectors.Timestamp)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "datetime"}}, stamp(1), "fractional"},
		{"instant", column("v", connectors.T(connectors.TimestampTZ)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "timestamp(6)"}}, stamp(0), "2038"},
		{"padding", column("v", varchar), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "char(5)"}}, text("ab "), "space"},
		{"label", column("v", enum), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "enum('a','b')"}}, text("1"), "no value"},
		{"year", column("v", connectors.T(connectors.SmallInt)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "year"}}, func(b array.Builder) { b.(*array.Int16Builder).Append(24) }, "1901"},
		{"binary", column("v", connectors.T(connectors.Blob)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "binary(4)"}}, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte("ab")) }, "exactly"},
		{"range", column("v", connectors.T(connectors.BigInt)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "tinyint"}}, func(b array.Builder) { b.(*array.Int64Builder).Append(128) }, "outside what tinyint holds"},
		{"sign", column("v", connectors.T(connectors.BigInt)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "bigint unsigned"}}, func(b array.Builder) { b.(*array.Int64Builder).Append(-1) }, "outside"},
		{"digits", column("v", connectors.Dec(10, 4)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "decimal(5,4)"}}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(-100000)) }, "outside"},
		{"rounding", column("v", connectors.Dec(10, 4)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "decimal(10,2)"}}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(12345)) }, "outside"},
		{"rounding to int", column("v", connectors.Dec(10, 4)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "int"}}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(12345)) }, "fraction"},
		{"double to int", column("v", connectors.T(connectors.Double)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "bigint"}}, double(0.5), "fraction"},
		{"charset", column("v", varchar), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "varchar(5) CHARACTER SET latin1"}}, text("日"), "Incorrect string value"},
		{"json", column("v", connectors.T(connectors.JSON)), connectors.TargetOptions{}, text("{"), ""},
		{"day", column("v", connectors.T(connectors.Timestamp)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "date"}}, stamp(1), "time of day"},
		{"uuid", column("v", connectors.T(connectors.UUID)), connectors.TargetOptions{ColumnTypes: map[string]string{"v": "uuid"}}, func(b array.Builder) {
			b.(*array.FixedSizeBinaryBuilder).Append([]byte("\xec\xcb\xc8\x7e\x4b\x5c\xe2\xfe\x28\x30\x8f\xd9\xf2\xa7\xba\xf3"))
		}, ""},
	}
	for _, mode := range []string{"load", "insert"} {
		c.noInfile = mode == "insert"
		for _, tc := range cases {
			t.Run(mode+" "+tc.name, func(t *testing.T) {
				cols := []connectors.Column{tc.col}
				rec := batch(t, c, cols, func(b *array.RecordBuilder) { tc.append(b.Field(0)) })
				err := tryStage(c, "refused", cols, tc.opts, rec)
				if err == nil {
					t.Fatalf("loaded, as %v", query(t, c, "SELECT * FROM refused"))
				}
				var verr *connectors.ValueError
				if tc.reason != "" && (!errors.As(err, &verr) || verr.Column != "v" || !strings.Contains(verr.Reason, tc.reason)) {
					t.Errorf("got %v, want a value error with %q", err, tc.reason)
				}
				if got := query(t, c, "SELECT * FROM refused"); len(got) != 1 || got[0][0] != "42" {
					t.Fatalf("the target has become %v", got)
				}
			})
		}
	}
	if l := leftovers(t, c); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

// TestLoadLarge goes through several chunks and batches, with values larger than both
// the chunks and the driver's packets.
func TestLoadLarge(t *testing.T) {
	var log bytes.Buffer
	for _, mode := range []string{"load", "insert"} {
		t.Run(mode, func(t *testing.T) {
			c := connect(t, "", &log)
			c.noInfile = mode == "insert"
			cols := []connectors.Column{column("i", connectors.T(connectors.BigInt)), column("s", connectors.T(connectors.Varchar)), column("b", connectors.T(connectors.Blob))}
			const rows = 20000
			var recs []arrow.RecordBatch
			for part := range 2 {
				recs = append(recs, batch(t, c, cols, func(b *array.RecordBuilder) {
					for i := range rows / 2 {
						n := part*rows/2 + i
						b.Field(0).(*array.Int64Builder).Append(int64(n))
						size := n % 50
						if n == 7000 {
							size = 1 << 20
						}
						b.Field(1).(*array.StringBuilder).Append(strings.Repeat("\té", size))
						b.Field(2).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(n), 0, '\n'}, size))
					}
				}))
			}
			stage(t, c, "large", cols, connectors.TargetOptions{}, recs...)
			got := query(t, c, "SELECT COUNT(*), COUNT(DISTINCT i), SUM(CHAR_LENGTH(s)), SUM(LENGTH(s)), SUM(LENGTH(b)) FROM large")[0]
			var chars int
			for n := range rows {
				if n == 7000 {
					chars += 2 << 20
				} else {
					chars += 2 * (n % 50)
				}
			}
			want := []string{fmt.Sprint(rows), fmt.Sprint(rows), fmt.Sprint(chars), fmt.Sprint(chars / 2 * 3), fmt.Sprint(chars / 2 * 3)}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("got %v, want %v", got, want)
			}
			if !strings.Contains(query(t, c, "SELECT HEX(b) FROM large WHERE i = 1")[0][0], "01000A") {
				t.Error("binary value changed")
			}
		})
	}
	if n := strings.Count(log.String(), "local_infile off"); n != 1 {
		t.Errorf("%d warnings of a server without local_infile, want 1", n)
	}
}

func TestEmptyResult(t *testing.T) {
	c := connect(t)
	cols := []connectors.Column{column("a", connectors.T(connectors.Date)), column("b", connectors.Dec(20, 3))}
	stage(t, c, "nothing", cols, connectors.TargetOptions{})
	tab := describe(t, c, "nothing")
	if len(tab.Columns) != 2 || tab.Columns[1].Native != "decimal(20,3)" {
		t.Errorf("columns %v", tab.Columns)
	}
}
