package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// JSON encodes v; indent < 0 is one line with ", " and ": ".
func JSON(v Value, indent int, sortKeys bool) (string, error) {
	var sb strings.Builder
	err := jsonOut(&sb, v, indent, 0, sortKeys)
	return sb.String(), err
}

func jsonOut(sb *strings.Builder, v Value, indent, level int, sortKeys bool) error {
	nl := func(l int) {
		if indent >= 0 {
			sb.WriteByte('\n')
			sb.WriteString(strings.Repeat(" ", indent*l))
		}
	}
	seq := func(items []Value) error {
		if len(items) == 0 {
			sb.WriteString("[]")
			return nil
		}
		sb.WriteByte('[')
		for i, e := range items {
			if i > 0 {
				sb.WriteByte(',')
				if indent < 0 {
					sb.WriteByte(' ')
				}
			}
			nl(level + 1)
			if err := jsonOut(sb, e, indent, level+1, sortKeys); err != nil {
				return err
			}
		}
		nl(level)
		sb.WriteByte(']')
		return nil
	}
	switch x := v.(type) {
	case nil:
		sb.WriteString("null")
	case bool:
		sb.WriteString(strconv.FormatBool(x))
	case string:
		jsonStr(sb, x)
	case int64, *big.Int:
		sb.WriteString(Repr(x))
	case float64:
		switch {
		case math.IsNaN(x):
			sb.WriteString("NaN")
		case math.IsInf(x, 1):
			sb.WriteString("Infinity")
		case math.IsInf(x, -1):
			sb.WriteString("-Infinity")
		default:
			sb.WriteString(FloatRepr(x))
		}
	case *List:
		return seq(x.Items)
	case *Tuple:
		return seq(x.Items)
	case *Dict:
		if x.n == 0 {
			sb.WriteString("{}")
			return nil
		}
		type kv struct {
			k string
			v Value
		}
		var ents []kv
		var bad error
		x.Each(func(k, e Value) {
			switch y := k.(type) {
			case string:
				ents = append(ents, kv{y, e})
			case nil:
				ents = append(ents, kv{"null", e})
			case bool:
				ents = append(ents, kv{strconv.FormatBool(y), e})
			case int64, float64, *big.Int:
				ents = append(ents, kv{Repr(y), e})
			default:
				bad = TypeErr("keys must be str, int, float, bool or None, not %s", TypeName(k))
			}
		})
		if bad != nil {
			return bad
		}
		if sortKeys {
			for i := 1; i < len(ents); i++ {
				for j := i; j > 0 && ents[j].k < ents[j-1].k; j-- {
					ents[j], ents[j-1] = ents[j-1], ents[j]
				}
			}
		}
		sb.WriteByte('{')
		for i, e := range ents {
			if i > 0 {
				sb.WriteByte(',')
				if indent < 0 {
					sb.WriteByte(' ')
				}
			}
			nl(level + 1)
			jsonStr(sb, e.k)
			sb.WriteString(": ")
			if err := jsonOut(sb, e.v, indent, level+1, sortKeys); err != nil {
				return err
			}
		}
		nl(level)
		sb.WriteByte('}')
	default:
		return TypeErr("Object of type %s is not JSON serializable", TypeName(v))
	}
	return nil
}

func jsonStr(sb *strings.Builder, s string) {
	sb.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			sb.WriteByte('\\')
			sb.WriteRune(r)
		case r == '\n':
			sb.WriteString(`\n`)
		case r == '\r':
			sb.WriteString(`\r`)
		case r == '\t':
			sb.WriteString(`\t`)
		case r == '\b':
			sb.WriteString(`\b`)
		case r == '\f':
			sb.WriteString(`\f`)
		case r < 0x20 || r > 0x7e:
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(sb, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
			} else {
				fmt.Fprintf(sb, `\u%04x`, r)
			}
		default:
			sb.WriteRune(r)
		}
	}
	sb.WriteByte('"')
}
