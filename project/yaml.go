package project

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of one file.
const (
	maxFile      = 100 << 20
	maxYAMLFile  = 16 << 20
	maxYAMLNodes = 1 << 20 // after aliases are followed
	maxYAMLDepth = 200
)

// doc is a parsed YAML file.
type doc struct {
	file string // relative, for messages
	root *yaml.Node
}

func (d doc) at(n *yaml.Node) pos {
	if n == nil {
		return pos{file: d.file}
	}
	return pos{d.file, n.Line, n.Column}
}

// readYAML parses one file. An empty file has a nil root.
func readYAML(abs, rel string) (doc, error) {
	b, err := readFile(abs, rel, maxYAMLFile)
	if err != nil {
		return doc{file: rel}, err
	}
	return parseYAML(b, rel, 0, 0)
}

// readFile reads a file that must not be larger than limit.
func readFile(abs, rel string, limit int64) ([]byte, error) {
	f, err := os.Open(abs)
	if err != nil {
		return nil, &Error{File: rel, Msg: "reading the file: " + reason(err), Cause: err}
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, &Error{File: rel, Msg: "reading the file: " + reason(err), Cause: err}
	}
	if int64(len(b)) > limit {
		return nil, &Error{File: rel, Msg: fmt.Sprintf("the file is larger than %d MB", limit>>20)}
	}
	return b, nil
}

// reason is a file system error without the path, which the message names already.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

var yamlLine = regexp.MustCompile(`^(?:unmarshal errors:\n\s*)?line (\d+): (?s:(.*))$`)

// yamlError gives the parser's error a place. The parser itself names the line where
// the construct around the fault starts, one off at times; the fault is on the first
// line that no longer can be read.
func yamlError(b []byte, file string, err error) *Error {
	e := &Error{File: file, Line: 1, Column: 1, Msg: strings.TrimPrefix(err.Error(), "yaml: "), Cause: err}
	if m := yamlLine.FindStringSubmatch(e.Msg); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Msg = m[2]
	}
	e.Msg = "invalid YAML: " + e.Msg
	lines := strings.SplitAfter(string(b), "\n")
	const most = 1000 // lines: each attempt parses the file once more
	for n := len(lines) - 1; n >= 0 && len(lines) <= most; n-- {
		var root yaml.Node
		if yaml.Unmarshal([]byte(strings.Join(lines[:n], "")), &root) == nil {
			e.Line = n + 1
			break
		}
	}
	e.Column = column(lines, e.Line)
	return e
}

// parseYAML parses text that starts after so many lines of file, and after so many
// columns of the line there.
func parseYAML(b []byte, file string, lines, columns int) (doc, error) {
	d := doc{file: file}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		e := yamlError(b, file, err)
		if e.Line == 1 {
			e.Column += columns
		}
		e.Line += lines
		return d, e
	}
	if root.Kind == 0 {
		return d, nil
	}
	s := sizer{sizes: map[*yaml.Node]int{}, file: file}
	if err := s.check(root.Content[0]); err != nil {
		return d, err
	}
	if lines > 0 || columns > 0 {
		shift(&root, lines, columns)
	}
	d.root = root.Content[0]
	return d, nil
}

// column is where the text of a line starts.
func column(lines []string, line int) int {
	if line < 1 || line > len(lines) {
		return 1
	}
	l := lines[line-1]
	return len([]rune(l)) - len([]rune(strings.TrimLeft(l, " \t"))) + 1
}

func shift(n *yaml.Node, lines, columns int) {
	if n.Line == 1 {
		n.Column += columns
	}
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines, columns)
	}
}

// sizer counts nodes with aliases followed, without following them more than once.
type sizer struct {
	sizes map[*yaml.Node]int // -1: being counted
	file  string
	depth int
}

func (s *sizer) check(n *yaml.Node) error {
	_, err := s.size(n)
	return err
}

func (s *sizer) size(n *yaml.Node) (int, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		return 1, nil
	}
	refuse := func(why string) (int, error) {
		return 0, &Error{File: s.file, Line: n.Line, Column: n.Column, Msg: "invalid YAML: " + why}
	}
	if done, ok := s.sizes[n]; ok {
		if done < 0 {
			return refuse("an alias contains itself")
		}
		return done, nil
	}
	if s.depth++; s.depth > maxYAMLDepth {
		return refuse(fmt.Sprintf("nested deeper than %d levels", maxYAMLDepth))
	}
	s.sizes[n] = -1
	total := 1
	for _, c := range n.Content {
		k, err := s.size(c)
		if err != nil {
			return 0, err
		}
		if total += k; total > maxYAMLNodes {
			return refuse(fmt.Sprintf("its aliases unfold to more than %d values", maxYAMLNodes))
		}
	}
	s.depth--
	s.sizes[n] = total
	return total, nil
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// entry is one key of a mapping.
type entry struct {
	key  string
	node *yaml.Node // the key
	val  *yaml.Node // aliases followed
}

// entries lists a mapping in the order of the file. Merge keys (<<) give the keys that
// the mapping does not have itself; of a key given twice the last counts, as in dbt.
func entries(n *yaml.Node) []entry {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var out []entry
	at := map[string]int{}
	put := func(e entry, override bool) {
		if i, ok := at[e.key]; ok {
			if override {
				out[i] = e
			}
			return
		}
		at[e.key] = len(out)
		out = append(out, e)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolve(n.Content[i+1])
		if k.Tag != "!!merge" {
			put(entry{resolve(k).Value, k, v}, true)
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolve(n.Content[i+1])
		if k.Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			from = v.Content
		}
		for _, m := range from {
			for _, e := range entries(m) {
				put(e, false)
			}
		}
	}
	return out
}

// get is the value of a key, nil when absent or null.
func get(n *yaml.Node, key string) *yaml.Node {
	for _, e := range entries(n) {
		if e.key == key {
			if isNull(e.val) {
				return nil
			}
			return e.val
		}
	}
	return nil
}

// items are the elements of a sequence; a scalar or mapping is a list of one.
func items(n *yaml.Node) []*yaml.Node {
	n = resolve(n)
	switch {
	case n == nil || isNull(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		out := make([]*yaml.Node, len(n.Content))
		for i, c := range n.Content {
			out[i] = resolve(c)
		}
		return out
	}
	return []*yaml.Node{n}
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func isMap(n *yaml.Node) bool { n = resolve(n); return n != nil && n.Kind == yaml.MappingNode }

// text is a scalar's text, "" for anything else.
func text(n *yaml.Node) string {
	n = resolve(n)
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return n.Value
}

// texts are the texts of a list's scalars.
func texts(n *yaml.Node) []string {
	var out []string
	for _, c := range items(n) {
		out = append(out, text(c))
	}
	return out
}
