package jinja

func (p *Parser) parseUnary(filters bool) (Expr, error) {
	t := p.cur()
	var x Expr
	var err error
	if t.k == tOp && (t.s == "-" || t.s == "+") {
		p.next()
		defer p.leave()
		if err := p.enter(); err != nil {
			return nil, err
		}
		if x, err = p.parseUnary(false); err != nil {
			return nil, err
		}
		x = &Unary{t.at, t.s, x}
	} else if x, err = p.parsePrimary(); err != nil {
		return nil, err
	}
	if x, err = p.parsePostfix(x); err != nil {
		return nil, err
	}
	if filters {
		return p.parseFilterExpr(x)
	}
	return x, nil
}

func (p *Parser) parsePrimary() (Expr, error) {
	t := p.cur()
	switch t.k {
	case tName:
		p.next()
		switch t.s {
		case "true", "True":
			return &Const{t.at, true}, nil
		case "false", "False":
			return &Const{t.at, false}, nil
		case "none", "None":
			return &Const{t.at, nil}, nil
		}
		return &Name{t.at, t.s}, nil
	case tString:
		p.next()
		if p.cur().k != tString {
			return &Const{t.at, t.v}, nil
		}
		s := []byte(t.s)
		for p.cur().k == tString {
			s = append(s, p.next().s...)
		}
		return &Const{t.at, string(s)}, nil
	case tInt, tFloat:
		p.next()
		return &Const{t.at, t.v}, nil
	case tOp:
		switch t.s {
		case "(":
			p.next()
			x, err := p.parseTuple(true, nil, true)
			if err != nil {
				return nil, err
			}
			return x, p.expectOp(")")
		case "[":
			p.next()
			return p.parseList(t.at)
		case "{":
			p.next()
			return p.parseDict(t.at)
		}
	}
	return nil, p.Fail("unexpected '%s'", t.desc())
}

func (p *Parser) parseList(at P) (Expr, error) {
	n := &ListX{P: at}
	for !p.isOp("]") {
		if len(n.Items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("]") {
				break
			}
		}
		x, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, x)
	}
	return n, p.expectOp("]")
}

func (p *Parser) parseDict(at P) (Expr, error) {
	n := &DictX{P: at}
	for !p.isOp("}") {
		if len(n.K) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("}") {
				break
			}
		}
		k, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		n.K, n.V = append(n.K, k), append(n.V, v)
	}
	return n, p.expectOp("}")
}

// parsePostfix parses .attr, [item] and (call) after x.
func (p *Parser) parsePostfix(x Expr) (Expr, error) {
	for {
		var err error
		switch {
		case p.isOp(".") || p.isOp("["):
			x, err = p.parseSubscript(x)
		case p.isOp("("):
			x, err = p.parseCall(x)
		default:
			return x, nil
		}
		if err == nil {
			err = p.link()
		}
		if err != nil {
			return nil, err
		}
	}
}

// parseFilterExpr parses |filter, is test and a call after x.
func (p *Parser) parseFilterExpr(x Expr) (Expr, error) {
	for {
		var err error
		switch {
		case p.isOp("|"):
			x, err = p.parseFilters(x, false)
		case p.isName("is"):
			x, err = p.parseTest(x)
		case p.isOp("("):
			x, err = p.parseCall(x)
		default:
			return x, nil
		}
		if err == nil {
			err = p.link()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *Parser) parseSubscript(x Expr) (Expr, error) {
	t := p.next()
	if t.s == "." {
		a := p.cur()
		switch a.k {
		case tName:
			p.next()
			return &GetAttr{a.at, x, a.s}, nil
		case tInt:
			p.next()
			return &GetItem{a.at, x, &Const{a.at, a.v}}, nil
		}
		return nil, p.Fail("expected name or number")
	}
	var args []Expr
	for !p.isOp("]") {
		if len(args) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		a, err := p.parseSubscribed()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	if err := p.expectOp("]"); err != nil {
		return nil, err
	}
	if len(args) == 1 {
		return &GetItem{t.at, x, args[0]}, nil
	}
	return &GetItem{t.at, x, &TupleX{t.at, args}}, nil
}

// parseSubscribed parses an index or a slice.
func (p *Parser) parseSubscribed() (Expr, error) {
	at := p.cur().at
	var parts [3]Expr
	if !p.isOp(":") {
		x, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		if !p.isOp(":") {
			return x, nil
		}
		parts[0] = x
	}
	for i := 1; i < 3 && p.skipOp(":"); i++ {
		if p.isOp(":") || p.isOp("]") || p.isOp(",") {
			continue
		}
		x, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		parts[i] = x
	}
	return &Slice{at, parts[0], parts[1], parts[2]}, nil
}
