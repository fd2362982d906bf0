package planner

import "strings"

// withItem is one common table expression at the beginning of a statement.
type withItem struct {
	name      string // in lower case
	text      string // name [(columns)] AS [MATERIALIZED] (query)
	body      string
	recursive bool // the WITH says RECURSIVE
}

// withClause cuts the WITH at the beginning of a statement into its items; nil when
// there is none, or one in a shape that is not known.
func withClause(sql string) []withItem {
	w := words{sql: sql}
	if !w.keyword("with") {
		return nil
	}
	recursive := w.keyword("recursive")
	var items []withItem
	for {
		start := w.space()
		name, ok := w.identifier()
		if !ok {
			return nil
		}
		w.parens()
		if w.keyword("using") && (!w.keyword("key") || !w.parens()) {
			return nil
		}
		if !w.keyword("as") {
			return nil
		}
		w.keyword("not")
		w.keyword("materialized")
		body := w.space()
		if !w.parens() {
			return nil
		}
		items = append(items, withItem{strings.ToLower(name), sql[start:w.at], sql[body:w.at], recursive})
		if w.space(); w.at >= len(sql) || sql[w.at] != ',' {
			return items
		}
		w.at++
	}
}

// withText is the WITH clause that a query over names needs, or "".
func withText(items []withItem, names []string) string {
	need := map[string]bool{}
	for _, n := range names {
		need[n] = true
	}
	var texts []string
	for i := len(items) - 1; i >= 0; i-- {
		it := items[i]
		if !need[it.name] {
			continue
		}
		texts = append([]string{it.text}, texts...)
		for _, other := range items {
			// A word that is merely spelled like another item keeps that one: harmless.
			if containsWord(it.body, other.name) {
				need[other.name] = true
			}
		}
	}
	if len(texts) == 0 {
		return ""
	}
	if items[0].recursive {
		return "WITH RECURSIVE " + strings.Join(texts, ", ") + " "
	}
	return "WITH " + strings.Join(texts, ", ") + " "
}

// containsWord reports whether text has the identifier word, given in lower case.
func containsWord(text, word string) bool {
	w := words{sql: text}
	for w.space() < len(text) {
		if name, ok := w.identifier(); !ok {
			w.at = skipToken(text, w.at)
		} else if strings.EqualFold(name, word) {
			return true
		}
	}
	return false
}

// words reads SQL token by token.
type words struct {
	sql string
	at  int
}

// space skips blanks and comments and returns the offset after them.
func (w *words) space() int {
	for w.at < len(w.sql) {
		rest := w.sql[w.at:]
		if strings.IndexByte(" \t\r\n", rest[0]) < 0 && !strings.HasPrefix(rest, "--") && !strings.HasPrefix(rest, "/*") {
			break
		}
		w.at = skipToken(w.sql, w.at)
	}
	return w.at
}

func (w *words) keyword(k string) bool {
	w.space()
	end := w.at + len(k)
	if end > len(w.sql) || !strings.EqualFold(w.sql[w.at:end], k) || end < len(w.sql) && isWord(w.sql[end]) {
		return false
	}
	w.at = end
	return true
}

func (w *words) identifier() (string, bool) {
	start := w.space()
	if start < len(w.sql) && w.sql[start] == '"' {
		w.at = skipToken(w.sql, start)
		return strings.ReplaceAll(strings.Trim(w.sql[start:w.at], `"`), `""`, `"`), true
	}
	for w.at < len(w.sql) && isWord(w.sql[w.at]) {
		w.at++
	}
	return w.sql[start:w.at], w.at > start
}

func (w *words) parens() bool {
	w.space()
	end := matchParen(w.sql, w.at)
	if end < 0 {
		return false
	}
	w.at = end
	return true
}
