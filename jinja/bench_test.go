package jinja

import (
	"strings"
	"testing"
)

// benchModel is about what a model of a hundred lines holds.
var benchModel = "{% set cols = ['id', 'name', 'amount'] %}{% macro cents(c) %}({{ c }} / 100)::numeric(16, 2){% endmacro %}\n" +
	strings.Repeat("select\n  {% for c in cols %}{{ c|lower }}{% if not loop.last %},{% endif %}\n  {% endfor %}, {{ cents('amount') }} as usd\n"+
		"from t where x = '{{ d.k }}' and {{ 'y' ~ (1 + 2) }}\n", 10)

func BenchmarkParse(b *testing.B) {
	env := NewEnv()
	for b.Loop() {
		if _, err := env.Parse(benchModel, "m.sql", 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	env := NewEnv()
	tm, err := env.Parse(benchModel, "m.sql", 1)
	if err != nil {
		b.Fatal(err)
	}
	d := NewDict()
	d.setStr("k", "v")
	for b.Loop() {
		if _, err := tm.Render(MapCtx{"d": d}); err != nil {
			b.Fatal(err)
		}
	}
}
