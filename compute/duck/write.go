package duck

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// writer puts the values of Arrow arrays into DuckDB vectors of one type.
type writer struct {
	layout
	name string
	row  int // where the value of the last error stands in the top-level array
	kids []*writer
}

func newWriter(name string, l layout) *writer {
	w := &writer{layout: l, name: name}
	for _, k := range l.kids {
		w.kids = append(w.kids, newWriter(name, k))
	}
	return w
}

// pinned keeps the memory that a chunk's strings point into in place until the chunk
// has been appended, which copies it.
type pinned struct{ p runtime.Pinner }

func (p *pinned) hold(b []byte) {
	if len(b) > 0 {
		p.p.Pin(unsafe.SliceData(b))
	}
}

func (p *pinned) release() { p.p.Unpin() }

// write puts the values from..from+n of arr at the start of v.
func (w *writer) write(v bindings.Vector, arr arrow.Array, from, n int, pins *pinned) error {
	if n == 0 {
		return nil
	}
	w.validity(v, arr, from, n)
	data := bindings.VectorGetData(v)
	if w.width > 0 {
		at := (arr.Data().Offset() + from) * w.width
		src := arr.Data().Buffers()[1].Bytes()[at : at+n*w.width]
		copy(unsafe.Slice((*byte)(data), n*w.width), src)
		return w.checkFixed(arr, from, n)
	}
	dst := vector{handle: v, data: data}
	switch a := arr.(type) {
	case *array.Boolean:
		out := slots[byte](dst, 0, n)
		for i := range out {
			out[i] = 0
			if a.Value(from + i) {
				out[i] = 1
			}
		}
	case *array.String:
		if w.id == bindings.TypeBit {
			return w.bits(dst, a, from, n, pins)
		}
		return w.strings(dst, a, from, n, pins, true)
	case *array.Binary:
		return w.strings(dst, a, from, n, pins, false)
	case *array.Decimal128:
		return w.decimals(dst, a, from, n)
	case *array.FixedSizeBinary:
		out := slots[[2]uint64](dst, 0, n)
		for i := range out {
			b := a.Value(from + i)
			out[i] = [2]uint64{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b) ^ 1<<63}
		}
	case *array.MonthDayNanoInterval:
		return w.intervals(dst, a, from, n)
	case *array.Struct:
		return w.structs(v, a, from, n, pins)
	case *array.List:
		return w.lists(dst, a, from, n, pins)
	case *array.Map:
		return w.lists(dst, a, from, n, pins)
	default:
		panic(fmt.Sprintf("duck: no writer for %s", arr.DataType()))
	}
	return nil
}

func (w *writer) validity(v bindings.Vector, arr arrow.Array, from, n int) {
	if arr.NullN() == 0 || len(arr.NullBitmapBytes()) == 0 {
		return
	}
	off := arr.Data().Offset() + from
	if bitutil.CountSetBits(arr.NullBitmapBytes(), off, n) == n {
		return
	}
	bindings.VectorEnsureValidityWritable(v)
	words := unsafe.Slice((*byte)(bindings.VectorGetValidity(v)), (n+63)/64*8)
	bitutil.CopyBitmap(arr.NullBitmapBytes(), off, n, words, 0)
}

// checkFixed refuses values that DuckDB's own casts could not have made.
func (w *writer) checkFixed(arr arrow.Array, from, n int) error {
	t, ok := arr.(*array.Time64)
	if !ok {
		return nil
	}
	const day = 86_400_000_000
	for i := from; i < from+n; i++ {
		if x := int64(t.Value(i)); (x < 0 || x > day) && t.IsValid(i) {
			return w.bad(i, fmt.Sprintf("%d µs", x), "a time of day lies between 00:00:00 and 24:00:00")
		}
	}
	return nil
}

func (w *writer) decimals(dst vector, a *array.Decimal128, from, n int) error {
	limit := pow10[w.typ.Precision]
	for i := range n {
		x := a.Value(from + i)
		mag := x.Abs()
		if a.IsValid(from+i) && (mag.Sign() < 0 || !mag.Less(limit)) { // the least number has no magnitude
			return w.bad(from+i, x.ToString(int32(w.typ.Scale)), fmt.Sprintf("it has more digits than %s holds", w.typ))
		}
		lo := x.LowBits()
		switch w.phys {
		case bindings.TypeSmallInt:
			slots[int16](dst, i, 1)[0] = int16(lo)
		case bindings.TypeInteger:
			slots[int32](dst, i, 1)[0] = int32(lo)
		case bindings.TypeBigInt:
			slots[int64](dst, i, 1)[0] = int64(lo)
		default:
			slots[[2]uint64](dst, i, 1)[0] = [2]uint64{lo, uint64(x.HighBits())}
		}
	}
	return nil
}

func (w *writer) intervals(dst vector, a *array.MonthDayNanoInterval, from, n int) error {
	out := slots[interval](dst, 0, n)
	for i := range out {
		x := a.Value(from + i)
		if x.Nanoseconds%1000 != 0 && a.IsValid(from+i) {
			return w.bad(from+i, fmt.Sprintf("%d ns", x.Nanoseconds), "intervals are exact to the microsecond")
		}
		out[i] = interval{months: x.Months, days: x.Days, rest: x.Nanoseconds / 1000}
	}
	return nil
}

func (w *writer) bad(row int, value, reason string) error {
	w.row = row
	return &connectors.ValueError{Column: w.name, Value: connectors.Shorten(value), Reason: reason}
}
