package jinja

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// JSON encodes v as json.dumps does; indent < 0 is one line with ", " and ": ".
func JSON(v Value, indent int, sortKeys bool) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = "", caught(r)
		}
	}()
	j := &jsonWriter{indent: min(indent, 1000), sortKeys: sortKeys}
	if err := j.value(v, 0); err != nil {
		return "", err
	}
	return j.String(), nil
}

type jsonWriter struct {
	strings.Builder
	walk     walk
	indent   int
	sortKeys bool
}

// line starts a new line at a level, if lines are wanted.
func (j *jsonWriter) line(level int) {
	if j.indent >= 0 {
		j.WriteByte('\n')
		j.WriteString(strings.Repeat(" ", j.indent*level))
	}
}

// comma separates items.
func (j *jsonWriter) comma(i int) {
	if i > 0 {
		j.WriteByte(',')
		if j.indent < 0 {
			j.WriteByte(' ')
		}
	}
}

func (j *jsonWriter) value(v Value, level int) error {
	j.walk.step(level)
	if j.Len() > maxText {
		return limitErr("text of more than %d bytes", maxText)
	}
	switch x := v.(type) {
	case nil:
		j.WriteString("null")
	case bool:
		j.WriteString(strconv.FormatBool(x))
	case string:
		j.str(x)
	case int64, *big.Int:
		j.WriteString(Repr(x))
	case float64:
		j.WriteString(jsonFloat(x))
	case *List:
		return j.seq(x.Items, level)
	case *Tuple:
		return j.seq(x.Items, level)
	case *Dict:
		return j.dict(x, level)
	default:
		return TypeErr("Object of type %s is not JSON serializable", TypeName(v))
	}
	return nil
}

func jsonFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return FloatRepr(x)
}

func (j *jsonWriter) seq(items []Value, level int) error {
	if len(items) == 0 {
		j.WriteString("[]")
		return nil
	}
	j.WriteByte('[')
	for i, e := range items {
		j.comma(i)
		j.line(level + 1)
		if err := j.value(e, level+1); err != nil {
			return err
		}
	}
	j.line(level)
	j.WriteByte(']')
	return nil
}

// jsonKey is the text of a dict key, which JSON wants to be a string.
func jsonKey(k Value) (string, error) {
	switch x := k.(type) {
	case string:
		return x, nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(x), nil
	case int64, *big.Int:
		return Repr(x), nil
	case float64:
		return jsonFloat(x), nil
	}
	return "", TypeErr("keys must be str, int, float, bool or None, not %s", TypeName(k))
}

func (j *jsonWriter) dict(d *Dict, level int) error {
	if d.n == 0 {
		j.WriteString("{}")
		return nil
	}
	type entry struct {
		k string
		v Value
	}
	ents := make([]entry, 0, d.n)
	for _, e := range d.ents {
		if !e.live {
			continue
		}
		k, err := jsonKey(e.k)
		if err != nil {
			return err
		}
		ents = append(ents, entry{k, e.v})
	}
	if j.sortKeys {
		slices.SortStableFunc(ents, func(a, b entry) int { return cmp.Compare(a.k, b.k) })
	}
	j.WriteByte('{')
	for i, e := range ents {
		j.comma(i)
		j.line(level + 1)
		j.str(e.k)
		j.WriteString(": ")
		if err := j.value(e.v, level+1); err != nil {
			return err
		}
	}
	j.line(level)
	j.WriteByte('}')
	return nil
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// str writes a string in ASCII.
func (j *jsonWriter) str(s string) {
	j.WriteByte('"')
	for _, r := range s {
		switch e, ok := jsonEscapes[r]; {
		case ok:
			j.WriteString(e)
		case r >= 0x20 && r <= 0x7e:
			j.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&j.Builder, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&j.Builder, `\u%04x`, r)
		}
	}
	j.WriteByte('"')
}
