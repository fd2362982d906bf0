package duck

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

type allocator = memory.Allocator

// column gathers vectors of one type into the buffers of one Arrow array.
type column struct {
	layout
	name  string
	arrow arrow.DataType

	mem   allocator
	n     int // values
	nulls int
	valid *memory.Buffer // nil until the first NULL
	offs  *memory.Buffer // text, binary, lists: n+1 int32
	data  *memory.Buffer
	used  int // bytes in data (bits for Boolean are counted by n)
	last  int // room for data to begin with: what the batch before took
	kids  []*column
}

func newColumn(mem allocator, name string, l layout) *column {
	c := &column{layout: l, name: name, arrow: l.typ.Arrow(), mem: mem}
	for _, k := range l.kids {
		c.kids = append(c.kids, newColumn(mem, name, k))
	}
	return c
}

// stringT is DuckDB's string header: up to 12 bytes inside, longer ones behind a pointer.
type stringT struct {
	n   uint32
	pre [4]byte
	ptr uintptr
}

type listEntry struct{ offset, length uint64 }

func (s *stringT) bytes() []byte {
	if s.n <= 12 {
		return unsafe.Slice((*byte)(unsafe.Pointer(&s.pre)), s.n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.ptr)), s.n)
}

// slots views the memory of a vector as values of T.
func slots[T any](v vector, from, n int) []T {
	return unsafe.Slice((*T)(unsafe.Add(v.data, uintptr(from)*unsafe.Sizeof(*new(T)))), n)
}

// append takes the values from..from+n of v.
func (c *column) append(v vector, from, n int) error {
	if n == 0 {
		return nil
	}
	err := c.values(v, from, n)
	if err == nil {
		c.validity(v, from, n)
		c.n += n
	}
	return err
}

func (c *column) values(v vector, from, n int) error {
	if c.width > 0 {
		copy(c.grow(n*c.width), unsafe.Slice((*byte)(unsafe.Add(v.data, from*c.width)), n*c.width))
		return nil
	}
	switch c.id {
	case bindings.TypeVarchar, bindings.TypeBlob:
		return c.strings(v, from, n)
	case bindings.TypeBit:
		return c.bits(v, from, n)
	case bindings.TypeEnum:
		return c.enum(v, from, n)
	case bindings.TypeBoolean:
		c.booleans(slots[byte](v, from, n))
	case bindings.TypeDecimal:
		c.decimals(v, from, n)
	case bindings.TypeUUID:
		uuids(c.grow(n*16), slots[[2]uint64](v, from, n))
	case bindings.TypeInterval:
		return c.intervals(v, from, n)
	case bindings.TypeTimestampS:
		return c.scaled(v, from, n, 1_000_000)
	case bindings.TypeTimestampMS:
		return c.scaled(v, from, n, 1_000)
	case bindings.TypeStruct:
		for i, k := range c.kids {
			if err := k.append(vectorOf(bindings.StructVectorGetChild(v.handle, bindings.IdxT(i))), from, n); err != nil {
				return err
			}
		}
	case bindings.TypeList, bindings.TypeMap:
		return c.lists(v, from, n)
	default:
		panic(fmt.Sprintf("duck: no reader for type %d", c.id))
	}
	return nil
}

func (c *column) booleans(vals []byte) {
	need := int(bitutil.BytesForBits(int64(c.n + len(vals))))
	if need > c.used {
		c.grow(need - c.used)
	}
	bits := c.data.Bytes()
	for i, b := range vals {
		bitutil.SetBitTo(bits, c.n+i, b != 0)
	}
}

func (c *column) decimals(v vector, from, n int) {
	dst := c.grow(n * 16)
	put := func(i int, x int64) {
		binary.LittleEndian.PutUint64(dst[i*16:], uint64(x))
		binary.LittleEndian.PutUint64(dst[i*16+8:], uint64(x>>63))
	}
	switch c.phys {
	case bindings.TypeSmallInt:
		for i, x := range slots[int16](v, from, n) {
			put(i, int64(x))
		}
	case bindings.TypeInteger:
		for i, x := range slots[int32](v, from, n) {
			put(i, int64(x))
		}
	case bindings.TypeBigInt:
		for i, x := range slots[int64](v, from, n) {
			put(i, x)
		}
	default:
		copy(dst, slots[byte](vector{data: unsafe.Add(v.data, from*16)}, 0, n*16))
	}
}

// uuids undoes DuckDB's order: the number's top bit is flipped so that it sorts signed.
func uuids(dst []byte, src [][2]uint64) {
	for i, u := range src {
		binary.BigEndian.PutUint64(dst[i*16:], u[1]^1<<63)
		binary.BigEndian.PutUint64(dst[i*16+8:], u[0])
	}
}

type interval struct {
	months, days int32
	rest         int64 // microseconds in DuckDB, nanoseconds in Arrow
}

func (c *column) intervals(v vector, from, n int) error {
	src := slots[interval](v, from, n)
	dst := c.grow(n * 16)
	for i, x := range src {
		if x.rest > math.MaxInt64/1000 || x.rest < math.MinInt64/1000 {
			if v.isValid(from + i) {
				return c.bad(fmt.Sprintf("%d µs", x.rest), "an interval's time part is limited to 292 years: cast it to VARCHAR")
			}
			x.rest = 0
		}
		x.rest *= 1000
		*(*interval)(unsafe.Pointer(&dst[i*16])) = x
	}
	return nil
}

// scaled turns seconds or milliseconds into microseconds; the infinities stay.
func (c *column) scaled(v vector, from, n int, by int64) error {
	dst := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(c.grow(n*8)))), n)
	for i, x := range slots[int64](v, from, n) {
		switch {
		case x == math.MaxInt64 || x == -math.MaxInt64:
			dst[i] = x
		case x <= math.MaxInt64/by && x >= math.MinInt64/by:
			dst[i] = x * by
		case v.isValid(from + i):
			return c.bad(fmt.Sprint(x), "the time stamp is out of the range of TIMESTAMP")
		}
	}
	return nil
}

func (c *column) bad(value, reason string) error {
	return &connectors.ValueError{Column: c.name, Value: value, Reason: reason}
}

// validity notes which of the values are NULL. Its bitmap begins with the first NULL.
func (c *column) validity(v vector, from, n int) {
	if v.valid != nil {
		words := unsafe.Slice((*byte)(v.valid), (from+n+63)/64*8)
		if set := bitutil.CountSetBits(words, from, n); set < n {
			c.nulls += n - set
			c.bitmap(c.n + n)
			bitutil.CopyBitmap(words, from, n, c.valid.Bytes(), c.n)
			return
		}
	}
	if c.valid != nil {
		c.bitmap(c.n + n)
		bitutil.SetBitsTo(c.valid.Bytes(), int64(c.n), int64(n), true)
	}
}

func (c *column) bitmap(n int) {
	first := c.valid == nil
	extend(c.mem, &c.valid, int(bitutil.BytesForBits(int64(n))))
	if first {
		bitutil.SetBitsTo(c.valid.Bytes(), 0, int64(c.n), true)
	}
}

// grow lengthens the data by size bytes and returns them.
func (c *column) grow(size int) []byte {
	if c.data == nil && c.last > size {
		extend(c.mem, &c.data, c.last)
	}
	extend(c.mem, &c.data, c.used+size)
	c.used += size
	return c.data.Bytes()[c.used-size:]
}

// extend makes *b size bytes long, doubling its room.
func extend(mem allocator, b **memory.Buffer, size int) {
	if *b == nil {
		*b = memory.NewResizableBuffer(mem)
	}
	if size > (*b).Cap() {
		(*b).Reserve(max(size, 2*(*b).Cap()))
	}
	(*b).ResizeNoShrink(size)
}

// take hands over what has been gathered and starts anew.
func (c *column) take() arrow.ArrayData {
	if c.data == nil && len(c.kids) == 0 {
		extend(c.mem, &c.data, 0)
	}
	var bufs []*memory.Buffer
	var kids []arrow.ArrayData
	switch c.arrow.(type) {
	case *arrow.StringType, *arrow.BinaryType:
		bufs = []*memory.Buffer{c.valid, c.offsets(), c.data}
	case *arrow.ListType, *arrow.MapType:
		bufs = []*memory.Buffer{c.valid, c.offsets()}
	case *arrow.StructType:
		bufs = []*memory.Buffer{c.valid}
	default:
		bufs = []*memory.Buffer{c.valid, c.data}
	}
	for _, k := range c.kids {
		kids = append(kids, k.take())
	}
	data := array.NewData(c.arrow, c.n, bufs, kids, c.nulls, 0)
	for _, k := range kids {
		k.Release()
	}
	last := min(c.used, connectors.BatchBytes)
	if c.width == 0 {
		last += last / 16 // texts differ in length
	}
	c.release()
	c.last = last
	return data
}

// release drops the buffers.
func (c *column) release() {
	for _, b := range []*memory.Buffer{c.valid, c.offs, c.data} {
		if b != nil {
			b.Release()
		}
	}
	c.valid, c.offs, c.data = nil, nil, nil
	c.n, c.nulls, c.used = 0, 0, 0
	for _, k := range c.kids {
		k.release()
	}
}
