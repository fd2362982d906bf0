package jinja

import (
	"strings"
	"testing"
)

// The right sides are what Python 3 prints.
func TestDecimal(t *testing.T) {
	var lines []string
	for _, c := range [][2]string{
		{"d + 1", "13.50"}, {"1 + d", "13.50"}, {"d * 2", "25.00"}, {"d - d", "0.00"}, {"-d", "-12.50"}, {"d / 4", "3.125"}, {"1 / d", "0.08"},
		{"one / 3", "0.3333333333333333333333333333"}, {"2 * one / 3", "0.6666666666666666666666666667"}, {"d // 5", "2"}, {"(-d) // 5", "-2"}, {"d % 5", "2.50"}, {"(-d) % 5", "-2.50"},
		{"d > 12", "True"}, {"12 < d", "True"}, {"12.5 == d", "True"}, {"d == 12.5", "True"}, {"d in [12.5]", "True"}, {"{12: 1}[one * 12]", "1"}, {"[d, one, 3] | sort", "[Decimal('1'), 3, Decimal('12.50')]"},
		{"[d, one] | sum", "13.50"}, {"[d, one] | max", "12.50"}, {"d | round(1)", "12.5"}, {"(d / 2) | round(1)", "6.2"}, {"d | int", "12"}, {"d | float", "12.5"}, {"(-d) | abs", "12.50"},
		{"d is number", "True"}, {"d is string", "False"}, {"'%.1f' % d", "12.5"}, {"'{:.1f}'.format(d)", "12.5"}, {"d | string", "12.50"}, {"'a' ~ d", "a12.50"}, {"d and 1", "1"}, {"(d - d) or 2", "2"},
	} {
		d, _ := NewDecimal("12.50")
		one, _ := NewDecimal("1")
		got, err := render(t, "{{ "+c[0]+" }}", MapCtx{"d": d, "one": one})
		if err != nil || got != c[1] {
			lines = append(lines, c[0]+" is "+got+", want "+c[1])
			if err != nil {
				lines = append(lines, "  "+err.Error())
			}
		}
	}
	if lines != nil {
		t.Error(strings.Join(lines, "\n"))
	}
	for _, s := range []string{"", "-", ".", "1e5", "NaN", "1.2.3", "+1"} {
		if d, ok := NewDecimal(s); ok {
			t.Errorf("%q became %s", s, d.PyStr())
		}
	}
}
