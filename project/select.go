package project

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Select gives the nodes that include names and exclude does not, in DAG order; no
// include means all. types limits the kinds of nodes, none means all kinds. Tests are
// selected with what they test. Within one string, a blank is a union and a comma an
// intersection. A criterion that matches nothing is a warning.
func (p *Project) Select(include, exclude []string, types ...string) (nodes []*Node, warnings []string, err error) {
	s := selection{p: p, types: types}
	picked := map[string]bool{}
	if terms := fields(include); len(terms) == 0 {
		for id := range p.Nodes {
			picked[id] = true
		}
	} else if picked, err = s.union(terms); err != nil {
		return nil, nil, err
	}
	dropped, err := s.union(fields(exclude))
	if err != nil {
		return nil, nil, err
	}
	for id := range dropped {
		delete(picked, id)
	}
	kinds := map[string]bool{}
	for _, t := range types {
		kinds[t] = true
	}
	for _, id := range p.graph.order {
		if n := p.Nodes[id]; n != nil && picked[id] && (len(types) == 0 || kinds[n.ResourceType]) {
			nodes = append(nodes, n)
		}
	}
	return nodes, s.warnings, nil
}

// SelectSources is Select for sources, for source freshness and ls.
func (p *Project) SelectSources(include, exclude []string) (sources []*Source, warnings []string, err error) {
	s := selection{p: p}
	picked := map[string]bool{}
	if terms := fields(include); len(terms) == 0 {
		for id := range p.Sources {
			picked[id] = true
		}
	} else if picked, err = s.union(terms); err != nil {
		return nil, nil, err
	}
	dropped, err := s.union(fields(exclude))
	if err != nil {
		return nil, nil, err
	}
	for _, src := range p.sortedSources() {
		if picked[src.UniqueID] && !dropped[src.UniqueID] {
			sources = append(sources, src)
		}
	}
	return sources, s.warnings, nil
}

// fields splits arguments at blanks: -s "a b" and -s a b are the same.
func fields(args []string) []string {
	var out []string
	for _, a := range args {
		out = append(out, strings.Fields(a)...)
	}
	return out
}

type selection struct {
	p        *Project
	types    []string
	warnings []string
}

func (s *selection) union(terms []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, term := range terms {
		ids, err := s.intersection(term)
		if err != nil {
			return nil, err
		}
		for id := range ids {
			out[id] = true
		}
	}
	return out, nil
}

func (s *selection) intersection(term string) (map[string]bool, error) {
	var out map[string]bool
	for _, part := range strings.Split(term, ",") {
		c, err := parseCriterion(part)
		if err != nil {
			return nil, err
		}
		ids, err := s.criterion(c)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = ids
			continue
		}
		for id := range out {
			if !ids[id] {
				delete(out, id)
			}
		}
	}
	return out, nil
}

// criterion is one selector: [@][n][+]method:value[+][n].
type criterion struct {
	raw               string
	method, value     string
	family            bool // @
	parents, children int  // -1: none, 0: all, n: that many steps
}

func parseCriterion(raw string) (criterion, error) {
	c := criterion{raw: raw, parents: -1, children: -1}
	rest := raw
	bad := func(why string) (criterion, error) {
		return c, &Error{Msg: fmt.Sprintf("invalid selector '%s': %s", raw, why)}
	}
	if r, ok := strings.CutPrefix(rest, "@"); ok {
		c.family, rest = true, r
	}
	if i := strings.IndexByte(rest, '+'); i >= 0 && digits(rest[:i]) {
		c.parents = 0
		if i > 0 {
			c.parents = number(rest[:i])
		}
		rest = rest[i+1:]
	}
	if i := strings.LastIndexByte(rest, '+'); i >= 0 && digits(rest[i+1:]) {
		c.children = 0
		if i+1 < len(rest) {
			c.children = number(rest[i+1:])
		}
		rest = rest[:i]
	}
	if c.family && c.children >= 0 {
		return bad("@ and a + behind do not go together")
	}
	if rest == "" {
		return bad("it names nothing")
	}
	c.method, c.value = splitMethod(rest)
	if c.value == "" {
		return bad("it names nothing")
	}
	return c, nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0 // more steps than there are nodes: all of them
	}
	return n
}

// splitMethod separates method:value; without a method a path or file is told by its
// looks.
func splitMethod(s string) (method, value string) {
	if i := strings.IndexByte(s, ':'); i > 0 {
		return s[:i], s[i+1:]
	}
	switch {
	case strings.ContainsAny(s, `/\`):
		return "path", s
	case strings.HasSuffix(s, ".sql"), strings.HasSuffix(s, ".csv"), strings.HasSuffix(s, ".yml"), strings.HasSuffix(s, ".yaml"):
		return "file", s
	}
	return "fqn", s
}

// criterion gives the nodes and sources that c means, with the graph around them and
// the tests on them.
func (s *selection) criterion(c criterion) (map[string]bool, error) {
	match, err := s.method(c)
	if err != nil {
		return nil, err
	}
	direct := map[string]bool{}
	for id := range s.p.Nodes {
		if match(id) {
			direct[id] = true
		}
	}
	for id := range s.p.Sources {
		if match(id) {
			direct[id] = true
		}
	}
	if len(direct) == 0 {
		s.warnings = append(s.warnings, fmt.Sprintf("The selection criterion '%s' does not match any enabled nodes", c.raw))
	}
	out := map[string]bool{}
	for id := range direct {
		out[id] = true
	}
	spread := func(from map[string]bool, next map[string][]string, steps int) {
		for id := range reach(from, next, steps) {
			out[id] = true
		}
	}
	if c.family {
		below := reach(direct, s.p.graph.children, 0)
		for id := range direct {
			below[id] = true
		}
		for id := range below {
			out[id] = true
		}
		spread(below, s.p.graph.parents, 0)
	}
	if c.parents >= 0 {
		spread(direct, s.p.graph.parents, c.parents)
	}
	if c.children >= 0 {
		spread(direct, s.p.graph.children, c.children)
	}
	s.addTests(out)
	return out, nil
}

// addTests adds every test that reads a selected node, as dbt's eager mode does.
func (s *selection) addTests(ids map[string]bool) {
	var tests []string
	for id := range ids {
		for _, c := range s.p.graph.children[id] {
			if n := s.p.Nodes[c]; n != nil && n.ResourceType == TypeTest {
				tests = append(tests, c)
			}
		}
	}
	for _, t := range tests {
		ids[t] = true
	}
}

// reach is what lies up to steps edges from the ids in from, without these; 0 is any
// number of steps.
func reach(from map[string]bool, next map[string][]string, steps int) map[string]bool {
	out := map[string]bool{}
	level := make([]string, 0, len(from))
	for id := range from {
		level = append(level, id)
	}
	sort.Strings(level)
	for d := 1; len(level) > 0 && (steps == 0 || d <= steps); d++ {
		var following []string
		for _, id := range level {
			for _, to := range next[id] {
				if !out[to] {
					out[to] = true
					following = append(following, to)
				}
			}
		}
		level = following
	}
	return out
}
