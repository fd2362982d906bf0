package project

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// selectProject has two chains over one source, a seed and tests.
func selectProject(t *testing.T) *Project {
	return load(t, map[string]string{
		"models/s.yml":               sourcesYML,
		"models/staging/stg_a.sql":   "{{ config(tags=['nightly', 'x-1']) }}select * from {{ source('raw', 'events') }}",
		"models/staging/stg_b.sql":   "{{ config(materialized='ephemeral', meta={'owner': 'me', 'tier': 1}) }}select * from {{ source('crm', 'orders') }}",
		"models/marts/core/fct.sql":  "{{ config(materialized='f_table', tags='nightly', target='pg2') }}select * from {{ ref('stg_a') }}, {{ ref('stg_b') }}, {{ ref('codes') }}",
		"models/marts/report.sql":    "{{ config(materialized='f_incremental', unique_key='id') }}select * from {{ ref('fct') }}",
		"models/marts/stg_like.sql":  "select 1",
		"seeds/codes.csv":            "a\n1\n",
		"tests/fct_is_positive.sql":  "select * from {{ ref('fct') }} where 1=0",
		"models/marts/schema.yml":    "models:\n  - name: report\n    columns: [{name: id, tests: [unique]}]\n",
		"models/staging/off_one.sql": "{{ config(enabled=false) }}select 1",
	})
}

func TestSelect(t *testing.T) {
	p := selectProject(t)
	for _, c := range []struct {
		include, exclude string
		types            []string
		want             string
	}{
		{"", "", []string{TypeModel}, "stg_a stg_b fct report stg_like"},
		{"", "", nil, "codes stg_a stg_b fct fct_is_positive report stg_like unique_report_id"},
		{"fct", "", []string{TypeModel}, "fct"},
		{"fct", "", nil, "fct fct_is_positive"},
		{"+fct", "", []string{TypeModel}, "stg_a stg_b fct"},
		{"fct+", "", []string{TypeModel}, "fct report"},
		{"1+report", "", []string{TypeModel}, "fct report"},
		{"2+report", "", []string{TypeModel, TypeSeed}, "codes stg_a stg_b fct report"},
		{"stg_a+1", "", []string{TypeModel}, "stg_a fct"},
		{"1+fct+1", "", []string{TypeModel}, "stg_a stg_b fct report"},
		{"@stg_a", "", []string{TypeModel}, "stg_a stg_b fct report"},
		{"stg_a stg_like", "", []string{TypeModel}, "stg_a stg_like"},
		{"tag:nightly,fct+", "", []string{TypeModel}, "fct"},
		{"tag:night*", "", []string{TypeModel}, "stg_a fct"},
		{"tag:x-1", "", []string{TypeModel}, "stg_a"},
		{"path:models/marts", "", []string{TypeModel}, "fct report stg_like"},
		{"models/marts/core", "", []string{TypeModel}, "fct"},
		{"./models/marts/report.sql", "", []string{TypeModel}, "report"},
		{"models/**/stg_*.sql", "", []string{TypeModel}, "stg_a stg_b stg_like"},
		{"models/*/core", "", []string{TypeModel}, "fct"},
		{"path:models/mart", "", []string{TypeModel}, ""},
		{"report.sql", "", []string{TypeModel}, "report"},
		{"file:stg_a", "", []string{TypeModel}, "stg_a"},
		{"marts", "", []string{TypeModel}, "fct report stg_like"},
		{"marts.core", "", []string{TypeModel}, "fct"},
		{"shop.staging", "", []string{TypeModel}, "stg_a stg_b"},
		{"shop.marts.*", "", []string{TypeModel}, "fct report stg_like"},
		{"stg_*", "", []string{TypeModel}, "stg_a stg_b stg_like"},
		{"core", "", []string{TypeModel}, ""},
		{"source:raw+", "", []string{TypeModel}, "stg_a fct report"},
		{"source:crm.orders+1", "", []string{TypeModel}, "stg_b"},
		{"source:shop.crm.*+", "", []string{TypeModel}, "stg_b fct report"},
		{"config.materialized:f_table", "", []string{TypeModel}, "fct"},
		{"config.materialized:federated-table", "", []string{TypeModel}, "fct"},
		{"config.meta.owner:me", "", []string{TypeModel}, "stg_b"},
		{"config.meta.tier:1", "", []string{TypeModel}, "stg_b"},
		{"config.unique_key:id", "", []string{TypeModel}, "report"},
		{"config.target:pg2", "", []string{TypeModel}, "fct"},
		{"config.tags:nightly", "", []string{TypeModel}, "stg_a fct"},
		{"resource_type:seed", "", nil, "codes"},
		{"resource_type:test", "", nil, "fct_is_positive unique_report_id"},
		{"test_type:generic", "", nil, "unique_report_id"},
		{"test_name:unique", "", nil, "unique_report_id"},
		{"package:shop", "fct+", []string{TypeModel}, "stg_a stg_b stg_like"},
		{"", "tag:nightly stg_like", []string{TypeModel}, "stg_b report"},
		{"+report", "", []string{TypeTest}, "fct_is_positive unique_report_id"},
		{"model.shop.fct", "", []string{TypeModel}, "fct"},
		{"exposure:x", "", []string{TypeModel}, ""},
	} {
		var ex []string
		if c.exclude != "" {
			ex = []string{c.exclude}
		}
		nodes, _, err := p.Select([]string{c.include}, ex, c.types...)
		if err != nil {
			t.Errorf("%q: %v", c.include, err)
			continue
		}
		got := names(nodes)
		want := strings.Fields(c.want)
		sort.Strings(want)
		if !cmp.Equal(sorted(append([]string{}, got...)), append([]string{}, want...)) {
			t.Errorf("%q - %q: %v, want %v", c.include, c.exclude, got, want)
		}
	}
}

func TestSelectWarnsAndRefuses(t *testing.T) {
	p := selectProject(t)
	nodes, warnings, err := p.Select([]string{"nothing fct", "off_one+"}, []string{"tag:none"}, TypeModel)
	want := []string{
		"The selection criterion 'nothing' does not match any enabled nodes",
		"The selection criterion 'off_one+' does not match any enabled nodes",
		"The selection criterion 'tag:none' does not match any enabled nodes",
	}
	if err != nil || !cmp.Equal(names(nodes), []string{"fct"}) || !cmp.Equal(warnings, want) {
		t.Errorf("%v, %q, %v", names(nodes), warnings, err)
	}
	for in, want := range map[string]string{
		"tga:x":  "'tga' is not a valid method name in selector 'tga:x': known are access, config, exposure, file, fqn, group, package, path, resource_type, source, tag, test_name, test_type, version. Did you mean: tag?",
		"@a+":    "invalid selector '@a+': @ and a + behind do not go together",
		"+":      "invalid selector '+': it names nothing",
		"tag:":   "invalid selector 'tag:': it names nothing",
		"a,,b":   "invalid selector '': it names nothing",
		"config": "",
	} {
		_, _, err := p.Select([]string{in}, nil)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestSelectSources(t *testing.T) {
	p := selectProject(t)
	for sel, want := range map[string]string{"": "crm.customers crm.orders raw.events", "source:crm": "crm.customers crm.orders", "+stg_a": "raw.events", "source:raw.*": "raw.events"} {
		list, _, err := p.SelectSources([]string{sel}, nil)
		var got []string
		for _, s := range list {
			got = append(got, s.Label())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v", sel, got, err)
		}
	}
}

// randomProject makes a project of models and sources without files.
func randomProject(t *rapid.T) *Project {
	p := &Project{Name: "p", Nodes: map[string]*Node{}, Sources: map[string]*Source{}, packages: []*pkg{{name: "p", root: true}}}
	n := rapid.IntRange(1, 12).Draw(t, "models")
	for i := range rapid.IntRange(0, 3).Draw(t, "sources") {
		s := &Source{UniqueID: fmt.Sprintf("source.p.s.t%d", i), SourceName: "s", Name: fmt.Sprintf("t%d", i), Package: "p", FQN: []string{"p", "s", "t"}, Path: "models/s.yml"}
		p.Sources[s.UniqueID] = s
	}
	var ids []string
	for id := range p.Sources {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for i := range n {
		dir := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "dir")
		m := &Node{UniqueID: fmt.Sprintf("model.p.m%d", i), Name: fmt.Sprintf("m%d", i), Package: "p", ResourceType: TypeModel,
			FQN: []string{"p", dir, fmt.Sprintf("m%d", i)}, Path: fmt.Sprintf("models/%s/m%d.sql", dir, i),
			Tags: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y"}), func(s string) string { return s }).Draw(t, "tags")}
		for _, id := range ids {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				m.DependsOn = append(m.DependsOn, id)
			}
		}
		p.Nodes[m.UniqueID] = m
		ids = append(ids, m.UniqueID)
	}
	if err := p.build(); err != nil {
		t.Fatal(err)
	}
	return p
}

// distances is the oracle's graph: the length of the shortest way from each id to
// each id that depends on it, by repeated relaxation.
func distances(p *Project) map[[2]string]int {
	d := map[[2]string]int{}
	for id, n := range p.Nodes {
		for _, up := range n.DependsOn {
			d[[2]string{up, id}] = 1
		}
	}
	for changed := true; changed; {
		changed = false
		for a, x := range d {
			for b, y := range d {
				if a[1] != b[0] {
					continue
				}
				k := [2]string{a[0], b[1]}
				if old, ok := d[k]; !ok || x+y < old {
					d[k], changed = x+y, true
				}
			}
		}
	}
	return d
}

type simple struct {
	text string
	is   func(p *Project, id string) bool
}

func drawSimple(t *rapid.T) simple {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		name := fmt.Sprintf("m%d", rapid.IntRange(0, 12).Draw(t, "name"))
		return simple{name, func(p *Project, id string) bool { return id == "model.p."+name }}
	case 1:
		tag := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tag")
		return simple{"tag:" + tag, func(p *Project, id string) bool {
			return p.Nodes[id] != nil && strings.Contains(strings.Join(p.Nodes[id].Tags, " "), tag)
		}}
	case 2:
		dir := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "path")
		return simple{"models/" + dir, func(p *Project, id string) bool {
			return p.Nodes[id] != nil && strings.HasPrefix(p.Nodes[id].Path, "models/"+dir+"/")
		}}
	}
	return simple{"source:s", func(p *Project, id string) bool { return p.Sources[id] != nil }}
}

// drawCriterion gives a selector and the set that the oracle says it means.
func drawCriterion(t *rapid.T, p *Project, d map[[2]string]int) (string, map[string]bool) {
	s := drawSimple(t)
	family := rapid.IntRange(0, 5).Draw(t, "family") == 0
	up, down := rapid.IntRange(-1, 3).Draw(t, "up"), -1
	if !family {
		down = rapid.IntRange(-1, 3).Draw(t, "down")
	} else {
		up = -1
	}
	steps := func(n int) string { return strings.TrimPrefix(fmt.Sprint(n), "0") }
	text := s.text
	if up >= 0 {
		text = steps(up) + "+" + text
	}
	if down >= 0 {
		text += "+" + steps(down)
	}
	if family {
		text = "@" + text
	}
	var all []string
	for id := range p.Nodes {
		all = append(all, id)
	}
	for id := range p.Sources {
		all = append(all, id)
	}
	out := map[string]bool{}
	for _, id := range all {
		if !s.is(p, id) {
			continue
		}
		out[id] = true
		for _, other := range all {
			if n, ok := d[[2]string{other, id}]; ok && up >= 0 && (up == 0 || n <= up) {
				out[other] = true
			}
			n, below := d[[2]string{id, other}]
			if below && down >= 0 && (down == 0 || n <= down) {
				out[other] = true
			}
			if family && (below || other == id) {
				out[other] = true
				for _, third := range all {
					if _, ok := d[[2]string{third, other}]; ok {
						out[third] = true
					}
				}
			}
		}
	}
	return text, out
}

func drawExpression(t *rapid.T, p *Project, d map[[2]string]int) (string, map[string]bool) {
	var union []string
	out := map[string]bool{}
	for range rapid.IntRange(1, 3).Draw(t, "union") {
		var parts []string
		var both map[string]bool
		for range rapid.IntRange(1, 3).Draw(t, "intersection") {
			text, ids := drawCriterion(t, p, d)
			parts = append(parts, text)
			if both == nil {
				both = ids
				continue
			}
			for id := range both {
				if !ids[id] {
					delete(both, id)
				}
			}
		}
		union = append(union, strings.Join(parts, ","))
		for id := range both {
			out[id] = true
		}
	}
	return strings.Join(union, " "), out
}

func TestSelectAgainstNaiveGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProject(t)
		d := distances(p)
		include, want := drawExpression(t, p, d)
		exclude, drop := drawExpression(t, p, d)
		nodes, _, err := p.Select([]string{include}, []string{exclude}, TypeModel)
		if err != nil {
			t.Fatalf("%q - %q: %v", include, exclude, err)
		}
		got := map[string]bool{}
		for i, n := range nodes {
			got[n.UniqueID] = true
			for _, later := range nodes[i+1:] {
				if _, ok := d[[2]string{later.UniqueID, n.UniqueID}]; ok {
					t.Fatalf("%s stands before %s, which it depends on", n.Name, later.Name)
				}
			}
		}
		for id := range p.Nodes {
			if w := want[id] && !drop[id]; w != got[id] {
				t.Fatalf("%q - %q: %s selected %v, want %v", include, exclude, id, got[id], w)
			}
		}
	})
}
