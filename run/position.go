package run

import (
	"strings"
	"unicode/utf8"
)

// longestMapped bounds the lines of a file that is compared with what it renders to.
const longestMapped = 2000

// sourcePosition finds where line and column (from 1) of rendered stand in source, the
// text with Jinja that it came from. Lines that are the same in both are aligned; between
// them a line is found only if as many lines stand on both sides and none is a tag. ok is false where the
// text came out of a loop or a macro and has no line of its own.
func sourcePosition(source, rendered string, line, column int) (srcLine, srcColumn int, ok bool) {
	// Rendering takes off a last newline.
	src, out := strings.Split(strings.TrimRight(source, "\r\n\t "), "\n"), strings.Split(strings.TrimRight(rendered, "\r\n\t "), "\n")
	if line < 1 || line > len(out) || len(src) > longestMapped || len(out) > longestMapped {
		return 0, 0, false
	}
	at := line - 1
	above, below := [2]int{-1, -1}, [2]int{len(src), len(out)}
	for _, pair := range commonLines(src, out) {
		switch {
		case pair[1] == at:
			return pair[0] + 1, column, true
		case pair[1] < at:
			above = pair
		case below[1] == len(out):
			below = pair
		}
	}
	if below[0]-above[0] != below[1]-above[1] || strings.Contains(strings.Join(src[above[0]+1:below[0]], ""), "{%") {
		return 0, 0, false
	}
	l := above[0] + at - above[1]
	return l + 1, sourceColumn([]rune(src[l]), []rune(out[at]), column), true
}

// sourceColumn is where a column of a rendered line stands in its source line: counted
// from the end that both have in common, or where they begin to differ.
func sourceColumn(src, out []rune, column int) int {
	same := 0
	for same < len(src) && same < len(out) && src[same] == out[same] {
		same++
	}
	if column <= same+1 {
		return column
	}
	tail := 0
	for tail < len(src)-same && tail < len(out)-same && src[len(src)-1-tail] == out[len(out)-1-tail] {
		tail++
	}
	if column > len(out)-tail {
		return column + len(src) - len(out)
	}
	return lookAround(src, out, column, same+1)
}

// lookAround finds a column by the text around it, where Jinja stands before and behind
// it: the longest that the source line has just once.
func lookAround(src, out []rune, column, fallback int) int {
	text := string(src)
	for n := 40; n >= 3; n-- {
		from, to := max(0, column-1-n), min(len(out), column-1+n)
		part := string(out[from:to])
		if i := strings.Index(text, part); i >= 0 && i == strings.LastIndex(text, part) {
			return utf8.RuneCountInString(text[:i]) + column - from
		}
	}
	return fallback
}

// commonLines pairs the lines of a longest common subsequence that are not blank.
func commonLines(a, b []string) [][2]int {
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	same := func(i, j int) bool { return a[i] == b[j] && strings.TrimSpace(a[i]) != "" }
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same(i, j) {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case same(i, j):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
