package clickhouse

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// How a LowCardinality column says where its keys are.
const (
	lowGlobalKeys = 1 << 8
	lowOwnKeys    = 1 << 9
	lowNewKeys    = 1 << 10
)

// lowCardinality reads n values of LowCardinality(elem): keys, then one index each. Of
// a nullable column key 0 stands for NULL.
func (d *decoder) lowCardinality(elem *chType, n int, want connectors.Type, nested bool) (arrow.ArrayData, error) {
	if n == 0 {
		return d.data(elem.bare(), 0, want, nil, nested)
	}
	mode, err := d.in.uint64()
	if err != nil {
		return nil, err
	}
	if mode&lowOwnKeys == 0 || mode&lowGlobalKeys != 0 {
		return nil, fmt.Errorf("LowCardinality in an unknown form (%#x)", mode)
	}
	keys, err := d.in.uint64()
	if err != nil {
		return nil, err
	}
	if keys > maxBlockRows {
		return nil, fmt.Errorf("damaged stream: %d keys", keys)
	}
	dict, err := d.data(elem.bare(), int(keys), want, nil, true)
	if err != nil {
		return nil, err
	}
	defer dict.Release()
	rows, err := d.in.uint64()
	if err != nil {
		return nil, err
	}
	if rows != uint64(n) {
		return nil, fmt.Errorf("damaged stream: %d of %d values", rows, n)
	}
	idx, err := d.indexes(n, 1<<(mode&0xff), keys)
	if err != nil {
		return nil, err
	}
	var nulls []byte
	if elem.name == "Nullable" {
		nulls = make([]byte, n)
		for i, k := range idx {
			nulls[i] = b2i(k == 0)
		}
	}
	return d.spread(dict, idx, nulls, want)
}

func (d *decoder) indexes(n, width int, keys uint64) ([]uint32, error) {
	if width > 8 {
		return nil, fmt.Errorf("damaged stream: indexes of %d bytes", width)
	}
	raw, err := d.in.more(nil, n*width)
	if err != nil {
		return nil, err
	}
	idx := make([]uint32, n)
	var b [8]byte
	for i := range idx {
		copy(b[:], raw[i*width:(i+1)*width])
		k := binary.LittleEndian.Uint64(b[:])
		if k >= keys {
			return nil, fmt.Errorf("damaged stream: key %d of %d", k, keys)
		}
		idx[i] = uint32(k)
	}
	return idx, nil
}

// spread writes out the dictionary's value for each index.
func (d *decoder) spread(dict arrow.ArrayData, idx []uint32, nulls []byte, want connectors.Type) (arrow.ArrayData, error) {
	typ := want.Arrow()
	if fw, ok := typ.(arrow.FixedWidthDataType); ok && fw.BitWidth() >= 8 {
		w := fw.BitWidth() / 8
		src := dict.Buffers()[1].Bytes()
		out := memory.NewResizableBuffer(d.alloc)
		out.Resize(w * len(idx))
		dst := out.Bytes()
		for i, k := range idx {
			copy(dst[i*w:(i+1)*w], src[int(k)*w:])
		}
		return d.build(typ, len(idx), nulls, []*memory.Buffer{out}), nil
	}
	if id := typ.ID(); id != arrow.STRING && id != arrow.BINARY {
		return nil, fmt.Errorf("LowCardinality of %s is not supported", want)
	}
	off := arrow.Int32Traits.CastFromBytes(dict.Buffers()[1].Bytes())
	src := dict.Buffers()[2].Bytes()
	b := newTextBuffer(d.alloc, len(idx))
	for i, k := range idx {
		from, to := off[k], off[k+1]
		if isNull(nulls, i) {
			to = from
		}
		if err := b.add(src[from:to]); err != nil {
			b.release()
			return nil, err
		}
	}
	return d.build(typ, len(idx), nulls, []*memory.Buffer{b.off, b.trim()}), nil
}
