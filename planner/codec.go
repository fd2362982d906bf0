package planner

import (
	"encoding/binary"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

// codec writes what it is shown, or reads into it: each method does both, so that what is
// written is what is read. What is shown is only read when it is written: others may be
// reading it too. Whoever adds a field to a type here adds it to its method.
// Reading anything but what was written sets bad and never fails otherwise.
type codec struct {
	writing bool
	out     []byte
	in      string
	bad     bool
	depth   int
	rels    []*Relation // the relations of the model: pointers to them are their places here
	scans   []*scan     // likewise
}

// maxDepth bounds the nesting of what is written, for reading it takes stack.
const maxDepth = 1000

func (c *codec) byte(v *byte) {
	switch {
	case c.writing:
		c.out = append(c.out, *v)
	case c.bad || len(c.in) == 0:
		c.bad = true
	default:
		*v, c.in = c.in[0], c.in[1:]
	}
}

func (c *codec) uint(v *uint64) {
	if c.writing {
		c.out = binary.AppendUvarint(c.out, *v)
		return
	}
	*v = 0
	for shift := 0; shift < 64; shift += 7 {
		var b byte
		if c.byte(&b); c.bad {
			return
		}
		*v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return
		}
	}
	c.bad = true
}

func (c *codec) int64(v *int64) {
	u := uint64(*v<<1) ^ uint64(*v>>63) // small whatever the sign
	c.uint(&u)
	if !c.writing {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

func (c *codec) int(v *int) {
	i := int64(*v)
	if c.int64(&i); !c.writing {
		*v = int(i)
	}
}

func (c *codec) bool(v *bool) {
	var b byte
	if *v {
		b = 1
	}
	if c.byte(&b); !c.writing {
		*v = b == 1
	}
}

func (c *codec) string(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	switch {
	case c.writing:
		c.out = append(c.out, *v...)
	case c.bad || n > uint64(len(c.in)):
		c.bad = true
	default:
		*v, c.in = c.in[:n], c.in[n:]
	}
}

func (c *codec) float(v *float64) {
	bits := math.Float64bits(*v)
	if c.uint(&bits); !c.writing {
		*v = math.Float64frombits(bits)
	}
}

func (c *codec) bigInt(v **big.Int) {
	sign, abs := 0, ""
	if *v != nil {
		sign, abs = 2+(*v).Sign(), string((*v).Bytes())
	}
	c.int(&sign)
	c.string(&abs)
	if c.writing || sign == 0 {
		return
	}
	if *v = new(big.Int); abs != "" {
		(*v).SetBytes([]byte(abs))
	}
	if sign == 1 {
		(*v).Neg(*v)
	}
}

// each does a list; nil stays nil.
func each[T any](c *codec, v *[]T, one func(*T)) {
	n := uint64(0)
	if *v != nil {
		n = uint64(len(*v)) + 1
	}
	c.uint(&n)
	if !c.writing {
		if c.bad || n > uint64(len(c.in))+1 { // an element takes a byte at least
			c.bad = true
			return
		}
		if n > 0 {
			*v = make([]T, n-1)
		}
	}
	c.nested(func() {
		for i := range *v {
			if c.bad {
				return
			}
			one(&(*v)[i])
		}
	})
}

// pointer does what v points to, unless v is nil.
func pointer[T any](c *codec, v **T, one func(*T)) {
	there := *v != nil
	c.bool(&there)
	if !there || c.bad {
		return
	}
	if *v == nil {
		*v = new(T)
	}
	c.nested(func() { one(*v) })
}

func (c *codec) nested(f func()) {
	if c.depth++; c.depth > maxDepth {
		c.bad = true
	} else {
		f()
	}
	c.depth--
}

// oneOf does a pointer to one of a list by its position there.
func oneOf[T any](c *codec, v **T, all []*T) {
	i := slices.Index(all, *v)
	if c.writing && i < 0 && *v != nil {
		c.bad = true
	}
	c.int(&i)
	switch {
	case c.writing || c.bad:
	case i >= len(all) || i < -1:
		c.bad = true
	case i >= 0:
		*v = all[i]
	}
}

func (c *codec) relation(v **Relation) { oneOf(c, v, c.rels) }
func (c *codec) scanRef(v **scan)      { oneOf(c, v, c.scans) }

// column does the position of a column of r.
func (c *codec) column(col *int, r *Relation) {
	c.int(col)
	if !c.writing && (r == nil || r.Table == nil || *col < 0 || *col >= len(r.Table.Columns)) {
		c.bad = true
	}
}

func (c *codec) colType(t *connectors.Type) {
	kind := byte(t.Kind)
	if c.byte(&kind); !c.writing {
		t.Kind = connectors.Kind(kind)
	}
	c.int(&t.Precision)
	c.int(&t.Scale)
	c.int(&t.Length)
	pointer(c, &t.Elem, c.colType)
	each(c, &t.Fields, func(f *connectors.Field) {
		c.string(&f.Name)
		c.colType(&f.Type)
	})
}

func (c *codec) tableColumn(v *connectors.Column) {
	c.string(&v.Name)
	c.colType(&v.Type)
	c.string(&v.Native)
	c.string(&v.Engine)
	c.bool(&v.Nullable)
	c.string(&v.Collation)
	names := slices.Sorted(maps.Keys(v.Attrs))
	each(c, &names, c.string)
	for _, name := range names {
		value := v.Attrs[name]
		c.string(&value)
		if !c.writing {
			if v.Attrs == nil {
				v.Attrs = map[string]string{}
			}
			v.Attrs[name] = value
		}
	}
}
