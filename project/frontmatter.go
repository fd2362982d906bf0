package project

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// knownKeys are the keys that make a comment front matter, in every spelling.
var knownKeys = map[string]bool{}

func init() {
	for _, k := range strings.Fields(`materialized mode target schema database alias tags enabled meta docs unique_key
		incremental_strategy merge_strategy watermark_column update_key watermark_nulls range chunk_column chunk_size
		on_schema_change format path column_types indexes engine order_by partition_by pre_hook post_hook pre-hook post-hook
		hooks lane strategy updated_at check_cols invalidate_hard_deletes hard_deletes dbt_valid_to_current full_refresh
		`) {
		knownKeys[k] = true
	}
}

// splitFrontMatter separates a model's front matter from its SQL. The body starts on
// line bodyLine of the file. fm is nil when the file has none; warn says that a
// comment looks like front matter and is not.
func splitFrontMatter(src, file string) (fm *doc, body string, bodyLine int, warn string) {
	lead := len(src) - len(strings.TrimLeft(src, " \t\r\n"))
	rest := src[lead:]
	var yamlText string
	var start, end int // of the YAML and of the whole comment, in rest
	strict := false    // only the /** form is front matter by its shape alone
	switch {
	case strings.HasPrefix(rest, "/**"):
		i := strings.Index(rest[3:], "*/")
		if i < 0 {
			return nil, src, 1, ""
		}
		start, end, strict = 3, 3+i+2, true
		yamlText = strings.TrimRight(rest[3:3+i], "*")
	case strings.HasPrefix(rest, "/*"):
		i := strings.Index(rest, "*/")
		if i < 0 || !strings.HasPrefix(strings.TrimSpace(rest[2:i]), "{") {
			return nil, src, 1, ""
		}
		start, end, yamlText = 2, i+2, rest[2:i]
	case strings.HasPrefix(rest, "--"):
		if yamlText, end = lineComments(rest); !strings.HasPrefix(strings.TrimSpace(yamlText), "{") {
			return nil, src, 1, ""
		}
	default:
		return nil, src, 1, ""
	}
	before := src[:lead+start]
	line := strings.Count(before, "\n")
	d, err := parseYAML([]byte(yamlText), file, line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])))
	if err != nil || !hasKnownKey(d.root) {
		if err != nil && (!strict || mentionsKey(yamlText)) {
			warn = err.Error() + " (read as a comment, not as front matter)"
		}
		return nil, src, 1, warn
	}
	bodyLine = 1 + strings.Count(src[:lead+end], "\n")
	return &d, rest[end:], bodyLine, ""
}

// lineComments joins the leading -- lines up to the end of the first {…}, keeping
// each line's place.
func lineComments(s string) (yamlText string, end int) {
	var sb strings.Builder
	depth := 0
	for end < len(s) {
		line := s[end:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		t := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(t, "--") {
			break
		}
		part := strings.TrimSuffix(t[2:], "\r")
		sb.WriteString(strings.Repeat(" ", len(line)-len(t)+2) + part)
		depth += strings.Count(part, "{") - strings.Count(part, "}")
		end += len(line)
		if depth <= 0 || end == len(s) {
			break
		}
		sb.WriteByte('\n')
		end++
	}
	return sb.String(), end
}

func hasKnownKey(n *yaml.Node) bool {
	for _, e := range entries(n) {
		if knownKeys[e.key] {
			return true
		}
	}
	return false
}

// mentionsKey reports whether a line of text starts like a known key's.
func mentionsKey(s string) bool {
	for _, l := range strings.Split(s, "\n") {
		k, _, ok := strings.Cut(strings.TrimSpace(l), ":")
		if ok && knownKeys[k] {
			return true
		}
	}
	return false
}
