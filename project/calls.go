package project

import (
	"github.com/dvt-dev/dvt/jinja"
)

// call is a call of ref, source or config whose arguments are all literals.
type call struct {
	name string
	args jinja.Args
	at   jinja.P
}

// static is what a template shows without being rendered.
type static struct {
	calls []call
	// complete: the template holds nothing but text and these calls, each of them
	// printed once whatever happens, so that rendering would add nothing.
	complete bool
	// later are calls in branches that parsing does not enter: under is_incremental()
	// or execute.
	later []call

	incremental, window bool
	windowAt            jinja.P // of the first window call
}

func inspect(body []jinja.Stmt) static {
	s := static{complete: true}
	for _, st := range body {
		switch n := st.(type) {
		case *jinja.Data:
		case *jinja.Output:
			c, ok := literalCall(n.X)
			if !ok {
				s.complete = false
				continue
			}
			s.calls = append(s.calls, c)
		default:
			s.complete = false
		}
	}
	if s.complete {
		return s
	}
	s.calls = nil
	jinja.Walk(body, func(x jinja.Expr) bool {
		if c, ok := literalCall(x); ok {
			s.calls = append(s.calls, c)
		}
		if c, ok := x.(*jinja.CallX); ok {
			switch calledName(c) {
			case "is_incremental":
				s.incremental = true
			case "incremental_where_cond", "incremental_value":
				if !s.window {
					s.window, s.windowAt = true, c.P
				}
			}
		}
		return true
	})
	s.later = laterCalls(body)
	return s
}

func calledName(c *jinja.CallX) string {
	if n, ok := c.F.(*jinja.Name); ok {
		return n.Name
	}
	return ""
}

// literalCall reads x as ref(...), source(...) or config(...) with literal arguments.
func literalCall(x jinja.Expr) (call, bool) {
	c, ok := x.(*jinja.CallX)
	if !ok || c.DynArgs != nil || c.DynKw != nil {
		return call{}, false
	}
	out := call{name: calledName(c), at: c.P}
	if out.name != "ref" && out.name != "source" && out.name != "config" {
		return call{}, false
	}
	for _, a := range c.Args {
		v, ok := constant(a)
		if !ok {
			return call{}, false
		}
		out.args.Pos = append(out.args.Pos, v)
	}
	for _, k := range c.Kw {
		v, ok := constant(k.V)
		if !ok {
			return call{}, false
		}
		out.args.Kw = append(out.args.Kw, jinja.KwArg{Name: k.Name, Val: v})
	}
	return out, true
}

// constant is the value of a literal.
func constant(x jinja.Expr) (jinja.Value, bool) {
	switch n := x.(type) {
	case *jinja.Const:
		return n.V, true
	case *jinja.ListX:
		items, ok := constants(n.Items)
		return jinja.NewList(items...), ok
	case *jinja.TupleX:
		items, ok := constants(n.Items)
		return jinja.NewTuple(items...), ok
	case *jinja.DictX:
		d := jinja.NewDict()
		for i := range n.K {
			k, ok := constant(n.K[i])
			v, ok2 := constant(n.V[i])
			if !ok || !ok2 || d.Set(k, v) != nil {
				return nil, false
			}
		}
		return d, true
	}
	return nil, false
}

func constants(xs []jinja.Expr) ([]jinja.Value, bool) {
	out := make([]jinja.Value, len(xs))
	for i, x := range xs {
		v, ok := constant(x)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// laterCalls are the literal calls inside an if whose condition asks whether the
// model runs: dbt does not see them when it parses, and then refuses to run the
// model; here they are dependencies like the others.
func laterCalls(body []jinja.Stmt) []call {
	var out []call
	var down func(body []jinja.Stmt)
	down = func(body []jinja.Stmt) {
		for _, st := range body {
			switch n := st.(type) {
			case *jinja.If:
				asks := false
				for _, c := range n.Conds {
					jinja.Walk(c, func(x jinja.Expr) bool {
						if m, ok := x.(*jinja.Name); ok && (m.Name == "is_incremental" || m.Name == "execute") {
							asks = true
						}
						return true
					})
				}
				for _, b := range append(n.Bodies[:len(n.Bodies):len(n.Bodies)], n.Else) {
					if !asks {
						down(b)
						continue
					}
					jinja.Walk(b, func(x jinja.Expr) bool {
						if c, ok := literalCall(x); ok && c.name != "config" {
							out = append(out, c)
						}
						return true
					})
				}
			case *jinja.For:
				down(n.Body)
				down(n.Else)
			case *jinja.SetBlock:
				down(n.Body)
			case *jinja.CallBlock:
				down(n.M.Body)
			case *jinja.With:
				down(n.Body)
			case *jinja.FilterBlk:
				down(n.Body)
			}
		}
	}
	down(body)
	return out
}

// refOf reads the arguments of a ref() that was written with literals.
func refOf(a jinja.Args) (Ref, bool) {
	var r Ref
	for _, k := range a.Kw {
		if k.Name != "version" && k.Name != "v" {
			return r, false
		}
		r.Version = str(k.Val)
	}
	for _, v := range a.Pos {
		if _, ok := v.(string); !ok {
			return r, false
		}
	}
	switch len(a.Pos) {
	case 1:
		r.Name = a.Pos[0].(string)
	case 2:
		r.Package, r.Name = a.Pos[0].(string), a.Pos[1].(string)
	default:
		return r, false
	}
	return r, true
}

// sourceOf reads the arguments of a source() that was written with literals.
func sourceOf(a jinja.Args) (s [2]string, ok bool) {
	if len(a.Pos) != 2 || len(a.Kw) > 0 {
		return s, false
	}
	for i, v := range a.Pos {
		if s[i], ok = v.(string); !ok {
			return s, false
		}
	}
	return s, true
}
