package jinja

import (
	"fmt"
	"strings"
)

// Namer is a Resolver or host object that can list its names, for did-you-mean.
type Namer interface{ Names() []string }

// didYouMean names the candidate nearest to name, or gives "".
func didYouMean(name string, candidates []string) string {
	best, dist := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if c == name || strings.HasPrefix(c, "_") {
			continue
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(c), dist); d < dist || d == dist && best != "" && c < best {
			best, dist = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("Did you mean '%s'?", best)
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours;
// anything above limit is given as limit+1.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return min(prev[len(b)], limit+1)
}
