// Package chunker cuts the values of one column into ranges, so that a first load can
// move a table piece by piece. It is arithmetic alone: it asks no server, builds no SQL
// and knows no engine.
package chunker

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dvt-dev/dvt/connectors"
)

// Span is what a probe found in the rows that are to be cut.
type Span struct {
	Type        connectors.Type  // of the column
	Rows, Nulls int64            // all rows, and those where the column is NULL
	Min, Max    connectors.Value // Null when no row has a value
}

// Range is one piece. The ranges of one Cut hold each row of the span exactly once.
type Range struct {
	Nulls bool // the rows where the column is NULL, and no others
	Whole bool // all rows with a value: the span has no finite width
	// Lower <= value < Upper, or <= Upper where Closed.
	Lower, Upper connectors.Value
	Closed       bool
}

// MostRanges bounds the pieces of one load: each costs a statement and a file.
const MostRanges = 10_000

// Check reports whether a column can be cut.
func Check(c connectors.Column) error {
	if whole(c.Type.Kind) || float(c.Type.Kind) {
		return nil
	}
	native := c.Native
	if native == "" {
		native = c.Type.String()
	}
	return &connectors.TypeError{Column: c.Name, Native: native, Reason: "it cannot be cut into ranges: chunk_column must be a number, a date or a time"}
}

// whole: values of the kind are whole numbers of a unit, the last digit or the
// microsecond.
func whole(k connectors.Kind) bool {
	switch k {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt,
		connectors.Decimal, connectors.Date, connectors.Time, connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ:
		return true
	}
	return false
}

func float(k connectors.Kind) bool { return k == connectors.Float || k == connectors.Double }

// Cut makes ceil(rows/size) ranges of equal width, ascending, and one for NULLs at the
// end if there are any. There are fewer where that many values do not lie between Min and
// Max, and none for no rows.
func Cut(s Span, size int64) ([]Range, error) {
	if size < 1 {
		return nil, fmt.Errorf("chunk_size must be positive, not %d", size)
	}
	n := (s.Rows-1)/size + 1
	if s.Rows <= 0 {
		return nil, nil
	}
	if n > MostRanges {
		return nil, fmt.Errorf("chunk_size %d would cut %d rows into %d chunks: at most %d are made, so give a chunk_size of %d or more", size, s.Rows, n, MostRanges, (s.Rows-1)/MostRanges+1)
	}
	var out []Range
	switch {
	case s.Min.Null || s.Max.Null: // only NULLs
	case !finite(s.Type.Kind, s.Min) || !finite(s.Type.Kind, s.Max):
		out = append(out, Range{Whole: true})
	case float(s.Type.Kind):
		out = cutFloats(s, n)
	default:
		out = cutWhole(s, n)
	}
	if s.Nulls > 0 {
		out = append(out, Range{Nulls: true})
	}
	return out, nil
}

// finite is false for the infinities of floats, dates and time stamps and for NaN: no
// width can be divided there.
func finite(k connectors.Kind, v connectors.Value) bool {
	switch k {
	case connectors.Float, connectors.Double:
		return !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0)
	case connectors.Date:
		return v.Int.CmpAbs(big.NewInt(math.MaxInt32)) < 0
	case connectors.Timestamp, connectors.TimestampTZ:
		return v.Int.CmpAbs(big.NewInt(math.MaxInt64)) < 0
	}
	return true
}

// cutWhole divides in whole units. They may span more than 64 bits: -2^63 to 2^63-1 is
// 2^64 values.
func cutWhole(s Span, n int64) []Range {
	lo, hi := s.Min.Int, s.Max.Int
	values := new(big.Int).Sub(hi, lo)
	values.Add(values, big.NewInt(1))
	bound := func(i int64) *big.Int {
		b := new(big.Int).Mul(values, big.NewInt(i))
		return b.Add(b.Quo(b, big.NewInt(n)), lo)
	}
	var out []Range
	from := lo
	for i := int64(1); i < n; i++ {
		if to := bound(i); to.Cmp(from) > 0 {
			out = append(out, Range{Lower: value(s.Type, from), Upper: value(s.Type, to)})
			from = to
		}
	}
	return append(out, Range{Lower: value(s.Type, from), Upper: value(s.Type, hi), Closed: true})
}

// value is a bound in the form that dialects read: an integer has the type that holds it.
func value(t connectors.Type, i *big.Int) connectors.Value {
	switch t.Kind {
	case connectors.Decimal, connectors.Date, connectors.Time, connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ:
	default:
		t = connectors.T(connectors.HugeInt)
		if i.IsInt64() {
			t = connectors.T(connectors.BigInt)
		} else if i.IsUint64() {
			t = connectors.T(connectors.UBigInt)
		}
	}
	return connectors.Value{Type: t, Int: i}
}

// cutFloats weighs the two ends, for their difference may be beyond every float.
func cutFloats(s Span, n int64) []Range {
	at := func(f float64) connectors.Value { return connectors.Value{Type: s.Type, Float: f} }
	lo, hi := s.Min.Float, s.Max.Float
	var out []Range
	from := lo
	for i := int64(1); i < n; i++ {
		w := float64(i) / float64(n)
		to := lo*(1-w) + hi*w
		if s.Type.Kind == connectors.Float {
			to = float64(float32(to))
		}
		if to > from && to <= hi {
			out = append(out, Range{Lower: at(from), Upper: at(to)})
			from = to
		}
	}
	return append(out, Range{Lower: at(from), Upper: at(hi), Closed: true})
}

// Pred is the range as a predicate over column col of its relation.
func (r Range) Pred(col int) *connectors.Pred {
	if r.Nulls || r.Whole {
		return &connectors.Pred{Kind: connectors.PNull, Col: col, Neg: r.Whole}
	}
	upper := "<"
	if r.Closed {
		upper = "<="
	}
	return &connectors.Pred{Kind: connectors.PAnd, Kids: []*connectors.Pred{
		{Kind: connectors.PCmp, Col: col, Op: ">=", Vals: []connectors.Value{r.Lower}},
		{Kind: connectors.PCmp, Col: col, Op: upper, Vals: []connectors.Value{r.Upper}},
	}}
}
