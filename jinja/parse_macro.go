package jinja

import "strings"

func (p *Parser) parseMacro(at P) (Stmt, error) {
	m := &Macro{P: at, Kind: "macro"}
	var err error
	if m.Name, err = p.ExpectName(); err != nil {
		return nil, err
	}
	return m, p.MacroRest(m, true, "endmacro")
}

func (p *Parser) parseCallBlock(at P) (Stmt, error) {
	m := &Macro{P: at, Kind: "caller", Name: "caller", src: p.src}
	if p.isOp("(") {
		if err := p.signature(m); err != nil {
			return nil, err
		}
	}
	x, err := p.parseExpr(true)
	if err != nil {
		return nil, err
	}
	c, ok := x.(*CallX)
	if !ok {
		return nil, p.Fail("expected call")
	}
	if m.Body, _, err = p.Body("endcall"); err != nil {
		return nil, err
	}
	m.scan()
	return &CallBlock{at, m, c}, nil
}

// MacroRest parses an optional signature and the body: for custom macro-like tags too.
func (p *Parser) MacroRest(m *Macro, sig bool, end string) error {
	m.src = p.src
	if m.Col == 0 && m.Line == p.tag.Line {
		m.P = p.tag // a custom tag gives the line alone
	}
	if sig {
		if err := p.signature(m); err != nil {
			return err
		}
	}
	var err error
	m.Body, _, err = p.Body(end)
	m.scan()
	return err
}

func (p *Parser) signature(m *Macro) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.isOp(")") {
		if len(m.Params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
			if p.isOp(")") {
				return p.Fail("expected token 'name', got ')'")
			}
		}
		n, err := p.ExpectName()
		if err != nil {
			return err
		}
		prm := Param{Name: n}
		if p.skipOp(":") { // dbt: typed parameters
			if prm.Type, err = p.typeName(); err != nil {
				return err
			}
		}
		if p.skipOp("=") {
			if prm.Def, err = p.parseExpr(true); err != nil {
				return err
			}
		} else if len(m.Params) > 0 && m.Params[len(m.Params)-1].Def != nil {
			return p.Fail("non-default argument follows default argument")
		}
		m.Params = append(m.Params, prm)
	}
	p.next()
	return nil
}

func (p *Parser) typeName() (string, error) {
	defer p.leave()
	if err := p.enter(); err != nil {
		return "", err
	}
	n, err := p.ExpectName()
	if err != nil || !p.skipOp("[") {
		return n, err
	}
	var a []string
	for !p.isOp("]") {
		if len(a) > 0 {
			if err := p.expectOp(","); err != nil {
				return "", err
			}
		}
		x, err := p.typeName()
		if err != nil {
			return "", err
		}
		a = append(a, x)
	}
	p.next()
	return n + "[" + strings.Join(a, ", ") + "]", nil
}

// scan finds whether the body uses caller, varargs or kwargs.
func (m *Macro) scan() {
	WalkNames(m.Body, func(n string) {
		switch n {
		case "varargs":
			m.Varargs = true
		case "kwargs":
			m.Kwargs = true
		case "caller":
			m.Caller = true
		}
	})
	for _, p := range m.Params {
		switch p.Name {
		case "varargs":
			m.Varargs = false
		case "kwargs":
			m.Kwargs = false
		case "caller":
			m.Caller, m.ExplicitCal = false, true
		}
	}
}
