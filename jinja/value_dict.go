package jinja

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// dictEntry is one entry; deleted ones stay as holes until compact.
type dictEntry struct {
	k, v Value
	live bool
}

// Dict is a Python dict: ordered by insertion, shared by reference.
type Dict struct {
	ents []dictEntry
	idx  map[any]int
	n    int
}

// NewDict makes an empty dict.
func NewDict() *Dict { return &Dict{idx: map[any]int{}} }

// The Go map keys of values that are not their own key.
type (
	tupleKey string
	noneKey  struct{}
	undefKey struct{}
)

// hashKey gives the Go map key that values equal in Python share: 1, 1.0 and True are
// one key, and all undefined values are one.
func hashKey(v Value) (any, error) {
	var w walk
	return w.hash(v, 0)
}

func (w *walk) hash(v Value, depth int) (any, error) {
	w.step(depth)
	switch x := v.(type) {
	case nil:
		return noneKey{}, nil
	case string:
		return x, nil
	case int64:
		return x, nil
	case bool:
		if x {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<62 {
			return int64(x), nil
		}
		return x, nil
	case *big.Int:
		return tupleKey("big:" + x.String()), nil
	case *Tuple:
		var sb strings.Builder
		for _, e := range x.Items {
			k, err := w.hash(e, depth+1)
			if err != nil {
				return nil, err
			}
			s := fmt.Sprintf("%T:%v", k, k)
			fmt.Fprintf(&sb, "%d:%s", len(s), s) // with its length, or ('a', 'b') could be ('a...b',)
			if sb.Len() > maxText {
				exceed("tuple is too large for a dict key")
			}
		}
		return tupleKey(sb.String()), nil
	case *Decimal:
		if n := x.number(); n != nil {
			return w.hash(n, depth)
		}
		return tupleKey("decimal:" + strings.TrimRight(x.PyStr(), "0")), nil
	case interface{ PyHash() string }:
		return tupleKey(x.PyHash()), nil
	case *Undefined:
		return undefKey{}, nil
	}
	switch v.(type) {
	case *List, *Dict, *Set:
		return nil, TypeErr("unhashable type: '%s'", TypeName(v))
	}
	if !reflect.TypeOf(v).Comparable() {
		return nil, TypeErr("unhashable type: '%s'", TypeName(v))
	}
	return v, nil
}

// Len is the number of entries.
func (d *Dict) Len() int { return d.n }

// Get looks k up; a value that cannot be a key is in no dict.
func (d *Dict) Get(k Value) (Value, bool) {
	h, err := hashKey(k)
	if err != nil {
		return nil, false
	}
	if i, ok := d.idx[h]; ok {
		return d.ents[i].v, true
	}
	return nil, false
}

// GetStr looks a string key up.
func (d *Dict) GetStr(k string) (Value, bool) {
	if i, ok := d.idx[k]; ok {
		return d.ents[i].v, true
	}
	return nil, false
}

// setStr is Set for a string, which cannot fail.
func (d *Dict) setStr(k string, v Value) {
	if i, ok := d.idx[k]; ok {
		d.ents[i].v = v
		return
	}
	d.idx[k] = len(d.ents)
	d.ents = append(d.ents, dictEntry{k, v, true})
	d.n++
}

// Set adds or replaces an entry; the only error is an unhashable key.
func (d *Dict) Set(k, v Value) error {
	h, err := hashKey(k)
	if err != nil {
		return err
	}
	if i, ok := d.idx[h]; ok {
		d.ents[i].v = v
		return nil
	}
	d.idx[h] = len(d.ents)
	d.ents = append(d.ents, dictEntry{k, v, true})
	d.n++
	return nil
}

// Del removes an entry and gives its value.
func (d *Dict) Del(k Value) (Value, bool) {
	h, err := hashKey(k)
	if err != nil {
		return nil, false
	}
	i, ok := d.idx[h]
	if !ok {
		return nil, false
	}
	v := d.ents[i].v
	d.ents[i] = dictEntry{}
	delete(d.idx, h)
	d.n--
	if len(d.ents) > 16 && d.n < len(d.ents)/2 {
		d.compact()
	}
	return v, true
}

func (d *Dict) compact() {
	ne := make([]dictEntry, 0, d.n)
	at := make([]int, len(d.ents))
	for i, e := range d.ents {
		if e.live {
			at[i] = len(ne)
			ne = append(ne, e)
		}
	}
	for h, i := range d.idx {
		d.idx[h] = at[i]
	}
	d.ents = ne
}

// Keys lists the keys in order.
func (d *Dict) Keys() []Value {
	out := make([]Value, 0, d.n)
	for _, e := range d.ents {
		if e.live {
			out = append(out, e.k)
		}
	}
	return out
}

// Each calls f for every entry in order.
func (d *Dict) Each(f func(k, v Value)) {
	for _, e := range d.ents {
		if e.live {
			f(e.k, e.v)
		}
	}
}

// Copy is a shallow copy.
func (d *Dict) Copy() *Dict {
	n := &Dict{idx: maps.Clone(d.idx), ents: slices.Clone(d.ents), n: d.n}
	n.compact()
	return n
}

// DictView is a live view: dict_keys, dict_values, dict_items.
type DictView struct {
	D    *Dict
	Kind string
}

// Items lists what the view shows now.
func (v *DictView) Items() []Value {
	out := make([]Value, 0, v.D.n)
	v.D.Each(func(k, x Value) {
		switch v.Kind {
		case "keys":
			out = append(out, k)
		case "values":
			out = append(out, x)
		default:
			out = append(out, NewTuple(k, x))
		}
	})
	return out
}
