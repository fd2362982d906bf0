package project

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// lookup finds what ref() and source() name.
type lookup struct {
	refs     map[string][]*Node // by name: models, seeds, snapshots
	disabled map[string]*Node
	sources  map[[2]string][]*Source
}

// resolve reads sources and tests, gives every node its relation and its
// dependencies.
func (l *loader) resolve() error {
	l.readSources()
	p := l.p
	p.lookup = lookup{refs: map[string][]*Node{}, disabled: map[string]*Node{}, sources: map[[2]string][]*Source{}}
	for _, id := range p.ids() {
		n := p.Nodes[id]
		if n.ResourceType != TypeTest {
			p.lookup.refs[n.Name] = append(p.lookup.refs[n.Name], n)
		}
		if n.Version != "" {
			for _, name := range n.versionNames() {
				p.lookup.refs[name] = append(p.lookup.refs[name], n)
			}
		}
	}
	for _, n := range p.Disabled {
		if n.ResourceType != TypeTest {
			p.lookup.disabled[n.Name] = n
		}
	}
	for _, s := range p.Sources {
		key := [2]string{s.SourceName, s.Name}
		p.lookup.sources[key] = append(p.lookup.sources[key], s)
	}
	if err := l.faults.err(); err != nil {
		return err
	}
	l.readExposures()
	l.genericTests()
	if err := l.faults.err(); err != nil {
		return err
	}
	nodes := p.ids()
	l.each(len(nodes), func(i int) error {
		if n := p.Nodes[nodes[i]]; n.ResourceType != TypeTest {
			return l.locate(n)
		}
		return nil
	})
	// Only then: a test lies where the node that it tests does.
	l.each(len(nodes), func(i int) error {
		n := p.Nodes[nodes[i]]
		l.depend(n)
		if n.Test != nil {
			l.placeTest(n)
		}
		return nil
	})
	return nil
}

// ids are the unique ids of all nodes, sorted.
func (p *Project) ids() []string {
	return sortedKeys(p.Nodes)
}

// depend turns what a node names into what it depends on.
func (l *loader) depend(n *Node) {
	deps := map[string]bool{}
	for _, r := range n.Refs {
		to, err := l.p.ref(n, r)
		if err != nil {
			if l.optional(n, r) {
				continue
			}
			l.add(l.placeRef(n, r, err))
			continue
		}
		if err := mayRead(n, to); err != nil {
			l.add(l.placeRef(n, r, err))
			continue
		}
		deps[to.UniqueID] = true
	}
	for _, s := range n.SourceRefs {
		to, err := l.p.source(n, s[0], s[1])
		if err != nil {
			l.add(l.placeSource(n, s, err))
			continue
		}
		deps[to.UniqueID] = true
	}
	if n.Test != nil && n.Test.Attached != "" {
		deps[n.Test.Attached] = true
	}
	for i := range n.Constraints {
		if id := l.pointsTo(n, &n.Constraints[i]); id != "" && id != n.UniqueID {
			deps[id] = true
		}
	}
	n.DependsOn = n.DependsOn[:0]
	for id := range deps {
		n.DependsOn = append(n.DependsOn, id)
	}
	sort.Strings(n.DependsOn)
}

// optional reports whether a ref stands only in a branch that parsing did not enter:
// such a branch may never run, so the model may name what is not there.
func (l *loader) optional(n *Node, r Ref) bool {
	if n.tmpl == nil {
		return false
	}
	s := inspect(n.tmpl.Body)
	later, all := 0, 0
	for _, c := range s.later {
		if got, ok := refOf(c.args); ok && c.name == "ref" && got == r {
			later++
		}
	}
	for _, c := range s.calls {
		if got, ok := refOf(c.args); ok && c.name == "ref" && got == r {
			all++
		}
	}
	return later > 0 && later == all
}

// placeRef gives an error the place of the literal call, if there is one.
func (l *loader) placeRef(n *Node, r Ref, err error) error {
	return l.place(n, err, func(c call) bool {
		got, ok := refOf(c.args)
		return c.name == "ref" && ok && got == r
	})
}

func (l *loader) placeSource(n *Node, s [2]string, err error) error {
	return l.place(n, err, func(c call) bool {
		got, ok := sourceOf(c.args)
		return c.name == "source" && ok && got == s
	})
}

func (l *loader) place(n *Node, err error, is func(call) bool) error {
	e := &Error{File: n.Path, Msg: err.Error(), Cause: err}
	if n.Test != nil && n.Test.line > 0 {
		e.Line = n.Test.line
		return e
	}
	if n.tmpl == nil {
		return e
	}
	for _, c := range inspect(n.tmpl.Body).calls {
		if is(c) {
			e.Line, e.Column = c.at.Line, c.at.Col
			break
		}
	}
	return e
}

// ref finds the node that a ref() of n names: in its own package, then the project,
// then any package.
func (p *Project) ref(n *Node, r Ref) (*Node, error) {
	names := []string{r.Name}
	if r.Version != "" {
		names = []string{r.Name + ".v" + r.Version, r.Name + "_v" + r.Version, r.Name}
	}
	var found []*Node
	for _, name := range names {
		for _, c := range p.lookup.refs[name] {
			if r.Version != "" && name == r.Name && c.Version != "" {
				continue // another version
			}
			if r.Package == "" || c.Package == r.Package {
				found = append(found, c)
			}
		}
		if found != nil {
			break
		}
	}
	for _, pkg := range []string{n.Package, p.Name} {
		for _, c := range found {
			if c.Package == pkg {
				return c, nil
			}
		}
	}
	if found != nil {
		return found[0], nil
	}
	label := "ref('" + r.Name + "')"
	if r.Package != "" {
		label = "ref('" + r.Package + "', '" + r.Name + "')"
	}
	if r.Version != "" {
		label = strings.TrimSuffix(label, ")") + ", v=" + r.Version + ")"
	}
	if d := p.lookup.disabled[r.Name]; d != nil {
		return nil, fmt.Errorf("%s names a %s that is disabled in %s", label, d.ResourceType, d.Path)
	}
	var all []string
	for name, nodes := range p.lookup.refs {
		if r.Package == "" || nodes[0].Package == r.Package {
			all = append(all, name)
		}
	}
	return nil, fmt.Errorf("%s not found%s", label, didYouMean(r.Name, all))
}

// source finds what a source() of n names.
func (p *Project) source(n *Node, source, table string) (*Source, error) {
	found := p.lookup.sources[[2]string{source, table}]
	for _, pkg := range []string{n.Package, p.Name} {
		for _, s := range found {
			if s.Package == pkg {
				return s, nil
			}
		}
	}
	if len(found) > 0 {
		return found[0], nil
	}
	var all []string
	for k := range p.lookup.sources {
		all = append(all, k[0]+"."+k[1])
	}
	return nil, fmt.Errorf("source('%s', '%s') not found%s", source, table, didYouMean(source+"."+table, all))
}

// locate gives a node its connection and relation. The alias and schema macros are
// asked, so that a project's own naming rules hold.
func (l *loader) locate(n *Node) error {
	p := l.p
	n.Connection = p.TargetName
	if t := n.Config.Target; t != "" {
		if p.profile.outputs[t] == nil {
			at := n.config["target"].at
			return at.errorf("%s '%s': target '%s' is not an output of profile '%s': there are %s%s", n.ResourceType, n.Name,
				t, p.ProfileName, orNone(p.OutputNames), didYouMean(t, p.OutputNames))
		}
		n.Connection = t
	}
	out := p.profile.outputs[n.Connection]
	base, err := out.schema()
	if err != nil {
		n.Err = err
	}
	if n.ResourceType == TypeSnapshot && n.Config.Schema == "" {
		if s, ok := n.config["target_schema"]; ok && s.v != nil {
			n.Schema, n.Alias = str(s.v), orText(n.Config.Alias, n.Name)
			return nil
		}
	}
	if n.Schema, err = p.naming(l.ctx, n, "schema", n.Config.Schema, base); err != nil {
		return err
	}
	alias := n.Config.Alias
	if alias == "" && n.Version != "" {
		alias = n.VersionOf + "_v" + strings.ReplaceAll(n.Version, ".", "_")
	}
	n.Alias, err = p.naming(l.ctx, n, "alias", alias, "")
	return err
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// check reports two nodes that would be written to one relation.
func (l *loader) sharedRelations() {
	first := map[[3]string]*Node{}
	for _, id := range l.p.ids() {
		n := l.p.Nodes[id]
		if n.ResourceType == TypeTest || n.Config.Materialized == Ephemeral || n.Err != nil {
			continue
		}
		key := [3]string{n.Connection, n.Schema, n.Alias}
		if old := first[key]; old != nil {
			l.add(&Error{File: n.Path, Msg: fmt.Sprintf("%s '%s' in %s and %s '%s' in %s both write the relation %s on '%s'",
				old.ResourceType, old.Name, old.Path, n.ResourceType, n.Name, n.Path, path.Join(n.Schema, n.Alias), n.Connection)})
			continue
		}
		first[key] = n
	}
}

// Relation is the node's relation on its connection.
func (n *Node) Relation() connectors.Relation {
	return connectors.Relation{Schema: n.Schema, Name: n.Alias}
}

// Relation is the source's relation on its connection.
func (s *Source) Relation() connectors.Relation {
	return connectors.Relation{Schema: s.Schema, Name: s.Identifier}
}
