package planner

import "strings"

// skipToken returns the offset after the token of DuckDB SQL at i: a quoted text or
// identifier, a comment, a dollar-quoted text, or else one byte. An unterminated token
// ends at the end of sql.
func skipToken(sql string, i int) int {
	rest := sql[i:]
	switch {
	case rest[0] == '"':
		return skipQuoted(sql, i, false)
	case rest[0] == '\'':
		return skipQuoted(sql, i, i > 0 && (sql[i-1] == 'e' || sql[i-1] == 'E') && (i < 2 || !isWord(sql[i-2])))
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexAny(rest, "\n\r"); n >= 0 {
			return i + n
		}
		return len(sql)
	case strings.HasPrefix(rest, "/*"):
		return skipComment(sql, i)
	case rest[0] == '$' && (i == 0 || !isWord(sql[i-1])):
		return skipDollar(sql, i)
	}
	return i + 1
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z'
}

func skipQuoted(sql string, i int, backslash bool) int {
	q := sql[i]
	for i++; i < len(sql); i++ {
		switch {
		case backslash && sql[i] == '\\':
			i++
		case sql[i] == q && i+1 < len(sql) && sql[i+1] == q:
			i++
		case sql[i] == q:
			return i + 1
		}
	}
	return len(sql)
}

// skipComment skips a block comment; they nest.
func skipComment(sql string, i int) int {
	depth := 0
	for i < len(sql) {
		switch {
		case strings.HasPrefix(sql[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(sql[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(sql)
}

func skipDollar(sql string, i int) int {
	j := i + 1
	for j < len(sql) && isWord(sql[j]) {
		j++
	}
	if j == len(sql) || sql[j] != '$' {
		return i + 1
	}
	tag := sql[i : j+1]
	end := strings.Index(sql[j+1:], tag)
	if end < 0 {
		return len(sql)
	}
	return j + 1 + end + len(tag)
}

// plainEnd makes one statement safe to be put inside another: without semicolons,
// and with a line comment at its end closed. Offsets stay as they are.
func plainEnd(sql string) string {
	b := []byte(sql)
	open := false
	for i := 0; i < len(sql); {
		next := skipToken(sql, i)
		if sql[i] == ';' {
			b[i] = ' '
		}
		open = next == len(sql) && strings.HasPrefix(sql[i:], "--")
		i = next
	}
	if open {
		b = append(b, '\n')
	}
	return string(b)
}

// firstWord is the offset of the first token that is neither space nor comment.
func firstWord(sql string) int {
	for i := 0; i < len(sql); i = skipToken(sql, i) {
		comment := strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*")
		if !comment && strings.IndexByte(" \t\r\n", sql[i]) < 0 {
			return i
		}
	}
	return 0
}

// secondStatement is the offset of the first token after the first semicolon that has
// a statement before it.
func secondStatement(sql string) int {
	seen, ended := false, false
	for i := 0; i < len(sql); {
		next := skipToken(sql, i)
		comment := strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*")
		switch {
		case comment || strings.IndexByte(" \t\r\n", sql[i]) >= 0:
		case sql[i] == ';':
			ended = seen
		case ended:
			return i
		default:
			seen = true
		}
		i = next
	}
	return -1
}

// matchParen returns the offset after the ')' that closes the '(' at i, or -1.
func matchParen(sql string, i int) int {
	if i < 0 || i >= len(sql) || sql[i] != '(' {
		return -1
	}
	depth := 0
	for i < len(sql) {
		next := skipToken(sql, i)
		switch sql[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return next
			}
		}
		i = next
	}
	return -1
}
