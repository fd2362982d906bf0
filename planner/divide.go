package planner

import (
	"fmt"
	"slices"
)

// Separate extracts pay where they move at most so much of what one would move, and save
// so many bytes: each is one more statement, and one more scan at the source.
const (
	paysPart  = 0.75
	paysBytes = 1 << 20
)

// volume is a candidate for an extract: some places of a division.
type volume struct {
	places  []int
	extract Extract
	bytes   share // by the relation's rows
}

// divide groups the places of d: those stay together for which one extract moves no more
// than two. What is not known of a predicate counts against dividing.
func (d *division) divide(a *analysis, rules ruleSet) error {
	one, err := d.volume(a, rules, all(len(d.places)))
	if err != nil {
		return err
	}
	var parts []volume
	for i := range d.places {
		v, err := d.volume(a, rules, []int{i})
		if err != nil {
			return err
		}
		parts = append(parts, v)
	}
	if !rules.on(ruleEstimate) {
		d.take(parts, "apart: rule estimate is off")
		return nil
	}
	merged, err := d.merge(a, rules, slices.Clone(parts))
	if err != nil {
		return err
	}
	rows := float64(d.rel.Table.RowEstimate)
	moved := 0.0
	for _, v := range merged {
		moved += v.bytes.high
	}
	switch saved := rows * (one.bytes.low - moved); {
	case moved <= paysPart*one.bytes.low && saved >= paysBytes:
		d.take(merged, fmt.Sprintf("apart: about %s in place of %s", size(rows*moved), size(rows*one.bytes.low)))
	case foreign(parts, one) && rows*guessed(parts, one) >= paysBytes:
		d.take(parts, "apart: no row is needed twice, and each needs fewer columns")
	default:
		d.take([]volume{one}, "together: "+d.keeps(parts, one))
	}
	return nil
}

// keeps says why separate extracts do not pay.
func (d *division) keeps(parts []volume, one volume) string {
	rows, moved := float64(d.rel.Table.RowEstimate), 0.0
	var open []string
	for _, v := range parts {
		moved += v.bytes.guess
		if x := &v.extract; x.Where != "" && !x.share().known() {
			open = append(open, x.Where)
		}
	}
	switch {
	case rows*one.bytes.high < paysBytes:
		return "it is small"
	case len(open) > 0 && moved <= paysPart*one.bytes.guess:
		return "? rows pass " + open[0]
	}
	return "separate extracts would move about as much"
}

// foreign reports whether no two parts need one row, and each is much narrower than all.
// Then they move less, however many rows that are.
func foreign(parts []volume, one volume) bool {
	for i := range parts {
		if parts[i].extract.width() > paysPart*one.extract.width() {
			return false
		}
		for k := range i {
			if !apart(parts[i].extract.sent, parts[k].extract.sent) {
				return false
			}
		}
	}
	return true
}

// guessed is what foreign parts save, by a relation's rows.
func guessed(parts []volume, one volume) float64 {
	saved := 0.0
	for _, v := range parts {
		saved += v.extract.share().guess * (one.extract.width() - v.extract.width())
	}
	return saved
}

// merge puts the two parts together for which one extract is best, until none is.
func (d *division) merge(a *analysis, rules ruleSet, parts []volume) ([]volume, error) {
	for len(parts) > 1 {
		best, bi, bk := volume{}, -1, -1
		gain := -1.0
		for i := range parts {
			for k := range i {
				both, err := d.volume(a, rules, slices.Concat(parts[k].places, parts[i].places))
				if err != nil {
					return nil, err
				}
				if g := parts[i].bytes.high + parts[k].bytes.high - both.bytes.high; g >= 0 && g > gain {
					best, gain, bi, bk = both, g, i, k
				}
			}
		}
		if bi < 0 {
			break
		}
		parts[bk] = best
		parts = slices.Delete(parts, bi, bi+1)
	}
	return parts, nil
}

// volume is the extract for some places.
func (d *division) volume(a *analysis, rules ruleSet, places []int) (volume, error) {
	var scans []*scan
	for _, sc := range a.scans {
		for _, k := range places {
			if sc.rel == d.places[k] {
				scans = append(scans, sc)
			}
		}
	}
	slices.Sort(places)
	x, err := extractOf(d.rel, scans, a.whole, rules)
	if err != nil {
		return volume{}, fmt.Errorf("relation %s: %w", d.rel.Label, err)
	}
	v := volume{places: places, extract: x}
	if d.rel.Table.RowEstimate >= 0 {
		s, w := x.share(), x.width()
		v.bytes = share{s.low * w, s.high * w, s.guess * w}
	}
	return v, nil
}

func (d *division) take(parts []volume, why string) {
	d.why = why
	for _, v := range parts {
		d.groups = append(d.groups, v.places)
	}
	slices.SortFunc(d.groups, func(a, b []int) int { return a[0] - b[0] })
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// size is a number of bytes for people.
func size(bytes float64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", bytes/(1<<10))
}
