package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Each of these would exhaust memory or run for years without a limit.
func TestLimits(t *testing.T) {
	for _, src := range []string{
		"{% for i in range(1000000000) %}{% endfor %}",
		"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
		"{% set l=[1] %}{% for x in l %}{% do l.append(x) %}{% endfor %}",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"{% set n=namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
		"{% set n=namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
		"{% set n=namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
		"{% set l=[1] %}{% for i in range(99) %}{% do l.extend(l) %}{% endfor %}",
		"{% set n=namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}",
		"{% set n=namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s|tojson }}",
		"{% set n=namespace(s=[1], t=[1]) %}{% for i in range(99) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}",
		"{% set n=namespace(s=(1,)) %}{% for i in range(99) %}{% set n.s = (n.s, n.s) %}{% endfor %}{{ {n.s: 1} }}",
		"{% set l=[] %}{% do l.append(l) %}{% set m=[] %}{% do m.append(m) %}{{ l == m }}",
		"{% set l=[] %}{% do l.append(l) %}{{ l|tojson }}",
		"{{ 'x' * 1000000000 }}", "{{ [1] * 1000000000 }}", "{{ 'x'.center(1000000000) }}", "{{ 'x'.ljust(9999999999) }}",
		"{{ 'x'.zfill(1000000000) }}", "{{ '%1000000000d' % 1 }}", "{{ '%.1000000000f' % 1 }}", "{{ '%*d' % (1000000000, 1) }}",
		"{{ '{:1000000000}'.format(1) }}", "{{ '{:.1000000000f}'.format(1.0) }}", "{{ '\t'.expandtabs(1000000000) }}",
		"{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}", "{{ ('x' * 1000000)|replace('', 'y' * 1000000) }}",
		"{{ range(99999)|join('x' * 1000000) }}", "{{ ('x' * 1000000).join(range(99999)|map('string')) }}",
		"{{ 'a\nb'|indent(1000000000) }}", "{{ ('a\n' * 1000000)|indent(1000) }}", "{{ 'x'|center(1000000000) }}",
		"{{ [1]|batch(1000000000, 0)|list }}", "{{ [1]|slice(1000000000)|list }}", "{{ [1]|slice(0)|list }}",
		"{{ 10 ** 1000000000 }}", "{{ 2 ** (2 ** 62) }}",
		"{% set n=namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
		"{% for i in range(99999) %}{% for j in range(999) %}{{ 'xxxxxxxxxxxxxxxxxxxx' }}{% endfor %}{% endfor %}",
		"{% set s='x' * 60000000 %}{% for i in range(99999) %}{% set t = s ~ i %}{% endfor %}",
		"{% for c in 'x' * 60000000 %}{% endfor %}",
		"{{ 1" + strings.Repeat("+1", 5000) + " }}",
		"{{ x" + strings.Repeat(".a", 5000) + " }}",
		"{{ x" + strings.Repeat("|string", 5000) + " }}",
		"{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}",
		strings.Repeat("{% if 1 %}", 5000) + strings.Repeat("{% endif %}", 5000),
		"{% macro m(a: " + strings.Repeat("list[", 5000) + "int" + strings.Repeat("]", 5000) + ") %}{% endmacro %}",
		strings.Repeat("x", maxSource+1),
	} {
		start := time.Now()
		out, err := renderLimited(src)
		name := src[:min(len(src), 100)]
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: gives %d bytes and %v, want an error", name, len(out), err)
			continue
		}
		if e.Line == 0 {
			t.Errorf("%s: no position: %v", name, err)
		}
		if d := time.Since(start); d > 2*time.Minute { // it ends; how fast is for benchmarks
			t.Errorf("%s: took %v", name, d)
		}
	}
}

func renderLimited(src string) (string, error) {
	env := NewEnv()
	env.MaxSteps = 1_000_000
	tm, err := env.Parse(src, "m.sql", 1)
	if err != nil {
		return "", err
	}
	return tm.Render(MapCtx{})
}

// The deepest recursion the limits allow must fit into the goroutine's stack: its
// overflow would end the process.
func TestDeepestRecursion(t *testing.T) {
	src := "{% macro m(n) %}{{ m(n)" + strings.Repeat("+1", maxLinks-100) + " }}{% endmacro %}{{ m(1) }}"
	_, err := render(t, src, nil)
	if err == nil || !strings.Contains(err.Error(), "maximum macro depth exceeded") {
		t.Errorf("got %.200v", err)
	}
	src = "{% macro m(n) %}" + strings.Repeat("{% for i in [1] %}", 150) + "{{ m(n) }}" + strings.Repeat("{% endfor %}", 150) + "{% endmacro %}{{ m(1) }}"
	if _, err = render(t, src, nil); err == nil || !strings.Contains(err.Error(), "maximum macro depth exceeded") {
		t.Errorf("got %.200v", err)
	}
}

func TestCancel(t *testing.T) {
	for _, src := range []string{
		"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
		"{% macro m() %}{% endmacro %}{% for i in range(99999) %}{% for j in range(99999) %}{{ m() }}{% endfor %}{% endfor %}",
		"{% for i in range(99999) if cancel() %}{% endfor %}",
	} {
		env := NewEnv()
		env.MaxSteps = 0
		tm, err := env.Parse(src, "m.sql", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		vars := MapCtx{"cancel": NewFunc("cancel", func(*State, Args) (Value, error) { cancel(); return true, nil })}
		if !strings.Contains(src, "cancel()") {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
		start := time.Now()
		_, err = tm.RenderState(&State{Env: env, Ctx: vars, Context: ctx})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", src, err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: cancelled after %v", src, d)
		}
	}
}

func TestNoLoader(t *testing.T) {
	for _, src := range []string{"{% include '/etc/passwd' %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% extends 'x' %}", "{% block x %}{% endblock %}"} {
		if _, err := render(t, src, nil); err == nil || !strings.Contains(err.Error(), "no template loader") {
			t.Errorf("%s: %v", src, err)
		}
	}
	// nothing leads from a value to Go or to Python's internals
	for _, src := range []string{"{{ ''.__class__ }}", "{{ f.__globals__ }}", "{{ [].__init__ }}", "{{ f.Fn }}", "{{ f.Name }}"} {
		if out, err := render(t, src, MapCtx{"f": NewFunc("f", nil)}); err != nil || out != "" {
			t.Errorf("%s: %q, %v", src, out, err)
		}
	}
}
