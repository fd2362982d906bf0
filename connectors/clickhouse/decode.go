package clickhouse

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// decoder turns the columns of blocks into Arrow arrays.
type decoder struct {
	in    *input
	alloc memory.Allocator
	name  string // of the column being read, for errors
	first int64  // rows of the stream before this block
}

// bad is the error for the value at index i of the column. Inside nested columns the
// index is not the row's, so none is given there.
func (d *decoder) bad(i int, nested bool, value, reason string) error {
	e := &connectors.ValueError{Column: d.name, Value: connectors.Shorten(value), Reason: reason}
	if !nested {
		e.Row = fmt.Sprintf("number %d of the result", d.first+int64(i)+1)
	}
	return e
}

// prefixes reads what precedes the data of a column: only LowCardinality has anything.
func (d *decoder) prefixes(t *chType) error {
	if t.name == "LowCardinality" {
		v, err := d.in.uint64()
		if err == nil && v != 1 {
			err = fmt.Errorf("LowCardinality in an unknown form (%d)", v)
		}
		return err
	}
	for _, a := range t.args {
		if err := d.prefixes(a); err != nil {
			return err
		}
	}
	return nil
}

// column reads n values of type t as an array of want's layout.
func (d *decoder) column(t *chType, n int, want connectors.Type) (arrow.Array, error) {
	if n > 0 {
		if err := d.prefixes(t); err != nil {
			return nil, err
		}
	}
	data, err := d.data(t, n, want, nil, false)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

// data reads n values. nulls, if not nil, has one byte for each value, 1 where the
// value is NULL and what is stored in its place means nothing.
func (d *decoder) data(t *chType, n int, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	switch t.name {
	case "Nullable":
		m, err := d.in.more(nil, n)
		if err != nil {
			return nil, err
		}
		return d.data(t.args[0], n, want, m, nested)
	case "LowCardinality":
		return d.lowCardinality(t.args[0], n, want, nested)
	case "Array":
		if want.Kind != connectors.List {
			return nil, d.mismatch(t, want)
		}
		return d.list(t.args[0], n, want)
	case "Map":
		if want.Kind != connectors.Map {
			return nil, d.mismatch(t, want)
		}
		return d.mapping(t, n, want)
	case "Tuple":
		if want.Kind != connectors.Struct || len(want.Fields) != len(t.args) {
			return nil, d.mismatch(t, want)
		}
		return d.structure(t, n, want)
	}
	return d.leaf(t, n, want, nulls, nested)
}

func (d *decoder) mismatch(t *chType, want connectors.Type) error {
	return &connectors.TypeError{Column: d.name, Native: t.text, Reason: "cannot be read as " + want.String()}
}

// validity packs a byte map of NULLs into an Arrow bitmap; nil for no NULL at all.
func (d *decoder) validity(nulls []byte, n int) (*memory.Buffer, int) {
	count := 0
	for _, b := range nulls {
		count += int(b)
	}
	if count == 0 {
		return nil, 0
	}
	buf := memory.NewResizableBuffer(d.alloc)
	buf.Resize(int(bitutil.BytesForBits(int64(n))))
	bits := buf.Bytes()
	clear(bits)
	for i, b := range nulls {
		if b == 0 {
			bitutil.SetBit(bits, i)
		}
	}
	return buf, count
}

// build makes array data of its parts and gives up the references to the buffers.
func (d *decoder) build(typ arrow.DataType, n int, nulls []byte, bufs []*memory.Buffer, kids ...arrow.ArrayData) arrow.ArrayData {
	valid, count := d.validity(nulls, n)
	all := append([]*memory.Buffer{valid}, bufs...)
	data := array.NewData(typ, n, all, kids, count, 0)
	for _, b := range all {
		if b != nil {
			b.Release()
		}
	}
	for _, k := range kids {
		k.Release()
	}
	return data
}

// offsets reads the cumulative ends of n arrays as Arrow offsets.
func (d *decoder) offsets(n int) (buf *memory.Buffer, total int, err error) {
	buf = memory.NewResizableBuffer(d.alloc)
	buf.Resize(4 * (n + 1))
	off := arrow.Int32Traits.CastFromBytes(buf.Bytes())
	off[0] = 0
	for i := range n {
		end, err := d.in.uint64()
		if err == nil && (end > maxBlockRows || int32(end) < off[i]) {
			err = fmt.Errorf("damaged stream: an array that ends at %d", end)
		}
		if err != nil {
			buf.Release()
			return nil, 0, err
		}
		off[i+1] = int32(end)
	}
	return buf, int(off[n]), nil
}

func (d *decoder) list(elem *chType, n int, want connectors.Type) (arrow.ArrayData, error) {
	off, total, err := d.offsets(n)
	if err != nil {
		return nil, err
	}
	kid, err := d.data(elem, total, *want.Elem, nil, true)
	if err != nil {
		off.Release()
		return nil, err
	}
	return d.build(want.Arrow(), n, nil, []*memory.Buffer{off}, kid), nil
}

func (d *decoder) structure(t *chType, n int, want connectors.Type) (arrow.ArrayData, error) {
	kids, err := d.elements(t, n, want)
	if err != nil {
		return nil, err
	}
	return d.build(want.Arrow(), n, nil, nil, kids...), nil
}

// elements reads the columns of a tuple one after another.
func (d *decoder) elements(t *chType, n int, want connectors.Type) (kids []arrow.ArrayData, err error) {
	for i, a := range t.args {
		kid, err := d.data(a, n, want.Fields[i].Type, nil, true)
		if err != nil {
			for _, k := range kids {
				k.Release()
			}
			return nil, err
		}
		kids = append(kids, kid)
	}
	return kids, nil
}

func (d *decoder) mapping(t *chType, n int, want connectors.Type) (arrow.ArrayData, error) {
	off, total, err := d.offsets(n)
	if err != nil {
		return nil, err
	}
	kids, err := d.elements(t, total, want)
	if err != nil {
		off.Release()
		return nil, err
	}
	typ := want.Arrow().(*arrow.MapType)
	entries := d.build(typ.Elem(), total, nil, nil, kids...)
	return d.build(typ, n, nil, []*memory.Buffer{off}, entries), nil
}
