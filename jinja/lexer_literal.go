package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

func isDec(c byte) bool { return c >= '0' && c <= '9' }

// digits gives the end of a run of digits from j, underscores between them allowed.
func digits(s string, j int, ok func(byte) bool) int {
	for i := j; j < len(s) && (ok(s[j]) || s[j] == '_' && j > i && j+1 < len(s) && ok(s[j+1])); {
		j++
	}
	return j
}

// radix tells the base of 0x, 0o and 0b, or 0.
func radix(c byte) (int, func(byte) bool) {
	switch c | 0x20 {
	case 'x':
		return 16, func(c byte) bool { return isDec(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
	case 'o':
		return 8, func(c byte) bool { return c >= '0' && c <= '7' }
	case 'b':
		return 2, func(c byte) bool { return c == '0' || c == '1' }
	}
	return 0, nil
}

func (l *lexer) number() error {
	s, i := l.src, l.pos
	if s[i] == '0' && i+1 < len(s) {
		if base, ok := radix(s[i+1]); base != 0 {
			k := i + 2
			if k < len(s) && s[k] == '_' {
				k++
			}
			if j := digits(s, k, ok); j > k {
				return l.integer(i, j, s[k:j], base)
			}
		}
	}
	j := digits(s, i, isDec)
	isFloat := false
	if i == 0 || s[i-1] != '.' { // in l.0.1 both are indexes, not the float 0.1
		if j+1 < len(s) && s[j] == '.' && isDec(s[j+1]) {
			isFloat = true
			j = digits(s, j+1, isDec)
		}
		if j < len(s) && s[j]|0x20 == 'e' {
			k := j + 1
			if k < len(s) && (s[k] == '+' || s[k] == '-') {
				k++
			}
			if k < len(s) && isDec(s[k]) {
				isFloat = true
				j = digits(s, k, isDec)
			}
		}
	}
	if !isFloat {
		txt := strings.ReplaceAll(s[i:j], "_", "")
		if len(txt) > 1 && txt[0] == '0' && strings.Trim(txt, "0") != "" {
			return l.fail(i, "expected token 'end of print statement', got 'integer'")
		}
		return l.integer(i, j, txt, 10)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s[i:j], "_", ""), 64)
	if err != nil && !strings.Contains(err.Error(), "out of range") { // 1e999 is inf, as in Python
		return l.fail(i, "invalid number")
	}
	l.emit(tFloat, s[i:j], f, i)
	l.pos = j
	return nil
}

func (l *lexer) integer(i, j int, txt string, base int) error {
	if len(txt) > 4300 { // Python's own limit
		return l.fail(i, "Exceeds the limit (4300 digits) for integer string conversion")
	}
	b, ok := new(big.Int).SetString(strings.ReplaceAll(txt, "_", ""), base)
	if !ok {
		return l.fail(i, "invalid number")
	}
	l.emit(tInt, l.src[i:j], normBig(b), i)
	l.pos = j
	return nil
}

var simpleEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, '\\': '\\', '\'': '\'', '"': '"'}

// unescape is Python's unicode-escape.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			sb.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if r, ok := simpleEscapes[c]; ok {
			sb.WriteByte(r)
			continue
		}
		switch c {
		case '\n':
		case '0', '1', '2', '3', '4', '5', '6', '7':
			j := i
			n := rune(0)
			for j < len(s) && j < i+3 && s[j] >= '0' && s[j] <= '7' {
				n = n<<3 | rune(s[j]-'0')
				j++
			}
			sb.WriteRune(n)
			i = j - 1
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+n >= len(s) {
				return "", fmt.Errorf("truncated \\%c escape", c)
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || v > 0x10ffff {
				return "", fmt.Errorf("truncated \\%c escape", c)
			}
			sb.WriteRune(rune(v))
			i += n
		default:
			sb.WriteByte('\\')
			sb.WriteByte(c)
		}
	}
	return sb.String(), nil
}
