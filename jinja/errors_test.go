package jinja

import (
	"errors"
	"strings"
	"testing"
)

func render(t testing.TB, src string, ctx MapCtx) (string, error) {
	t.Helper()
	env := NewEnv()
	tm, err := env.Parse(src, "models/m.sql", 1)
	if err != nil {
		return "", err
	}
	return tm.RenderState(&State{Env: env, Ctx: ctx})
}

func TestErrorPositions(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"attribute of an undefined name", "select\n  {{ nope.x }}",
			"UndefinedError: 'nope' is undefined\n  at models/m.sql:2:6\n    2 |   {{ nope.x }}\n      |      ^"},
		{"operator", "a\n{{ 'x' + 1 }}",
			"TypeError: can only concatenate str (not \"int\") to str\n  at models/m.sql:2:8\n    2 | {{ 'x' + 1 }}\n      |        ^"},
		{"columns count characters", "é{{ 1/0 }}",
			"ZeroDivisionError: division by zero\n  at models/m.sql:1:6\n    1 | é{{ 1/0 }}\n      |      ^"},
		{"a tab stays in the caret's line", "\t{{ 1/0 }}",
			"ZeroDivisionError: division by zero\n  at models/m.sql:1:6\n    1 | \t{{ 1/0 }}\n      | \t    ^"},
		{"after a stripped newline", "{%- if true -%}\n\n  {{ x() }}{% endif %}",
			"UndefinedError: 'x' is undefined\n  at models/m.sql:3:6\n    3 |   {{ x() }}{% endif %}\n      |      ^"},
		{"syntax", "a\n{% for %}{% endfor %}",
			"TemplateSyntaxError: Expected an expression, got 'end of statement block'\n  at models/m.sql:2:8\n    2 | {% for %}{% endfor %}\n      |        ^"},
		{"unclosed tag", "ab {{ x", "TemplateSyntaxError: unexpected end of template, expected 'end of print statement'.\n  at models/m.sql:1:4\n    1 | ab {{ x\n      |    ^"},
		{"macro stack", "{% macro a(x) %}{{ x + 1 }}{% endmacro %}\n{% macro b(x) %}\n  {{ a(x) }}{% endmacro %}\n{{ b('s') }}",
			"TypeError: can only concatenate str (not \"int\") to str\n  at models/m.sql:1:22\n" +
				"    1 | {% macro a(x) %}{{ x + 1 }}{% endmacro %}\n      |                      ^\n" +
				"  in macro a called at models/m.sql:3:6\n  in macro b called at models/m.sql:4:4"},
		{"call block", "{% macro a() %}{{ caller() }}{% endmacro %}\n{% call a() %}{{ 1/0 }}{% endcall %}",
			"ZeroDivisionError: division by zero\n  at models/m.sql:2:19\n    2 | {% call a() %}{{ 1/0 }}{% endcall %}\n      |                   ^\n" +
				"  in macro a called at models/m.sql:2:9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := render(t, c.src, nil)
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestSnippetOfALongLine(t *testing.T) {
	_, err := render(t, strings.Repeat("x", 500)+"{{ 1/0 }}"+strings.Repeat("y", 500), nil)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	lines := strings.Split(e.Snippet(), "\n")
	if len(lines) != 2 || len(lines[0]) > 140 {
		t.Fatalf("snippet %q", lines)
	}
	caret := []rune(lines[0])[strings.IndexByte(lines[1], '^')]
	if caret != '/' {
		t.Errorf("the caret points at %q:\n%s", caret, e.Snippet())
	}
}

func TestDidYouMean(t *testing.T) {
	ctx := MapCtx{"source": NewFunc("source", nil), "target": NewDict()}
	for _, c := range []struct{ src, hint string }{
		{"{{ sorce('a') }}", "Did you mean 'source'?"},
		{"{{ taregt.name }}", "Did you mean 'target'?"},
		{"{% set my_columns = [] %}{{ my_colums.append(1) }}", "Did you mean 'my_columns'?"},
		{"{{ 'a'.upperr() }}", "Did you mean 'upper'?"},
		{"{{ [].apend(1) }}", "Did you mean 'append'?"},
		{"{{ 1|joim }}", "Did you mean 'join'?"},
		{"{{ 1 is defind }}", "Did you mean 'defined'?"},
		{"{{ zzzzzz() }}", ""},
	} {
		_, err := render(t, c.src, ctx)
		var e *Error
		if !errors.As(err, &e) || e.Hint != c.hint {
			t.Errorf("%s: got %v, want hint %q", c.src, err, c.hint)
		}
	}
}

func TestStrict(t *testing.T) {
	for _, c := range []struct {
		src string
		ok  bool
	}{
		{"{{ nope }}", false},
		{"{{ 'a' ~ nope }}", false},
		{"{% if nope %}{% endif %}", false},
		{"{{ 1 if nope }}", false},
		{"{{ not nope }}", false},
		{"{{ nope or 1 }}", false},
		{"{{ nope == 1 }}", false},
		{"{% for x in nope %}{% endfor %}", false},
		{"{{ nope|upper }}", false},
		{"{{ nope|default('x') }}", true},
		{"{{ nope is defined }}{{ nope is not defined }}", true},
		{"{{ 'x' if nope is defined }}", true},
		{"{{ d.missing }}", true}, // an attribute is not a name
		{"{{ ',' if false }}", true},
		{"{% if false %}{% set nope = 1 %}{% endif %}{{ nope }}", true}, // set, but not now
		{"{% macro m() %}{% if false %}{% set nope %}x{% endset %}{% endif %}{{ nope }}{% endmacro %}{{ m() }}", true},
		{"{% for x in [1] %}{% set nope = 1 %}{% endfor %}{{ nope }}", false},
		{"{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}", true},
	} {
		env := NewEnv()
		tm, err := env.Parse(c.src, "m.sql", 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tm.RenderState(&State{Env: env, Ctx: MapCtx{"d": NewDict()}, Strict: true})
		if (err == nil) != c.ok {
			t.Errorf("%s: strict gives %v", c.src, err)
		}
		if err != nil && !strings.Contains(err.Error(), "'nope' is undefined") {
			t.Errorf("%s: %v", c.src, err)
		}
		if _, err := tm.RenderState(&State{Env: env, Ctx: MapCtx{"d": NewDict()}}); err != nil {
			t.Errorf("%s: not strict gives %v", c.src, err)
		}
		// dbt's parse mode swallows everything, strict or not
		if _, err := tm.RenderState(&State{Env: env, Ctx: MapCtx{"d": NewDict()}, Strict: true, Chain: true}); err != nil {
			t.Errorf("%s: parse mode gives %v", c.src, err)
		}
	}
}

func TestUnknownFilter(t *testing.T) {
	for _, c := range []struct {
		src   string
		parse bool // found when parsing, or else only when reached
	}{
		{"{{ 1|nope }}", true},
		{"{% for x in [] %}{{ 1|nope }}{% endfor %}", true},
		{"{% if false %}{{ 1|nope }}{% endif %}", false},
		{"{{ 1|nope if false }}", false},
		{"{% if false %}{% for x in [] %}{{ x|nope }}{% endfor %}{% endif %}", true},
		{"{% macro m() %}{{ 1 is nope }}{% endmacro %}", true},
		{"{% set x | nope %}{% endset %}", true},
	} {
		_, err := NewEnv().Parse(c.src, "m.sql", 1)
		if (err != nil) != c.parse {
			t.Errorf("%s: parse gives %v", c.src, err)
		}
	}
	// where macros are templates of their own, an unused one breaks nothing
	env := NewEnv()
	env.HideMacros = true
	tm, err := env.Parse("{% macro bad() %}{{ 1|nope }}{% endmacro %}{% macro good() %}ok{% endmacro %}", "m.sql", 1)
	if err != nil {
		t.Fatal(err)
	}
	st := &State{Env: env, Ctx: MapCtx{}}
	mods, err := tm.Module(st)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := mods["good"].Call(st, Args{}); err != nil || v != "ok" {
		t.Errorf("good gives %v, %v", v, err)
	}
	if _, err := mods["bad"].Call(st, Args{}); err == nil || !strings.Contains(err.Error(), "No filter named 'nope'") {
		t.Errorf("bad gives %v", err)
	}
}
