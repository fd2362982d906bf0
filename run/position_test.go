package run

import "testing"

func TestSourcePosition(t *testing.T) {
	const loop = "{% for i in range(3) %}\n{% endfor %}\nselect 1 as a,\n  nope"
	cases := []struct {
		name, source, rendered string
		line, column           int
		wantLine, wantColumn   int // 0: not found
	}{
		{"same text", "select 1,\n  x", "select 1,\n  x", 2, 3, 2, 3},
		{"a loop above", loop, "\n\n\n\nselect 1 as a,\n  nope", 6, 3, 4, 3},
		{"front matter", "/**\nalias: b\n**/\nselect x", "select x", 1, 8, 4, 8},
		{"after a call on the line", "select a\nfrom {{ source('s', 't') }} where x", "select a\nfrom \"c\".\"s\".\"t\" where x", 2, 24, 2, 35},
		{"inside of a call", "select {{ f() }} as a", "select g(h) as a", 1, 10, 1, 8},
		{"made by a loop", "select\n{% for c in cs %}{{ c }},\n{% endfor %}\n1", "select\na,\nb,\nc,\n\n1", 3, 1, 0, 0},
		{"as many lines by chance", "select\n{% for c in cs -%}\n{{ c }},\n{% endfor -%}\n3", "select\na,\nb,\nc,\n3", 4, 1, 0, 0},
		{"a last newline", "select {{ x }}\nfrom {{ y }} z, nope\n", "select 1\nfrom yyy z, nope", 2, 13, 2, 17},
		{"no such line", "select 1", "select 1", 2, 1, 0, 0},
		{"a name in another alphabet", "select 'é', {{ x }}, y", "select 'é', 1, y", 1, 16, 1, 22},
	}
	for _, c := range cases {
		line, column, ok := sourcePosition(c.source, c.rendered, c.line, c.column)
		if line != c.wantLine || column != c.wantColumn || ok != (c.wantLine > 0) {
			t.Errorf("%s: got %d:%d %v, want %d:%d", c.name, line, column, ok, c.wantLine, c.wantColumn)
		}
	}
}
