package jinja

// parseExpr parses one expression; cond allows the inline if.
func (p *Parser) parseExpr(cond bool) (Expr, error) {
	defer p.leave()
	if err := p.enter(); err != nil {
		return nil, err
	}
	if !cond {
		return p.parseOr()
	}
	at := p.cur().at
	x, err := p.parseOr()
	if err != nil {
		return nil, err
	}
	for p.skipName("if") {
		if err := p.link(); err != nil {
			return nil, err
		}
		t, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		var e Expr
		if p.skipName("else") {
			if e, err = p.parseExpr(true); err != nil {
				return nil, err
			}
		}
		x = &Cond{at, t, x, e}
	}
	return x, nil
}

// parseTuple parses an expression or a tuple without parentheses (paren: inside them).
func (p *Parser) parseTuple(cond bool, extra []string, paren bool) (Expr, error) {
	return p.parseTupleX(false, cond, extra, paren)
}

func (p *Parser) tupleEnd(extra []string) bool {
	t := p.cur()
	if t.k == tVarEnd || t.k == tBlockEnd || t.k == tOp && t.s == ")" {
		return true
	}
	return p.atEnd(extra)
}

// parseTupleX is parseTuple; simple takes primaries only, as in assignment targets.
func (p *Parser) parseTupleX(simple, cond bool, extra []string, paren bool) (Expr, error) {
	at := p.cur().at
	var args []Expr
	isTuple := false
	for {
		if len(args) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd(extra) {
			break
		}
		var x Expr
		var err error
		if simple {
			x, err = p.parsePrimary()
		} else {
			x, err = p.parseExpr(cond)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, x)
		if !p.isOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(args) > 0 {
			return args[0], nil
		}
		if !paren {
			return nil, p.Fail("Expected an expression, got '%s'", p.cur().desc())
		}
	}
	return &TupleX{at, args}, nil
}

func (p *Parser) parseOr() (Expr, error) {
	l, err := p.parseAnd()
	for err == nil && p.isName("or") {
		if err = p.link(); err != nil {
			break
		}
		at := p.next().at
		var r Expr
		if r, err = p.parseAnd(); err == nil {
			l = &Or{at, l, r}
		}
	}
	return l, err
}

func (p *Parser) parseAnd() (Expr, error) {
	l, err := p.parseNot()
	for err == nil && p.isName("and") {
		if err = p.link(); err != nil {
			break
		}
		at := p.next().at
		var r Expr
		if r, err = p.parseNot(); err == nil {
			l = &And{at, l, r}
		}
	}
	return l, err
}

func (p *Parser) parseNot() (Expr, error) {
	if !p.isName("not") {
		return p.parseCompare()
	}
	at := p.next().at
	defer p.leave()
	if err := p.enter(); err != nil {
		return nil, err
	}
	x, err := p.parseNot()
	return &Not{at, x}, err
}

// compareOp reads a comparison operator, or gives "".
func (p *Parser) compareOp() string {
	t := p.cur()
	switch {
	case t.k == tOp && (t.s == "==" || t.s == "!=" || t.s == "<" || t.s == "<=" || t.s == ">" || t.s == ">="):
		p.next()
		return t.s
	case p.skipName("in"):
		return "in"
	case p.isName("not") && p.look().k == tName && p.look().s == "in":
		p.next()
		p.next()
		return "not in"
	}
	return ""
}

func (p *Parser) parseCompare() (Expr, error) {
	at := p.cur().at
	x, err := p.parseBin(0)
	if err != nil {
		return nil, err
	}
	n := &Cmp{P: at, X: x}
	for {
		op := p.compareOp()
		if op == "" {
			break
		}
		r, err := p.parseBin(0)
		if err != nil {
			return nil, err
		}
		n.Ops, n.Rest = append(n.Ops, op), append(n.Rest, r)
	}
	if n.Ops == nil {
		return x, nil
	}
	return n, nil
}

// binLevels are the left-associative operators, loosest first; level 1 is "~".
// Even ** is left-associative in Jinja, and binds looser than a sign: -2**2 is 4.
var binLevels = [4]map[string]bool{
	0: {"+": true, "-": true},
	1: nil,
	2: {"*": true, "/": true, "//": true, "%": true},
	3: {"**": true},
}

func (p *Parser) parseBin(level int) (Expr, error) {
	if level == len(binLevels) {
		return p.parseUnary(true)
	}
	l, err := p.parseBin(level + 1)
	if err != nil {
		return nil, err
	}
	if level == 1 {
		return p.parseConcat(l)
	}
	for p.cur().k == tOp && binLevels[level][p.cur().s] {
		if err := p.link(); err != nil {
			return nil, err
		}
		t := p.next()
		r, err := p.parseBin(level + 1)
		if err != nil {
			return nil, err
		}
		l = &Bin{t.at, t.s, l, r}
	}
	return l, nil
}

func (p *Parser) parseConcat(l Expr) (Expr, error) {
	if !p.isOp("~") {
		return l, nil
	}
	c := &Concat{p.cur().at, []Expr{l}}
	for p.skipOp("~") {
		r, err := p.parseBin(2)
		if err != nil {
			return nil, err
		}
		c.Items = append(c.Items, r)
	}
	return c, nil
}
