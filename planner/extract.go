package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// extracts says, for each relation that the model names, what must leave its source:
// the union over its scans.
func extracts(rels []*Relation, a *analysis, rules ruleSet) ([]Extract, error) {
	out := make([]Extract, 0, len(rels))
	for _, r := range rels {
		var scans []*scan
		for _, sc := range a.scans {
			if sc.rel == r {
				scans = append(scans, sc)
			}
		}
		x, err := extractOf(r, scans, a.whole, rules)
		if err != nil {
			return nil, fmt.Errorf("relation %s: %w", r.Label, err)
		}
		out = append(out, x)
	}
	return out, nil
}

func extractOf(r *Relation, scans []*scan, whole bool, rules ruleSet) (Extract, error) {
	x := Extract{Relation: *r, Limit: -1}
	if len(scans) == 0 && !whole && rules.on(rulePrune) {
		x.Pruned = true
		return x, nil
	}
	all := len(scans) == 0 || !rules.on(ruleColumns)
	unknown := len(scans) == 0 && whole // any column may be read
	for i, c := range r.Table.Columns {
		read := unknown || slices.ContainsFunc(scans, func(s *scan) bool { return slices.Contains(s.cols, i) })
		if !read && (!all || c.Type.Kind == connectors.Invalid) {
			continue
		}
		if c.Type.Kind == connectors.Invalid {
			return x, &connectors.TypeError{Column: c.Name, Native: c.Native, Reason: "dvt cannot carry this type: leave the column out, or convert it in a view on the source"}
		}
		x.Columns = append(x.Columns, i)
		x.Query.Columns = append(x.Query.Columns, c)
	}
	if r.Dialect == nil { // planned without a source to speak to
		return x, nil
	}
	e := connectors.Extract{Table: r.Table, Columns: x.Columns, Limit: -1}
	if !rules.on(rulePushdown) {
		for _, sc := range scans {
			for _, p := range sc.preds {
				x.Kept = append(x.Kept, Conjunct{SQL: exprText(p), Reason: "rule pushdown is off"})
			}
		}
	} else if len(scans) > 0 && !whole {
		pushPredicates(&x, scans, rules)
		if sc := oneExtremeScan(scans); sc != nil && x.reduce(sc, rules) {
			return x, nil
		}
		if len(scans) == 1 {
			e.OrderBy, x.Limit = pushLimit(&x, scans[0], rules)
			x.order, x.skip = e.OrderBy, scans[0].skip
		}
	}
	e.Where, e.Limit = x.Where, x.Limit
	x.Query.SQL = r.Dialect.Select(e)
	return x, nil
}

// pushPredicates gives each conjunct to the source or keeps it. The predicates of
// several scans meet as one OR, for each scan needs its own rows; a scan without any
// needs them all.
func pushPredicates(x *Extract, scans []*scan, rules ruleSet) {
	if len(scans) == 1 {
		for _, e := range unique(scans[0].preds) {
			p, lost := normalize(e, rules)
			x.take(p, lost, exprText(e))
		}
		return
	}
	either := &connectors.Pred{Kind: connectors.POr}
	var lost, branches []string
	if !rules.guards(guardScans) {
		scans = scans[:1]
	}
	for _, sc := range scans {
		if len(sc.preds) == 0 && !rules.guards(guardWhole) {
			continue
		}
		preds := unique(sc.preds)
		text := exprText(&expr{op: opAnd, args: preds})
		if len(preds) > 0 && slices.Contains(branches, text) {
			continue
		}
		every := &connectors.Pred{Kind: connectors.PAnd}
		for _, e := range preds {
			p, why := normalize(e, rules)
			lost = append(lost, why...)
			if p == nil {
				x.Kept = append(x.Kept, Conjunct{SQL: exprText(e), Reason: reasons(why)})
				continue
			}
			every.Kids = append(every.Kids, p)
		}
		branches = append(branches, text)
		either.Kids = append(either.Kids, every)
	}
	switch p := simplify(either); {
	case p.Kind == connectors.PTrue: // one scan needs every row
	case !rules.on(ruleMultiScan):
		x.Kept = append(x.Kept, Conjunct{SQL: strings.Join(branches, " OR "), Reason: "rule multiscan is off"})
	default:
		x.take(p, lost, strings.Join(branches, " OR "))
	}
}

// take renders p for the source; text is DuckDB's for what is kept, lost what p does
// not say of it.
func (x *Extract) take(p *connectors.Pred, lost []string, text string) {
	if p == nil {
		x.Kept = append(x.Kept, Conjunct{SQL: text, Reason: reasons(lost)})
		return
	}
	r := connectors.RenderPred(x.Relation.Dialect, p, x.Relation.Table)
	switch {
	case r.SQL != "":
		c := Conjunct{SQL: r.SQL, Verdict: r.Verdict, Reason: reasons(append(lost, r.Reasons...))}
		if len(lost) > 0 {
			c.Verdict = connectors.Superset
		}
		x.Pushed, x.sent = append(x.Pushed, c), append(x.sent, p)
		if x.Where != "" {
			x.Where += " AND "
		}
		x.Where += r.SQL
	case r.Verdict != connectors.Exact || len(lost) > 0:
		x.Kept = append(x.Kept, Conjunct{SQL: text, Reason: reasons(append(lost, r.Reasons...))})
	}
}

// exact reports whether the source returns the very rows that the scan's predicates let
// through.
func (x *Extract) exact() bool {
	inexact := func(c Conjunct) bool { return c.Verdict != connectors.Exact }
	return len(x.Kept) == 0 && !slices.ContainsFunc(x.Pushed, inexact)
}

// pushLimit gives the order and limit of a scan to the source: only with every
// predicate below it applied exactly, for a superset cut short may miss rows that count.
func pushLimit(x *Extract, sc *scan, rules ruleSet) (order []string, rows int64) {
	rule := ruleLimit
	if len(sc.order) > 0 {
		rule = ruleTopN
	}
	if sc.limit < 0 || !x.exact() || !rules.on(rule) {
		return nil, -1
	}
	for _, k := range sc.order {
		if k.by.op != opColumn {
			return nil, -1
		}
		key, ok := x.Relation.Dialect.OrderKey(x.Relation.Table, connectors.OrderKey{Col: k.by.col, Desc: k.desc, NullsLast: k.nullsLast})
		if !ok {
			return nil, -1
		}
		order = append(order, key)
	}
	return order, sc.limit
}

// unique drops conjuncts that DuckDB derived twice.
func unique(preds []*expr) []*expr {
	seen := map[string]bool{}
	var out []*expr
	for _, e := range preds {
		if t := exprText(e); !seen[t] {
			seen[t] = true
			out = append(out, e)
		}
	}
	return out
}

func reasons(all []string) string {
	var out []string
	for _, r := range all {
		if r != "" && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return strings.Join(out, "; ")
}
