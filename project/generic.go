package project

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// testConfigKeys configure a generic test; every other key is an argument.
var testConfigKeys = map[string]bool{}

func init() {
	for _, k := range strings.Fields(`severity tags enabled where limit warn_if error_if fail_calc store_failures
		store_failures_as meta database schema alias group`) {
		testConfigKeys[k] = true
	}
}

// genericTest is one test as a properties file writes it.
type genericTest struct {
	d       doc
	n       *yaml.Node
	pkg     *pkg
	sub     string
	on      string // unique id of what it tests
	target  string // its name in test names: orders, crm_customers
	call    string // ref('orders') or source('crm', 'customers')
	columns string // column, "" = the whole relation
	quote   bool   // the column is quoted
	tags    []string
	source  bool
}

// genericTests makes the nodes of all tests on models, seeds and snapshots.
func (l *loader) genericTests() {
	for _, out := range l.parsed {
		n := out.node
		if n.patch == nil || !n.Config.Enabled {
			continue
		}
		t := genericTest{d: n.patch.d, pkg: n.patch.pkg, sub: n.patch.sub, on: n.UniqueID, target: n.Name,
			call: fmt.Sprintf("ref('%s', '%s')", n.Package, n.Name)}
		if n.Package == n.patch.pkg.name {
			t.call = fmt.Sprintf("ref('%s')", n.Name)
		}
		l.testsOf(t, n.patch.n, n.patch.version)
	}
}

// sourceTests makes the nodes of the tests on one table of a source.
func (l *loader) sourceTests(sp sourcePatch, table *yaml.Node, s *Source) {
	l.testsOf(genericTest{d: sp.d, pkg: sp.pkg, sub: sp.sub, on: s.UniqueID, target: s.SourceName + "_" + s.Name, source: true,
		call: fmt.Sprintf("source('%s', '%s')", s.SourceName, s.Name)}, table, nil)
}

// testsOf adds the tests of a relation, or of one version of it, and of its columns.
func (l *loader) testsOf(t genericTest, n, version *yaml.Node) {
	for _, key := range []string{"tests", "data_tests"} {
		own := get(n, key)
		if v := get(version, key); v != nil {
			own = v
		}
		for _, x := range items(own) {
			t.n = x
			l.addTest(t)
		}
		for _, c := range columnsOf(n, version) {
			of := t
			of.columns = text(get(c, "name"))
			of.quote, _ = boolean(get(c, "quote"))
			of.tags = texts(get(c, "tags"))
			for _, x := range items(get(c, key)) {
				of.n = x
				l.addTest(of)
			}
		}
	}
}

// addTest makes the node of one test.
func (l *loader) addTest(t genericTest) {
	n, err := l.buildTest(t)
	if err != nil {
		l.add(err)
		return
	}
	if l.p.Nodes[n.UniqueID] == nil {
		l.p.register(n)
	}
}

// arguments splits what is written below a test's name into its arguments and its
// configuration.
func (l *loader) arguments(t genericTest) (name, custom, description string, args *jinja.Dict, cfg layer, err error) {
	args, cfg = jinja.NewDict(), layer{}
	body := t.n
	if t.n.Kind == yaml.ScalarNode {
		name, body = t.n.Value, nil
	} else if es := entries(t.n); text(get(t.n, "test_name")) != "" {
		name = text(get(t.n, "test_name"))
	} else if len(es) > 0 {
		name, body = es[0].key, es[0].val
		// dbt reads keys beside the test's name as its arguments too.
		if len(es) > 1 && (body == nil || isNull(body)) {
			body = t.n
		}
	}
	put := func(n *yaml.Node) error {
		for _, e := range entries(n) {
			switch {
			case n == t.n && (e.key == name || e.key == "test_name"): // the test itself
			case e.key == "name":
				custom = text(e.val)
			case e.key == "description":
				description = text(e.val)
			case e.key == "config":
				c, err := readLayer(t.d, e.val, fromProperties, l.yaml)
				if err != nil {
					return err
				}
				merge(cfg, c)
			case testConfigKeys[e.key]:
				if err := cfg.read(t.d, e, e.key, fromProperties, l.yaml); err != nil {
					return err
				}
			case e.key == "arguments" && isMap(e.val):
				for _, a := range entries(e.val) {
					v, err := dbt.FromYAML(a.val)
					if err != nil {
						return t.d.at(a.val).errorf("%s", err)
					}
					_ = args.Set(a.key, v)
				}
			default:
				v, err := dbt.FromYAML(e.val)
				if err != nil {
					return t.d.at(e.val).errorf("%s", err)
				}
				_ = args.Set(e.key, v)
			}
		}
		return nil
	}
	err = put(body)
	return name, custom, description, args, cfg, err
}

func (l *loader) buildTest(t genericTest) (*Node, error) {
	name, custom, description, args, inline, err := l.arguments(t)
	if err != nil {
		return nil, err
	}
	at := t.d.at(t.n)
	if name == "" {
		return nil, at.errorf("a test on '%s' has no name", t.target)
	}
	ns, short := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		ns, short = name[:i], name[i+1:]
	}
	if l.p.registry.FromPackage(t.pkg.name, ns, "test_"+short) == nil {
		return nil, at.errorf("test '%s' on '%s' is not defined%s", name, t.target, didYouMean(short, l.testNames(t.pkg.name, ns)))
	}
	if t.columns != "" {
		column := t.columns
		if t.quote || reserved[strings.ToLower(column)] {
			column = quoteIdent(column)
		}
		_ = args.Set("column_name", column)
	}
	full, alias := testName(name, t, args)
	if custom != "" {
		full, alias = custom, custom
	}
	sum := md5.Sum([]byte(full + "\x00" + t.on + "\x00" + jinja.Repr(args)))
	n := &Node{
		UniqueID: "test." + t.pkg.name + "." + full + "." + hex.EncodeToString(sum[:])[:10], Name: full, Package: t.pkg.name,
		ResourceType: TypeTest, Path: t.d.file, AbsPath: t.pkg.dir, FQN: fqn(t.pkg, t.sub, full), owner: t.pkg, Alias: alias,
		Description: description, BodyLine: t.n.Line,
		RawCode: "{{ " + strings.TrimPrefix(ns+".test_"+short, ".") + "(**_dbt_generic_test_kwargs) }}",
		Test: &TestSpec{Generic: name, Column: t.columns, Attached: t.on, kwargs: args, macro: "test_" + short, pkg: ns,
			line: t.n.Line},
	}
	n.Body = n.RawCode
	_ = args.Set("model", "{{ get_where_subquery("+t.call+") }}")
	return n, l.configureTest(n, t, inline)
}

// configureTest merges a generic test's configuration and finds what it depends on.
func (l *loader) configureTest(n *Node, t genericTest, inline layer) error {
	m := layer{}
	owners := []*pkg{t.pkg}
	if root := l.p.packages[0]; root != t.pkg {
		owners = append(owners, root)
	}
	for _, q := range owners {
		layers, err := projectLayers(q, projectSections[TypeTest], n.FQN, l.yaml)
		if err != nil {
			return err
		}
		for _, s := range layers {
			merge(m, s)
		}
	}
	if len(t.tags) > 0 {
		tags := layer{}
		tags.set("tags", setting{v: jinja.FromGo(t.tags)})
		merge(m, tags)
	}
	merge(m, inline)
	d := &decoder{kind: TypeTest, name: n.Name, l: m, file: n.Path}
	n.config = m
	n.Config = d.decode()
	n.Config.Materialized = TypeTest
	n.Tags = n.Config.Tags
	d.decodeTest(&n.Config, n.Test)
	for _, e := range d.errs {
		l.add(e)
	}
	if !n.Config.Enabled {
		return nil
	}
	out := &parsed{node: n}
	return l.parseBody(out)
}

// reserved are the words that DuckDB, which runs the tests, does not take as a
// column's name without quotes.
var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate column
		constraint create default deferrable desc describe distinct do else end except false fetch for foreign from group having
		in initially intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider
		placing primary qualify references returning select show some summarize symmetric table then to trailing true union unique
		unpivot using variadic when where window with`) {
		reserved[w] = true
	}
}

// testNames are the tests that a package can use, for suggestions.
func (l *loader) testNames(pkg, ns string) []string {
	var out []string
	for _, name := range l.p.registry.Names(pkg) {
		if t, ok := strings.CutPrefix(name, "test_"); ok && ns == "" {
			out = append(out, t)
		}
	}
	for _, m := range l.p.registry.All() {
		if t, ok := strings.CutPrefix(m.Name, "test_"); ok && m.Package == ns {
			out = append(out, t)
		}
	}
	return out
}

var looksLikeCall = regexp.MustCompile(`^\s*(env_var|ref|var|source|doc)\s*\(.+\)\s*$`)

// kwargs renders a generic test's arguments: text with Jinja, and text that is a call
// of ref, source, var or env_var, becomes its value. A column's name stays as it is.
func (t *TestSpec) render(native *jinja.Env, n *Node, st *jinja.State) (*jinja.Dict, error) {
	st.Env = native
	var bad error
	var value func(key string, v jinja.Value) jinja.Value
	value = func(key string, v jinja.Value) jinja.Value {
		switch x := v.(type) {
		case string:
			if key == "column_name" {
				return x
			}
			if looksLikeCall.MatchString(x) {
				x = "{{ " + x + " }}"
			}
			if !dbt.HasJinja(x) {
				return x
			}
			out, err := dbt.Native(native, x, n.Path, t.line, st)
			if err != nil && bad == nil {
				bad = placeAt(err, pos{file: n.Path, line: t.line})
			}
			return out
		case *jinja.List:
			out := jinja.NewList()
			for _, e := range x.Items {
				out.Items = append(out.Items, value("", e))
			}
			return out
		case *jinja.Dict:
			out := jinja.NewDict()
			x.Each(func(k, e jinja.Value) { _ = out.Set(k, value("", e)) })
			return out
		}
		return v
	}
	out := jinja.NewDict()
	t.kwargs.Each(func(k, v jinja.Value) { _ = out.Set(k, value(jinja.Str(k), v)) })
	return out, bad
}

// placeTest gives a test the connection of what it tests and the place of its stored
// failures.
func (l *loader) placeTest(n *Node) {
	p := l.p
	n.Connection = p.TargetName
	if on := p.Nodes[n.Test.Attached]; on != nil && on.Connection != "" {
		n.Connection = on.Connection
	}
	if n.Alias == "" {
		n.Alias = n.Name
	}
	base, err := p.profile.outputs[n.Connection].schema()
	if err != nil {
		n.Err = err
		return
	}
	n.Schema = strings.TrimPrefix(base+"_"+orText(n.Config.Schema, "dbt_test__audit"), "_")
}
