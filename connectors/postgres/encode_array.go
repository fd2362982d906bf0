package postgres

import (
	"encoding/binary"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// arrayEncoder stores lists as arrays, nested ones as arrays of as many dimensions.
func arrayEncoder(t connectors.Type, info typeInfo, stripNUL bool) binder {
	depth := 0
	for t.Kind == connectors.List {
		t, depth = *t.Elem, depth+1
	}
	elem := info
	elem.oid, elem.elem, elem.sent = info.elem, 0, 0
	bind := binaryEncoder(t, elem, stripNUL)
	if bind == nil || t.Kind == connectors.Struct || t.Kind == connectors.Map {
		return nil
	}
	return func(a arrow.Array) appendFunc {
		w := &arrayWriter{elem: info.sent}
		for range depth {
			list := a.(*array.List)
			w.lists, a = append(w.lists, list), list.ListValues()
		}
		w.leaf, w.value = a, bind(a)
		return w.append
	}
}

type arrayWriter struct {
	lists []*array.List
	leaf  arrow.Array
	value appendFunc
	elem  uint32
	sizes []int
}

func (w *arrayWriter) append(b []byte, row int) ([]byte, error) {
	w.sizes = w.sizes[:0]
	lo, hi := w.lists[0].ValueOffsets(row)
	if err := w.shape(0, int(lo), int(hi)); err != nil {
		return b, err
	}
	dims := len(w.lists)
	if w.sizes[len(w.sizes)-1] == 0 {
		// PostgreSQL has one empty array, without dimensions: [[]] would come back as [].
		if len(w.sizes) > 1 {
			return b, &badValue{"a list of empty lists", "PostgreSQL has no array for it"}
		}
		dims = 0
	}
	b = binary.BigEndian.AppendUint32(b, uint32(dims))
	flags := len(b) + 3
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, w.elem)
	for i := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(w.sizes[i]))
		b = binary.BigEndian.AppendUint32(b, 1)
	}
	if dims == 0 {
		return b, nil
	}
	// No list of the deeper levels is NULL, so the elements lie side by side.
	for _, list := range w.lists[1:] {
		first, _ := list.ValueOffsets(int(lo))
		_, last := list.ValueOffsets(int(hi) - 1)
		lo, hi = first, last
	}
	var err error
	for i := int(lo); i < int(hi); i++ {
		if w.leaf.IsNull(i) {
			b[flags] = 1
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(b)
		if b, err = w.value(append(b, 0, 0, 0, 0), i); err != nil {
			return b, err
		}
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	return b, nil
}

// shape finds the size of each dimension and that all lists of one level agree on it.
func (w *arrayWriter) shape(level, lo, hi int) error {
	n := hi - lo
	if level == len(w.sizes) {
		w.sizes = append(w.sizes, n)
	} else if w.sizes[level] != n {
		return &badValue{"lists of " + strconv.Itoa(w.sizes[level]) + " and of " + strconv.Itoa(n) + " elements side by side",
			"PostgreSQL's arrays are rectangular"}
	}
	if level+1 == len(w.lists) {
		return nil
	}
	next := w.lists[level+1]
	for i := lo; i < hi; i++ {
		if next.IsNull(i) {
			return &badValue{"a NULL list inside a list", "PostgreSQL's arrays have NULL elements only"}
		}
		l, h := next.ValueOffsets(i)
		if err := w.shape(level+1, int(l), int(h)); err != nil {
			return err
		}
	}
	return nil
}
