package project

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// carrier is where a setting was written, the weakest first.
type carrier uint8

const (
	fromProject carrier = iota
	fromProperties
	fromConfig
	fromFrontMatter
)

// setting is one configured value and its place.
type setting struct {
	v    jinja.Value
	at   pos
	from carrier
	// sling: materialized was written as mode, which gives some values another meaning.
	sling bool
}

// layer is what one carrier says, by canonical key.
type layer map[string]setting

// aliases are the other spellings of keys.
var aliases = map[string]string{
	"mode":           "materialized",
	"update_key":     "watermark_column",
	"merge_strategy": "incremental_strategy",
	"pre-hook":       "pre_hook",
	"post-hook":      "post_hook",
}

// set puts a value under its canonical key. Of two spellings in one carrier the last
// counts, as of one key written twice, but materialized beats mode: it is dbt's own.
func (l layer) set(key string, s setting) {
	switch key {
	case "hooks":
		if d, ok := s.v.(*jinja.Dict); ok {
			for from, to := range map[string]string{"start": "pre_hook", "end": "post_hook"} {
				if v, ok := d.GetStr(from); ok {
					l[to] = setting{v: v, at: s.at, from: s.from}
				}
			}
			return
		}
	case "mode":
		if old, ok := l["materialized"]; ok && !old.sling {
			return
		}
		s.sling = true
	}
	if to, ok := aliases[key]; ok {
		key = to
	}
	l[key] = s
}

// rawKeys hold Jinja that is rendered when the node runs, not when it is loaded.
var rawKeys = map[string]bool{"pre_hook": true, "post_hook": true, "pre-hook": true, "post-hook": true, "hooks": true}

// readLayer reads a YAML mapping as configuration.
func readLayer(d doc, n *yaml.Node, from carrier, r *yamlRenderer) (layer, error) {
	l := layer{}
	for _, e := range entries(n) {
		if err := l.read(d, e, e.key, from, r); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l layer) read(d doc, e entry, key string, from carrier, r *yamlRenderer) error {
	var v jinja.Value
	var err error
	if rawKeys[key] {
		v, err = dbt.FromYAML(e.val)
		if err != nil {
			err = d.at(e.val).errorf("%s", err)
		}
	} else {
		v, err = r.render(d, e.val)
	}
	if err != nil {
		return err
	}
	l.set(key, setting{v: v, at: d.at(e.node), from: from})
	return nil
}

// projectLayers are the settings of a dbt_project.yml for a node, from the root of
// the section down its fqn: keys with + and keys that are no mapping are settings,
// other mappings lead on.
func projectLayers(q *pkg, sections []string, names []string, r *yamlRenderer) ([]layer, error) {
	var out []layer
	for _, s := range sections {
		n := get(q.doc.root, s)
		for i := -1; n != nil && isMap(n); i++ {
			l := layer{}
			var next *yaml.Node
			for _, e := range entries(n) {
				if i+1 < len(names) && e.key == names[i+1] && isMap(e.val) {
					next = e.val
				}
				key, plus := strings.CutPrefix(e.key, "+")
				if !plus && isMap(e.val) {
					continue
				}
				if err := l.read(q.doc, e, strings.TrimSpace(key), fromProject, r); err != nil {
					return nil, err
				}
			}
			out = append(out, l)
			n = next
		}
	}
	return out, nil
}

// merge puts stronger settings over weaker ones, key by key as dbt does: tags and
// hooks add up, meta and other mappings are joined, everything else is replaced.
func merge(dst layer, src layer) {
	for k, s := range src {
		old, had := dst[k]
		if had {
			switch k {
			case "tags", "pre_hook", "post_hook":
				s.v = jinja.NewList(append(list(old.v), list(s.v)...)...)
			case "meta", "persist_docs", "quoting", "grants", "docs":
				if a, ok := old.v.(*jinja.Dict); ok {
					if b, ok := s.v.(*jinja.Dict); ok {
						joined := a.Copy()
						b.Each(func(k, v jinja.Value) { _ = joined.Set(k, v) })
						s.v = joined
					}
				}
			}
		}
		dst[k] = s
	}
}

// list is v as a list: a scalar or mapping is a list of one, None an empty one.
func list(v jinja.Value) []jinja.Value {
	switch x := v.(type) {
	case nil:
		return nil
	case *jinja.List:
		return x.Items
	case *jinja.Tuple:
		return x.Items
	case *jinja.Set:
		return x.D.Keys()
	}
	return []jinja.Value{v}
}

// strs is v as a list of texts.
func strs(v jinja.Value) []string {
	var out []string
	for _, e := range list(v) {
		out = append(out, jinja.Str(e))
	}
	return out
}

// str is v as text, "" for None.
func str(v jinja.Value) string {
	if v == nil {
		return ""
	}
	return jinja.Str(v)
}

// materializations are all spellings that a model may use, without case and with _
// for -.
var materializations = map[string]string{
	"f_table": FTable, "fed_table": FTable, "federated_table": FTable,
	"f_incremental": FIncremental, "fed_incremental": FIncremental, "federated_incremental": FIncremental,
	"f_snapshot": FSnapshot, "fed_snapshot": FSnapshot, "federated_snapshot": FSnapshot,
	"view": View, "table": Table, "incremental": Incremental, "ephemeral": Ephemeral,
}

var knownMaterializations = []string{Ephemeral, FIncremental, FSnapshot, FTable, Incremental, Table, View}

// slingModes are the values that mean something else when written as mode.
var slingModes = map[string]string{"incremental": FIncremental, "full_refresh": FTable, "table": FTable}

// canonical gives the materialization that text means.
func canonical(text string, sling bool) (string, bool) {
	k := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_")
	if m, ok := slingModes[k]; ok && sling {
		return m, true
	}
	m, ok := materializations[k]
	return m, ok
}

func unknownMaterialization(text string) string {
	all := append([]string(nil), knownMaterializations...)
	for k := range materializations {
		all = append(all, k)
	}
	return fmt.Sprintf("unknown materialization '%s': known are %s%s", text,
		strings.Join(knownMaterializations, ", "), didYouMean(strings.ReplaceAll(strings.ToLower(text), "-", "_"), all))
}
