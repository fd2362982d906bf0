package chunker

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

// holds is the predicate of a range, evaluated.
func holds(t interface{ Fatalf(string, ...any) }, p *connectors.Pred, v connectors.Value) bool {
	switch p.Kind {
	case connectors.PNull:
		return v.Null != p.Neg
	case connectors.PAnd:
		for _, k := range p.Kids {
			if !holds(t, k, v) {
				return false
			}
		}
		return true
	case connectors.PCmp:
		if v.Null {
			return false
		}
		c := 0
		if b := p.Vals[0]; b.Int != nil {
			c = v.Int.Cmp(b.Int)
		} else if v.Float < b.Float {
			c = -1
		} else if v.Float > b.Float || math.IsNaN(v.Float) {
			c = 1
		}
		switch p.Op {
		case ">=":
			return c >= 0
		case "<":
			return c < 0
		case "<=":
			return c <= 0
		}
	}
	t.Fatalf("a range has no such predicate: %+v", p)
	return false
}

// tiles checks that each value is in exactly one range, in ascending order.
func tiles(t interface{ Fatalf(string, ...any) }, s Span, size int64, values []connectors.Value) []Range {
	ranges, err := Cut(s, size)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, v := range values {
		in := 0
		for _, r := range ranges {
			if holds(t, r.Pred(0), v) {
				in++
			}
		}
		if in != 1 {
			t.Fatalf("%v is in %d of %d ranges of %v to %v", v, in, len(ranges), s.Min, s.Max)
		}
	}
	want := (s.Rows + size - 1) / size
	if s.Nulls > 0 {
		want++
	}
	if int64(len(ranges)) > want {
		t.Fatalf("%d ranges for %d rows by %d", len(ranges), s.Rows, size)
	}
	for i := 1; i < len(ranges); i++ {
		a, b := ranges[i-1], ranges[i]
		if b.Nulls {
			continue
		}
		if a.Closed || a.Nulls || a.Upper.Int != nil && a.Upper.Int.Cmp(b.Lower.Int) != 0 || a.Upper.Int == nil && a.Upper.Float != b.Lower.Float {
			t.Fatalf("a gap or an overlap between %+v and %+v", a, b)
		}
	}
	return ranges
}

func integer(i int64) connectors.Value {
	return connectors.Value{Type: connectors.T(connectors.BigInt), Int: big.NewInt(i)}
}

var null = connectors.Value{Null: true}

// spanOf probes values as a source does.
func spanOf(typ connectors.Type, values []connectors.Value) Span {
	s := Span{Type: typ, Rows: int64(len(values)), Min: null, Max: null}
	for _, v := range values {
		if v.Null {
			s.Nulls++
			continue
		}
		less := func(a, b connectors.Value) bool {
			if a.Int != nil {
				return a.Int.Cmp(b.Int) < 0
			}
			return a.Float < b.Float
		}
		if s.Min.Null || less(v, s.Min) {
			s.Min = v
		}
		if s.Max.Null || less(s.Max, v) {
			s.Max = v
		}
	}
	return s
}

func TestCutTilesWholeUnits(t *testing.T) {
	types := map[string]connectors.Type{
		"integers": connectors.T(connectors.BigInt), "decimals": connectors.Dec(18, 4), "dates": connectors.T(connectors.Date),
		"time stamps": connectors.T(connectors.Timestamp), "instants": connectors.T(connectors.TimestampTZ), "times": connectors.T(connectors.Time),
	}
	for name, typ := range types {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			edge := int64(math.MaxInt64 - 1)
			if typ.Kind == connectors.Date {
				edge = math.MaxInt32 - 1
			}
			number := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64Range(-edge, edge), rapid.SampledFrom([]int64{-edge, edge, 0}))
			if typ.Kind == connectors.BigInt {
				number = rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0}))
			}
			var values []connectors.Value
			for _, n := range rapid.SliceOf(number).Draw(t, "values") {
				values = append(values, connectors.Value{Type: typ, Int: big.NewInt(n)})
			}
			for range rapid.IntRange(0, 2).Draw(t, "nulls") {
				values = append(values, null)
			}
			size := rapid.Int64Range(1, 40).Draw(t, "size")
			for _, r := range tiles(t, spanOf(typ, values), size, values) {
				if !r.Nulls && r.Lower.Int.Cmp(r.Upper.Int) >= 0 && !r.Closed {
					t.Fatalf("an empty range: %+v", r)
				}
			}
		}))
	}
}

func TestCutTilesFloats(t *testing.T) {
	for _, typ := range []connectors.Type{connectors.T(connectors.Double), connectors.T(connectors.Float)} {
		t.Run(typ.String(), rapid.MakeCheck(func(t *rapid.T) {
			number := rapid.OneOf(rapid.Float64Range(-3, 3), rapid.Float64(), rapid.SampledFrom([]float64{-math.MaxFloat64, math.MaxFloat64, 0, math.Inf(1), math.SmallestNonzeroFloat64}))
			if typ.Kind == connectors.Float {
				number = rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) })
			}
			var values []connectors.Value
			for _, n := range rapid.SliceOf(number).Draw(t, "values") {
				values = append(values, connectors.Value{Type: typ, Float: n})
			}
			tiles(t, spanOf(typ, values), rapid.Int64Range(1, 40).Draw(t, "size"), values)
		}))
	}
}

func TestCut(t *testing.T) {
	big64 := func(s string) connectors.Value {
		i, _ := new(big.Int).SetString(s, 10)
		return connectors.Value{Int: i}
	}
	day := func(s string) connectors.Value {
		at, err := time.Parse("2006-01-02", s)
		if err != nil {
			t.Fatal(err)
		}
		return connectors.Value{Int: big.NewInt(at.Unix() / 86400)}
	}
	for _, c := range []struct {
		name     string
		typ      connectors.Kind
		rows     int64
		nulls    int64
		min, max connectors.Value
		size     int64
		want     string
	}{
		{"even", connectors.BigInt, 1_500_000, 0, integer(1), integer(1_500_000), 500_000, "[1,500001) [500001,1000001) [1000001,1500000]"},
		{"one value", connectors.BigInt, 10, 0, integer(7), integer(7), 3, "[7,7]"},
		{"no rows", connectors.BigInt, 0, 0, null, null, 3, ""},
		{"only NULLs", connectors.BigInt, 5, 5, null, null, 3, "null"},
		{"NULLs beside", connectors.BigInt, 5, 1, integer(-2), integer(1), 3, "[-2,0) [0,1] null"},
		{"larger than the table", connectors.BigInt, 5, 0, integer(1), integer(9), 100, "[1,9]"},
		{"the widest", connectors.BigInt, 2, 0, integer(math.MinInt64), integer(math.MaxInt64), 1, "[-9223372036854775808,0) [0,9223372036854775807]"},
		{"unsigned", connectors.UBigInt, 2, 0, integer(0), big64("18446744073709551615"), 1, "[0,9223372036854775808) [9223372036854775808,18446744073709551615]"},
		{"sparse", connectors.HugeInt, 4, 0, big64("-170141183460469231731687303715884105727"), big64("170141183460469231731687303715884105727"), 2,
			"[-170141183460469231731687303715884105727,0) [0,170141183460469231731687303715884105727]"},
		{"days", connectors.Date, 31, 0, day("2024-01-01"), day("2024-01-31"), 16, "[19723,19738) [19738,19753]"},
		{"infinite days", connectors.Date, 31, 2, day("2024-01-01"), integer(math.MaxInt32), 16, "whole null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ranges, err := Cut(Span{Type: connectors.T(c.typ), Rows: c.rows, Nulls: c.nulls, Min: c.min, Max: c.max}, c.size)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range ranges {
				switch {
				case r.Nulls:
					got = append(got, "null")
				case r.Whole:
					got = append(got, "whole")
				default:
					end := ")"
					if r.Closed {
						end = "]"
					}
					got = append(got, "["+r.Lower.Int.String()+","+r.Upper.Int.String()+end)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestCutFloatsInfinite(t *testing.T) {
	inf := connectors.Value{Float: math.Inf(1)}
	ranges, err := Cut(Span{Type: connectors.T(connectors.Double), Rows: 9, Min: connectors.Value{}, Max: inf}, 2)
	if err != nil || len(ranges) != 1 || !ranges[0].Whole || !holds(t, ranges[0].Pred(3), inf) {
		t.Fatal(ranges, err)
	}
}

func TestCutRefuses(t *testing.T) {
	if _, err := Cut(Span{Type: connectors.T(connectors.BigInt), Rows: 1, Min: integer(1), Max: integer(1)}, 0); err == nil {
		t.Error("a chunk_size of 0 was taken")
	}
	_, err := Cut(Span{Type: connectors.T(connectors.BigInt), Rows: 1_000_000, Min: integer(1), Max: integer(1_000_000)}, 10)
	if err == nil || !strings.Contains(err.Error(), "give a chunk_size of 100 or more") {
		t.Error(err)
	}
	var te *connectors.TypeError
	if err := Check(connectors.Column{Name: "name", Native: "text", Type: connectors.T(connectors.Varchar)}); !errors.As(err, &te) ||
		err.Error() != `column "name" of type text: it cannot be cut into ranges: chunk_column must be a number, a date or a time` {
		t.Error(err)
	}
	if err := Check(connectors.Column{Name: "id", Type: connectors.T(connectors.UBigInt)}); err != nil {
		t.Error(err)
	}
}

func TestRangeText(t *testing.T) {
	at := func(typ connectors.Type, i int64) connectors.Value {
		return connectors.Value{Type: typ, Int: big.NewInt(i)}
	}
	for want, r := range map[string]Range{
		"[-5, 7)":                  {Lower: integer(-5), Upper: integer(7)},
		"[-0.0005, 1.20]":          {Lower: at(connectors.Dec(9, 4), -5), Upper: at(connectors.Dec(9, 2), 120), Closed: true},
		"[1.5, 1e+300)":            {Lower: connectors.Value{Type: connectors.T(connectors.Double), Float: 1.5}, Upper: connectors.Value{Type: connectors.T(connectors.Double), Float: 1e300}},
		"is NULL":                  {Nulls: true},
		"[1969-12-31, 1970-01-02)": {Lower: at(connectors.T(connectors.Date), -1), Upper: at(connectors.T(connectors.Date), 1)},
		"[1970-01-01 00:00:00.000001, 1970-01-01 00:00:01+00)": {Lower: at(connectors.T(connectors.Timestamp), 1), Upper: at(connectors.T(connectors.TimestampTZ), 1e6)},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
