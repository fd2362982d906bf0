package planner

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// generator makes random queries over relations that all have the columns of
// fuzzColumns. Where DuckDB leaves a choice (ties of an order), the queries leave none.
type generator struct {
	r      *rand.Rand
	tables []string // full names in SQL
	seq    int
	// prefer makes one kind of query frequent: a guard's name.
	prefer guard
}

var fuzzColumns = []string{"id:BIGINT", "k:BIGINT", "n:INTEGER", "s:VARCHAR", "dec:DECIMAL(9,2)", "f:DOUBLE", "ts:TIMESTAMP", "tz:TIMESTAMPTZ",
	"d:DATE", "b:BOOLEAN", "u:UBIGINT"}

const fuzzNames = "id, k, n, s, dec, f, ts, tz, d, b, u"

func (g *generator) pick(a ...string) string { return a[g.r.Intn(len(a))] }
func (g *generator) chance(percent int) bool { return g.r.Intn(100) < percent }
func (g *generator) alias() string           { g.seq++; return fmt.Sprintf("t%d", g.seq) }
func (g *generator) table() string           { return g.pick(g.tables...) }

func (g *generator) constant(c string) string {
	if g.chance(3) {
		return "NULL"
	}
	switch c {
	case "id":
		return fmt.Sprint(g.r.Intn(40))
	case "k":
		return fmt.Sprint(g.r.Intn(9))
	case "n":
		return g.pick("-3", "-1", "0", "1", "2", "3", "4", "2.5", "-0.5", "1e0", "2.5e0", "'nan'::double", "'2'", "2147483647", "3000000000")
	case "u":
		return g.pick("0", "1", "2", "18446744073709551615", "3.0")
	case "s":
		return g.pick("''", "'a'", "'A'", "'ab'", "'b%'", "'b_'", "'é'", "'É'", "'e'", "'it''s'", "'a '", "'A '", "' a'", "'zz'", "'ß'", "'ss'")
	case "dec":
		return g.pick("0", "1.5", "-2.25", "3.333", "10", "1e0", "2.50", "9999999.99", "-9999999.99")
	case "f":
		return g.pick("0", "1.5", "-0.0", "'nan'::double", "'inf'::double", "'-inf'::double", "1e10", "2")
	case "ts":
		return g.pick("TIMESTAMP '2024-01-01'", "TIMESTAMP '2024-01-02 12:00:00'", "DATE '2024-01-03'", "'2024-01-02'", "TIMESTAMP '2024-01-02 00:00:00.000001'",
			"TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'", "'infinity'::timestamp")
	case "tz":
		return g.pick("TIMESTAMPTZ '2024-01-01 00:00:00+00'", "TIMESTAMPTZ '2024-01-02 12:00:00+02'", "'2024-01-03 00:00:00+00'", "DATE '2024-01-02'", "TIMESTAMPTZ '9999-12-31 00:00:00+00'")
	case "d":
		return g.pick("DATE '2024-01-01'", "'2024-01-02'", "TIMESTAMP '2024-01-02 10:00:00'", "DATE '2024-01-04'", "DATE '0001-01-01'", "DATE '9999-12-31'", "'infinity'::date")
	}
	return g.pick("true", "false")
}

// column picks a column, bare and qualified by one of the aliases.
func (g *generator) column(al []string) (string, string) {
	c, _, _ := strings.Cut(fuzzColumns[g.r.Intn(len(fuzzColumns))], ":")
	return c, al[g.r.Intn(len(al))] + "." + c
}

func (g *generator) atom(al []string) string {
	c, q := g.column(al)
	a := al[g.r.Intn(len(al))]
	op := g.pick("=", "<>", "<", "<=", ">", ">=")
	kind := g.r.Intn(26)
	switch {
	case g.prefer == guardNulls && g.chance(60):
		kind = 6
	case g.prefer == guardDistinct && g.chance(60):
		kind = 17
	case g.prefer == guardOr && g.chance(40):
		kind = 9
	}
	switch kind {
	case 0:
		return q + g.pick(" IS NULL", " IS NOT NULL")
	case 1, 2:
		return q + g.pick(" IN (", " NOT IN (") + g.constant(c) + ", " + g.constant(c) + ", " + g.constant(c) + ")"
	case 3:
		return q + " BETWEEN " + g.constant(c) + " AND " + g.constant(c)
	case 4:
		return a + ".s " + g.pick("LIKE", "NOT LIKE", "ILIKE") + " " + g.pick("'a%'", "'%a'", "'%b%'", "'a_'", "'%'", "''", "'b\\%'", "'A%'", "'_'")
	case 5:
		return q + g.pick(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + g.constant(c)
	case 6:
		return "coalesce(" + q + ", " + g.constant(c) + ") " + op + " " + g.constant(c)
	case 7:
		return g.pick(a+".ts::date = DATE '2024-01-02'", "date_trunc('day', "+a+".ts) = TIMESTAMP '2024-01-02'", "year("+a+".ts) = 2024",
			a+".d + INTERVAL 1 DAY > TIMESTAMP '2024-01-02'", a+".d - 1 >= DATE '2024-01-01'", a+".ts >= "+a+".d", a+".tz::date "+op+" DATE '2024-01-02'",
			a+".ts::date "+op+" DATE '2024-01-03'", "year("+g.pick(a+".d", a+".ts", a+".tz")+") "+op+" 2024", a+".ts "+op+" TIMESTAMPTZ '2024-01-02 06:00:00+00'",
			a+".tz "+op+" TIMESTAMP '2024-01-02 06:00:00'", a+".d "+op+" TIMESTAMPTZ '2024-01-02 06:00:00+00'", a+".d "+op+" TIMESTAMPTZ '2024-01-03 00:00:00+00'")
	case 8:
		return g.pick(a+".n + 1 > 2", a+".n * 2 = 4", "5 - "+a+".n > 3", a+".n / 2 > 0.5", a+".n % 2 = 1", "abs("+a+".n) = 2", a+".dec + 1 > 2.5",
			"-"+a+".n > 1", a+".k::varchar = '3'", a+".n::double > 1.5", a+".id::integer < 20")
	case 9:
		return g.pick("length("+a+".s) > 1", "upper("+a+".s) = 'A'", "starts_with("+a+".s, 'a')", "contains("+a+".s, 'b')", a+".s || 'x' = 'ax'",
			"regexp_matches("+a+".s, '^a')", "suffix("+a+".s, 'b')", a+".s SIMILAR TO 'a.*'")
	case 10:
		return g.pick(a+".b", "NOT "+a+".b", a+".b = true", a+".b IS TRUE", a+".b IS NOT TRUE")
	case 11:
		return g.pick(a+".k "+op+" "+a+".id", a+".ts "+op+" "+a+".ts", a+".k = "+a+".n", a+".f "+op+" "+a+".f", a+".s "+op+" "+a+".s")
	case 12:
		return al[0] + ".k " + op + " " + al[len(al)-1] + ".id"
	case 13:
		return "CASE WHEN " + g.atom(al) + " THEN " + g.atom(al) + " ELSE " + g.pick("true", "false", "NULL") + " END"
	case 14:
		return g.pick("true", "1 = 1", "NULL::boolean", "1 = 0")
	case 15:
		return g.constant(c) + " " + op + " " + q
	case 16:
		return "(" + q + " " + op + " " + g.constant(c) + ") IS " + g.pick("TRUE", "NOT TRUE", "NULL", "NOT NULL", "FALSE")
	case 17:
		if g.prefer == guardDistinct && g.chance(60) { // DuckDB itself resolves a single NOT
			d, p := g.column(al)
			return "NOT (NOT (" + q + " IS NOT DISTINCT FROM " + g.constant(c) + ") OR NOT (" + p + " IS DISTINCT FROM " + g.constant(d) + "))"
		}
		return "NOT (" + q + g.pick(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + g.constant(c) + ")"
	}
	return q + " " + op + " " + g.constant(c)
}

func (g *generator) pred(al []string, depth int) string {
	if depth == 0 || g.chance(35) {
		return g.atom(al)
	}
	switch g.r.Intn(6) {
	case 0:
		return "NOT (" + g.pred(al, depth-1) + ")"
	case 1, 2, 3:
		return "(" + g.pred(al, depth-1) + " OR " + g.pred(al, depth-1) + ")"
	}
	return "(" + g.pred(al, depth-1) + " AND " + g.pred(al, depth-1) + ")"
}

// columns lists the columns of alias a.
func (g *generator) columns(a string) string {
	return a + "." + strings.ReplaceAll(fuzzNames, ", ", ", "+a+".")
}

// order is a total order of a's rows.
func (g *generator) order(a string) string {
	var p []string
	for c := range strings.SplitSeq(fuzzNames, ", ") {
		p = append(p, a+"."+c+g.pick("", "", " DESC", " NULLS FIRST"))
	}
	return strings.Join(p, ", ")
}

// where is a WHERE clause, sometimes with a subquery, or nothing.
func (g *generator) where(al []string, depth int, ctes []string) string {
	if !g.chance(50) {
		return ""
	}
	p := g.pred(al, 1+g.r.Intn(2))
	if depth == 0 || !g.chance(25) {
		return " WHERE " + p
	}
	b, x := g.alias(), al[g.r.Intn(len(al))]
	in := g.relation(depth-1, ctes)
	bs := []string{b}
	sub := g.pick(
		x+".k IN (SELECT "+b+".k FROM "+in+" "+b+" WHERE "+g.pred(bs, 1)+")",
		x+".id NOT IN (SELECT "+b+".id FROM "+in+" "+b+" WHERE "+b+".id IS NOT NULL AND "+g.pred(bs, 1)+")",
		x+".k NOT IN (SELECT "+b+".k FROM "+in+" "+b+")",
		"EXISTS (SELECT 1 FROM "+in+" "+b+" WHERE "+b+".k = "+x+".k AND "+g.pred([]string{b, x}, 1)+")",
		"NOT EXISTS (SELECT 1 FROM "+in+" "+b+" WHERE "+b+".id = "+x+".k AND "+g.pred(bs, 1)+")",
		x+".n > (SELECT min("+b+".n) FROM "+in+" "+b+" WHERE "+g.pred(bs, 1)+")",
		x+".ts >= (SELECT max("+b+".ts) FROM "+in+" "+b+" WHERE "+b+".k = "+x+".k)",
		x+".k = ANY (SELECT "+b+".n FROM "+in+" "+b+")",
	)
	return " WHERE (" + p + g.pick(" AND ", " AND ", " OR ") + sub + ")"
}

// relation is something that can stand after FROM and has the standard columns.
func (g *generator) relation(depth int, ctes []string) string {
	if depth == 0 || g.chance(25) {
		if len(ctes) > 0 && g.chance(60) {
			return g.pick(ctes...)
		}
		return g.table()
	}
	a, b := g.alias(), g.alias()
	al := []string{a}
	in := g.relation(depth-1, ctes)
	kind := g.r.Intn(17)
	switch {
	case (g.prefer == guardLimit || g.prefer == guardOffset) && g.chance(60):
		kind = 10
	case g.prefer == guardFree && g.chance(60):
		kind = []int{8, 9, 10}[g.r.Intn(3)]
	case g.prefer == guardChain && g.chance(60):
		kind = []int{7, 8, 9, 11}[g.r.Intn(4)]
	}
	switch kind {
	case 3, 4, 5:
		return g.join(a, b, in, depth, ctes)
	case 6:
		return "(SELECT " + fuzzNames + " FROM " + in + " " + a + g.where(al, depth, ctes) + " " + g.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT") +
			" SELECT " + fuzzNames + " FROM " + g.relation(depth-1, ctes) + " " + b + g.where([]string{b}, depth, ctes) + ")"
	case 7:
		return g.aggregate(a, in, g.where(al, depth, ctes))
	case 8:
		w, part := g.alias(), g.pick("k", "n", "s")
		return "(SELECT " + g.columns(w) + " FROM (SELECT *, " + g.pick("row_number()", "count(*)", "max("+a+".n)") + " OVER (PARTITION BY " + a + "." + part +
			" ORDER BY " + g.order(a) + ") AS w FROM " + in + " " + a + g.where(al, depth, ctes) + ") " + w + " WHERE " + g.pick(w+".w = 1", w+".w > 1", w+".w <= 2") +
			g.pick("", " AND "+w+"."+part+" = "+g.constant(part), " AND "+g.pred([]string{w}, 1)) + ")"
	case 9:
		o := g.alias()
		return "(SELECT * FROM (SELECT DISTINCT ON (" + a + ".k) " + g.columns(a) + " FROM " + in + " " + a + g.where(al, depth, ctes) + " ORDER BY " + a + ".k, " +
			g.order(a) + ") " + o + g.where([]string{o}, depth, ctes) + ")"
	case 10:
		o := g.alias()
		return "(SELECT * FROM (SELECT " + g.columns(a) + " FROM " + in + " " + a + g.where(al, depth, ctes) + " ORDER BY " + g.order(a) +
			fmt.Sprintf(" LIMIT %d", 1+g.r.Intn(15)) + g.pick("", " OFFSET 2") + ") " + o + g.where([]string{o}, depth, ctes) + ")"
	case 11:
		return "(SELECT DISTINCT " + g.columns(a) + " FROM " + in + " " + a + g.where(al, depth, ctes) + ")"
	case 12:
		l := g.alias()
		return "(SELECT " + g.columns(l) + " FROM " + in + " " + a + ", LATERAL (SELECT " + g.columns(b) + " FROM " + g.relation(depth-1, ctes) + " " + b + " WHERE " + b + ".k = " + a +
			".k AND " + g.pred([]string{b}, 1) + " ORDER BY " + g.order(b) + " LIMIT 1) " + l + g.where([]string{a, l}, depth, ctes) + ")"
	case 13:
		return "(SELECT " + g.columns(g.pick(a, b)) + " FROM " + in + " " + a + " ASOF " + g.pick("", "LEFT ") + "JOIN (SELECT DISTINCT ON (id, k) * FROM " + g.table() + ") " + b +
			" ON " + a + ".k = " + b + ".k AND " + a + ".id >= " + b + ".id" + g.where([]string{a, b}, depth, ctes) + ")"
	case 14:
		return "(SELECT " + g.columns(a) + " FROM " + in + " " + a + g.where(al, depth, ctes) + " QUALIFY row_number() OVER (PARTITION BY " + a + "." + g.pick("k", "s", "n") +
			" ORDER BY " + g.order(a) + ") <= 2)"
	case 15:
		return g.extremes(a, in, g.where(al, depth, ctes))
	}
	return "(SELECT " + g.pick("*", g.columns(a)) + " FROM " + in + " " + a + g.where(al, depth, ctes) + ")"
}

func (g *generator) join(a, b, in string, depth int, ctes []string) string {
	kind := g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
	right := g.relation(depth-1, ctes)
	on := g.keys(a, b)
	both := []string{a, b}
	if g.chance(50) {
		on += " AND " + g.pred(both, 1)
	}
	side := a
	if strings.HasPrefix(kind, "SEMI") || strings.HasPrefix(kind, "ANTI") {
		both = both[:1]
	} else if kind == "RIGHT JOIN" || g.chance(30) {
		side = b
	}
	return "(SELECT " + g.columns(side) + " FROM " + in + " " + a + " " + kind + " " + right + " " + b + " ON " + on + g.where(both, depth, ctes) + ")"
}

// keys is what a join is on.
func (g *generator) keys(a, b string) string {
	if g.prefer == guardNullKeys && g.chance(70) {
		return a + ".k IS NOT DISTINCT FROM " + b + ".k"
	}
	c := g.pick("k", "k", "n", "s", "dec", "ts", "tz", "d", "u")
	return g.pick(a+".k = "+b+".k", a+".id = "+b+".k", a+".k = "+b+".id", a+".n = "+b+".n AND "+a+".id < "+b+".id", a+".u = "+b+".k", a+".n = "+b+".k",
		a+".d = "+b+".ts", a+"."+c+" = "+b+"."+c, a+"."+c+" = "+b+"."+c+" AND "+a+".k = "+b+".k", a+"."+c+" IS NOT DISTINCT FROM "+b+"."+c)
}

// keyed is a model whose one side is much smaller than the other.
func (g *generator) keyed() string {
	a, b := g.alias(), g.alias()
	large, in := g.relation(g.r.Intn(2), nil), g.pick("k IN (1, 4, 5)", "k = "+g.constant("k"), "n > 1 AND k < 6", "s = 'a' AND k > 1", "false", "k > 2 AND k <= 4")
	small := "(SELECT * FROM " + g.table() + " WHERE " + in + ")"
	on := g.keys(a, b)
	switch g.prefer {
	case guardFree:
		large, on = g.relation(1, nil), a+".k = "+b+".k"
	case guardOnce:
		t := g.table()
		return "SELECT " + a + ".k AS o FROM " + t + " " + a + " JOIN " + small + " " + b + " ON " + a + ".k = " + b + ".k UNION ALL SELECT k AS o FROM " + t
	}
	kind, out := g.pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF JOIN"), g.pick(a, b)
	if kind == "ASOF JOIN" {
		on, small = a+".k = "+b+".k AND "+a+".id >= "+b+".id", "(SELECT DISTINCT ON (id, k) * FROM "+small+")"
	}
	if kind == "SEMI JOIN" || kind == "ANTI JOIN" {
		out = a
		if g.chance(50) { // the small side is on the left
			return "SELECT " + g.columns(a) + " FROM " + small + " " + a + " " + kind + " " + large + " " + b + " ON " + on
		}
	}
	return "SELECT " + g.columns(out) + " FROM " + large + " " + a + " " + kind + " " + small + " " + b + " ON " + on + g.where([]string{out}, 0, nil)
}

// plain is a model that may be streamed.
func (g *generator) plain() string {
	a := g.alias()
	var out []string
	for i, c := range g.r.Perm(len(fuzzColumns))[:1+g.r.Intn(4)] {
		name, _, _ := strings.Cut(fuzzColumns[c], ":")
		out = append(out, a+"."+name+g.pick("", fmt.Sprintf(" AS o%d", i)))
	}
	from := g.table()
	if g.chance(20) {
		from = "(SELECT * FROM " + from + " x ORDER BY " + g.order("x") + fmt.Sprintf(" LIMIT %d", 3+g.r.Intn(20)) + g.pick("", " OFFSET 3") + ")"
	}
	return "SELECT " + strings.Join(out, ", ") + " FROM " + from + " " + a + g.where([]string{a}, 0, nil)
}

func (g *generator) aggregate(a, in, where string) string {
	key := g.pick("k", "n", "s", "d", "b")
	var p []string
	for c := range strings.SplitSeq(fuzzNames, ", ") {
		switch c {
		case key:
			p = append(p, a+"."+key)
		case "b":
			p = append(p, "bool_or("+a+".b) AS b")
		default:
			p = append(p, g.pick("min(", "max(")+a+"."+c+") AS "+c)
		}
	}
	having := ""
	if g.chance(60) {
		having = " HAVING " + g.pick("count(*) > 1", a+"."+key+" IS NOT NULL", a+"."+key+" = "+g.constant(key), "min("+a+".n) > 0 AND "+a+"."+key+" <> "+g.constant(key))
	}
	return "(SELECT " + strings.Join(p, ", ") + " FROM " + in + " " + a + where + " GROUP BY " + a + "." + key + having + ")"
}

// extremes is one row of minima and maxima, of some columns as the others.
func (g *generator) extremes(a, in, where string) string {
	var p []string
	for i, c := range fuzzColumns {
		name, typ, _ := strings.Cut(c, ":")
		if g.chance(60) {
			p = append(p, fmt.Sprintf("CAST(NULL AS %s) AS %s", typ, name))
		} else {
			p = append(p, g.pick("min(", "max(")+a+"."+strings.Split(fuzzNames, ", ")[i]+") AS "+name)
		}
	}
	return "(SELECT " + strings.Join(p, ", ") + " FROM " + in + " " + a + where + ")"
}

// bounds is a model of minima and maxima.
func (g *generator) bounds() string {
	a := g.alias()
	in, al := g.table(), []string{a}
	if g.chance(15) {
		in = g.relation(1, nil)
	}
	where := ""
	if g.prefer == guardExtremeLimit || g.chance(5) {
		_, q := g.column([]string{"x"})
		in = "(SELECT " + q + " AS c FROM " + in + " x ORDER BY c" + g.pick("", " DESC") + " NULLS FIRST LIMIT 5)"
		return "SELECT min(" + a + ".c) AS o0 FROM " + in + " " + a
	}
	switch n := g.r.Intn(10); {
	case g.prefer == guardExtremeRow && n < 6:
		where = " WHERE " + g.pick(a+".k < "+a+".id", a+".n > "+a+".k", "("+a+".k = 3 OR "+a+".n = 2)", a+".ts < "+a+".ts OR "+a+".k < 4")
	case n < 5:
		where = " WHERE " + g.pred(al, 1)
	case n < 8:
		where = " WHERE " + g.atom(al)
	}
	var out []string
	for i := range 1 + g.r.Intn(3) {
		_, q := g.column(al)
		out = append(out, g.pick("min(", "max(")+g.pick(q, q, q, a+".ts::date", a+".n::bigint")+fmt.Sprintf(") AS o%d", i))
	}
	return "SELECT " + strings.Join(out, ", ") + " FROM " + in + " " + a + where + g.pick("", "", " HAVING count(*) > 0", " HAVING max("+a+".k) > 3")
}

func (g *generator) ctes() (with string, names []string) {
	if g.chance(6) {
		x, y := []string{"x"}, []string{"y"}
		return "WITH RECURSIVE c0 AS (SELECT " + fuzzNames + " FROM " + g.table() + " x WHERE " + g.pred(x, 1) + " UNION SELECT " + g.columns("y") + " FROM " + g.table() +
			" y JOIN c0 z ON y.k = z.id WHERE " + g.pred(y, 1) + ") ", []string{"c0"}
	}
	if !g.chance(40) {
		return "", nil
	}
	var defs []string
	for i := range 1 + g.r.Intn(2) {
		name, a := fmt.Sprintf("c%d", i), g.alias()
		defs = append(defs, name+" AS "+g.pick("", "", "MATERIALIZED ", "NOT MATERIALIZED ")+"(SELECT "+g.pick("*", g.columns(a))+" FROM "+g.relation(1, names)+" "+a+
			" WHERE "+g.pred([]string{a}, 1)+")")
		names = append(names, name)
	}
	return "WITH " + strings.Join(defs, ", ") + " ", names
}

// query is a whole model with distinct column names.
func (g *generator) query() string {
	g.seq = 0
	if strings.HasPrefix(string(g.prefer), "extreme") || g.chance(10) {
		return g.bounds()
	}
	if g.prefer == "" && g.chance(10) {
		return g.plain()
	}
	if g.prefer == guardFree || g.prefer == guardOnce || g.prefer == "" && g.chance(15) {
		return g.keyed()
	}
	if g.prefer == guardPlace || g.prefer == "" && g.chance(12) {
		return g.again()
	}
	with, ctes := g.ctes()
	depth := 2 + g.r.Intn(2)
	if g.prefer != "" {
		depth = 1
	}
	a := g.alias()
	al := []string{a}
	from := g.relation(depth, ctes) + " " + a
	join := 40
	if slices.Contains([]guard{guardScans, guardWhole, guardSide, guardNullKeys}, g.prefer) {
		join = 90
	}
	if g.chance(join) {
		b := g.alias()
		from += " " + g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") + " " + g.relation(1, ctes) + " " + b + " ON " + g.keys(a, b)
		if g.chance(40) {
			from += " AND " + g.pred([]string{a, b}, 1)
		}
		al = append(al, b)
	}
	where := g.where(al, 1, ctes)
	var out []string
	for i := range 1 + g.r.Intn(4) {
		_, q := g.column(al)
		out = append(out, q+fmt.Sprintf(" AS o%d", i))
	}
	sel := strings.Join(out, ", ")
	switch g.r.Intn(6) {
	case 0:
		return with + "SELECT count(*) AS c, sum(" + a + ".n) AS s, min(" + a + ".s) AS m FROM " + from + where
	case 1:
		k := a + "." + g.pick("k", "n", "s", "d")
		return with + "SELECT " + k + " AS g, count(*) AS c, max(" + a + ".ts) AS m FROM " + from + where + " GROUP BY " + k + g.pick("", " HAVING count(*) > 1", " HAVING "+k+" IS NOT NULL")
	case 2:
		return with + "SELECT " + a + ".* FROM " + from + where
	case 3:
		return with + "SELECT " + sel + " FROM " + from + where + " ORDER BY ALL LIMIT " + fmt.Sprint(1+g.r.Intn(10))
	case 4:
		return with + "SELECT DISTINCT " + sel + " FROM " + from + where
	}
	return with + "SELECT " + sel + " FROM " + from + where
}

// again is a model that names one relation in several places, each with needs of its own.
func (g *generator) again() string {
	t, a, b, c := g.table(), g.alias(), g.alias(), g.alias()
	part := func(x string) string {
		where := ""
		if g.chance(80) {
			where = " WHERE " + g.pick("y.k = "+g.constant("k"), "y.n IN (1, 2)", "y.id < 12", "y.id >= 12", g.pred([]string{"y"}, 1))
		}
		limit := ""
		if g.chance(15) {
			limit = " ORDER BY " + g.order("y") + " LIMIT 6"
		}
		return "(SELECT * FROM " + t + " y" + where + limit + ") " + x
	}
	out := func(x string, n int) string {
		_, q := g.column([]string{x})
		return fmt.Sprintf("%s AS o%d", q, n)
	}
	switch g.r.Intn(6) {
	case 0: // a relation with itself
		return "SELECT " + out(a, 0) + ", " + out(b, 1) + " FROM " + part(a) + " " + g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") + " " + part(b) + " ON " + g.keys(a, b)
	case 1: // two branches of a UNION
		o, _ := g.column([]string{a})
		other := g.pick(o, o, "NULL")
		return "SELECT " + a + "." + o + " AS o0, " + a + ".id AS o1 FROM " + part(a) + " " + g.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT") + " SELECT " + other + ", " + g.pick("k", "id") + " FROM " + part(b)
	case 2: // a common table expression used twice, beside the relation
		return "WITH w AS " + g.pick("", "MATERIALIZED ", "NOT MATERIALIZED ") + "(SELECT * FROM " + part("x") + ") SELECT " + out(a, 0) + ", " + out(b, 1) + ", " + out(c, 2) +
			" FROM w " + a + " JOIN w " + b + " ON " + g.keys(a, b) + " " + g.pick("JOIN", "LEFT JOIN") + " " + part(c) + " ON " + g.keys(b, c)
	case 3: // looked up in itself
		return "SELECT " + out(a, 0) + " FROM " + part(a) + " WHERE " + a + ".k " + g.pick("IN", "NOT IN") + " (SELECT " + b + "." + g.pick("id", "k", "n") + " FROM " + part(b) + ")"
	case 4: // each row beside an aggregate of the same relation
		return "SELECT " + out(a, 0) + ", (SELECT " + g.pick("count(*)", "max("+b+".n)", "min("+b+".ts)") + " FROM " + part(b) + g.pick("", " WHERE "+b+".k = "+a+".k") + ") AS o1 FROM " + part(a)
	}
	return "SELECT " + out(a, 0) + ", " + out(b, 1) + ", " + out(c, 2) + " FROM " + part(a) + " JOIN " + g.pick(g.table()+" "+b, part(b)) + " ON " + g.keys(a, b) + " LEFT JOIN " + part(c) + " ON " + g.keys(b, c)
}
