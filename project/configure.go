package project

import (
	"fmt"

	"github.com/dvt-dev/dvt/jinja"
)

// sections of a properties file and of dbt_project.yml by resource type.
var (
	patchSection    = map[string]string{TypeModel: "models", TypeSeed: "seeds", TypeSnapshot: "snapshots"}
	projectSections = map[string][]string{TypeModel: {"models"}, TypeSeed: {"seeds"}, TypeSnapshot: {"snapshots"},
		TypeTest: {"tests", "data_tests"}, TypeSource: {"sources"}}
)

// configure merges what the carriers say of each node and registers the enabled ones.
func (l *loader) configure() error {
	l.duplicates()
	l.each(len(l.parsed), func(i int) error { return l.configureNode(l.parsed[i]) })
	if err := l.faults.err(); err != nil {
		return err
	}
	for _, out := range l.parsed {
		l.p.register(out.node)
	}
	l.unmatched()
	l.unusedPaths()
	l.notApplied()
	return nil
}

func (p *Project) register(n *Node) {
	if !n.Config.Enabled {
		p.Disabled = append(p.Disabled, n)
		return
	}
	p.Nodes[n.UniqueID] = n
}

// duplicates reports two files that define one name: of models, seeds and snapshots of
// a package, which ref() cannot tell apart, and of singular tests.
func (l *loader) duplicates() {
	first := map[[3]string]*Node{}
	for _, out := range l.parsed {
		n := out.node
		space := "ref"
		if n.ResourceType == TypeTest {
			space = "test"
		}
		key := [3]string{space, n.Package, n.Name}
		old := first[key]
		if old == nil {
			first[key] = n
			continue
		}
		// A file that is switched off may share a name with the one that is on.
		if l.off(old) || l.off(n) {
			if l.off(old) {
				first[key] = n
			}
			continue
		}
		l.add(&Error{File: n.Path, Msg: fmt.Sprintf("two resources are named '%s': %s '%s' in %s and %s '%s' in %s",
			n.Name, old.ResourceType, old.Name, old.Path, n.ResourceType, n.Name, n.Path)})
	}
}

// off reports whether a node is disabled, before configure has run.
func (l *loader) off(n *Node) bool {
	for _, out := range l.parsed {
		if out.node == n {
			m, err := l.settle(out)
			if err != nil {
				return false
			}
			d := decoder{l: m}
			on := d.bool("enabled")
			return on != nil && !*on
		}
	}
	return false
}

// settle merges a node's carriers, the weakest first.
func (l *loader) settle(out *parsed) (layer, error) {
	n := out.node
	m := layer{}
	owners := []*pkg{n.owner}
	if root := l.p.packages[0]; root != n.owner {
		owners = append(owners, root) // the project has the last word on its packages
	}
	for _, q := range owners {
		layers, err := projectLayers(q, projectSections[n.ResourceType], n.FQN, l.yaml)
		if err != nil {
			return nil, err
		}
		for _, s := range layers {
			merge(m, s)
		}
	}
	if p := l.patches.nodes[[3]string{n.Package, patchSection[n.ResourceType], n.Name}]; p != nil {
		n.patch = p
		s, err := p.layer(l.yaml)
		if err != nil {
			return nil, err
		}
		merge(m, s)
	}
	if out.front != nil {
		if len(out.inline) > 0 {
			l.note("%s: config() is ignored because the file has front matter", n.Path)
		}
		merge(m, out.front)
		return m, nil
	}
	merge(m, out.inline)
	return m, nil
}

func (l *loader) configureNode(out *parsed) error {
	n := out.node
	m, err := l.settle(out)
	if err != nil {
		return err
	}
	d := &decoder{kind: n.ResourceType, name: n.Name, l: m, file: n.Path}
	n.config = m
	n.Config = d.decode()
	n.Tags = n.Config.Tags
	if n.patch != nil {
		if v := n.patch.version; v != nil {
			n.Version, n.VersionOf, n.LatestVersion = text(get(v, "v")), n.patch.name, n.patch.latest
		}
		n.Columns = l.readColumns(n.Package, n.patch.d, n.patch.n, n.patch.version)
		n.Constraints = l.constraints(n)
		if t := l.describe(n.Package, get(n.patch.n, "description")); t != "" {
			n.Description = t
		}
	}
	if !n.Config.Enabled {
		return nil
	}
	switch n.ResourceType {
	case TypeModel:
		d.decodeModel(&n.Config)
		if s, ok := l.misplacedRange(out); ok {
			d.errs = append(d.errs, s.at.errorf("model '%s': range is a front-matter-only key", n.Name))
		}
		if len(d.errs) == 0 {
			d.validate(n, l.p.Settings.State)
		}
		n.Federated = n.Config.Materialized == FTable || n.Config.Materialized == FIncremental || n.Config.Materialized == FSnapshot
	case TypeSnapshot:
		n.Config.Materialized = TypeSnapshot
		d.decodeSnapshot(&n.Config)
	case TypeSeed:
		d.decodeSeed(&n.Config)
	case TypeTest:
		n.Config.Materialized = TypeTest
		n.Test = &TestSpec{}
		d.decodeTest(&n.Config, n.Test)
	}
	for _, e := range d.errs {
		l.add(e)
	}
	l.nearMisses(n)
	return nil
}

// nearMisses warns of keys that are one slip away from a known one. dbt keeps unknown
// keys for macros to read, so that they are no error, but a unique_key misspelled
// would be no key in silence.
func (l *loader) nearMisses(n *Node) {
	for _, k := range sortedKeys(n.config) {
		if knownKeys[k] || len(k) < 6 {
			continue
		}
		for _, known := range sortedKeys(knownKeys) {
			if len(known) >= 6 && distance(k, known) == 1 {
				at := n.config[k].at
				l.warn("%s", at.errorf("%s '%s' has an unknown config key '%s': did you mean %s?", n.ResourceType, n.Name, k, known))
				break
			}
		}
	}
}

// misplacedRange finds a range that is not in the front matter, also where the front
// matter has one that would win.
func (l *loader) misplacedRange(out *parsed) (setting, bool) {
	n := out.node
	if out.front == nil {
		if s, ok := out.inline["range"]; ok && s.v != nil {
			return s, true
		}
	}
	if n.patch != nil {
		if s, err := n.patch.layer(l.yaml); err == nil {
			if r, ok := s["range"]; ok && r.v != nil {
				return r, true
			}
		}
	}
	layers, err := projectLayers(n.owner, projectSections[TypeModel], n.FQN, l.yaml)
	if err != nil {
		return setting{}, false
	}
	for _, s := range layers {
		if r, ok := s["range"]; ok && r.v != nil {
			return r, true
		}
	}
	return setting{}, false
}

func (d *decoder) decodeSeed(c *Config) {
	c.Materialized = TypeSeed
	c.ColumnTypes = d.columnTypes()
	c.Delimiter = d.str("delimiter")
	if c.Delimiter == "" {
		c.Delimiter = ","
	}
	c.QuoteColumns = d.bool("quote_columns")
	c.Indexes = d.indexes()
	c.Engine, c.OrderBy, c.PartitionBy = d.str("engine"), strs(d.l["order_by"].v), strs(d.l["partition_by"].v)
	c.Format, c.Path = d.str("format"), d.str("path")
}

// decodeTest reads what tests are configured with.
func (d *decoder) decodeTest(c *Config, t *TestSpec) {
	c.Lane = d.oneOf("lane", "auto", "auto", "compute")
	t.Severity = d.oneOf("severity", "error", "error", "warn")
	word := func(key, fallback string) string {
		if s := d.str(key); s != "" {
			return s
		}
		return fallback
	}
	t.WarnIf, t.ErrorIf, t.FailCalc = word("warn_if", "!= 0"), word("error_if", "!= 0"), word("fail_calc", "count(*)")
	t.Limit, t.Where = d.count("limit"), d.str("where")
	if b := d.bool("store_failures"); b != nil {
		t.Store = *b
	}
	// It wins over store_failures, as in dbt.
	switch d.oneOf("store_failures_as", "", "", "table", "view", "ephemeral") {
	case "table":
		t.Store, t.StoreAs = true, "table"
	case "view":
		t.Store, t.StoreAs = true, "view"
	case "ephemeral":
		t.Store, t.StoreAs = false, "ephemeral"
	}
}

// get reads a node's configuration as config.get does.
func (n *Node) get(key string) (jinja.Value, bool) {
	if to, ok := aliases[key]; ok {
		key = to
	}
	switch key {
	case "materialized":
		return n.Config.Materialized, true
	case "enabled":
		return n.Config.Enabled, true
	}
	s, ok := n.config[key]
	return s.v, ok
}
