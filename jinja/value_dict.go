package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

type dictEntry struct {
	k, v Value
	live bool
}

type Dict struct {
	ents []dictEntry
	idx  map[any]int
	n    int
}

func NewDict() *Dict { return &Dict{idx: map[any]int{}} }

type tupleKey string

type noneKey struct{}

type undefKey struct{}

func hashKey(v Value) (any, error) {
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
			k, err := hashKey(e)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&sb, "%T:%v\x00", k, k)
		}
		return tupleKey(sb.String()), nil
	case interface{ PyHash() string }:
		return tupleKey(x.PyHash()), nil
	case *Undefined:
		return undefKey{}, nil
	case *List, *Dict, *Set:
		return nil, TypeErr("unhashable type: '%s'", TypeName(v))
	}
	return v, nil
}

func (d *Dict) Len() int { return d.n }

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

func (d *Dict) GetStr(k string) (Value, bool) {
	if i, ok := d.idx[k]; ok {
		return d.ents[i].v, true
	}
	return nil, false
}

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
	for _, e := range d.ents {
		if e.live {
			h, _ := hashKey(e.k)
			d.idx[h] = len(ne)
			ne = append(ne, e)
		}
	}
	d.ents = ne
}

func (d *Dict) Keys() []Value {
	out := make([]Value, 0, d.n)
	for _, e := range d.ents {
		if e.live {
			out = append(out, e.k)
		}
	}
	return out
}

func (d *Dict) Each(f func(k, v Value)) {
	for _, e := range d.ents {
		if e.live {
			f(e.k, e.v)
		}
	}
}

func (d *Dict) Copy() *Dict {
	n := NewDict()
	d.Each(func(k, v Value) { n.Set(k, v) })
	return n
}

// DictView is a live view: dict_keys, dict_values, dict_items.
type DictView struct {
	D    *Dict
	Kind string
}

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
