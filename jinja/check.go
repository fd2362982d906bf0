package jinja

import "errors"

// check finds filters and tests that do not exist, as Jinja's compiler does. Directly
// inside an if or an inline if it lets them be, so that templates can ask first whether a
// filter exists; a loop, macro or other block inside the if is checked again.
//
// With Env.HideMacros each macro is a template of its own: its error waits until it is
// called, or one unused macro of a package would break the project.
func (e *Env) check(body []Stmt, src *source) error {
	c := checker{e, src}
	return c.stmts(body, false)
}

type checker struct {
	env *Env
	src *source
}

func (c *checker) stmts(body []Stmt, soft bool) error {
	for _, s := range body {
		if err := c.stmt(s, soft); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) stmt(s Stmt, soft bool) error {
	switch n := s.(type) {
	case *Output:
		return c.exprs(soft, n.X)
	case *Do:
		return c.exprs(soft, n.X)
	case *SetStmt:
		return c.exprs(soft, n.V)
	case *If:
		if err := c.exprs(true, n.Conds...); err != nil {
			return err
		}
		for _, b := range n.Bodies {
			if err := c.stmts(b, true); err != nil {
				return err
			}
		}
		return c.stmts(n.Else, true)
	case *For:
		if err := c.exprs(soft, n.Iter); err != nil {
			return err
		}
		if err := c.exprs(false, n.Test); err != nil {
			return err
		}
		if err := c.stmts(n.Body, false); err != nil {
			return err
		}
		return c.stmts(n.Else, false)
	case *SetBlock:
		if n.Filter != nil {
			if err := c.exprs(false, n.Filter); err != nil {
				return err
			}
		}
		return c.stmts(n.Body, false)
	case *FilterBlk:
		if err := c.exprs(false, n.Filter); err != nil {
			return err
		}
		return c.stmts(n.Body, false)
	case *With:
		if err := c.exprs(soft, n.Vals...); err != nil {
			return err
		}
		return c.stmts(n.Body, false)
	case *CallBlock:
		if err := c.exprs(soft, n.Call); err != nil {
			return err
		}
		return c.macro(n.M)
	case *Macro:
		err := c.macro(n)
		if c.env.HideMacros && errors.As(err, &n.bad) {
			return nil
		}
		return err
	}
	return nil
}

func (c *checker) macro(m *Macro) error {
	for _, p := range m.Params {
		if err := c.exprs(false, p.Def); err != nil {
			return err
		}
	}
	return c.stmts(m.Body, false)
}

func (c *checker) exprs(soft bool, xs ...Expr) error {
	var err error
	for _, x := range xs {
		if x == nil || soft {
			continue
		}
		Walk(x, func(e Expr) bool {
			if err != nil {
				return false
			}
			switch n := e.(type) {
			case *Cond:
				return false // soft, with all below it
			case *FilterX:
				if _, ok := c.env.Filters[n.Name]; !ok {
					err = locate(c.env.noFilter(n.Name), c.src, n.P)
				}
			case *TestX:
				if _, ok := c.env.Tests[n.Name]; !ok {
					err = locate(c.env.noTest(n.Name), c.src, n.P)
				}
			}
			return err == nil
		})
	}
	return err
}

func (e *Env) noFilter(name string) error {
	err := newErr("TemplateAssertionError", "No filter named '%s'.", name)
	err.Hint = didYouMean(name, keysOf(e.Filters))
	return err
}

func (e *Env) noTest(name string) error {
	err := newErr("TemplateAssertionError", "No test named '%s'.", name)
	err.Hint = didYouMean(name, keysOf(e.Tests))
	return err
}

func keysOf[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}
