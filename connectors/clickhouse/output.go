package clickhouse

import (
	"encoding/binary"
	"io"

	"github.com/ClickHouse/ch-go/compress"
)

// zipStep is how much goes into one compressed frame.
const zipStep = 1 << 20

// output collects a message. Large column data is passed through without a copy by
// flushing what was collected before it.
type output struct {
	w   io.Writer
	buf []byte
	zip *compress.Writer // nil: plain
}

func (o *output) byte(b byte)      { o.buf = append(o.buf, b) }
func (o *output) uvarint(v uint64) { o.buf = binary.AppendUvarint(o.buf, v) }
func (o *output) uint32(v uint32)  { o.buf = binary.LittleEndian.AppendUint32(o.buf, v) }
func (o *output) uint64(v uint64)  { o.buf = binary.LittleEndian.AppendUint64(o.buf, v) }
func (o *output) text(s string) {
	o.uvarint(uint64(len(s)))
	o.buf = append(o.buf, s...)
}

// bytes adds column data.
func (o *output) bytes(b []byte) error {
	if len(b) < 4096 {
		o.buf = append(o.buf, b...)
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	return o.send(b)
}

func (o *output) flush() error {
	b := o.buf
	o.buf = o.buf[:0]
	if len(b) == 0 {
		return nil
	}
	return o.send(b)
}

func (o *output) send(b []byte) error {
	if o.zip == nil {
		_, err := o.w.Write(b)
		return err
	}
	for len(b) > 0 {
		n := min(len(b), zipStep)
		if err := o.zip.Compress(b[:n]); err != nil {
			return err
		}
		if _, err := o.w.Write(o.zip.Data); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// blockSource gives the columns of one block to be sent.
type blockSource interface {
	size() (cols, rows int)
	column(o *output, i int) error // name, type and data
}

// emptyBlock ends the data of a statement.
type emptyBlock struct{}

func (emptyBlock) size() (int, int)          { return 0, 0 }
func (emptyBlock) column(*output, int) error { return nil }

func writeBlock(o *output, withInfo bool, b blockSource) error {
	if withInfo {
		o.byte(1)
		o.byte(0)
		o.byte(2)
		o.uint32(0xffffffff) // bucket -1
		o.byte(0)
	}
	cols, rows := b.size()
	o.uvarint(uint64(cols))
	o.uvarint(uint64(rows))
	for i := range cols {
		if err := b.column(o, i); err != nil {
			return err
		}
	}
	return o.flush()
}
