package jinja

import (
	"math/big"
	"strings"
)

var builtinTests map[string]TestFunc

func init() {
	builtinTests = map[string]TestFunc{
		"defined":   typeTest(func(v Value) bool { _, u := v.(*Undefined); return !u }),
		"undefined": typeTest(func(v Value) bool { _, u := v.(*Undefined); return u }),
		"none":      typeTest(func(v Value) bool { return v == nil }),
		"boolean":   typeTest(func(v Value) bool { _, ok := v.(bool); return ok }),
		"true":      typeTest(func(v Value) bool { return v == true }),
		"false":     typeTest(func(v Value) bool { return v == false }),
		"integer": typeTest(func(v Value) bool {
			switch v.(type) {
			case int64, *big.Int:
				return true
			}
			return false
		}),
		"float":  typeTest(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number": typeTest(func(v Value) bool { _, d := v.(*Decimal); return d || isNum(v) }),
		"string": typeTest(func(v Value) bool { _, ok := v.(string); return ok }),
		"mapping": typeTest(func(v Value) bool {
			if m, ok := v.(interface{ PyMapping() bool }); ok {
				return m.PyMapping()
			}
			_, ok := v.(*Dict)
			return ok
		}),
		"iterable": typeTest(func(v Value) bool {
			if _, g := v.(*Gen); g {
				return true
			}
			if isNum(v) || v == nil {
				return false
			}
			_, err := Iter(v)
			return err == nil
		}),
		"sequence": typeTest(isSeq),
		"callable": typeTest(func(v Value) bool {
			if _, u := v.(*Undefined); u {
				return true
			}
			_, ok := v.(Callable)
			return ok
		}),
		"escaped": typeTest(func(v Value) bool { return false }),
		"lower":   typeTest(func(v Value) bool { return cased(false)(Str(v)).(bool) }), "upper": typeTest(func(v Value) bool { return cased(true)(Str(v)).(bool) }),
		"odd": moduloTest(1), "even": moduloTest(0),
		"divisibleby": testDivisibleby,
		"sameas":      testSameas,
		"in":          testIn,
		"filter":      func(st *State, v Value, a Args) (bool, error) { _, ok := st.Env.Filters[Str(v)]; return ok, nil },
		"test":        func(st *State, v Value, a Args) (bool, error) { _, ok := st.Env.Tests[Str(v)]; return ok, nil },
	}
	for op, names := range map[string]string{"==": "== eq equalto", "!=": "!= ne", "<": "< lt lessthan", "<=": "<= le", ">": "> gt greaterthan", ">=": ">= ge"} {
		for _, n := range strings.Fields(names) {
			builtinTests[n] = compareTest(op)
		}
	}
}

func testDivisibleby(_ *State, v Value, a Args) (bool, error) {
	if len(a.Pos) != 1 {
		return false, TypeErr("divisibleby needs one argument")
	}
	m, err := BinOp("%", v, a.Pos[0])
	return err == nil && Equal(m, int64(0)), err
}

func testSameas(_ *State, v Value, a Args) (bool, error) {
	if len(a.Pos) != 1 {
		return false, TypeErr("sameas needs one argument")
	}
	return TypeName(v) == TypeName(a.Pos[0]) && (v == a.Pos[0]), nil
}

func testIn(_ *State, v Value, a Args) (bool, error) {
	if len(a.Pos) != 1 {
		return false, TypeErr("in needs one argument")
	}
	return Contains(a.Pos[0], v)
}

func typeTest(f func(Value) bool) TestFunc {
	return func(_ *State, v Value, a Args) (bool, error) { return f(v), nil }
}

func compareTest(op string) TestFunc {
	return func(_ *State, v Value, a Args) (bool, error) {
		if len(a.Pos) != 1 {
			return false, TypeErr("%s expected 2 arguments, got %d", op, 1+len(a.Pos))
		}
		return compareOp(op, v, a.Pos[0])
	}
}

func moduloTest(want int64) TestFunc {
	return func(_ *State, v Value, a Args) (bool, error) {
		m, err := BinOp("%", v, int64(2))
		return err == nil && Equal(m, want), err
	}
}

func isSeq(v Value) bool {
	switch v.(type) {
	case string, *List, *Tuple, *Dict, *Range, *Undefined:
		return true
	case Itemer:
		_, l := v.(Lener)
		return l
	}
	return false
}
