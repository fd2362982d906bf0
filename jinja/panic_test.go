package jinja

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a template passes to a filter, test, method, global or operator, it gets a
// value or an error; a Go panic would end the process.
func TestNothingPanics(t *testing.T) {
	env := NewEnv()
	env.MaxAlloc = 1 << 22
	filters, tests, globals := sorted(env.Filters), sorted(env.Tests), sorted(env.Globals)
	ops := []string{"+", "-", "*", "/", "//", "%", "**"}
	rapid.Check(t, func(r *rapid.T) {
		st := &State{Env: env, Ctx: MapCtx{}}
		self := drawValue(r)
		var a Args
		for range rapid.IntRange(0, 3).Draw(r, "args") {
			a.Pos = append(a.Pos, drawValue(r))
		}
		if rapid.Bool().Draw(r, "kw") {
			name := rapid.SampledFrom([]string{"attribute", "default", "width", "reverse", "by", "sep", "base", "precision", "method", "indent", "count"}).Draw(r, "name")
			a.Kw = append(a.Kw, KwArg{name, drawValue(r)})
		}
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(limitPanic); !ok {
					r.Fatalf("panic: %v", p)
				}
			}
		}()
		use := func(v Value, err error) {
			if err != nil {
				return
			}
			_, _ = Str(v), Repr(v)
			if items, err := Iter(v); err == nil {
				_, _ = len(items), Truth(v)
			}
			_, _ = JSON(v, 1, true)
		}
		switch rapid.IntRange(0, 6).Draw(r, "what") {
		case 0:
			use(env.Filters[rapid.SampledFrom(filters).Draw(r, "filter")](st, self, a))
		case 1:
			use(env.Tests[rapid.SampledFrom(tests).Draw(r, "test")](st, self, a))
		case 2:
			use(st.Call(env.Globals[rapid.SampledFrom(globals).Draw(r, "global")], a, nil))
		case 3:
			if names := sorted(methodsOf(self)); len(names) > 0 {
				m, _ := attribute(st, self, rapid.SampledFrom(names).Draw(r, "method"))
				use(st.Call(m, a, nil))
			}
		case 4:
			use(BinOp(rapid.SampledFrom(ops).Draw(r, "op"), self, drawValue(r)))
		case 5:
			other := drawValue(r)
			_ = Equal(self, other)
			_, _ = Compare("<", self, other)
			_, _ = Contains(self, other)
			use(st.Item(self, other))
		case 6:
			format := rapid.StringMatching(`([%{][-+0#,:.!_]?[0-9*]{0,3}[.]?[0-9*]{0,2}[a-zA-Z%}]?){1,3}`).Draw(r, "format")
			use(PercentFormat(format, self))
			use(StrFormat(st, format, a))
			_, _ = Format(self, format)
		}
	})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func drawValue(r *rapid.T) Value {
	d := NewDict()
	d.setStr("k", int64(1))
	d.setStr("b", "x")
	set, _ := NewSet([]Value{int64(1), "a"})
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	return rapid.SampledFrom([]Value{
		nil, true, false, int64(0), int64(1), int64(-3), int64(17), int64(math.MaxInt64), int64(math.MinInt64), huge,
		0.0, 2.5, -0.75, math.Inf(1), math.NaN(), 1e300, "", "a", "Hello World", "naïve é", "a,b;c", "10", "k", "%s", "{}", "\t\n",
		NewList(), NewList(int64(3), int64(1), int64(2)), NewList("b", nil, 2.5), NewList(NewTuple("a", int64(1)), NewTuple("b", int64(2))),
		NewTuple(), NewTuple("x"), d, NewDict(), set, &Range{0, 5, 1}, &Range{5, 0, -2}, &DictView{d, "items"},
		NewGen("g", []Value{int64(1), "z"}), &Undefined{Name: "u"}, &Undefined{Name: "c", Chain: true}, &Namespace{d},
		NewFunc("f", func(*State, Args) (Value, error) { return int64(1), nil }), Bytes("b"),
	}).Draw(r, "value")
}
