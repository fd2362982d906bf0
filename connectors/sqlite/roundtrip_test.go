package sqlite

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

// What is written reads back the same, for values of every size.
func TestRoundTripProperty(t *testing.T) {
	c := newConn(t)
	rapid.Check(t, func(rt *rapid.T) {
		short := rapid.IntRange(0, 15).Draw(rt, "scale")
		long := rapid.IntRange(0, 38).Draw(rt, "long scale")
		cols := []connectors.Column{
			{Name: "i", Type: connectors.T(connectors.BigInt)},
			{Name: "f", Type: connectors.T(connectors.Double)},
			{Name: "short", Type: connectors.Dec(15, short)},
			{Name: "long", Type: connectors.Dec(38, long)},
			{Name: "d", Type: connectors.T(connectors.Date)},
			{Name: "ts", Type: connectors.T(connectors.Timestamp)},
			{Name: "tz", Type: connectors.T(connectors.TimestampTZ)},
			{Name: "tm", Type: connectors.T(connectors.Time)},
			{Name: "s", Type: connectors.T(connectors.Varchar)},
			{Name: "b", Type: connectors.T(connectors.Blob)},
		}
		digits := func(n int) *rapid.Generator[decimal128.Num] {
			return rapid.Custom(func(rt *rapid.T) decimal128.Num {
				size := rapid.IntRange(0, n).Draw(rt, "digits")
				v := new(big.Int)
				for range size {
					v.Add(v.Mul(v, big.NewInt(10)), big.NewInt(int64(rapid.IntRange(0, 9).Draw(rt, "digit"))))
				}
				if rapid.Bool().Draw(rt, "negative") {
					v.Neg(v)
				}
				return decimal128.FromBigInt(v)
			})
		}
		float := rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) && (f != 0 || !math.Signbit(f)) })
		moment := rapid.Int64Range(minDay*day, (maxDay+1)*day-1)
		var data [][]any
		for range rapid.IntRange(1, 30).Draw(rt, "rows") {
			data = append(data, []any{
				new(big.Int).SetInt64(rapid.Int64().Draw(rt, "i")).String(), float.Draw(rt, "f"), digits(15).Draw(rt, "short"), digits(38).Draw(rt, "long"),
				arrow.Date32(rapid.Int32Range(minDay, maxDay).Draw(rt, "d")), arrow.Timestamp(moment.Draw(rt, "ts")), arrow.Timestamp(moment.Draw(rt, "tz")),
				arrow.Time64(rapid.Int64Range(0, day-1).Draw(rt, "tm")), rapid.StringN(0, 20, -1).Draw(rt, "s") + "", rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "b"),
			})
		}
		rec := record(t, cols, data...)
		defer rec.Release()
		if err := load(t, c, "t", cols, connectors.TargetOptions{}, rec); err != nil {
			rt.Fatal(err)
		}
		got, err := rows(t, c, describe(t, c, "t"))
		if err != nil {
			rt.Fatal(err)
		}
		var want []string
		for r := range int(rec.NumRows()) {
			line := ""
			for i, col := range rec.Columns() {
				if i > 0 {
					line += "|"
				}
				line += textOf(col, r)
			}
			want = append(want, line)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("read %q\nwant %q", got, want)
		}
	})
}
