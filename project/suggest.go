package project

import (
	"sort"
	"strings"
)

// suggest gives up to three of names that name may have been meant to be, the
// nearest first.
func suggest(name string, names []string) []string {
	type candidate struct {
		name string
		dist int
	}
	limit := max(2, len(name)/3)
	var near []candidate
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] || n == name {
			continue
		}
		seen[n] = true
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if d <= limit && d < len(name) {
			near = append(near, candidate{n, d})
		}
	}
	sort.Slice(near, func(i, j int) bool {
		if near[i].dist != near[j].dist {
			return near[i].dist < near[j].dist
		}
		return near[i].name < near[j].name
	})
	var out []string
	for _, c := range near[:min(3, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// didYouMean ends an error text: ". Did you mean: a, b?", or "".
func didYouMean(name string, names []string) string {
	if s := suggest(name, names); len(s) > 0 {
		return ". Did you mean: " + strings.Join(s, ", ") + "?"
	}
	return ""
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// between a and b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		old, prev, cur := rows[0], rows[1], rows[2]
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], old[j-2]+1)
			}
		}
		rows = [3][]int{prev, cur, old}
	}
	return rows[1][len(y)]
}
