package duck

import (
	"encoding/hex"
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

// genType draws a type; depth bounds nesting.
func genType(depth int) *rapid.Generator[connectors.Type] {
	return rapid.Custom(func(t *rapid.T) connectors.Type {
		top := connectors.Bit
		if depth > 0 {
			top = connectors.Map
		}
		k := connectors.Kind(rapid.IntRange(int(connectors.Boolean), int(top)).Draw(t, "kind"))
		typ := connectors.T(k)
		switch k {
		case connectors.Decimal:
			typ.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
			typ.Scale = rapid.IntRange(0, typ.Precision).Draw(t, "scale")
		case connectors.List:
			typ = connectors.ListOf(genType(depth-1).Draw(t, "elem"))
		case connectors.Struct:
			for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
				typ.Fields = append(typ.Fields, connectors.Field{Name: fmt.Sprintf(`f "%d`, i), Type: genType(depth-1).Draw(t, "field")})
			}
		case connectors.Map:
			typ.Fields = []connectors.Field{{Name: "key", Type: connectors.T(connectors.BigInt)}, {Name: "value", Type: genType(depth-1).Draw(t, "value")}}
		}
		return typ
	})
}

var text = rapid.OneOf(rapid.String(), rapid.StringN(0, 13, 14), rapid.SampledFrom([]string{"", "\x00", "a\x00b", "𝄞\u0301", `'"\` + "\n\t", strings.Repeat("long ", 3000)}))

// edge prefers the ends of a range.
func edge[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](lo, hi T) *rapid.Generator[T] {
	return rapid.OneOf(rapid.SampledFrom([]T{lo, 0, 1, hi}), rapid.Custom(func(t *rapid.T) T {
		return T(rapid.Uint64().Draw(t, "bits"))
	}))
}

// fill appends n drawn values, or NULLs, to b.
func fill(t *rapid.T, b array.Builder, typ connectors.Type, n int, nulls bool) {
	for range n {
		if nulls && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			b.AppendNull()
			continue
		}
		fillOne(t, b, typ)
	}
}

func fillOne(t *rapid.T, b array.Builder, typ connectors.Type) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "v"))
	case *array.Int8Builder:
		b.Append(edge[int8](math.MinInt8, math.MaxInt8).Draw(t, "v"))
	case *array.Int16Builder:
		b.Append(edge[int16](math.MinInt16, math.MaxInt16).Draw(t, "v"))
	case *array.Int32Builder:
		b.Append(edge[int32](math.MinInt32, math.MaxInt32).Draw(t, "v"))
	case *array.Int64Builder:
		b.Append(edge[int64](math.MinInt64, math.MaxInt64).Draw(t, "v"))
	case *array.Uint8Builder:
		b.Append(edge[uint8](0, math.MaxUint8).Draw(t, "v"))
	case *array.Uint16Builder:
		b.Append(edge[uint16](0, math.MaxUint16).Draw(t, "v"))
	case *array.Uint32Builder:
		b.Append(edge[uint32](0, math.MaxUint32).Draw(t, "v"))
	case *array.Uint64Builder:
		b.Append(edge[uint64](0, math.MaxUint64).Draw(t, "v"))
	case *array.Float32Builder:
		b.Append(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))})).Draw(t, "v"))
	case *array.Float64Builder:
		b.Append(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "v"))
	case *array.Decimal128Builder:
		b.Append(genDecimal(t, typ))
	case *array.StringBuilder:
		if typ.Kind == connectors.Bit {
			b.Append(rapid.StringMatching("[01]{1,150}").Draw(t, "v"))
		} else {
			b.Append(text.Draw(t, "v"))
		}
	case *array.BinaryBuilder:
		b.Append(rapid.SliceOf(rapid.Byte()).Draw(t, "v"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(edge[int32](-math.MaxInt32, math.MaxInt32).Draw(t, "v")))
	case *array.Time64Builder:
		b.Append(arrow.Time64(rapid.Int64Range(0, 86_400_000_000).Draw(t, "v")))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(edge[int64](-math.MaxInt64, math.MaxInt64).Draw(t, "v")))
	case *array.MonthDayNanoIntervalBuilder:
		b.Append(arrow.MonthDayNanoInterval{Months: rapid.Int32().Draw(t, "m"), Days: rapid.Int32().Draw(t, "d"), Nanoseconds: rapid.Int64Range(math.MinInt64/1000, math.MaxInt64/1000).Draw(t, "us") * 1000})
	case *array.FixedSizeBinaryBuilder:
		b.Append(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v"))
	case *array.ListBuilder:
		b.Append(true)
		fill(t, b.ValueBuilder(), *typ.Elem, rapid.IntRange(0, 5).Draw(t, "len"), true)
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range typ.Fields {
			fill(t, b.FieldBuilder(i), f.Type, 1, true)
		}
	case *array.MapBuilder:
		b.Append(true)
		n := rapid.IntRange(0, 4).Draw(t, "len")
		for i := range n {
			b.KeyBuilder().(*array.Int64Builder).Append(int64(i * 7))
		}
		fill(t, b.ItemBuilder(), typ.Fields[1].Type, n, true)
	default:
		t.Fatalf("no values for %s", typ)
	}
}

func genDecimal(t *rapid.T, typ connectors.Type) decimal128.Num {
	if typ.Kind == connectors.HugeInt {
		return decimal128.New(edge[int64](math.MinInt64, math.MaxInt64).Draw(t, "hi"), edge[uint64](0, math.MaxUint64).Draw(t, "lo"))
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
	x := new(big.Int).SetUint64(edge[uint64](0, math.MaxUint64).Draw(t, "a"))
	x.Mul(x, new(big.Int).SetUint64(edge[uint64](0, math.MaxUint64).Draw(t, "b")))
	x.Sub(x, big.NewInt(rapid.Int64().Draw(t, "c")))
	if rapid.IntRange(0, 5).Draw(t, "max") == 0 {
		x.Sub(limit, big.NewInt(1))
	}
	x.Rem(x, limit)
	if rapid.Bool().Draw(t, "neg") {
		x.Neg(x)
	}
	return decimal128.FromBigInt(x)
}

// What goes into a table comes out the same, for every type, through sliced arrays and
// chunks of all sizes.
func TestRoundTrip(t *testing.T) {
	c := open(t)
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		var cols []connectors.Column
		var defs []string
		for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
			typ := genType(3).Draw(t, "type")
			cols = append(cols, connectors.Column{Name: fmt.Sprintf("c%d", i), Type: typ})
			defs = append(defs, cols[i].Name+" "+typ.String())
		}
		b := array.NewRecordBuilder(mem, connectors.ArrowSchema(cols))
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		for i, col := range cols {
			fill(t, b.Field(i), col.Type, n, rapid.Bool().Draw(t, "nulls"))
		}
		rec := b.NewRecordBatch()
		b.Release()
		cut := rapid.IntRange(0, n-1).Draw(t, "cut")
		part := rec.NewSlice(int64(cut), int64(n))

		must(t, c.Exec(bg, "CREATE OR REPLACE TABLE rt ("+strings.Join(defs, ", ")+")"))
		filled := c.Appender
		if rapid.Bool().Draw(t, "stream") {
			filled = c.Stream
		}
		a, err := filled(bg, "memory", "main", "rt", cols)
		must(t, err)
		must(t, a.Append(part))
		must(t, a.Append(rec))
		must(t, a.Close())

		var got []arrow.RecordBatch
		must(t, c.Query(bg, "SELECT * FROM rt", func(r arrow.RecordBatch) error { r.Retain(); got = append(got, r); return nil }))
		if len(got) != 1 || !got[0].Schema().Equal(connectors.ArrowSchema(cols)) {
			t.Fatalf("%d batches", len(got))
		}
		first, second := got[0].NewSlice(0, int64(n-cut)), got[0].NewSlice(int64(n-cut), int64(n-cut+n))
		for i := range cols {
			if !same(first.Column(i), part.Column(i)) || !same(second.Column(i), rec.Column(i)) {
				t.Errorf("%s\nwant %v\nand  %v\ngot  %v", defs[i], part.Column(i), rec.Column(i), got[0].Column(i))
			}
		}
		for _, r := range append(got, rec, part, first, second) {
			r.Release()
		}
		mem.AssertSize(t, 0)
	})
}

// same compares values and NULLs, and floats by their bits.
func same(a, b arrow.Array) bool {
	if a.Len() != b.Len() || a.DataType().ID() != b.DataType().ID() {
		return false
	}
	for i := range a.Len() {
		if a.IsNull(i) != b.IsNull(i) {
			return false
		}
		if a.IsValid(i) && !sameValue(a, b, i) {
			return false
		}
	}
	return true
}

func sameValue(a, b arrow.Array, i int) bool {
	switch a := a.(type) {
	case *array.Float32:
		return math.Float32bits(a.Value(i)) == math.Float32bits(b.(*array.Float32).Value(i))
	case *array.Float64:
		return math.Float64bits(a.Value(i)) == math.Float64bits(b.(*array.Float64).Value(i))
	case *array.Struct:
		for f := range a.NumField() {
			x, y := array.NewSlice(a.Field(f), int64(i), int64(i+1)), array.NewSlice(b.(*array.Struct).Field(f), int64(i), int64(i+1))
			defer x.Release()
			defer y.Release()
			if !same(x, y) {
				return false
			}
		}
		return true
	case array.ListLike:
		b := b.(array.ListLike)
		from, to := a.ValueOffsets(i)
		from2, to2 := b.ValueOffsets(i)
		x, y := array.NewSlice(a.ListValues(), from, to), array.NewSlice(b.ListValues(), from2, to2)
		defer x.Release()
		defer y.Release()
		return same(x, y)
	}
	return array.SliceEqual(a, int64(i), int64(i+1), b, int64(i), int64(i+1))
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// DuckDB's own text of each value, against the text of the value that was appended.
func TestTexts(t *testing.T) {
	c := open(t)
	for _, tt := range []struct {
		typ    connectors.Type
		values string // a JSON array as Arrow's JSON reader takes it, or built below
		want   []string
	}{
		{connectors.Dec(4, 2), `["-99.99", "0.01", null]`, []string{"-99.99", "0.01", "(null)"}},
		{connectors.Dec(9, 9), `["-0.999999999", "0.000000001"]`, []string{"-.999999999", ".000000001"}},
		{connectors.Dec(18, 0), `["-999999999999999999", "1"]`, []string{"-999999999999999999", "1"}},
		{connectors.Dec(38, 38), `["-0.99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001"]`,
			[]string{"-.99999999999999999999999999999999999999", ".00000000000000000000000000000000000001"}},
		{connectors.T(connectors.Date), `[-2147483647, 2147483647, 0, -719162, 2932896]`, []string{"-infinity", "infinity", "1970-01-01", "0001-01-01", "9999-12-31"}},
		{connectors.T(connectors.Timestamp), `[-9223372036854775807, 9223372036854775807, 1, -62135596800000000]`,
			[]string{"-infinity", "infinity", "1970-01-01 00:00:00.000001", "0001-01-01 00:00:00"}},
		{connectors.T(connectors.TimestampTZ), `[9223372036854775807, 951782399999999]`, []string{"infinity", "2000-02-28 23:59:59.999999+00"}},
		{connectors.T(connectors.TimestampNS), `[1, -1]`, []string{"1970-01-01 00:00:00.000000001", "1969-12-31 23:59:59.999999999"}},
		{connectors.T(connectors.TimeTZ), fmt.Sprintf("[%d, %d]", uint64(57599-3600), uint64(86_399_999_999)<<24|uint64(57599+57599)), []string{"00:00:00+01", "23:59:59.999999-15:59:59"}},
		{connectors.T(connectors.Bit), `["1", "00000000", "101010101"]`, []string{"1", "00000000", "101010101"}},
		{connectors.T(connectors.JSON), `["{\"a\": [1, 2.50]}"]`, []string{`{"a": [1, 2.50]}`}},
		{connectors.T(connectors.UBigInt), `[18446744073709551615]`, []string{"18446744073709551615"}},
	} {
		got := appendTexts(t, c, tt.typ, func(mem memory.Allocator) arrow.Array {
			arr, _, err := array.FromJSON(mem, jsonType(tt.typ), strings.NewReader(tt.values))
			if err != nil {
				t.Fatalf("%s: %v", tt.typ, err)
			}
			return retyped(arr, tt.typ.Arrow())
		})
		if strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("%s: got %q, want %q", tt.typ, got, tt.want)
		}
	}
}

func TestHugeIntTexts(t *testing.T) {
	c := open(t)
	got := appendTexts(t, c, connectors.T(connectors.HugeInt), func(mem memory.Allocator) arrow.Array {
		b := array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 38})
		defer b.Release()
		b.AppendValues([]decimal128.Num{decimal128.New(math.MinInt64, 0), decimal128.New(math.MaxInt64, math.MaxUint64), decimal128.FromI64(-1)}, nil)
		return b.NewArray()
	})
	want := "-170141183460469231731687303715884105728 170141183460469231731687303715884105727 -1"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// jsonType reads dates and time stamps from integers, which Arrow's reader does not.
func jsonType(t connectors.Type) arrow.DataType {
	switch t.Kind {
	case connectors.Date:
		return arrow.PrimitiveTypes.Int32
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		return arrow.PrimitiveTypes.Int64
	}
	return t.Arrow()
}

func retyped(a arrow.Array, t arrow.DataType) arrow.Array {
	defer a.Release()
	d := array.NewData(t, a.Len(), a.Data().Buffers(), nil, a.NullN(), 0)
	defer d.Release()
	return array.MakeFromData(d)
}

func appendTexts(t *testing.T, c *Conn, typ connectors.Type, build func(memory.Allocator) arrow.Array) []string {
	t.Helper()
	if err := appendOne(c, typ, build); err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return texts(t, c, "SELECT v::VARCHAR FROM one")
}

func appendOne(c *Conn, typ connectors.Type, build func(memory.Allocator) arrow.Array) error {
	cols := []connectors.Column{{Name: "v", Type: typ}}
	if err := c.Exec(bg, "CREATE OR REPLACE TABLE one (v "+typ.String()+")"); err != nil {
		return err
	}
	arr := build(memory.NewGoAllocator())
	rec := array.NewRecordBatch(connectors.ArrowSchema(cols), []arrow.Array{arr}, int64(arr.Len()))
	defer rec.Release()
	arr.Release()
	a, err := c.Appender(bg, "memory", "main", "one", cols)
	if err != nil {
		return err
	}
	err = a.Append(rec)
	err = errors.Join(err, a.Close())
	if s := streamOne(c, cols, rec); (s == nil) != (err == nil) {
		return fmt.Errorf("appended: %w; streamed: %w", err, s)
	}
	return err
}

// streamOne is appendOne by a Stream, into the same table anew.
func streamOne(c *Conn, cols []connectors.Column, rec arrow.RecordBatch) error {
	if err := c.Exec(bg, "DELETE FROM one"); err != nil {
		return err
	}
	s, err := c.Stream(bg, "memory", "main", "one", cols)
	if err != nil {
		return err
	}
	return errors.Join(s.Append(rec), s.Close())
}

// Values that no cast of DuckDB makes are refused, and what was appended before them
// in the same table does not come with them.
func TestBadValues(t *testing.T) {
	c := open(t)
	str := func(vals ...string) func(memory.Allocator) arrow.Array {
		return func(mem memory.Allocator) arrow.Array {
			b := array.NewStringBuilder(mem)
			defer b.Release()
			b.AppendValues(vals, nil)
			return b.NewArray()
		}
	}
	for name, tt := range map[string]struct {
		typ   connectors.Type
		build func(memory.Allocator) arrow.Array
		row   string
	}{
		"invalid utf-8":      {connectors.T(connectors.Varchar), str("ok", "a\xffb"), "2"},
		"character cut":      {connectors.T(connectors.Varchar), str("a\xc3", "\xa4b"), "1"},
		"continuation first": {connectors.T(connectors.JSON), str("", "\x80"), "2"},
		"no bit":             {connectors.T(connectors.Bit), str("1", ""), "2"},
		"other digit":        {connectors.T(connectors.Bit), str("012"), "1"},
		"too many digits": {connectors.Dec(4, 1), func(mem memory.Allocator) arrow.Array {
			b := array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 4, Scale: 1})
			defer b.Release()
			b.AppendValues([]decimal128.Num{decimal128.FromI64(9999), decimal128.FromI64(-10000)}, nil)
			return b.NewArray()
		}, "2"},
		"time": {connectors.T(connectors.Time), func(mem memory.Allocator) arrow.Array {
			b := array.NewTime64Builder(mem, &arrow.Time64Type{Unit: arrow.Microsecond})
			defer b.Release()
			b.AppendValues([]arrow.Time64{86_400_000_001}, nil)
			return b.NewArray()
		}, "1"},
		"interval": {connectors.T(connectors.Interval), func(mem memory.Allocator) arrow.Array {
			b := array.NewMonthDayNanoIntervalBuilder(mem)
			defer b.Release()
			b.Append(arrow.MonthDayNanoInterval{Nanoseconds: 1})
			return b.NewArray()
		}, "1"},
	} {
		err := appendOne(c, tt.typ, tt.build)
		var bad *connectors.ValueError
		if !errors.As(err, &bad) || bad.Column != "v" || bad.Row != tt.row {
			t.Errorf("%s: %v (row %+v), want row %s", name, err, bad, tt.row)
		}
		if got := texts(t, c, "SELECT count(*)::VARCHAR FROM one"); got[0] != "0" {
			t.Errorf("%s: %s rows are in the table", name, got[0])
		}
	}
}

// Readers that have no counterpart in the appender.
func TestReadOnlyTypes(t *testing.T) {
	c := open(t)
	got := texts(t, c, `SELECT e, ts, ms, l FROM (VALUES
		('b'::ENUM('a','b'), TIMESTAMP_S '9999-12-31 23:59:59', TIMESTAMP_MS '1969-12-31 23:59:59.999', [map {'x': {'q': 1}}]),
		(NULL, 'infinity', '-infinity', NULL)) t(e, ts, ms, l)`)
	want := []string{`b|9999-12-31T23:59:59|1969-12-31T23:59:59.999|[[{"key":"x","value":{"q":1}}]]`}
	if got[0] != want[0] {
		t.Errorf("got %s, want %s", got[0], want[0])
	}
	var raw []int64
	err := c.Query(bg, "SELECT 'infinity'::TIMESTAMP_S, '-infinity'::TIMESTAMP_MS", func(rec arrow.RecordBatch) error {
		for _, col := range rec.Columns() {
			raw = append(raw, int64(col.(*array.Timestamp).Value(0)))
		}
		return nil
	})
	if err != nil || raw[0] != math.MaxInt64 || raw[1] != -math.MaxInt64 {
		t.Error(raw, err)
	}
	uid := texts(t, c, "SELECT '00112233-4455-6677-8899-aabbccddeeff'::UUID")
	if want := "ABEiM0RVZneImaq7zN3u/w=="; uid[0] != want {
		t.Errorf("uuid %s, want the base64 of %s", uid[0], hex.EncodeToString([]byte(want)))
	}
	err = c.Query(bg, "SELECT to_years(300) + INTERVAL 1 DAY, (9223372036854775807::BIGINT || ' microseconds')::INTERVAL AS i", func(arrow.RecordBatch) error { return nil })
	var bad *connectors.ValueError
	if !errors.As(err, &bad) || bad.Column != "i" {
		t.Error(err)
	}
}

// The children of lists and structs must be read as DuckDB made them, also where an
// operator gives them through dictionaries or constants.
func TestNestedVectors(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE n AS SELECT i, [i, NULL, i + 1] l, {'a': i, 'b': 'text number ' || i} s, map {i: 'value number ' || i} m FROM range(5000) r(i)")
	for _, expr := range []string{
		"list_reverse(l)", "l[2:3]", "list_filter(l, x -> x % 2 = 0)", "list_transform(l, x -> 'long enough text ' || x)", "list_sort(l)", "[s, s]", "[s.b, 'a constant of some length']",
		"{'x': l, 'y': s}", "CASE WHEN i % 2 = 0 THEN s END", "CASE WHEN i % 3 = 0 THEN {'x': s, 'l': [s]} END", "map_values(m)", "map_entries(m)", "struct_insert(s, c := l)", "map_from_entries([(i, s)])", "[[i], NULL, []]",
		"string_split('constant,list,of,texts long enough', ',')", "list_distinct(l)", "flatten([l, l])", "array_agg(s) OVER (PARTITION BY i // 3)", "unnest([{'k': s}, NULL])",
	} {
		for _, from := range []string{"FROM n", "FROM n JOIN (SELECT i AS k FROM n WHERE i % 7 < 3) USING (k) WHERE i > 10", "FROM n ORDER BY hash(i)", "FROM n LIMIT 3000 OFFSET 100"} {
			from = strings.Replace(from, "USING (k)", "ON n.i = k", 1)
			// DuckDB's own text of the value as it sees it, and the same of what came out.
			exec(t, c, fmt.Sprintf("CREATE OR REPLACE TABLE want AS SELECT %s AS v, row_number() OVER () AS rn FROM (SELECT * %s)", expr, from))
			got := checksum(t, c, fmt.Sprintf("SELECT v FROM (SELECT %s AS v, row_number() OVER () AS rn FROM (SELECT * %s))", expr, from))
			want := checksum(t, c, "SELECT v FROM want")
			if got != want {
				t.Errorf("%s %s: got %s, want %s", expr, from, got, want)
			}
		}
	}
}

// checksum appends what a query streams to a table and lets DuckDB sum up its texts.
func checksum(t *testing.T, c *Conn, sql string) string {
	t.Helper()
	cols, err := c.Columns(bg, sql)
	if err != nil {
		t.Fatal(sql, err)
	}
	other, err := c.db.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	exec(t, other, "CREATE OR REPLACE TABLE sink (v "+cols[0].Type.String()+")")
	a, err := other.Stream(bg, "memory", "main", "sink", cols)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Query(bg, sql, a.Append); err != nil {
		t.Fatal(sql, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sum := "count(*) || ' ' || sum(hash(v::VARCHAR))"
	direct := texts(t, c, "SELECT "+sum+" FROM ("+sql+")")[0]
	if streamed := texts(t, c, "SELECT "+sum+" FROM sink")[0]; streamed != direct {
		return streamed + " although DuckDB says " + direct
	}
	return direct
}
