package jinja

import (
	"fmt"
	"math"
)

func filterAbs(_ *State, v Value, a Args) (Value, error) {
	if _, ok := v.(*Decimal); !ok && !isNum(v) {
		return nil, TypeErr("bad operand type for abs(): '%s'", TypeName(v))
	}
	if c, _ := Compare("<", v, int64(0)); c < 0 {
		return unary("-", v)
	}
	return unary("+", v)
}

func filterInt(v Value, b Bound) (Value, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.Err()
	}
	return toInt(v, b.Or("default", int64(0)), int(optInt(b, "base", 10))), nil
}

func filterFloat(v Value, b Bound) (Value, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.Err()
	}
	if s, ok := v.(string); ok {
		if f, ok := parsePyFloat(s); ok {
			return f, nil
		}
	} else if f, ok := asFloat(v); ok {
		return f, nil
	}
	return b.Or("default", 0.0), nil
}

func filterRound(v Value, b Bound) (Value, error) {
	p := optInt(b, "precision", 0)
	m := Str(b.Or("method", "common"))
	if m == "common" {
		return Round(v, p)
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, TypeErr("must be real number, not %s", TypeName(v))
	}
	k := math.Pow10(int(p))
	switch m {
	case "ceil":
		return math.Ceil(f*k) / k, nil
	case "floor":
		return math.Floor(f*k) / k, nil
	}
	return nil, newErr("FilterArgumentError", "method must be common, ceil or floor")
}

func filterFilesizeformat(v Value, b Bound) (Value, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.Err()
	}
	f, ok := asFloat(v)
	if s, str := v.(string); str {
		if f, ok = parsePyFloat(s); !ok {
			return nil, ValueErr("could not convert string to float: %s", StrRepr(s))
		}
	}
	if !ok {
		return nil, TypeErr("float() argument must be a string or a real number, not '%s'", TypeName(v))
	}
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if Truth(b.Or("binary", false)) {
		base, units = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	if f == 1 {
		return "1 Byte", nil
	}
	if f < base {
		return fmt.Sprintf("%d Bytes", int64(f)), nil
	}
	u := base
	for i, n := range units {
		u *= base
		if f < u || i == len(units)-1 {
			return fmt.Sprintf("%.1f %s", base*f/u, n), nil
		}
	}
	return "", nil
}
