package duck

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// offsets are the n+1 bounds of text, binary and list values; room for n more is made
// by more.
func (c *column) offsets() *memory.Buffer {
	if c.offs == nil {
		c.more(0)
	}
	return c.offs
}

func (c *column) more(n int) (bounds []int32) {
	first := c.offs == nil
	extend(c.mem, &c.offs, (c.n+n+1)*4)
	all := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(c.offs.Bytes()))), c.n+n+1)
	if first {
		all[0] = 0
	}
	return all[c.n+1:]
}

func (c *column) strings(v vector, from, n int) error {
	src := slots[stringT](v, from, n)
	size := 0
	for i := range src {
		if v.isValid(from + i) {
			size += int(src[i].n)
		}
	}
	if c.used+size > math.MaxInt32 {
		return c.bad(fmt.Sprintf("of %d bytes", size), "values over 2 GB are not carried")
	}
	bounds := c.more(n)
	at := c.used
	dst := c.grow(size)
	for i := range src {
		if v.isValid(from + i) {
			k := copy(dst, src[i].bytes())
			dst = dst[k:]
			at += k
		}
		bounds[i] = int32(at)
	}
	return nil
}

func (c *column) enum(v vector, from, n int) error {
	at := func(i int) int { return int(slots[uint8](v, from, n)[i]) }
	switch c.phys {
	case bindings.TypeUSmallInt:
		at = func(i int) int { return int(slots[uint16](v, from, n)[i]) }
	case bindings.TypeUInteger:
		at = func(i int) int { return int(slots[uint32](v, from, n)[i]) }
	}
	bounds := c.more(n)
	for i := range n {
		if v.isValid(from + i) {
			text := c.dict[at(i)]
			copy(c.grow(len(text)), text)
		}
		bounds[i] = int32(c.used)
	}
	return nil
}

// bits spells a bit string in digits. Its first byte is the number of bits to skip.
func (c *column) bits(v vector, from, n int) error {
	src := slots[stringT](v, from, n)
	bounds := c.more(n)
	for i := range src {
		if v.isValid(from + i) {
			raw := src[i].bytes()
			skip, body := int(raw[0]), raw[1:]
			text := c.grow(len(body)*8 - skip)
			for j := range text {
				bit := j + skip
				text[j] = '0' + body[bit/8]>>(7-bit%8)&1
			}
		}
		bounds[i] = int32(c.used)
	}
	return nil
}

// lists takes the elements of lists, and the entries of maps, row by row unless they
// lie in order without gaps.
func (c *column) lists(v vector, from, n int) error {
	entries := slots[listEntry](v, from, n)
	child := vectorOf(bindings.ListVectorGetChild(v.handle))
	bounds := c.more(n)
	kid := c.kids[0]
	start, count := 0, 0 // elements of the child not taken yet
	for i, e := range entries {
		if v.isValid(from+i) && e.length > 0 {
			if int(e.offset) != start+count {
				if err := kid.append(child, start, count); err != nil {
					return err
				}
				start, count = int(e.offset), 0
			}
			count += int(e.length)
		}
		if kid.n+count > math.MaxInt32 {
			return c.bad("a list", "lists with over 2 billion elements are not carried")
		}
		bounds[i] = int32(kid.n + count)
	}
	return kid.append(child, start, count)
}

// size estimates the bytes that the values from..from+n of v take.
func (c *column) size(v vector, from, n int) int {
	switch c.id {
	case bindings.TypeVarchar, bindings.TypeBlob, bindings.TypeBit:
		total := 4 * n
		for i := range slots[stringT](v, from, n) {
			if v.isValid(from + i) {
				total += int(slots[stringT](v, from, n)[i].n)
			}
		}
		if c.id == bindings.TypeBit {
			total *= 8
		}
		return total
	case bindings.TypeStruct:
		total := 0
		for i, k := range c.kids {
			total += k.size(vectorOf(bindings.StructVectorGetChild(v.handle, bindings.IdxT(i))), from, n)
		}
		return total
	case bindings.TypeList, bindings.TypeMap:
		child := vectorOf(bindings.ListVectorGetChild(v.handle))
		total := 4 * n
		for i, e := range slots[listEntry](v, from, n) {
			if v.isValid(from+i) && e.length > 0 {
				total += c.kids[0].size(child, int(e.offset), int(e.length))
			}
		}
		return total
	}
	return 16 * n
}

// held is the bytes gathered so far.
func (c *column) held() int {
	total := c.used + 4*c.n
	for _, k := range c.kids {
		total += k.held()
	}
	return total
}
