package clickhouse

import (
	"errors"
	"strings"
)

// scanner walks over SQL text, past quotes and comments.
type scanner struct {
	s string
	i int
}

// next gives the start of the next token and its text; "" at the end. Words come whole,
// quoted texts whole, anything else as one byte.
func (p *scanner) next() (at int, tok string) {
	for p.i < len(p.s) {
		rest := p.s[p.i:]
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.i++
		case strings.HasPrefix(rest, "--"):
			p.to(strings.IndexByte(rest, '\n'), 1)
		case strings.HasPrefix(rest, "/*"):
			p.to(strings.Index(rest, "*/"), 2)
		default:
			at = p.i
			p.i = at + tokenLen(rest)
			return at, p.s[at:p.i]
		}
	}
	return p.i, ""
}

func (p *scanner) to(index, size int) {
	if index < 0 {
		p.i = len(p.s)
		return
	}
	p.i += index + size
}

func tokenLen(s string) int {
	c := s[0]
	if c == '\'' || c == '"' || c == '`' {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case c:
				return i + 1
			}
		}
		return len(s)
	}
	i := 0
	for i < len(s) && (isAlnum(s[i]) || s[i] == '_' || s[i] >= 0x80) {
		i++
	}
	return max(i, 1)
}

// splitStatements cuts sql at its semicolons and drops empty statements.
func splitStatements(sql string) (all []string) {
	p := scanner{s: sql}
	start, any := 0, false
	for {
		at, tok := p.next()
		if tok == "" || tok == ";" {
			if any {
				all = append(all, strings.TrimSpace(sql[start:at]))
			}
			if tok == "" {
				return all
			}
			start, any = p.i, false
			continue
		}
		any = true
	}
}

// inlineInsert rewrites INSERT … VALUES (…), (…) to INSERT … SELECT …: over the native
// protocol the values would have to be parsed by the client, and a server waits for
// them for ever. Other statements are returned as they are.
func inlineInsert(sql string) (string, error) {
	p := scanner{s: sql}
	if _, tok := p.next(); !strings.EqualFold(tok, "INSERT") {
		return sql, nil
	}
	depth := 0
	for {
		at, tok := p.next()
		switch {
		case tok == "":
			return "", errors.New("INSERT without VALUES or SELECT cannot be run: there is no data for it")
		case tok == "(":
			depth++
		case tok == ")":
			depth--
		case depth > 0:
		case strings.EqualFold(tok, "SELECT"), strings.EqualFold(tok, "WITH"):
			return sql, nil
		case strings.EqualFold(tok, "FORMAT"):
			return "", errors.New("INSERT … FORMAT cannot be run: there is no data for it; use INSERT … SELECT")
		case strings.EqualFold(tok, "VALUES"):
			rows, err := valueRows(&p)
			return sql[:at] + strings.Join(rows, " UNION ALL "), err
		}
	}
}

// valueRows reads the tuples after VALUES as SELECTs.
func valueRows(p *scanner) (rows []string, err error) {
	for {
		_, tok := p.next()
		if tok == "" && len(rows) > 0 {
			return rows, nil
		}
		if tok == "," && len(rows) > 0 {
			continue
		}
		if tok != "(" {
			return nil, errors.New("INSERT … VALUES: a row must be in parentheses")
		}
		start := p.i
		for depth := 1; depth > 0; {
			at, tok := p.next()
			switch tok {
			case "":
				return nil, errors.New("INSERT … VALUES: no closing parenthesis")
			case "(", "[":
				depth++
			case ")", "]":
				depth--
			}
			if depth == 0 {
				rows = append(rows, "SELECT "+p.s[start:at])
			}
		}
	}
}
