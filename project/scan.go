package project

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner reads DuckDB SQL token by token, just well enough to tell names from text
// and comments.
type scanner struct {
	src string
	at  int
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokQuoted // "name", text without quotes
	tokPunct  // one character
	tokOther  // strings, numbers
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

func (s *scanner) next() token {
	s.skip()
	start := s.at
	if s.at >= len(s.src) {
		return token{kind: tokEnd, start: start, end: start}
	}
	c, size := utf8.DecodeRuneInString(s.src[s.at:])
	tok := func(k tokenKind, text string) token { return token{k, text, start, s.at} }
	switch {
	case c == '"':
		text := s.until('"', false)
		return tok(tokQuoted, text)
	case c == '\'':
		s.until('\'', start > 0 && (s.src[start-1] == 'e' || s.src[start-1] == 'E') && (start < 2 || !wordPart(rune(s.src[start-2]))))
		return tok(tokOther, "")
	case c == '$':
		if tag := dollarTag(s.src[s.at:]); tag != "" {
			if i := strings.Index(s.src[s.at+len(tag):], tag); i >= 0 {
				s.at += len(tag) + i + len(tag)
				return tok(tokOther, "")
			}
		}
		s.at++
		return tok(tokPunct, "$")
	case wordPart(c):
		for s.at < len(s.src) {
			c, n := utf8.DecodeRuneInString(s.src[s.at:])
			if !wordPart(c) && c != '$' {
				break
			}
			s.at += n
		}
		return tok(tokWord, s.src[start:s.at])
	}
	s.at += size
	return tok(tokPunct, s.src[start:s.at])
}

func wordPart(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || c >= 0x80
}

// until reads a quoted token; the quote doubled stands for itself.
func (s *scanner) until(quote byte, backslash bool) string {
	var sb strings.Builder
	for s.at++; s.at < len(s.src); s.at++ {
		c := s.src[s.at]
		if c == '\\' && backslash && s.at+1 < len(s.src) {
			s.at++
			continue
		}
		if c == quote {
			if s.at+1 < len(s.src) && s.src[s.at+1] == quote {
				s.at++
			} else {
				s.at++
				break
			}
		}
		sb.WriteByte(c)
	}
	return sb.String()
}

// dollarTag is the opening of a dollar-quoted string: $$ or $tag$.
func dollarTag(s string) string {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$':
			return s[:i+1]
		case !wordPart(rune(c)) || i == 1 && c >= '0' && c <= '9':
			return ""
		}
	}
	return ""
}

// skip passes blanks and comments; block comments nest.
func (s *scanner) skip() {
	for s.at < len(s.src) {
		rest := s.src[s.at:]
		switch {
		case strings.HasPrefix(rest, "--"):
			i := strings.IndexByte(rest, '\n')
			if i < 0 {
				i = len(rest)
			}
			s.at += i
		case strings.HasPrefix(rest, "/*"):
			depth := 0
			for i := 0; ; i++ {
				if i >= len(rest) {
					s.at = len(s.src)
					break
				}
				if strings.HasPrefix(rest[i:], "/*") {
					depth++
					i++
				} else if strings.HasPrefix(rest[i:], "*/") {
					depth--
					i++
					if depth == 0 {
						s.at += i + 1
						break
					}
				}
			}
		default:
			c, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(c) && c != '\ufeff' {
				return
			}
			s.at += n
		}
	}
}
