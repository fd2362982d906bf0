package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// filterWordwrap wraps each line as Python's textwrap does.
func filterWordwrap(v Value, b Bound) (Value, error) {
	w := optInt(b, "width", 79)
	if w <= 0 {
		return nil, ValueErr("invalid width %d (must be > 0)", w)
	}
	long, hyphens := Truth(b.Or("break_long_words", true)), Truth(b.Or("break_on_hyphens", true))
	var out []string
	for _, line := range splitLines(Str(v), false) {
		out = append(out, strings.Join(wrap(line, int(min(w, maxText)), long, hyphens), Str(b.Or("wrapstring", "\n"))))
	}
	return joinText(out, Str(b.Or("wrapstring", "\n")))
}

// wrap fills lines with chunks; spaces at the ends of lines fall away, those inside stay.
func wrap(s string, width int, long, hyphens bool) []string {
	chunks := wrapChunks(s, hyphens)
	var lines []string
	for len(chunks) > 0 {
		if len(lines) > 0 && strings.TrimFunc(chunks[0], pySpace) == "" {
			chunks = chunks[1:]
		}
		var line []string
		n := 0
		for len(chunks) > 0 && n+utf8.RuneCountInString(chunks[0]) <= width {
			n += utf8.RuneCountInString(chunks[0])
			line = append(line, chunks[0])
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && utf8.RuneCountInString(chunks[0]) > width {
			switch {
			case long:
				r := []rune(chunks[0])
				at := max(width-n, 0)
				if cut := lastHyphen(r[:at]); hyphens && cut > 0 {
					at = cut
				}
				// also when nothing fits: Python then drops this instead of the space before it
				line = append(line, string(r[:at]))
				chunks[0] = string(r[at:])
			case len(line) == 0:
				line = append(line, chunks[0])
				chunks = chunks[1:]
			}
		}
		if k := len(line) - 1; k >= 0 && strings.TrimFunc(line[k], pySpace) == "" {
			line = line[:k]
		}
		if len(line) > 0 {
			lines = append(lines, strings.Join(line, ""))
		}
	}
	return lines
}

// lastHyphen gives the length up to and with the last hyphen after something else, or 0.
func lastHyphen(r []rune) int {
	for i := len(r) - 1; i > 0; i-- {
		if r[i] == '-' && strings.Trim(string(r[:i]), "-") != "" {
			return i + 1
		}
	}
	return 0
}

// wrapChunks splits a line into runs of spaces and words; hyphens splits compounds too.
func wrapChunks(s string, hyphens bool) []string {
	var out []string
	r := []rune(s)
	start := 0
	for i := 1; i <= len(r); i++ {
		if i == len(r) || pySpace(r[i]) != pySpace(r[i-1]) || hyphens && compound(r[start:], i-1-start) {
			out = append(out, string(r[start:i]))
			start = i
		}
	}
	return out
}

// compound tells whether the word may be broken after the hyphen at i: two word
// characters with a letter next to it stand on both sides.
func compound(r []rune, i int) bool {
	word := func(k int) bool {
		return k >= 0 && k < len(r) && (r[k] == '_' || unicode.IsLetter(r[k]) || unicode.IsDigit(r[k]))
	}
	letter := func(k int) bool { return word(k) && !unicode.IsDigit(r[k]) }
	if r[i] != '-' || !letter(i-1) || !word(i-2) {
		return false
	}
	for k := i + 1; word(k); k++ {
		if k > i+1 && letter(k) {
			return true
		}
	}
	return false
}
