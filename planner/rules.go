package planner

import "slices"

// Rule names, for Input.DisabledRules. Switching rules off may make a plan read more,
// never change the result of the model; tests use them as an oracle.
const (
	rulePushdown   = "pushdown"   // every predicate and limit
	ruleColumns    = "columns"    // leave out columns that nothing reads
	rulePrune      = "prune"      // read nothing of a relation that the plan does not scan
	ruleLimit      = "limit"      // LIMIT without an order
	ruleTopN       = "topn"       // ORDER BY with LIMIT
	ruleMultiScan  = "multiscan"  // OR of the predicates of several scans of one relation
	ruleEqual      = "equal"      // column = constant, column <> constant
	ruleRange      = "range"      // column <, <=, >, >= constant
	ruleIn         = "in"         // IN and NOT IN lists
	ruleLike       = "like"       // LIKE, prefix, suffix, contains
	ruleNull       = "null"       // IS NULL, IS NOT NULL
	ruleBool       = "bool"       // a boolean column by itself
	ruleOr         = "or"         // disjunctions
	ruleNot        = "not"        // negations moved to the leaves
	ruleDistinct   = "distinct"   // IS [NOT] DISTINCT FROM
	ruleCoalesce   = "coalesce"   // coalesce(column, constant) against a constant
	ruleColumnPair = "columnpair" // two columns of one relation
	ruleCast       = "cast"       // casts that keep value and order, removed
	ruleZone       = "zone"       // TIMESTAMP against TIMESTAMPTZ and back, in UTC
	ruleDay        = "day"        // casts between dates and timestamps
	ruleYear       = "year"       // year(column)
	ruleExtremes   = "extremes"   // one row for MIN and MAX
	ruleSeparate   = "separate"   // several extracts of one relation
	ruleEstimate   = "estimate"   // those only where less is expected to be moved
	ruleKeys       = "keys"       // the keys of one side of a join reduce the other
	ruleCTE        = "cte"        // DuckDB: inlining of, and filters into, common table expressions
	ruleDeliminate = "deliminate" // DuckDB: correlated subqueries without duplicate elimination
	ruleRewrite    = "rewrite"    // DuckDB: rewriting and folding of expressions
	ruleOptimize   = "optimize"   // DuckDB: every proof that needs an optimizer
)

// ruleOptimizers are the rules that are optimizers of DuckDB.
var ruleOptimizers = map[string][]string{
	ruleCTE:        {"cte_inlining", "cte_filter_pusher"},
	ruleDeliminate: {"deliminator"},
	ruleRewrite:    {"expression_rewriter"},
}

// RuleNames lists the names that Input.DisabledRules understands.
func RuleNames() []string {
	return []string{
		rulePushdown, ruleColumns, rulePrune, ruleLimit, ruleTopN, ruleMultiScan, ruleEqual, ruleRange, ruleIn, ruleLike, ruleNull,
		ruleBool, ruleOr, ruleNot, ruleDistinct, ruleCoalesce, ruleColumnPair, ruleCast, ruleZone, ruleDay, ruleYear, ruleExtremes, ruleSeparate, ruleEstimate, ruleKeys, ruleCTE, ruleDeliminate, ruleRewrite, ruleOptimize,
	}
}

// A guard is what keeps a rule right. Tests take one away at a time, to see that the
// comparison with DuckDB over whole relations finds what goes wrong then.
type guard string

const (
	// An OR needs all its branches: from "a = 1 OR f(b)" the source may not be asked
	// for a = 1.
	guardOr guard = "or"
	// A filter above a LIMIT applies to what the limit left. Below it, other rows would
	// come up to the limit.
	guardLimit guard = "limit"
	// Each scan of a relation needs its rows: with the predicate of one, the others
	// would lose theirs.
	guardScans guard = "scans"
	// A scan without a predicate needs all rows.
	guardWhole guard = "whole"
	// A filter above an aggregate, a window, DISTINCT or SAMPLE is about its results.
	guardChain guard = "chain"
	// NOT (c IS DISTINCT FROM v) is c = v.
	guardDistinct guard = "distinct"
	// A LIMIT with an OFFSET reads the rows that it skips.
	guardOffset guard = "offset"
	// coalesce(c, 1) = 1 holds where c is NULL.
	guardNulls guard = "nulls"
	// max(x) over a LIMIT is not that of the relation.
	guardExtremeLimit guard = "extremelimit"
	// max(x) over a superset is that of other rows.
	guardExtremeExact guard = "extremeexact"
	// WHERE a < b says nothing of the row (max(a), min(b)).
	guardExtremeRow guard = "extremerow"
	// In a LEFT JOIN b, a row of a without a key in b is in the result.
	guardSide guard = "side"
	// In (SELECT k FROM a LIMIT 3) JOIN b, the three may not be those with keys of b.
	guardFree guard = "free"
	// a.k IS NOT DISTINCT FROM b.k matches NULL with NULL.
	guardNullKeys guard = "nullkeys"
	// What one place of the SQL needs is not what another needs: each has an extract of
	// its own or shares one that has all.
	guardPlace guard = "place"
	// Another scan of the relation needs its own rows.
	guardOnce guard = "once"
)

// ruleSet says which rules are off, and in tests which guard.
type ruleSet struct {
	off     map[string]bool
	without guard
}

func (r ruleSet) on(rule string) bool { return !r.off[rule] }
func (r ruleSet) guards(g guard) bool { return r.without != g }

// optimizers are those that the rules leave on.
func (r ruleSet) optimizers() []string {
	keep := slices.Clone(keepOptimizers)
	for rule, names := range ruleOptimizers {
		if r.on(rule) {
			continue
		}
		keep = slices.DeleteFunc(keep, func(o string) bool { return slices.Contains(names, o) })
	}
	return keep
}
