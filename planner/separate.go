package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// maxUses is the number of places up to which it is asked whether a relation that the SQL
// names so often is better read by several extracts.
const maxUses = 8

// reading is what is read for a query: a relation for each extract.
type reading struct {
	*analysis
	query *query
	rels  []*Relation
	cols  []connectors.Column  // of the result
	why   map[*Relation]string // why a relation of several places is one extract or several
	uses  map[*Relation]int    // places that read it
}

// division is a relation that the SQL names in several places, and the places that read
// one extract.
type division struct {
	rel    *Relation
	places []*Relation // a copy of rel for each place, in order
	at     []int       // the places' offsets in the SQL
	groups [][]int     // of places
	why    string
}

// separate lets the places of the SQL that name one relation read extracts of their own,
// where these move less than one extract with the union of columns and the OR of
// predicates. For that, each place is given a catalog of its own and the whole is
// analysed again: the text is otherwise as it was.
//
// Two reads of a relation must see one state of it. In a JOIN of t with itself, rows of
// two states would meet: a result that never was.
func (p *Planner) separate(ctx context.Context, in Input, all reading, rules ruleSet) (reading, error) {
	all.why, all.uses = map[*Relation]string{}, map[*Relation]int{}
	var several []*division
	for _, r := range all.rels {
		at := all.query.places(r)
		all.uses[r] = len(at)
		if len(at) < 2 {
			continue
		}
		if all.why[r] = inSeparable(&in, r, all, len(at), rules); all.why[r] == "" {
			several = append(several, &division{rel: r, at: at})
		}
	}
	if len(several) == 0 {
		return all, nil
	}
	if !all.query.name(several, in.Relations) {
		all.together(several, "the SQL names its catalog beside FROM, too")
		return all, nil
	}
	apart, err := p.eachPlace(ctx, in, all, several, rules)
	if err != nil || apart == nil {
		return all, err
	}
	divided := false
	for _, d := range several {
		if err := d.divide(apart.analysis, rules); err != nil {
			return all, err
		}
		all.why[d.rel] = d.why
		divided = divided || len(d.groups) > 1
	}
	if !divided {
		return all, nil
	}
	return join(all, *apart, several, rules), nil
}

func (all *reading) together(several []*division, why string) {
	for _, d := range several {
		all.why[d.rel] = "together: " + why
	}
}

// places are the offsets at which q names r.
func (q *query) places(r *Relation) []int {
	var at []int
	for _, n := range q.names {
		if n.Catalog == r.Catalog && n.Schema == r.Schema && n.Name == r.Name && !slices.Contains(at, n.Offset) {
			at = append(at, n.Offset)
		}
	}
	return at
}

// inSeparable says why r is read by one extract, "" where it need not be.
func inSeparable(in *Input, r *Relation, all reading, places int, rules ruleSet) string {
	scans := 0
	for _, sc := range all.scans {
		if sc.rel == r {
			scans++
		}
	}
	switch {
	case all.whole:
		return "together: its plan is not known"
	case !rules.on(ruleSeparate) || !rules.on(rulePushdown):
		return "together: rule separate is off"
	case in.own(r):
		return "together: it is the target's own content"
	case in.Together != "":
		return "together: " + in.Together
	case r.Dialect == nil:
		return "together: its source is not known"
	case !r.Table.Stable:
		return "together: two reads of it might see different states"
	case scans < 2:
		return "together: only one place of the SQL needs rows of it"
	case places > maxUses:
		return fmt.Sprintf("together: the SQL names it in %d places", places)
	case r.Table.RowEstimate < 0 && rules.on(ruleEstimate):
		return "together: ? rows"
	}
	return ""
}

// name gives each place of the divided relations a relation of its own. It reports
// whether that can be: a catalog that the SQL names beside a place, for a column of it,
// would name another place's.
func (q *query) name(several []*division, known []Relation) bool {
	for _, d := range several {
		text := quote(d.rel.Catalog + Marker)
		if strings.Count(q.sql, d.rel.Catalog+Marker) != q.named(d.rel.Catalog) {
			return false
		}
		for i, at := range d.at {
			place := *d.rel
			place.Catalog = catalogOf(d.rel, i)
			taken := func(r Relation) bool { return i > 0 && strings.EqualFold(r.Catalog, place.Catalog) }
			if !strings.HasPrefix(q.sql[at:], text) || slices.ContainsFunc(known, taken) {
				return false
			}
			d.places = append(d.places, &place)
		}
	}
	return true
}

// named counts the places that name a catalog.
func (q *query) named(catalog string) int {
	seen := map[int]bool{}
	for _, n := range q.names {
		if n.Catalog == catalog {
			seen[n.Offset] = true
		}
	}
	return len(seen)
}

// catalogOf is the catalog of the extract i of r, from 0.
func catalogOf(r *Relation, i int) string {
	if i == 0 {
		return r.Catalog
	}
	return r.Catalog + "#" + strconv.Itoa(i+1)
}

// eachPlace analyses the query with each place as a relation of its own; nil where
// DuckDB does not plan it as it plans the query, or a column of the result is called by a
// text in which a place stands.
func (p *Planner) eachPlace(ctx context.Context, in Input, all reading, several []*division, rules ruleSet) (*reading, error) {
	out := &reading{query: all.query.spliced(several)}
	for _, r := range all.rels {
		i := slices.IndexFunc(several, func(d *division) bool { return d.rel == r })
		if i < 0 {
			out.rels = append(out.rels, r)
		} else {
			out.rels = append(out.rels, several[i].places...)
		}
	}
	var err error
	out.analysis, out.cols, err = p.analyze(ctx, out.query, out.rels, in, rules)
	var refused *Error
	switch {
	case err != nil && !errors.As(err, &refused):
		return nil, err
	case err != nil || out.whole || out.tree != all.tree:
		all.together(several, "its plan is another with separate extracts")
		return nil, nil
	case !slices.EqualFunc(out.cols, all.cols, func(a, b connectors.Column) bool { return a.Name == b.Name && a.Type.Equal(b.Type) }):
		all.together(several, "a column of the result is called by a text that names it")
		return nil, nil
	}
	return out, nil
}

// spliced is q with the places' own catalogs.
func (q *query) spliced(several []*division) *query {
	type splice struct {
		at       int
		from, to string
	}
	var all []splice
	for _, d := range several {
		for i, p := range d.places {
			all = append(all, splice{d.at[i], quote(d.rel.Catalog + Marker), quote(p.Catalog + Marker)})
		}
	}
	slices.SortFunc(all, func(a, b splice) int { return b.at - a.at })
	out := *q
	for _, p := range all {
		out.sql = out.sql[:p.at] + p.to + out.sql[p.at+len(p.from):]
	}
	return &out
}

// join puts the places that read one extract together again.
func join(all, apart reading, several []*division, rules ruleSet) reading {
	out := reading{analysis: apart.analysis, why: map[*Relation]string{}, uses: map[*Relation]int{}}
	for _, r := range all.rels {
		i := slices.IndexFunc(several, func(d *division) bool { return d.rel == r })
		if i < 0 {
			out.rels = append(out.rels, r)
			out.why[r], out.uses[r] = all.why[r], all.uses[r]
			continue
		}
		for _, one := range several[i].extracts(apart.analysis, rules) {
			out.rels = append(out.rels, one.rel)
			out.why[one.rel], out.uses[one.rel] = several[i].why, len(one.places)
		}
	}
	out.query = all.query.spliced(several)
	return out
}

// extracts gives the places of each group one relation, which their scans read.
func (d *division) extracts(a *analysis, rules ruleSet) []division {
	var out []division
	for i := range d.groups {
		one := *d.rel
		one.Catalog = catalogOf(d.rel, i)
		if len(d.groups) > 1 {
			one.Use = i + 1
		}
		out = append(out, division{rel: &one})
	}
	for i, group := range d.groups {
		g := &out[i]
		if !rules.guards(guardPlace) {
			g = &out[(i+1)%len(out)]
		}
		for _, k := range group {
			for _, sc := range a.scans {
				if sc.rel == d.places[k] {
					sc.rel = g.rel
				}
			}
			out[i].places = append(out[i].places, d.places[k])
		}
	}
	for i, group := range d.groups { // for what remembers a place: origins, and the splice
		for _, k := range group {
			*d.places[k] = *out[i].rel
		}
	}
	return out
}
