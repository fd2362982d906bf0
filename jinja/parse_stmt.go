package jinja

import "fmt"

// TagFunc parses a custom statement; the tag name has been consumed.
type TagFunc func(p *Parser, line int) (Stmt, error)

func (p *Parser) statement() (Stmt, error) {
	defer p.leave()
	if err := p.enter(); err != nil {
		return nil, err
	}
	t := p.cur()
	if t.k != tName {
		return nil, p.Fail("tag name expected")
	}
	p.tags = append(p.tags, t.s)
	defer func() { p.tags = p.tags[:len(p.tags)-1] }()
	if f, ok := tagParsers[t.s]; ok {
		p.next()
		return f(p, t.at)
	}
	switch t.s {
	case "include", "import", "from", "extends", "block":
		return nil, p.Fail("'%s' is not supported: there is no template loader", t.s)
	}
	if f, ok := p.env.Tags[t.s]; ok {
		p.next()
		p.tag = t.at
		return f(p, t.at.Line)
	}
	if next := p.look(); p.env.Calls[t.s] && next.k == tOp && next.s == "(" {
		return p.parseDo(t.at)
	}
	return nil, p.unknownTag(t.s)
}

func (p *Parser) unknownTag(name string) error {
	msg := fmt.Sprintf("Encountered unknown tag '%s'.", name)
	if len(p.ends) > 0 {
		msg += fmt.Sprintf(" Jinja was looking for the following tags: %s.", orList(p.ends[len(p.ends)-1]))
		if len(p.tags) > 1 {
			msg += fmt.Sprintf(" The innermost block that needs to be closed is '%s'.", p.tags[len(p.tags)-2])
		}
	}
	return p.Fail("%s", msg)
}

var tagParsers map[string]func(p *Parser, at P) (Stmt, error)

func init() {
	tagParsers = map[string]func(p *Parser, at P) (Stmt, error){
		"for":      (*Parser).parseFor,
		"if":       (*Parser).parseIf,
		"set":      (*Parser).parseSet,
		"do":       (*Parser).parseDo,
		"print":    (*Parser).parsePrint,
		"macro":    (*Parser).parseMacro,
		"call":     (*Parser).parseCallBlock,
		"filter":   (*Parser).parseFilterBlock,
		"with":     (*Parser).parseWith,
		"break":    func(_ *Parser, at P) (Stmt, error) { return &Break{at}, nil },
		"continue": func(_ *Parser, at P) (Stmt, error) { return &Continue{at}, nil },
	}
}

func (p *Parser) parseIf(at P) (Stmt, error) {
	n := &If{P: at}
	for {
		c, err := p.parseTuple(false, nil, false)
		if err != nil {
			return nil, err
		}
		body, end, err := p.Body("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		n.Conds, n.Bodies = append(n.Conds, c), append(n.Bodies, body)
		if end == "elif" {
			continue
		}
		if end == "else" {
			n.Else, _, err = p.Body("endif")
		}
		return n, err
	}
}

func (p *Parser) parseFor(at P) (Stmt, error) {
	n := &For{P: at}
	var err error
	if n.Target, err = p.assignTarget(false, []string{"in"}); err != nil {
		return nil, err
	}
	if !p.skipName("in") {
		return nil, p.Fail("expected token 'in', got '%s'", p.cur().desc())
	}
	if n.Iter, err = p.parseTuple(false, []string{"recursive"}, false); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if n.Test, err = p.parseExpr(true); err != nil {
			return nil, err
		}
	}
	n.Recursive = p.skipName("recursive")
	body, end, err := p.Body("endfor", "else")
	if err != nil {
		return nil, err
	}
	n.Body = body
	if end == "else" {
		n.Else, _, err = p.Body("endfor")
	}
	return n, err
}

func (p *Parser) parseSet(at P) (Stmt, error) {
	tgt, err := p.assignTarget(true, nil)
	if err != nil {
		return nil, err
	}
	if p.skipOp("=") {
		x, err := p.parseTuple(true, nil, false)
		if err != nil {
			return nil, err
		}
		return &SetStmt{at, tgt, x}, nil
	}
	f, err := p.parseFilters(nil, false)
	if err != nil {
		return nil, err
	}
	body, _, err := p.Body("endset")
	if err != nil {
		return nil, err
	}
	fx, _ := f.(*FilterX)
	return &SetBlock{at, tgt, fx, body}, nil
}

func (p *Parser) parseDo(at P) (Stmt, error) {
	x, err := p.parseTuple(true, nil, false)
	if err != nil {
		return nil, err
	}
	return &Do{at, x}, nil
}

func (p *Parser) parsePrint(at P) (Stmt, error) {
	x, err := p.parseTuple(true, nil, false)
	if err != nil {
		return nil, err
	}
	return &Output{at, x}, nil
}

func (p *Parser) parseFilterBlock(at P) (Stmt, error) {
	f, err := p.parseFilters(nil, true)
	if err != nil {
		return nil, err
	}
	body, _, err := p.Body("endfilter")
	if err != nil {
		return nil, err
	}
	return &FilterBlk{at, f.(*FilterX), body}, nil
}

func (p *Parser) parseWith(at P) (Stmt, error) {
	n := &With{P: at}
	for p.cur().k != tBlockEnd {
		if len(n.Names) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		tg, err := p.assignTarget(false, nil)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		v, err := p.parseExpr(true)
		if err != nil {
			return nil, err
		}
		n.Names, n.Vals = append(n.Names, tg), append(n.Vals, v)
	}
	var err error
	n.Body, _, err = p.Body("endwith")
	return n, err
}

// assignTarget parses what stands left of "=" or "in"; ns allows ns.attr.
func (p *Parser) assignTarget(ns bool, extra []string) (Expr, error) {
	t := p.cur()
	if ns && t.k == tName && p.look().k == tOp && p.look().s == "." {
		p.next()
		p.next()
		a, err := p.ExpectName()
		return &NSRef{t.at, t.s, a}, err
	}
	x, err := p.parseTupleX(true, true, extra, false)
	if err != nil {
		return nil, err
	}
	return x, p.checkTarget(x)
}

func (p *Parser) checkTarget(x Expr) error {
	switch n := x.(type) {
	case *Name:
		return nil
	case *TupleX:
		for _, e := range n.Items {
			if err := p.checkTarget(e); err != nil {
				return err
			}
		}
		return nil
	case *Const:
		return p.Fail("can't assign to 'const'")
	case *ListX:
		return p.Fail("can't assign to 'list'")
	}
	return p.Fail("can't assign to 'expression'")
}
