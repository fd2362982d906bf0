package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// source is the text a node was parsed from; errors quote lines of it.
type source struct {
	file string
	text string // with \n line ends
	line int    // the file's line number of the first line of text
	// maybe are names that are set under a condition.
	maybe map[string]bool
}

// snippetWidth bounds a quoted line: generated SQL may be one line of megabytes.
const snippetWidth = 110

// lineText gives one line of the file, numbered as in the file.
func (s *source) lineText(n int) (string, bool) {
	if s == nil || n < s.line {
		return "", false
	}
	rest := s.text
	for k := s.line; k < n; k++ {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return "", false
		}
		rest = rest[i+1:]
	}
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}

// snippet quotes the line with a caret below the column; "" if the text is not at hand.
func (s *source) snippet(line, col int) string {
	text, ok := s.lineText(line)
	if !ok || col < 1 {
		return ""
	}
	r := []rune(text)
	cut := ""
	if len(r) > snippetWidth {
		from := max(0, min(col-1-snippetWidth/2, len(r)-snippetWidth))
		r, col = r[from:from+snippetWidth], col-from
		if from > 0 {
			cut = "…"
			col++
		}
	}
	// a tab stays a tab in the caret's line, so that both lines indent alike
	var lead strings.Builder
	for _, c := range r[:min(max(col-1-utf8.RuneCountInString(cut), 0), len(r))] {
		if c == '\t' {
			lead.WriteByte('\t')
		} else {
			lead.WriteByte(' ')
		}
	}
	if cut != "" {
		lead.WriteByte(' ')
	}
	return fmt.Sprintf("%5d | %s%s\n      | %s^", line, cut, string(r), lead.String())
}
