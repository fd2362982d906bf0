package clickhouse

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// encoder collects the values of one column, or of a part of a nested one, in the
// bytes that a block carries.
type encoder struct {
	t     *chType
	nulls []byte // of a Nullable column, one byte a value
	null  bool
	data  []byte // values of a leaf, offsets of an array or map
	rows  int
	kids  []*encoder
	leaf  *leafWriter
	end   uint64            // array: elements so far
	keys  map[string]uint32 // LowCardinality: value bytes → index
	index []uint32
}

// valueFault is what is wrong with one value; the column and the row are added above.
type valueFault struct{ value, reason string }

func (e *valueFault) Error() string { return e.value + ": " + e.reason }

func fault(arr arrow.Array, i int, reason string) error {
	return &valueFault{arr.ValueStr(i), reason}
}

// newEncoder makes the encoder that writes values of typ as type t for a server.
func newEncoder(t *chType, typ connectors.Type, f *facts) (*encoder, error) {
	e := &encoder{t: t}
	in := t
	if t.name == "LowCardinality" {
		e.keys = map[string]uint32{}
		in = t.args[0]
	}
	if in.name == "Nullable" {
		e.null = true
		in = in.args[0]
	}
	var err error
	switch {
	case in.name == "Array" && typ.Kind == connectors.List:
		err = e.kid(in.args[0], *typ.Elem, f)
	case in.name == "Array" && typ.Kind == connectors.Map && in.args[0].name == "Tuple" && len(in.args[0].args) == 2:
		err = e.both(in.args[0].args, typ.Fields, f)
	case in.name == "Map" && typ.Kind == connectors.Map:
		err = e.both(in.args, typ.Fields, f)
	case in.name == "Tuple" && typ.Kind == connectors.Struct && len(in.args) == len(typ.Fields):
		err = e.both(in.args, typ.Fields, f)
	default:
		if e.leaf = newLeafWriter(in, typ, f); e.leaf == nil {
			err = fmt.Errorf("%s cannot be stored as %s", typ, t.text)
		}
	}
	if e.keys != nil && e.leaf == nil && err == nil {
		err = fmt.Errorf("%s cannot be stored as %s", typ, t.text)
	}
	e.reset()
	return e, err
}

func (e *encoder) kid(t *chType, typ connectors.Type, f *facts) error {
	k, err := newEncoder(t, typ, f)
	e.kids = append(e.kids, k)
	return err
}

func (e *encoder) both(ts []*chType, fields []connectors.Field, f *facts) error {
	for i, t := range ts {
		if err := e.kid(t, fields[i].Type, f); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) reset() {
	e.nulls, e.data, e.rows, e.end = e.nulls[:0], e.data[:0], 0, 0
	e.index = e.index[:0]
	clear(e.keys)
	if e.keys != nil && e.null {
		// Key 0 of a nullable dictionary stands for NULL. The empty map key below
		// cannot be a value's: it is only looked up by index.
		e.data = append(e.data, e.leaf.zero...)
	}
	for _, k := range e.kids {
		k.reset()
	}
}

// size is the number of bytes collected.
func (e *encoder) size() int {
	n := len(e.nulls) + len(e.data) + 4*len(e.index)
	for _, k := range e.kids {
		n += k.size()
	}
	return n
}

// add appends values from to to-1 of arr.
func (e *encoder) add(arr arrow.Array, from, to int) error {
	e.rows += to - from
	switch a := arr.(type) {
	case *array.Map:
		return e.addLists(a, from, to, func(i, j int) error {
			if err := e.kids[0].add(a.Keys(), i, j); err != nil {
				return err
			}
			return e.kids[1].add(a.Items(), i, j)
		})
	case *array.List:
		return e.addLists(a, from, to, func(i, j int) error { return e.kids[0].add(a.ListValues(), i, j) })
	case *array.Struct:
		if i := firstNull(arr, from, to); i >= 0 {
			return &valueFault{"NULL", "ClickHouse has no NULL tuple: " + insteadOfNull}
		}
		for k, kid := range e.kids {
			if err := kid.add(a.Field(k), from, to); err != nil {
				return err
			}
		}
		return nil
	}
	if e.keys != nil {
		return e.addKeys(arr, from, to)
	}
	if e.null {
		e.nulls = appendNulls(e.nulls, arr, from, to)
	} else if i := firstNull(arr, from, to); i >= 0 {
		return &valueFault{"NULL", "the target's type " + e.t.text + " has no NULL: " + insteadOfNull}
	}
	var err error
	e.data, err = e.leaf.add(e.data, arr, from, to)
	return err
}

const insteadOfNull = "use coalesce in the model, or another type in column_types"

// at is where in arr a fault of add lies, for the row that errors name: the first
// value that cannot be added alone.
func (e *encoder) at(arr arrow.Array, from, to int) int {
	for i := from; i < to; i++ {
		e.reset()
		if e.add(arr, i, i+1) != nil {
			return i
		}
	}
	return from
}

type listArray interface {
	arrow.Array
	ValueOffsets(i int) (start, end int64)
}

func (e *encoder) addLists(a listArray, from, to int, add func(i, j int) error) error {
	if i := firstNull(a, from, to); i >= 0 {
		return &valueFault{"NULL", "ClickHouse has no NULL array or map: " + insteadOfNull}
	}
	if from == to {
		return nil
	}
	first, last := a.ValueOffsets(from) // the run of elements not yet added
	for i := from; i < to; i++ {
		start, end := a.ValueOffsets(i)
		if start != last && i > from {
			if err := add(int(first), int(last)); err != nil {
				return err
			}
			first = start
		}
		e.end += uint64(end - start)
		e.data = binary.LittleEndian.AppendUint64(e.data, e.end)
		last = end
	}
	return add(int(first), int(last))
}

func firstNull(arr arrow.Array, from, to int) int {
	if arr.NullN() == 0 {
		return -1
	}
	for i := from; i < to; i++ {
		if arr.IsNull(i) {
			return i
		}
	}
	return -1
}

func appendNulls(nulls []byte, arr arrow.Array, from, to int) []byte {
	at := len(nulls)
	nulls = append(nulls, make([]byte, to-from)...)
	if arr.NullN() > 0 {
		for i := from; i < to; i++ {
			if arr.IsNull(i) {
				nulls[at+i-from] = 1
			}
		}
	}
	return nulls
}

// addKeys appends to a LowCardinality column: each value once, and its index per row.
func (e *encoder) addKeys(arr arrow.Array, from, to int) error {
	for i := from; i < to; i++ {
		if arr.IsNull(i) {
			if !e.null {
				return &valueFault{"NULL", "the target's type " + e.t.text + " has no NULL: " + insteadOfNull}
			}
			e.index = append(e.index, 0)
			continue
		}
		at := len(e.data)
		var err error
		if e.data, err = e.leaf.add(e.data, arr, i, i+1); err != nil {
			return err
		}
		k, ok := e.keys[string(e.data[at:])]
		if ok {
			e.data = e.data[:at]
		} else {
			k = uint32(len(e.keys)) + uint32(b2i(e.null))
			e.keys[string(e.data[at:])] = k
		}
		e.index = append(e.index, k)
	}
	return nil
}

// prefixes writes what precedes the data of a column.
func (e *encoder) prefixes(o *output) {
	if e.keys != nil {
		o.uint64(1)
	}
	for _, k := range e.kids {
		k.prefixes(o)
	}
}

// write writes the collected data.
func (e *encoder) write(o *output) error {
	if e.keys != nil {
		return e.writeKeys(o)
	}
	if e.null {
		if err := o.bytes(e.nulls); err != nil {
			return err
		}
	}
	if err := o.bytes(e.data); err != nil {
		return err
	}
	for _, k := range e.kids {
		if err := k.write(o); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) writeKeys(o *output) error {
	if e.rows == 0 {
		return nil
	}
	const indexes32 = 2
	o.uint64(indexes32 | lowOwnKeys | lowNewKeys)
	o.uint64(uint64(len(e.keys)) + uint64(b2i(e.null)))
	if err := o.bytes(e.data); err != nil {
		return err
	}
	o.uint64(uint64(len(e.index)))
	for _, k := range e.index {
		o.uint32(k)
	}
	return nil
}
