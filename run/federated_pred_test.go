package run

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// fedKind groups types that are compared and united with each other.
type fedKind string

func kindOfLogical(logical string) fedKind {
	switch {
	case strings.HasSuffix(logical, "[]"):
		return "list"
	case strings.HasSuffix(logical, "INT") || strings.HasSuffix(logical, "INTEGER"):
		return "int"
	case strings.HasPrefix(logical, "DECIMAL"):
		return "dec"
	case logical == "FLOAT" || logical == "DOUBLE":
		return "float"
	case logical == "VARCHAR":
		return "text"
	case logical == tzType:
		return "tz"
	}
	return fedKind(strings.ToLower(logical))
}

// fedConstant is v as DuckDB's SQL says it.
func fedConstant(logical, v string) string {
	switch kindOfLogical(logical) {
	case "int", "dec", "bool", "boolean":
		return v
	case "text":
		return fedQuote(v)
	}
	return "CAST(" + fedQuote(v) + " AS " + logical + ")"
}

// fedCol is a column that an expression may use.
type fedCol struct {
	name  string
	kind  fedKind
	lits  []string // in order
	small bool     // sums and products fit
	// wide values leave no room: sums overflow or not by the order of the rows, and casts
	// for a comparison fail or not by which of two conjuncts DuckDB evaluates first.
	wide bool
}

// fedRel is something in FROM under its alias. With unique set, that column alone orders
// its rows.
type fedRel struct {
	alias, unique string
	cols          []fedCol
}

func (r fedRel) ref(c fedCol) string { return r.alias + "." + fedIdent(c.name) }

// fedGen makes random queries. Where DuckDB leaves a choice (ties of an order, the sum of
// floats), they leave none.
type fedGen struct {
	r      *rand.Rand
	tables []*fedTable
	ctes   []fedRel // by name
	seq    int
	preds  []string // what was said in WHERE, ON and HAVING, for shrinking
	twice  bool     // a table stands in several places
}

func (g *fedGen) n(n int) int             { return g.r.Intn(n) }
func (g *fedGen) chance(percent int) bool { return g.r.Intn(100) < percent }
func (g *fedGen) pick(a ...string) string { return a[g.r.Intn(len(a))] }
func (g *fedGen) alias() string           { g.seq++; return fmt.Sprintf("t%d", g.seq) }
func (g *fedGen) anyOf(rels []fedRel) (fedRel, fedCol) {
	rel := rels[g.n(len(rels))]
	return rel, rel.cols[g.n(len(rel.cols))]
}

// column finds a column of a kind, in rels; ok is false where there is none.
func (g *fedGen) column(rels []fedRel, kind fedKind) (string, fedCol, bool) {
	for _, i := range g.r.Perm(len(rels)) {
		for _, j := range g.r.Perm(len(rels[i].cols)) {
			if c := rels[i].cols[j]; c.kind == kind {
				return rels[i].ref(c), c, true
			}
		}
	}
	return "", fedCol{}, false
}

// lit is a constant for c: mostly one that it holds.
func (g *fedGen) lit(c fedCol) string {
	switch {
	case g.chance(2):
		return "NULL"
	case len(c.lits) > 0 && g.chance(82):
		return c.lits[g.n(len(c.lits))]
	case g.chance(50): // a value of another column, perhaps of another engine
		x := g.tables[g.n(len(g.tables))]
		for i := range x.cols {
			if d := &x.cols[i]; kindOfLogical(d.logical) == c.kind && len(d.lits) > 0 {
				return d.lits[g.n(len(d.lits))]
			}
		}
	}
	switch c.kind {
	case "int":
		if c.wide {
			return g.pick("2.5e0", "1e0", "CAST('nan' AS DOUBLE)", "'2'", "3000000000", "18446744073709551616", "1::UTINYINT")
		}
		return g.pick("2.5", "-0.5", "1e0", "2.5e0", "CAST('nan' AS DOUBLE)", "'2'", "3000000000", "18446744073709551616", "1::UTINYINT", "1.0")
	case "dec":
		if c.wide {
			return g.pick("0", "1.5", "-2.250", "3.333", "1e0", "2.50", "9999999.991", "1::FLOAT", "'1.5'")
		}
		return g.pick("0", "1.5", "-2.250", "3.333", "1e0", "2.50", "9999999.991", "0.00000000001", "1::FLOAT", "'1.5'")
	case "float":
		return g.pick("0", "1.5", "0.1", "0.1::FLOAT", "1e-1", "-0.0", "2", "16777217", "'0.1'", "CAST('nan' AS DOUBLE)", "CAST('-inf' AS DOUBLE)")
	case "text":
		if g.chance(10) { // not every engine can hold it, or say it
			return g.pick("chr(0) || 'a'", "'a' || chr(0)", "'\u2028'", "repeat('a', 70)")
		}
		return fedQuote(fedPools["text"][g.n(len(fedPools["text"]))])
	case "date":
		return g.pick("DATE '2024-01-01'", "'2024-01-02'", "TIMESTAMP '2024-01-02 10:00:00'", "DATE '9999-12-31'", "TIMESTAMPTZ '2024-01-02 00:00:00+00'")
	case "timestamp":
		return g.pick("TIMESTAMP '2024-01-02'", "DATE '2024-01-02'", "'2024-01-02'", "TIMESTAMP '2024-01-02 00:00:00.000001'", "TIMESTAMPTZ '2024-01-02 12:00:00+00'", "TIMESTAMP '2024-01-02 12:00:00.4999'")
	case "tz":
		return g.pick("TIMESTAMPTZ '2024-01-02 12:00:00+02'", "'2024-01-03 00:00:00+00'", "DATE '2024-01-02'", "TIMESTAMP '2024-01-02 12:00:00'", "TIMESTAMPTZ '2024-01-02 12:00:00.5+00'")
	case "time":
		return g.pick("TIME '12:34:56'", "'02:30:00'", "TIME '12:34:56.0000011'")
	case "uuid":
		return g.pick("'9c0c9eed-feac-4b1c-8b5e-0123456789ab'", "CAST('80000000-0000-0000-0000-000000000001' AS UUID)")
	case "blob":
		return g.pick(`'\x00'::BLOB`, "'a'::BLOB")
	case "list":
		return g.pick("[1]", "[]::INTEGER[]", "[1, NULL]")
	case "boolean":
		return g.pick("true", "false")
	case "timestamp_ns":
		return g.pick("TIMESTAMP_NS '2024-01-02 12:00:00.500000001'", "TIMESTAMP '2024-01-02 12:00:00.5'", "DATE '2024-01-02'")
	case "interval":
		return "INTERVAL 1 DAY"
	case "json":
		return g.pick("'{}'::JSON", "'[1, 2]'")
	}
	return "NULL"
}

// said records a predicate.
func (g *fedGen) said(p string) string {
	g.preds = append(g.preds, p)
	return p
}

func (g *fedGen) op() string { return g.pick("=", "<>", "<", "<=", ">", ">=", ">=", "<=") }

// atom is one predicate over rels.
func (g *fedGen) atom(rels []fedRel) string {
	rel, c := g.anyOf(rels)
	q := rel.ref(c)
	switch g.n(20) {
	case 0:
		return q + g.pick(" IS NULL", " IS NOT NULL", " IS NOT NULL")
	case 1, 2:
		var lits []string
		for range 1 + g.n(5) {
			lits = append(lits, g.lit(c))
		}
		return q + g.pick(" IN (", " IN (", " NOT IN (") + strings.Join(lits, ", ") + ")"
	case 3, 4:
		if c.kind == "list" {
			return q + " IS NOT NULL"
		}
		return q + g.pick(" BETWEEN ", " BETWEEN ", " NOT BETWEEN ") + g.bounds(c)
	case 5:
		return q + g.pick(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + g.lit(c)
	case 6:
		return "coalesce(" + q + ", " + g.lit(c) + ") " + g.op() + " " + g.lit(c)
	case 7:
		return "CASE WHEN " + g.compare(q, c) + " THEN " + g.atom(rels) + " ELSE " + g.pick("true", "false", q+" IS NULL") + " END"
	case 8:
		return "(" + g.compare(q, c) + ") IS " + g.pick("TRUE", "NOT TRUE", "NULL", "NOT NULL", "NOT FALSE")
	case 9:
		if other, d, ok := g.column([]fedRel{rel}, c.kind); ok && c.kind != "list" && d.name != c.name {
			return q + " " + g.op() + " " + other
		}
	case 10:
		if other, _, ok := g.column(rels, c.kind); ok && c.kind != "list" {
			return q + " " + g.op() + " " + other
		}
	case 11:
		return g.lit(c) + " " + g.op() + " " + q
	case 12, 13, 14:
		return g.special(q, c)
	}
	return g.compare(q, c)
}

func (g *fedGen) compare(q string, c fedCol) string {
	if c.kind == "boolean" && g.chance(60) {
		return g.pick(q, "NOT "+q, q+" = true", q+" IS TRUE", q+" IS NOT TRUE")
	}
	return q + " " + g.op() + " " + g.lit(c)
}

func (g *fedGen) bounds(c fedCol) string {
	if len(c.lits) < 2 || g.chance(15) {
		return g.lit(c) + " AND " + g.lit(c)
	}
	i, j := g.n(len(c.lits)), g.n(len(c.lits))
	return c.lits[min(i, j)] + " AND " + c.lits[max(i, j)]
}

// special is a predicate that only this kind has.
func (g *fedGen) special(q string, c fedCol) string {
	switch c.kind {
	case "text":
		return g.textual(q, c)
	case "int":
		if c.wide {
			return g.pick(q+"::DOUBLE > 1.5", q+"::VARCHAR LIKE '1%'", q+" // 2 > 1", q+" % 2 = 0")
		}
		if !c.small {
			return g.pick(q+"::DOUBLE > 1.5", q+"::VARCHAR LIKE '1%'", q+"::HUGEINT + 1 > 3", q+"::DECIMAL(38,0) <> 5")
		}
		return g.pick(q+" + 1 > 4", q+" * 2 = 10", "30 - "+q+" > 3", q+" / 2 > 1.5", q+" // 2 = 3", q+" % 2 = 1", "abs("+q+") >= 2", "- "+q+"::INTEGER < -1", q+"::VARCHAR = '3'", q+"::DOUBLE > 1.5", q+"::BIGINT >= 4")
	case "dec":
		if c.wide {
			return g.pick(q+"::DOUBLE >= 1.5", q+"::VARCHAR LIKE '%5%'", q+" IS NOT NULL")
		}
		return g.pick(q+"::DECIMAL(38,10) + 1 > 2.5", q+"::DOUBLE >= 1.5", "round("+q+", 1) = 1.5", q+"::VARCHAR LIKE '%5%'", "abs("+q+") > 1")
	case "float":
		return g.pick("isnan("+q+")", "NOT isnan("+q+")", "abs("+q+") > 1", "isinf("+q+")", q+"::DOUBLE <= 0.1", q+"::DOUBLE = 0.1::FLOAT", q+" + 1 > 2")
	case "date":
		return g.pick("year("+q+") "+g.op()+" 2024", "month("+q+") = 1", q+" - 1 >= DATE '2024-01-01'", q+"::TIMESTAMP "+g.op()+" TIMESTAMP '2024-01-02 00:00:00'", "date_trunc('month', "+q+") = DATE '2024-01-01'",
			q+" + INTERVAL 1 DAY > TIMESTAMP '2024-01-02'", "extract(dow FROM "+q+") = 2", "strftime("+q+", '%Y') = '2024'")
	case "timestamp", "tz":
		return g.pick(q+"::DATE "+g.op()+" DATE '2024-01-02'", "year("+q+") "+g.op()+" 2024", "date_trunc('day', "+q+") = TIMESTAMP '2024-01-02'", "hour("+q+") = 12", q+"::DATE BETWEEN DATE '2023-12-31' AND DATE '2024-02-01'",
			q+" - INTERVAL 1 HOUR >= TIMESTAMP '2024-01-01'", q+"::DATE IN (DATE '2024-01-02', DATE '1970-01-01')", "year("+q+") BETWEEN 1970 AND 2024")
	case "uuid":
		return q + "::VARCHAR " + g.pick("LIKE '0%'", "> '8'", "<> '00000000-0000-0000-0000-000000000000'")
	case "list":
		return g.pick("len("+q+") > 1", "list_contains("+q+", 1)", q+" = [1]", q+" IS NOT NULL")
	case "blob":
		return g.pick("octet_length("+q+") > 1", q+" >= 'a'::BLOB")
	case "boolean":
		return g.pick(q, "NOT "+q, q+"::INTEGER = 1", q+" <> false", q+" >= true")
	}
	return q + " " + g.op() + " " + g.lit(c)
}

func (g *fedGen) textual(q string, c fedCol) string {
	word := "ab"
	if len(c.lits) > 0 {
		word = strings.ReplaceAll(strings.Trim(c.lits[g.n(len(c.lits))], "'"), "''", "'")
	}
	runes := []rune(word)
	cut := len(runes)
	if cut > 1 {
		cut = 1 + g.n(cut-1)
	}
	head, tail := string(runes[:cut]), string(runes[len(runes)-cut:])
	return g.pick(
		q+g.pick(" LIKE ", " LIKE ", " NOT LIKE ", " ILIKE ")+fedQuote(g.pick(head+"%", "%"+tail, "%"+head+"%", "_"+tail, head+"_", word, "%", "", "a_%", `a\%`)),
		g.pick("starts_with(", "NOT starts_with(", "prefix(")+q+", "+fedQuote(head)+")",
		g.pick("suffix(", "ends_with(", "NOT suffix(")+q+", "+fedQuote(tail)+")",
		g.pick("contains(", "NOT contains(")+q+", "+fedQuote(head)+")",
		"upper("+q+") = "+fedQuote(strings.ToUpper(word)),
		"length("+q+") "+g.op()+" 1",
		q+" || 'x' = "+fedQuote(word+"x"),
		"trim("+q+") = "+fedQuote(strings.TrimSpace(word)),
		"regexp_matches("+q+", '^[aA]')",
		"substr("+q+", 1, 1) = "+fedQuote(string(runes[:min(1, len(runes))])),
	)
}

// pred is one or two atoms, negated or not.
func (g *fedGen) pred(rels []fedRel) string {
	switch g.n(9) {
	case 0:
		return "NOT (" + g.atom(rels) + ")"
	case 1, 2:
		return "(" + g.atom(rels) + " OR " + g.atom(rels) + ")"
	case 3:
		return "NOT (" + g.atom(rels) + g.pick(" AND ", " OR ") + g.atom(rels) + ")"
	case 4:
		return "(" + g.atom(rels) + " AND " + g.atom(rels) + " OR " + g.atom(rels) + ")"
	}
	return g.atom(rels)
}

// where is a WHERE clause over rels, or nothing.
func (g *fedGen) where(rels []fedRel, depth int) string {
	var ps []string
	for range g.n(3) {
		ps = append(ps, g.said(g.pred(rels)))
	}
	if depth > 0 && g.chance(25) {
		ps = append(ps, g.said(g.subquery(rels, depth-1)))
	}
	if len(ps) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(ps, " AND ")
}

// fedMeet reports whether two columns may have a value in common.
func fedMeet(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	in := map[string]bool{}
	for _, v := range a {
		in[v] = true
	}
	return slices.ContainsFunc(b, func(v string) bool { return in[v] })
}

// same is an equality between columns of two sides that some rows meet.
func (g *fedGen) same(a, b fedRel) string {
	kinds := []fedKind{"int", "int", "int", "text", "text", "date", "timestamp", "tz", "dec", "uuid", "float", "time"}
	for _, i := range g.r.Perm(len(kinds)) {
		p, pc, ok1 := g.column([]fedRel{a}, kinds[i])
		q, qc, ok2 := g.column([]fedRel{b}, kinds[i])
		if ok1 && ok2 && pc.small == qc.small && (fedMeet(pc.lits, qc.lits) || g.chance(15)) {
			return p + " = " + q
		}
	}
	for _, c := range a.cols {
		if slices.ContainsFunc(b.cols, func(d fedCol) bool { return d.kind == c.kind }) {
			q, _, _ := g.column([]fedRel{b}, c.kind)
			return a.ref(c) + " = " + q
		}
	}
	return "false"
}

// subquery is a predicate over rels with a query of its own.
func (g *fedGen) subquery(rels []fedRel, depth int) string {
	outer := rels[g.n(len(rels))]
	in, b := g.source(depth)
	link := g.same(outer, b)
	left, right, ok := strings.Cut(link, " = ")
	if !ok {
		return "EXISTS (SELECT 1 FROM " + in + ")"
	}
	bs, both := []fedRel{b}, []fedRel{outer, b}
	cond := ""
	if g.chance(60) {
		cond = " WHERE " + g.pred(bs)
	}
	switch g.n(8) {
	case 0, 1:
		return left + " IN (SELECT " + right + " FROM " + in + cond + ")"
	case 2:
		return left + " NOT IN (SELECT " + right + " FROM " + in + " WHERE " + right + " IS NOT NULL AND " + g.pred(bs) + ")"
	case 3:
		return left + " NOT IN (SELECT " + right + " FROM " + in + cond + ")"
	case 4:
		return "EXISTS (SELECT 1 FROM " + in + " WHERE " + link + " AND " + g.pred(both) + ")"
	case 5:
		return "NOT EXISTS (SELECT 1 FROM " + in + " WHERE " + link + " AND " + g.pred(bs) + ")"
	case 6:
		return left + " " + g.pick(">", ">=", "<", "<=", "=", "<>") + " (SELECT " + g.pick("min(", "max(") + right + ") FROM " + in + cond + ")"
	}
	return g.pick("0", "1") + " " + g.pick("<", "<=") + " (SELECT count(*) FROM " + in + " WHERE " + link + g.pick("", " AND "+g.pred(bs)) + ")"
}
