package jinja

// parseCall parses the arguments after f. The call stands where its function stands,
// or errors would point at the parenthesis.
func (p *Parser) parseCall(f Expr) (Expr, error) {
	c := &CallX{P: posOf(f), F: f}
	return c, p.callArgs(c)
}

func (p *Parser) callArgs(c *CallX) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for n := 0; !p.isOp(")"); n++ {
		if n > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
			if p.isOp(")") {
				break
			}
		}
		if err := p.callArg(c); err != nil {
			return err
		}
	}
	return p.expectOp(")")
}

// callArg parses one argument and checks Python's order: positional, keyword, *args, **kwargs.
func (p *Parser) callArg(c *CallX) error {
	kw := p.cur().k == tName && p.look().k == tOp && p.look().s == "="
	ok := c.DynKw == nil
	switch {
	case p.isOp("*"):
		ok = ok && c.DynArgs == nil
	case !p.isOp("**") && !kw:
		ok = ok && c.DynArgs == nil && len(c.Kw) == 0
	}
	if !ok {
		return p.Fail("invalid syntax for function call expression")
	}
	var err error
	switch {
	case p.skipOp("*"):
		c.DynArgs, err = p.parseExpr(true)
	case p.skipOp("**"):
		c.DynKw, err = p.parseExpr(true)
	case kw:
		n := p.next().s
		p.next()
		var x Expr
		x, err = p.parseExpr(true)
		c.Kw = append(c.Kw, KwX{n, x})
	default:
		var x Expr
		x, err = p.parseExpr(true)
		c.Args = append(c.Args, x)
	}
	return err
}

// dotted reads a filter's or test's name.
func (p *Parser) dotted() (string, error) {
	n, err := p.ExpectName()
	for err == nil && p.isOp(".") {
		p.next()
		var m string
		if m, err = p.ExpectName(); err == nil {
			n += "." + m
		}
	}
	return n, err
}

// parseFilters parses |a|b(...) after x; inline means that the first "|" is not written.
func (p *Parser) parseFilters(x Expr, inline bool) (Expr, error) {
	for inline || p.skipOp("|") {
		inline = false
		if err := p.link(); err != nil {
			return nil, err
		}
		f := &FilterX{P: p.cur().at, X: x}
		var err error
		if f.Name, err = p.dotted(); err != nil {
			return nil, err
		}
		if p.isOp("(") {
			if err := p.callArgs(&f.Call); err != nil {
				return nil, err
			}
		}
		x = f
	}
	return x, nil
}

// parseTest parses "is [not] name", with an argument in parentheses or without.
func (p *Parser) parseTest(x Expr) (Expr, error) {
	at := p.next().at
	neg := p.skipName("not")
	t := &TestX{P: p.cur().at, X: x}
	var err error
	if t.Name, err = p.dotted(); err != nil {
		return nil, err
	}
	if p.isOp("(") {
		if err := p.callArgs(&t.Call); err != nil {
			return nil, err
		}
	} else if p.testArg() {
		if p.isName("is") {
			return nil, p.Fail("You cannot chain multiple tests with is")
		}
		a, err := p.parsePrimary()
		if err != nil {
			return nil, err
		}
		if a, err = p.parsePostfix(a); err != nil {
			return nil, err
		}
		t.Call.Args = []Expr{a}
	}
	if neg {
		return &Not{at, t}, nil
	}
	return t, nil
}

// testArg tells whether the current token starts a test's bare argument.
func (p *Parser) testArg() bool {
	c := p.cur()
	switch c.k {
	case tName:
		return c.s != "else" && c.s != "or" && c.s != "and"
	case tString, tInt, tFloat:
		return true
	}
	return c.k == tOp && (c.s == "[" || c.s == "{")
}
