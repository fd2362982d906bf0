package clickhouse

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// batch makes a record batch of cols from JSON rows.
func batch(t testing.TB, cols []connectors.Column, rows string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, connectors.ArrowSchema(cols), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rec.Release)
	return rec
}

// load stages recs for spec and, if all went well, makes them the target's content.
func (f *fixture) load(spec connectors.StageSpec, recs ...arrow.RecordBatch) error {
	ctx := context.Background()
	if spec.RunID == "" {
		spec.RunID = "run00001"
	}
	if spec.Target.Schema == "" {
		spec.Target.Schema = f.db
	}
	st, err := f.Stage(ctx, spec)
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Discard(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	var want int64
	for _, r := range recs {
		if err := st.Write(ctx, r); err != nil {
			return err
		}
		want += r.NumRows()
	}
	if n, err := st.Seal(ctx); err != nil {
		return err
	} else if n != want {
		f.t.Errorf("Seal counts %d rows, %d were written", n, want)
	}
	return f.Replace(ctx, st)
}

func cols(kv ...any) (all []connectors.Column) {
	for i := 0; i < len(kv); i += 2 {
		typ, ok := kv[i+1].(connectors.Type)
		if !ok {
			typ = connectors.T(kv[i+1].(connectors.Kind))
		}
		all = append(all, connectors.Column{Name: kv[i].(string), Type: typ})
	}
	return all
}

// tables names what is in the fixture's database.
func (f *fixture) tables() []string {
	f.t.Helper()
	return strings.Fields(f.post("SELECT name FROM system.tables WHERE database = '" + f.db + "' ORDER BY name"))
}

// What a table is loaded with is what is read back, and what the server shows.
func TestWriteTypes(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		nest := connectors.ListOf(connectors.Type{Kind: connectors.Struct, Fields: []connectors.Field{{Name: "a", Type: connectors.T(connectors.Integer)}, {Name: "b c", Type: connectors.T(connectors.Varchar)}}})
		cs := cols("id", connectors.BigInt, "b", connectors.Boolean, "i8", connectors.TinyInt, "i16", connectors.SmallInt, "i32", connectors.Integer,
			"u8", connectors.UTinyInt, "u16", connectors.USmallInt, "u32", connectors.UInteger, "u64", connectors.UBigInt, "h", connectors.HugeInt,
			"f", connectors.Float, "d", connectors.Double, "d9", connectors.Dec(9, 2), "d18", connectors.Dec(18, 4), "d38", connectors.Dec(38, 10),
			"s", connectors.Varchar, "j", connectors.JSON, "day", connectors.Date, "ts", connectors.Timestamp, "tz", connectors.TimestampTZ,
			"l", connectors.ListOf(connectors.T(connectors.BigInt)), "ls", connectors.ListOf(nest),
			"st", connectors.Type{Kind: connectors.Struct, Fields: []connectors.Field{{Name: "x", Type: connectors.T(connectors.Double)}, {Name: "select", Type: connectors.ListOf(connectors.T(connectors.Varchar))}}},
			"a`b\\c 'd'", connectors.Varchar)
		rows := `[
	{"id":1,"b":true,"i8":-128,"i16":-32768,"i32":-2147483648,"u8":255,"u16":65535,"u32":4294967295,"u64":18446744073709551615,"h":"-9999999999999999999999999999999999999",
	 "f":1.5,"d":1e-308,"d9":"-9999999.99","d18":"99999999999999.9999","d38":"-1234567890123456789012345678.0123456789","s":"日本\u0000\\N'\"\n\t","j":"{\"a\": [1, 2]}","day":"1970-01-01","ts":"1970-01-01T00:00:00","tz":"2024-03-10T07:00:00Z",
	 "l":[1,null,-3],"ls":[[{"a":1,"b c":"x"},{"a":null,"b c":null}],[]],"st":{"x":2.5,"select":["p",null]},"a` + "`" + `b\\c 'd'":"odd"},
	{"id":2,"b":null,"i8":null,"i16":null,"i32":null,"u8":null,"u16":null,"u32":null,"u64":null,"h":null,"f":null,"d":null,"d9":null,"d18":null,"d38":null,"s":null,"j":null,"day":null,"ts":null,"tz":null,
	 "l":[],"ls":[],"st":{"x":null,"select":[]},"a` + "`" + `b\\c 'd'":null},
	{"id":3,"b":false,"i8":127,"i16":32767,"i32":2147483647,"u8":0,"u16":0,"u32":0,"u64":0,"h":"0","f":-0.0,"d":0,"d9":"0","d18":"-0.0001","d38":"0.0000000001","s":"","j":"","day":"2105-12-31","ts":"2105-12-31T23:59:59","tz":"2024-03-10T02:30:00Z",
	 "l":[9223372036854775807,-9223372036854775808],"ls":[],"st":{"x":0,"select":[""]},"a` + "`" + `b\\c 'd'":""}]`
		rec := batch(t, cs, rows)
		if err := f.load(connectors.StageSpec{Target: f.rel("t"), Columns: cs}, rec); err != nil {
			t.Fatal(err)
		}
		tab := f.describe("t")
		for i := range tab.Columns {
			tab.Columns[i].Type = cs[i].Type // types that an old server lacks come back under their own again
			if tab.Columns[i].Name != cs[i].Name {
				t.Errorf("column %d is called %q", i, tab.Columns[i].Name)
			}
		}
		caps, err := f.capabilities(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		readBack := func(i int) (got []string) {
			e := connectors.Extract{Table: f.describe("t"), Columns: []int{i}, OrderBy: []string{"`id`"}, Limit: -1}
			q := connectors.Query{SQL: f.Dialect().Select(e), Columns: []connectors.Column{e.Table.Columns[i]}}
			for _, r := range f.rows(q) {
				got = append(got, r[0])
			}
			return got
		}
		for i, c := range cs {
			got, want := readBack(i), make([]string, 3)
			for r := range want {
				want[r] = rec.Column(i).ValueStr(r)
			}
			switch c.Name {
			case "b":
				if caps.old() {
					want = []string{"1", "(null)", "0"}
				}
			case "ts":
				want = []string{"1970-01-01T00:00:00Z", "(null)", "2105-12-31T23:59:59Z"}
			case "ls": // an old server has no names inside arrays
				if caps.elementNames() {
					break
				}
				want[0] = strings.NewReplacer(`"a"`, `"1"`, `"b c"`, `"2"`).Replace(want[0])
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s as %s: got %q, want %q", c.Name, c.Type, f.describe("t").Columns[i].Native, got, want)
			}
		}
		shown := f.post("SELECT toString(i8), toString(u64), toString(h), toString(d38), toString(day), toString(toDateTime(tz)), toString(toDateTime(ts)) FROM " + f.db + ".t WHERE id = 3")
		if want := "127\t0\t0\t0.0000000001\t2105-12-31\t2024-03-10 02:30:00\t2105-12-31 23:59:59\n"; shown != want {
			t.Errorf("the server shows %q, want %q", shown, want)
		}
		if left := f.tables(); !reflect.DeepEqual(left, []string{"t"}) {
			t.Errorf("left in the database: %q", left)
		}
	})
}

// The server would wrap, cut or refuse these in silence or late: dvt must name them.
func TestWriteRefuses(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		stamp := func(v int64) func(b array.Builder) {
			return func(b array.Builder) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(v)) }
		}
		date := func(v int32) func(b array.Builder) {
			return func(b array.Builder) { b.(*array.Date32Builder).Append(arrow.Date32(v)) }
		}
		null := func(b array.Builder) { b.AppendNull() }
		for _, c := range []struct {
			name  string
			typ   connectors.Type
			own   string // column_types
			value func(b array.Builder)
			shown string
		}{
			{"fraction", connectors.T(connectors.Timestamp), "DateTime('UTC')", stamp(1), "1970-01-01T00:00:00.000001"},
			{"before 1970", connectors.T(connectors.TimestampTZ), "DateTime('UTC')", stamp(-1_000_000), "1969-12-31T23:59:59Z"},
			{"after 2105", connectors.T(connectors.TimestampTZ), "DateTime('UTC')", stamp(4_294_967_296_000_000), "2106-02-07T06:28:16Z"},
			{"year 9999", connectors.T(connectors.Timestamp), "DateTime('UTC')", stamp(253402300799_000_000), "9999-12-31T23:59:59"},
			{"infinity", connectors.T(connectors.TimestampTZ), "DateTime('UTC')", stamp(math.MaxInt64), "infinity"},
			{"-infinity as µs", connectors.T(connectors.TimestampTZ), "Int64", stamp(-math.MaxInt64), "-infinity"},
			{"date before 1970", connectors.T(connectors.Date), "Date", date(-1), "1969-12-31"},
			{"date after 2105", connectors.T(connectors.Date), "Date", date(65537), "2149-06-08"},
			{"date 65536 wraps", connectors.T(connectors.Date), "Date", date(65536), "2149-06-07"},
			{"date infinity", connectors.T(connectors.Date), "Date", date(math.MaxInt32), "infinity"},
			{"year 1", connectors.T(connectors.Date), "Date", date(-719162), "0001-01-01"},
			{"int wraps", connectors.T(connectors.BigInt), "Int8", func(b array.Builder) { b.(*array.Int64Builder).Append(128) }, "128"},
			{"negative wraps", connectors.T(connectors.Integer), "UInt32", func(b array.Builder) { b.(*array.Int32Builder).Append(-1) }, "-1"},
			{"unsigned wraps", connectors.T(connectors.UBigInt), "Int64", func(b array.Builder) { b.(*array.Uint64Builder).Append(1 << 63) }, "9223372036854775808"},
			{"double to float", connectors.T(connectors.Double), "Float32", func(b array.Builder) { b.(*array.Float64Builder).Append(0.1) }, "0.1"},
			{"decimal digits", connectors.Dec(18, 4), "Decimal(9, 4)", func(b array.Builder) { _ = b.AppendValueFromString("100000.0000") }, "100000"},
			{"decimal scale", connectors.Dec(18, 4), "Decimal(9, 2)", func(b array.Builder) { _ = b.AppendValueFromString("1.2345") }, "1.2345"},
			{"fixed string", connectors.T(connectors.Varchar), "FixedString(3)", func(b array.Builder) { b.(*array.StringBuilder).Append("ab") }, "ab"},
			{"enum", connectors.T(connectors.Varchar), "Enum8('a' = 1)", func(b array.Builder) { b.(*array.StringBuilder).Append("b") }, "b"},
			{"null array", connectors.ListOf(connectors.T(connectors.Integer)), "", null, "NULL"},
			{"null tuple", connectors.Type{Kind: connectors.Struct, Fields: []connectors.Field{{Name: "a", Type: connectors.T(connectors.Integer)}}}, "", null, "NULL"},
			{"null in a plain type", connectors.T(connectors.Integer), "Int32", null, "NULL"},
		} {
			t.Run(c.name, func(t *testing.T) {
				cs := []connectors.Column{{Name: "id", Type: connectors.T(connectors.Integer)}, {Name: "v", Type: c.typ}}
				spec := connectors.StageSpec{Target: f.rel("t"), Columns: cs}
				spec.Options.UniqueKey = []string{"id"}
				if c.own != "" {
					spec.Options.ColumnTypes = map[string]string{"v": c.own}
				}
				b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cs))
				defer b.Release()
				for i := range 3 {
					b.Field(0).(*array.Int32Builder).Append(int32(40 + i))
					if i == 2 {
						c.value(b.Field(1))
					} else if lb, ok := b.Field(1).(*array.StructBuilder); ok {
						lb.Append(true)
						lb.FieldBuilder(0).AppendNull()
					} else if c.name == "enum" {
						b.Field(1).(*array.StringBuilder).Append("a")
					} else if c.name == "fixed string" {
						b.Field(1).(*array.StringBuilder).Append("abc")
					} else {
						b.Field(1).AppendEmptyValue()
					}
				}
				rec := b.NewRecordBatch()
				defer rec.Release()
				err := f.load(spec, rec)
				var ve *connectors.ValueError
				if !errors.As(err, &ve) {
					t.Fatalf("got %v, want a *ValueError", err)
				}
				if ve.Column != "v" || ve.Row != "id = 42" || ve.Value != c.shown || ve.Reason == "" {
					t.Errorf("%+v", *ve)
				}
				t.Log(err)
			})
		}
		if left := f.tables(); len(left) > 0 {
			t.Errorf("left in the database: %q", left)
		}
	})
}
