package clickhouse

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// textBuffer collects variable-length values in Arrow's layout.
type textBuffer struct {
	off, data *memory.Buffer
	n, used   int
}

func newTextBuffer(alloc memory.Allocator, n int) *textBuffer {
	b := &textBuffer{off: memory.NewResizableBuffer(alloc), data: memory.NewResizableBuffer(alloc)}
	b.off.Resize(4 * (n + 1))
	arrow.Int32Traits.CastFromBytes(b.off.Bytes())[0] = 0
	return b
}

// grow makes space for a value of size bytes.
func (b *textBuffer) grow(size int) error {
	end := b.used + size
	if end > 1<<31-1 {
		return fmt.Errorf("a block holds more than 2 GB of text in one column: lower max_block_size in custom_settings")
	}
	if end > b.data.Len() {
		b.data.Resize(max(end, 2*b.data.Len(), 1<<12))
	}
	return nil
}

// readAll reads n values, each after its length.
func (b *textBuffer) readAll(in *input, n int) error {
	off := arrow.Int32Traits.CastFromBytes(b.off.Bytes())
	data := b.data.Bytes()
	for i := range n {
		c, err := in.Reader.ReadByte()
		if err != nil {
			return noEOF(err)
		}
		size := int(c)
		if c >= 0x80 {
			_ = in.UnreadByte()
			if size, err = in.size(maxText); err != nil {
				return err
			}
		}
		if b.used+size > len(data) {
			if err := b.grow(size); err != nil {
				return err
			}
			data = b.data.Bytes()
		}
		v := data[b.used : b.used+size]
		if got, err := in.Read(v); err != nil && size > 0 {
			return noEOF(err)
		} else if got < size {
			if err := in.full(v[got:]); err != nil {
				return err
			}
		}
		b.used += size
		off[i+1] = int32(b.used)
	}
	b.n = n
	return nil
}

func (b *textBuffer) add(v []byte) error {
	if err := b.grow(len(v)); err != nil {
		return err
	}
	b.used += copy(b.data.Bytes()[b.used:], v)
	b.n++
	arrow.Int32Traits.CastFromBytes(b.off.Bytes())[b.n] = int32(b.used)
	return nil
}

func (b *textBuffer) value(i int) []byte {
	off := arrow.Int32Traits.CastFromBytes(b.off.Bytes())
	return b.data.Bytes()[off[i]:off[i+1]]
}

// invalid is the index of the first value that is not UTF-8, -1 if there is none.
func (b *textBuffer) invalid(nulls []byte) int {
	if b.data.Len() == 0 {
		return -1
	}
	all, off := b.data.Bytes()[:b.used], arrow.Int32Traits.CastFromBytes(b.off.Bytes())
	if utf8.Valid(all) {
		whole := true // no character lies across two values
		for _, o := range off[:b.n] {
			whole = whole && (int(o) == len(all) || utf8.RuneStart(all[o]))
		}
		if whole {
			return -1
		}
	}
	for i := range b.n {
		if !isNull(nulls, i) && !utf8.Valid(b.value(i)) {
			return i
		}
	}
	return -1
}

func (b *textBuffer) trim() *memory.Buffer {
	b.data.ResizeNoShrink(b.used)
	return b.data
}

func (b *textBuffer) release() { b.off.Release(); b.data.Release() }
