package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var ops2 = map[string]bool{"//": true, "**": true, "==": true, "!=": true, ">=": true, "<=": true}

var closers = map[byte]byte{'(': ')', '[': ']', '{': '}'}

func isIdStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isIdPart(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// code emits the tokens inside a tag. Brackets are balanced here: "}}" closes a tag
// only when no brace is open, as {{ {'a': {}} }} needs.
func (l *lexer) code(end string, endKind tkind, open int) error {
	s := l.src
	var stack []byte
	for {
		i := l.pos
		if i >= len(s) {
			return l.fail(open, "unexpected end of template, expected '%s'.", token{k: endKind}.desc())
		}
		if len(stack) == 0 {
			if e, ok := matchEnd(s, i, end, endKind == tBlockEnd); ok {
				l.emit(endKind, end, nil, i)
				l.pos = e
				return nil
			}
		}
		c := s[i]
		var err error
		switch {
		case c == '\n' || c == ' ' || c == '\t' || c == '\f' || c == '\v':
			l.pos++
		case c == '\'' || c == '"':
			err = l.str(c)
		case c >= '0' && c <= '9':
			err = l.number()
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
			err = l.name()
		default:
			stack, err = l.operator(c, stack)
		}
		if err != nil {
			return err
		}
	}
}

func (l *lexer) fail(off int, f string, a ...any) error {
	return syntaxErr(l.from, l.position(off), f, a...)
}

func (l *lexer) str(quote byte) error {
	s, i := l.src, l.pos
	j := i + 1
	for j < len(s) && s[j] != quote {
		if s[j] == '\\' {
			j++
		}
		j++
	}
	if j >= len(s) {
		return l.fail(i, "unexpected char %s at %d", StrRepr(string(quote)), i)
	}
	v, err := unescape(s[i+1 : j])
	if err != nil {
		return l.fail(i, "%s", err)
	}
	l.emit(tString, v, v, i)
	l.pos = j + 1
	return nil
}

func (l *lexer) name() error {
	s, i := l.src, l.pos
	r, n := utf8.DecodeRuneInString(s[i:])
	if pySpace(r) {
		l.pos += n
		return nil
	}
	if !isIdStart(r) {
		return l.fail(i, "unexpected char %s at %d", StrRepr(string(r)), i)
	}
	j := i + n
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if !isIdPart(r) {
			break
		}
		j += n
	}
	l.emit(tName, s[i:j], nil, i)
	l.pos = j
	return nil
}

func (l *lexer) operator(c byte, stack []byte) ([]byte, error) {
	s, i := l.src, l.pos
	if i+1 < len(s) && ops2[s[i:i+2]] {
		l.emit(tOp, s[i:i+2], nil, i)
		l.pos += 2
		return stack, nil
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", c) < 0 {
		return stack, l.fail(i, "unexpected char %s at %d", StrRepr(string(c)), i)
	}
	if w, ok := closers[c]; ok {
		stack = append(stack, w)
	} else if c == ')' || c == ']' || c == '}' {
		if len(stack) == 0 {
			return stack, l.fail(i, "unexpected '%c'", c)
		}
		if w := stack[len(stack)-1]; w != c {
			return stack, l.fail(i, "unexpected '%c', expected '%c'", c, w)
		}
		stack = stack[:len(stack)-1]
	}
	l.emit(tOp, s[i:i+1], nil, i)
	l.pos++
	return stack, nil
}
