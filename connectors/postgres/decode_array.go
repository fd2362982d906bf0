package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// decodeArray reads arrays whose number of dimensions is the nesting of t. PostgreSQL
// does not hold values to the dimensions that the column declares, so each is checked.
func decodeArray(b array.Builder, t connectors.Type, elem uint32, checkUTF8 bool) (func([]byte) error, error) {
	var lists []*array.ListBuilder
	for t.Kind == connectors.List {
		list := b.(*array.ListBuilder)
		lists = append(lists, list)
		b, t = list.ValueBuilder(), *t.Elem
	}
	value, err := valueDecoder(b, t, elem, checkUTF8)
	if err != nil {
		return nil, err
	}
	a := &arrayDecoder{lists: lists, leaf: columnDecoder{value, b.AppendNull}, elem: elem}
	return a.decode, nil
}

type arrayDecoder struct {
	lists []*array.ListBuilder // outermost first
	leaf  columnDecoder
	elem  uint32
	sizes []int
	rest  []byte
}

func (a *arrayDecoder) decode(v []byte) error {
	if len(v) < 12 {
		return errLength
	}
	dims, elem := int(be32(v)), binary.BigEndian.Uint32(v[8:])
	v = v[12:]
	if dims == 0 {
		a.lists[0].Append(true) // '{}' has no dimension at all
		return nil
	}
	if elem != a.elem || dims < 0 || len(v) < 8*dims {
		return errBroken
	}
	if dims != len(a.lists) {
		return &badValue{fmt.Sprintf("an array of %d dimensions", dims), fmt.Sprintf(
			"the column declares %d: select the array in the shape you need in a view", len(a.lists))}
	}
	a.sizes = a.sizes[:0]
	for i := range dims {
		if lower := be32(v[8*i+4:]); lower != 1 {
			return &badValue{fmt.Sprintf("an array that starts at index %d", lower),
				"lists start at 1: select the array renumbered, as array[…], in a view"}
		}
		a.sizes = append(a.sizes, int(be32(v[8*i:])))
	}
	a.rest = v[8*dims:]
	if err := a.level(0); err != nil {
		return err
	}
	if len(a.rest) != 0 {
		return errBroken
	}
	return nil
}

// level appends one list of dimension n and all below it.
func (a *arrayDecoder) level(n int) error {
	a.lists[n].Append(true)
	for range a.sizes[n] {
		if n+1 < len(a.lists) {
			if err := a.level(n + 1); err != nil {
				return err
			}
			continue
		}
		if len(a.rest) < 4 {
			return errBroken
		}
		size := int(be32(a.rest))
		a.rest = a.rest[4:]
		if size < 0 {
			a.leaf.null()
			continue
		}
		if size > len(a.rest) {
			return errBroken
		}
		if err := a.leaf.value(a.rest[:size]); err != nil {
			return err
		}
		a.rest = a.rest[size:]
	}
	return nil
}
