package dbt

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/jinja"
)

// The golden answers are those of dbt's own native renderer.
func TestNative(t *testing.T) {
	b, err := os.ReadFile("../testdata/golden/native.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ T, R, Ty, E string }
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 40 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	env := NewNativeEnv()
	ctx := jinja.MapCtx{"i": int64(5), "s": "txt", "n": "12", "l": jinja.NewList(int64(1), "a"), "none_": nil, "b": true, "d": Dict("k", int64(1)),
		"var": function("var", func(A) (V, error) { return jinja.NewList(int64(1), int64(2)), nil })}
	for _, c := range cases {
		v, err := Native(env, c.T, "s.yml", 1, &ST{Env: env, Ctx: ctx})
		if c.E != "" {
			if err == nil {
				t.Errorf("%q: no error, want %s", c.T, c.E)
			}
			continue
		}
		if err != nil || jinja.Repr(v) != c.R || jinja.TypeName(v) != c.Ty && c.Ty != "NativeMarker" {
			t.Errorf("%q: got %s %s (%v), want %s %s", c.T, jinja.TypeName(v), jinja.Repr(v), err, c.Ty, c.R)
		}
	}
}

// registry makes a registry of packages; the keys are package/file.
func registry(t *testing.T, sources map[string]string) *Registry {
	t.Helper()
	r, err := NewRegistry(NewEnv(), "root")
	if err != nil {
		t.Fatal(err)
	}
	for file, src := range sources {
		pkg, _, _ := strings.Cut(file, "/")
		if err := r.AddSource(pkg, file, src); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func testHost() *Host {
	return &Host{Execute: true, Now: testTime, Started: testTime, Spelling: &Spelling{
		Relation: func(d, s, n string) string { return strings.Trim(d+"."+s+"."+n, ".") },
		Catalog:  func(c, s, n string) string { return "<" + c + "." + s + "." + n + ">" },
		Ident:    func(n string) string { return "[" + n + "]" }, Type: "TestRelation"},
		Dialects: []string{"maria", "my"}, Config: &Config{},
		Var: func(string) (V, bool) { return nil, false }, Env: func(string) (string, bool, error) { return "", false, nil },
	}
}

func render(t *testing.T, c *Context, src string) (string, error) {
	t.Helper()
	tmpl, err := c.Registry.Env.Parse(src, "t.sql", 1)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl.RenderState(c.State(false))
}

func TestSearchOrder(t *testing.T) {
	r := registry(t, map[string]string{
		"root/m.sql": "{% macro both() %}root{% endmacro %}{% macro only_root() %}r{% endmacro %}{% macro log(msg) %}own log{% endmacro %}{% macro duck__deep() %}x{% endmacro %}",
		"util/m.sql": "{% macro both() %}util{% endmacro %}{% macro calls() %}{{ both() }} {{ only_root() }}{% endmacro %}{% macro only_util() %}u{% endmacro %}",
	})
	for pkg, cases := range map[string]map[string]string{
		"root": {"{{ both() }} {{ util.both() }} {{ util.calls() }} {{ log('x') }} {{ builtins.log('y') }}.": "root util root r own log .",
			"{{ only_util is defined }} {{ root.only_root() }} {{ dbt.is_incremental() }}": "False r False"},
		"util": {"{{ both() }} {{ calls() }} {{ only_util() }}": "util util r u"},
	} {
		for src, want := range cases {
			if got, err := render(t, NewNode(r, pkg, testHost()), src); err != nil || got != want {
				t.Errorf("%s %q: %q, %v; want %q", pkg, src, got, err, want)
			}
		}
	}
}

func TestDispatch(t *testing.T) {
	sources := map[string]string{
		"root/m.sql": "{% macro default__b() %}root b{% endmacro %}{% macro maria__e() %}root e{% endmacro %}",
		"util/m.sql": "{% macro a() %}{{ return(adapter.dispatch('a', 'util')()) }}{% endmacro %}{% macro default__a() %}default a{% endmacro %}{% macro my__a() %}my a{% endmacro %}" +
			"{% macro default__b() %}util b{% endmacro %}{% macro default__d() %}d{% endmacro %}{% macro default__e() %}util e{% endmacro %}",
		"shim/m.sql": "{% macro default__d() %}shim d{% endmacro %}",
	}
	r := registry(t, sources)
	r.SearchOrder = map[string][]string{"other": {"shim", "util"}}
	for src, want := range map[string]string{
		"{{ util.a() }}":                                        "my a",
		"{{ adapter.dispatch('b', 'util')() }}":                 "root b",
		"{{ adapter.dispatch('d', 'other')() }}":                "shim d",
		"{{ adapter.dispatch('d', macro_namespace='util')() }}": "d",
		"{{ adapter.dispatch('e', 'util')() }}":                 "root e",
	} {
		if got, err := render(t, NewNode(r, "root", testHost()), src); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", src, got, err, want)
		}
	}
	for src, want := range map[string]string{
		"{{ adapter.dispatch('x', 'util')() }}": "In dispatch: No macro named 'x' found within namespace: 'util'\n    Searched for: 'root.maria__x', 'root.my__x', 'root.default__x', 'util.maria__x', 'util.my__x', 'util.default__x'",
		"{{ adapter.dispatch('util.x')() }}":    `"." is not a valid macro name component`,
	} {
		if _, err := render(t, NewNode(r, "root", testHost()), src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", src, err, want)
		}
	}
}

func TestMacroStackAndReturn(t *testing.T) {
	r := registry(t, map[string]string{"root/m.sql": "{% macro a() %}{{ b() }}{% endmacro %}\n{% macro b() %}{{ 1 + 'x' }}{% endmacro %}\n" +
		"{% macro r() %}{% for i in [1, 2] %}{% if i == 2 %}{{ return([i]) }}{% endif %}{% endfor %}never{% endmacro %}" +
		"{% macro w() %}<{{ caller() }}>{% endmacro %}{% macro viaw() %}{% call w() %}{{ return(5) }}{% endcall %}!{% endmacro %}"})
	c := NewNode(r, "root", testHost())
	_, err := render(t, c, "\n{{ a() }}")
	if err == nil || !strings.Contains(err.Error(), "in macro root.b called at root/m.sql:1") || !strings.Contains(err.Error(), "in macro root.a called at t.sql:2") {
		t.Errorf("stack: %v", err)
	}
	if !c.Calls["root.a"] || c.Calls["root.b"] {
		t.Errorf("calls %v", c.Calls)
	}
	// A return in a call block returns from the called macro.
	if got, err := render(t, c, "{{ r()[0] + 1 }} {{ viaw() }}"); err != nil || got != "3 5!" {
		t.Errorf("return: %q, %v", got, err)
	}
}

func TestDuplicateMacro(t *testing.T) {
	r := registry(t, nil)
	if err := r.AddSource("root", "a.sql", "{% macro x() %}{% endmacro %}"); err != nil {
		t.Fatal(err)
	}
	err := r.AddSource("root", "b.sql", "\n{% macro x() %}{% endmacro %}")
	if err == nil || err.Error() != `two macros named "x" in package "root": a.sql:1 and b.sql:2` {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	r := registry(t, map[string]string{"root/m.sql": "{% test t(model) %}x{% endtest %}{% data_test u(model) %}y{% enddata_test %}" +
		"{% materialization my, adapter='duckdb', supported_languages=['sql'] %}z{% endmaterialization %}{% docs d %}text{% enddocs %}{% macro typed(a: string, b: list[int] = [1]) %}{{ b }}{% endmacro %}"})
	for _, name := range []string{"test_t", "test_u", "materialization_my_duckdb", "dbt_docs__d", "typed"} {
		if r.Find("root", name) == nil {
			t.Errorf("no %s", name)
		}
	}
	if got, err := render(t, NewNode(r, "root", testHost()), "{{ typed('q') }}"); err != nil || got != "[1]" {
		t.Errorf("%q, %v", got, err)
	}
}
