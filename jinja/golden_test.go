package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goldenCase is one recorded answer of Jinja2 3.1.6 in the environment dbt sets up.
type goldenCase struct {
	ID, Cat, Template string
	Ctx               json.RawMessage
	OK                bool
	Expect            string
}

// goldenKnown lists the cases whose answer is wrong on purpose, each with the reason.
var goldenKnown = map[string]string{
	"x4":     "Jinja prints its internal marker for the variable of a loop that has ended; here a macro keeps the value",
	"f12260": "Jinja folds a filter over an impossible slice of a constant at compile time; here it is the TypeError",
}

// goldenMessage lists the errors that are right but worded for another cause.
var goldenMessage = map[string]string{
	"f9110":  "Markup, which tojson gives in Jinja, is a str here",
	"f11500": "the folding of f12260",
	"f17110": "sorting compares in another order, so another pair fails first",
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		file string
		n    int
	}{{"cases.json", 142}, {"atoms.json", 368}, {"extra.json", 38}, {"fuzz.json", 2000}, {"engine.json", 37}, {"wrap.json", 100}} {
		t.Run(c.file, func(t *testing.T) {
			cases := readGolden(t, c.file)
			if len(cases) != c.n {
				t.Errorf("%d cases, want %d", len(cases), c.n)
			}
			for _, g := range cases {
				got, err := renderGolden(g)
				if why, ok := goldenKnown[g.ID]; ok {
					if g.OK == (err == nil) && (err != nil || got == g.Expect) {
						t.Errorf("%s passes now; take it off the list (%s)", g.ID, why)
					}
					continue
				}
				switch {
				case g.OK && err != nil:
					t.Errorf("%s: %q: %v, want %q", g.ID, g.Template, err, g.Expect)
				case g.OK && got != g.Expect:
					t.Errorf("%s: %q: got %q, want %q", g.ID, g.Template, got, g.Expect)
				case !g.OK && err == nil:
					t.Errorf("%s: %q: got %q, want error %s", g.ID, g.Template, got, g.Expect)
				}
				if !g.OK {
					checkGoldenError(t, g, err)
				}
			}
		})
	}
}

// checkGoldenError wants Python's kind and message; syntax errors have the line too.
func checkGoldenError(t *testing.T, g goldenCase, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %q: %T %v, want *Error", g.ID, g.Template, err, err)
		return
	}
	if e.Line == 0 || e.Col == 0 {
		t.Errorf("%s: %q: error without a position: %v", g.ID, g.Template, e)
	}
	if _, ok := goldenMessage[g.ID]; ok {
		return
	}
	want, line, ok := strings.Cut(g.Expect, " (line ")
	if got := e.Kind + ": " + e.Msg; got != want {
		t.Errorf("%s: %q: got %s, want %s", g.ID, g.Template, got, want)
	}
	if n := fmt.Sprintf("%d)", e.Line); ok && n != line {
		t.Errorf("%s: %q: line %s want %s", g.ID, g.Template, n, line)
	}
}

func renderGolden(g goldenCase) (string, error) {
	ctx, err := decodeOrdered(g.Ctx)
	if err != nil {
		return "", err
	}
	vars := MapCtx{}
	ctx.(*Dict).Each(func(k, v Value) { vars[k.(string)] = v })
	tm, err := goldenEnv.Parse(g.Template, "t.sql", 1)
	if err != nil {
		return "", err
	}
	return tm.Render(vars)
}

var goldenEnv *Env

func init() { goldenEnv = NewEnv() }

func readGolden(t testing.TB, file string) []goldenCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "golden", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []goldenCase
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// decodeOrdered reads JSON as template values: objects keep their order, integers stay integers.
func decodeOrdered(b []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder) (Value, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch x := tok.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil && !strings.ContainsAny(x.String(), ".eE") {
			return i, nil
		}
		return x.Float64()
	case json.Delim:
		if x == '[' {
			l := NewList()
			for d.More() {
				v, err := decodeValue(d)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err := d.Token()
			return l, err
		}
		m := NewDict()
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			if err := m.Set(k, v); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return m, err
	}
	return tok, nil
}
