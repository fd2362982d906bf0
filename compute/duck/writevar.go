package duck

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// pow10 are the first numbers that a decimal of so many digits does not hold.
var pow10 = func() (p [39]decimal128.Num) {
	p[0] = decimal128.FromU64(1)
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1].Mul(decimal128.FromU64(10))
	}
	return p
}()

// strings points the vector's headers into the array's own memory: no copy is made
// before DuckDB's.
func (w *writer) strings(dst vector, a arrow.Array, from, n int, pins *pinned, text bool) error {
	buf, bounds := varBuffers(a, from, n)
	pins.hold(buf)
	if text && !utf8.Valid(buf[bounds[0]:bounds[n]]) {
		return w.findInvalid(a, buf, bounds, from)
	}
	nulls := a.NullN() > 0
	out := slots[stringT](dst, 0, n)
	for i := range out {
		b := buf[bounds[i]:bounds[i+1]]
		if nulls && a.IsNull(from+i) {
			b = nil
		}
		// The whole is valid UTF-8; a value that begins inside a character is not.
		if text && len(b) > 0 && b[0]&0xC0 == 0x80 {
			return w.findInvalid(a, buf, bounds, from)
		}
		out[i].set(b)
	}
	return nil
}

// varBuffers are the bytes of a and the n+1 bounds of the values from..from+n in them.
func varBuffers(a arrow.Array, from, n int) (buf []byte, bounds []int32) {
	bufs := a.Data().Buffers()
	if bufs[2] != nil {
		buf = bufs[2].Bytes()
	}
	if bufs[1] == nil || bufs[1].Len() == 0 {
		return buf, make([]int32, n+1)
	}
	all := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(bufs[1].Bytes()))), bufs[1].Len()/4)
	return buf, all[a.Data().Offset()+from:][:n+1]
}

// findInvalid names the value whose bytes are no UTF-8. Bytes of NULLs do not count:
// when only they are wrong, the array is refused all the same, for a source that makes
// such batches is broken.
func (w *writer) findInvalid(a arrow.Array, buf []byte, bounds []int32, from int) error {
	for i := range len(bounds) - 1 {
		if b := buf[bounds[i]:bounds[i+1]]; !utf8.Valid(b) {
			return w.bad(from+i, fmt.Sprintf("%q", b[:min(len(b), 60)]), "the text is not valid UTF-8: read it as a BLOB")
		}
	}
	return w.bad(from, "", "the text is not valid UTF-8")
}

func (s *stringT) set(b []byte) {
	s.n = uint32(len(b))
	if len(b) <= 12 {
		in := (*[12]byte)(unsafe.Pointer(&s.pre))
		*in = [12]byte{}
		copy(in[:], b)
		return
	}
	s.pre = [4]byte(b)
	s.ptr = uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// bits packs digits into DuckDB's bit strings: a byte that counts the bits to skip,
// then the bits, the skipped ones set.
func (w *writer) bits(dst vector, a *array.String, from, n int, pins *pinned) error {
	size := 0
	for i := from; i < from+n; i++ {
		size += 1 + (a.ValueLen(i)+7)/8
	}
	packed := make([]byte, 0, size)
	pins.hold(packed[:size])
	out := slots[stringT](dst, 0, n)
	for i := range out {
		out[i].set(nil)
		if a.IsNull(from + i) {
			continue
		}
		text := a.Value(from + i)
		if text == "" {
			return w.bad(from+i, "''", "a bit string has at least one bit")
		}
		start, skip := len(packed), (8-len(text)%8)%8
		packed = append(packed, byte(skip))
		packed = packed[:start+1+(len(text)+7)/8]
		body := packed[start+1:]
		clear(body)
		body[0] = ^byte(0xFF >> skip)
		for j := range len(text) {
			switch bit := j + skip; text[j] {
			case '1':
				body[bit/8] |= 0x80 >> (bit % 8)
			case '0':
			default:
				return w.bad(from+i, text, "a bit string has the digits 0 and 1 only")
			}
		}
		out[i].set(packed[start:])
	}
	return nil
}

func (w *writer) structs(v bindings.Vector, a *array.Struct, from, n int, pins *pinned) error {
	for i, k := range w.kids {
		child := bindings.StructVectorGetChild(v, bindings.IdxT(i))
		if err := k.write(child, a.Field(i), from, n, pins); err != nil {
			w.row = k.row
			return err
		}
		if a.NullN() > 0 {
			k.nullUnder(child, a, from, n)
		}
	}
	return nil
}

// nullUnder makes the fields of a NULL struct NULL, as DuckDB expects: it reads a field
// without looking at the struct.
func (w *writer) nullUnder(v bindings.Vector, parent arrow.Array, from, n int) {
	bindings.VectorEnsureValidityWritable(v)
	words := bindings.VectorGetValidity(v)
	for i := range n {
		if parent.IsNull(from + i) {
			*(*uint64)(unsafe.Add(words, i/64*8)) &^= 1 << (i % 64)
		}
	}
	if w.id == bindings.TypeStruct {
		for i, k := range w.kids {
			k.nullUnder(bindings.StructVectorGetChild(v, bindings.IdxT(i)), parent, from, n)
		}
	}
}

// lists writes lists, and maps as lists of entries.
func (w *writer) lists(dst vector, a array.ListLike, from, n int, pins *pinned) error {
	first, _ := a.ValueOffsets(from)
	_, last := a.ValueOffsets(from + n - 1)
	out := slots[listEntry](dst, 0, n)
	for i := range out {
		start, end := a.ValueOffsets(from + i)
		out[i] = listEntry{offset: uint64(start - first), length: uint64(end - start)}
	}
	count := int(last - first)
	if bindings.ListVectorReserve(dst.handle, bindings.IdxT(count)) == bindings.StateError ||
		bindings.ListVectorSetSize(dst.handle, bindings.IdxT(count)) == bindings.StateError {
		return fmt.Errorf("appending column %q: no memory for %d list elements", w.name, count)
	}
	child := bindings.ListVectorGetChild(dst.handle)
	if err := w.kids[0].write(child, a.ListValues(), int(first), count, pins); err != nil {
		w.row = from // some row of this chunk
		for i := range n {
			if _, end := a.ValueOffsets(from + i); int64(w.kids[0].row) < end {
				w.row = from + i
				break
			}
		}
		return err
	}
	return nil
}
