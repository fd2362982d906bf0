package jinja

import (
	"context"
	"errors"
	"testing"
	"time"
)

// FuzzParse: any text gives a template or an error with a position, and ends.
func FuzzParse(f *testing.F) {
	seed(f)
	env := NewEnv()
	f.Fuzz(func(t *testing.T, src string) {
		tm, err := env.Parse(src, "f.sql", 1)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		names := 0
		Walk(tm.Body, func(x Expr) bool {
			if x.Pos() < 1 || x.Column() < 1 {
				t.Fatalf("%q: %T without a position", src, x)
			}
			names++
			return true
		})
	})
}

// FuzzRender: no template panics, hangs or gives an error without a position.
func FuzzRender(f *testing.F) {
	seed(f)
	env := NewEnv()
	env.MaxSteps, env.MaxAlloc, env.MaxOut = 2000, 1<<20, 1<<20
	f.Fuzz(func(t *testing.T, src string) {
		tm, err := env.Parse(src, "f.sql", 1)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		d := NewDict()
		d.setStr("k", int64(1))
		vars := MapCtx{"s": "Hello World", "i": int64(7), "f": 2.5, "b": true, "x": nil, "l": NewList(int64(3), "a", nil), "d": d}
		for _, st := range []*State{
			{Env: env, Ctx: vars, Context: ctx},
			{Env: env, Ctx: vars, Context: ctx, Chain: true},
			{Env: env, Ctx: vars, Context: ctx, Strict: true},
		} {
			_, err := tm.RenderState(st)
			var e *Error
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%q takes too long", src)
			}
			if errors.As(err, &e) && e.Line < 1 {
				t.Fatalf("%q: no position: %v", src, err)
			}
		}
	})
}

func seed(f *testing.F) {
	for _, file := range []string{"cases.json", "atoms.json", "extra.json", "engine.json"} {
		for _, c := range readGolden(f, file) {
			f.Add(c.Template)
		}
	}
}
