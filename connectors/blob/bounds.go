package blob

import (
	"math"
	"math/big"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// class is the order in which the bounds of a column compare.
type class uint8

const (
	unknown  class = iota
	whole          // integers
	decimals       // unscaled, with bounds.scale
	days           // since 1970
	micros         // µs since 1970, without zone
	microsTZ       // µs since 1970, instants
	nanos          // ns since 1970, without zone
	floats
	doubles
	texts // by bytes
)

// bounds are what is known of a column's values in some rows: every value that is not
// NULL, and for floats not NaN either, is within. Of class unknown nothing is but the
// NULLs.
type bounds struct {
	class            class
	scale            int
	lo, hi           *big.Int
	floatLo, floatHi float64
	textLo, textHi   string
	noNulls          bool // no value is NULL
	allNulls         bool // all are
}

// classOf is the class in which DuckDB compares the values of a column.
func classOf(t connectors.Type) class {
	switch t.Kind {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		return whole
	case connectors.Decimal:
		return decimals
	case connectors.Date:
		return days
	case connectors.Timestamp:
		return micros
	case connectors.TimestampTZ:
		return microsTZ
	case connectors.TimestampNS:
		return nanos
	case connectors.Float:
		return floats
	case connectors.Double:
		return doubles
	case connectors.Varchar:
		return texts
	}
	return unknown
}

// may reports whether a row with these bounds may satisfy p. It is false only if none
// can: what it does not understand may.
func may(p *connectors.Pred, t *connectors.Table, of func(col int) bounds) bool {
	switch p.Kind {
	case connectors.PFalse:
		return false
	case connectors.PAnd:
		for _, k := range p.Kids {
			if !may(k, t, of) {
				return false
			}
		}
	case connectors.POr:
		for _, k := range p.Kids {
			if may(k, t, of) {
				return true
			}
		}
		return len(p.Kids) == 0
	case connectors.PNull:
		b := of(p.Col)
		return p.Neg && !b.allNulls || !p.Neg && !b.noNulls
	case connectors.PCmp:
		return mayCompare(p.Op, t.Columns[p.Col].Type, p.Vals[0], of(p.Col))
	case connectors.PIn:
		b := of(p.Col)
		if b.allNulls {
			return false
		}
		if p.Neg {
			return true
		}
		for _, v := range p.Vals {
			if mayCompare("=", t.Columns[p.Col].Type, v, b) {
				return true
			}
		}
		return len(p.Vals) == 0
	case connectors.PLike:
		b := of(p.Col)
		if b.allNulls {
			return false
		}
		if p.Op != "prefix" || p.Neg || b.class != texts || classOf(t.Columns[p.Col].Type) != texts || p.Vals[0].Type.Kind != connectors.Varchar {
			return true
		}
		prefix := p.Vals[0].Text
		return b.textHi >= prefix && (b.textLo <= prefix || strings.HasPrefix(b.textLo, prefix))
	}
	return true
}

// mayCompare: with lo and hi around all values, and v the constant.
func mayCompare(op string, t connectors.Type, v connectors.Value, b bounds) bool {
	if b.allNulls {
		return false
	}
	if b.class == unknown || b.class != classOf(t) || b.class != classOf(v.Type) || v.Null {
		return true
	}
	var lo, hi int // how v compares to the bounds: -1 below
	switch b.class {
	case floats, doubles:
		// NaN is greater than all, and bounds do not tell that there is one.
		if math.IsNaN(v.Float) || op == ">" || op == ">=" || op == "<>" {
			return true
		}
		lo, hi = compareFloat(v.Float, b.floatLo), compareFloat(v.Float, b.floatHi)
	case texts:
		lo, hi = strings.Compare(v.Text, b.textLo), strings.Compare(v.Text, b.textHi)
	case decimals:
		left, right := big.NewInt(1), big.NewInt(1)
		ten := big.NewInt(10)
		left.Exp(ten, big.NewInt(int64(b.scale)), nil)       // for v
		right.Exp(ten, big.NewInt(int64(v.Type.Scale)), nil) // for the bounds
		left.Mul(left, v.Int)
		lo, hi = left.Cmp(new(big.Int).Mul(right, b.lo)), left.Cmp(new(big.Int).Mul(right, b.hi))
	default:
		lo, hi = v.Int.Cmp(b.lo), v.Int.Cmp(b.hi)
	}
	switch op {
	case "=":
		return lo >= 0 && hi <= 0
	case "<":
		return lo > 0
	case "<=":
		return lo >= 0
	case ">":
		return hi < 0
	case ">=":
		return hi <= 0
	}
	return true // <> would need to know that all values are one
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
