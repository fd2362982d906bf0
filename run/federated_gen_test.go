package run

import (
	"fmt"
	"slices"
	"strings"
)

// fedName stands for a relation in a generated query; each side puts its own name there.
func fedName(x *fedTable) string { return "@@" + x.engine + "." + x.name + "@@" }

// table is one table in FROM.
func (g *fedGen) table() (string, fedRel) {
	return g.tableOf(g.tables[g.n(len(g.tables))])
}

func (g *fedGen) tableOf(x *fedTable) (string, fedRel) {
	rel := fedRel{alias: g.alias()}
	for i := range x.cols {
		c := &x.cols[i]
		if c.pool == "id" {
			rel.unique = c.name
		}
		rel.cols = append(rel.cols, fedCol{name: c.name, kind: kindOfLogical(c.logical), lits: c.lits, small: c.pool == "small" || c.pool == "id", wide: c.pool == "huge" || c.pool == "big dec"})
	}
	return fedName(x) + " " + rel.alias, rel
}

// source is what can stand after FROM.
func (g *fedGen) source(depth int) (string, fedRel) {
	switch {
	case len(g.ctes) > 0 && g.chance(45):
		rel := g.ctes[g.n(len(g.ctes))]
		name := rel.alias
		rel.alias = g.alias()
		return name + " " + rel.alias, rel
	case depth == 0 || g.chance(60):
		return g.table()
	case g.chance(6):
		rel := fedRel{alias: g.alias(), cols: []fedCol{{name: "k", kind: "int", small: true}, {name: "s", kind: "text"}}}
		return "(VALUES (1, 'a'), (2, 'A '), (5, NULL), (NULL, 'ß'), (12, 'ab')) " + rel.alias + "(k, s)", rel
	}
	sql, cols := g.query(depth - 1)
	rel := fedRel{alias: g.alias(), cols: cols}
	return "(" + sql + ") " + rel.alias, rel
}

// from is a FROM clause and what WHERE sees of it.
func (g *fedGen) from(depth int) (string, []fedRel) {
	sql, a := g.source(depth)
	rels := []fedRel{a}
	joins := []int{0, 0, 1, 1, 1, 2}[g.n(6)]
	for range joins {
		kind := g.pick("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF")
		right, b := g.source(max(depth-1, 0))
		left := rels[g.n(len(rels))]
		on := g.same(left, b)
		if on == "false" {
			on = "true"
			if kind == "FULL JOIN" || kind == "RIGHT JOIN" {
				kind = "LEFT JOIN"
			}
			right = "(SELECT * FROM " + right + " ORDER BY " + g.order([]fedRel{b}) + " LIMIT 2) " + b.alias
		}
		if kind == "ASOF" {
			if text, ok := g.asof(left, b, right); ok {
				sql += text
				rels = append(rels, b)
				continue
			}
			kind = "JOIN"
		}
		if g.chance(8) && on != "true" {
			on = strings.Replace(on, " = ", " IS NOT DISTINCT FROM ", 1)
		}
		if g.chance(35) {
			on += " AND " + g.said(g.pred(append(slices.Clone(rels), b)))
		}
		sql += " " + kind + " " + right + " ON " + on
		if kind != "SEMI JOIN" && kind != "ANTI JOIN" {
			rels = append(rels, b)
		}
	}
	return sql, rels
}

// asof joins each row to the last one of b that is not later; b has one row a moment.
func (g *fedGen) asof(a, b fedRel, right string) (string, bool) {
	for _, kind := range []fedKind{"timestamp", "date", "tz", "int"} {
		p, _, ok1 := g.column([]fedRel{a}, kind)
		q, _, ok2 := g.column([]fedRel{b}, kind)
		if ok1 && ok2 {
			one := "(SELECT DISTINCT ON (" + q + ") * FROM " + right + " WHERE " + q + " IS NOT NULL ORDER BY " + q + ", " + g.order([]fedRel{b}) + ") " + b.alias
			return g.pick(" ASOF JOIN ", " ASOF LEFT JOIN ") + one + " ON " + p + " >= " + q, true
		}
	}
	return "", false
}

// order is a total order of the rows of rels, perhaps by something else first.
func (g *fedGen) order(rels []fedRel) string {
	var keys []string
	add := func(q string) {
		keys = append(keys, q+g.pick("", " DESC")+g.pick("", "", " NULLS FIRST", " NULLS LAST"))
	}
	if g.chance(60) {
		rel, c := g.anyOf(rels)
		add(rel.ref(c))
	}
	for _, rel := range rels {
		for _, c := range rel.cols {
			if rel.unique == "" || c.name == rel.unique {
				add(rel.ref(c))
			}
		}
	}
	return strings.Join(keys, ", ")
}

// item is one expression of a SELECT.
func (g *fedGen) item(rels []fedRel, depth int) (string, fedCol) {
	rel, c := g.anyOf(rels)
	q := rel.ref(c)
	if g.chance(70) {
		return q, c
	}
	lits := c.lits
	c.lits = nil
	is := func(kind fedKind) fedCol { return fedCol{kind: kind} }
	switch g.n(7) {
	case 0:
		if len(lits) > 0 {
			return "coalesce(" + q + ", " + lits[g.n(len(lits))] + ")", c
		}
	case 1:
		return "CASE WHEN " + g.atom(rels) + " THEN " + q + " END", c
	case 2:
		return "(" + g.atom(rels) + ")", is("boolean")
	case 3:
		if depth > 0 {
			in, b := g.source(0)
			if link := g.same(rel, b); link != "false" {
				_, right, _ := strings.Cut(link, " = ")
				return "(SELECT " + g.pick("count(*)", "count("+right+")") + " FROM " + in + " WHERE " + link + g.pick("", " AND "+g.pred([]fedRel{b})) + ")", is("int")
			}
		}
	}
	switch c.kind {
	case "int":
		if c.small {
			return g.pick(q+" % 3", "abs("+q+"::INTEGER)", q+"::INTEGER - 5"), fedCol{kind: "int", small: true}
		}
	case "text":
		return g.pick("upper("+q+")", "substr("+q+", 1, 2)", q+" || '|'", "trim("+q+")"), is("text")
	case "date", "timestamp", "tz":
		return "year(" + q + ")", fedCol{kind: "int", small: true}
	case "list":
		return "len(" + q + ")", fedCol{kind: "int", small: true}
	case "dec":
		return q + "::DECIMAL(38,10)", is("dec")
	}
	return q, c
}

// query is a SELECT, or a set operation of two, with columns c0, c1, …
func (g *fedGen) query(depth int) (string, []fedCol) {
	if depth > 0 && g.chance(15) {
		return g.union(depth)
	}
	from, rels := g.from(depth)
	where := g.where(rels, depth)
	switch g.n(10) {
	case 0, 1:
		return g.aggregate(from, where, rels)
	case 2:
		return g.rollup(from, where, rels)
	case 3:
		return g.window(from, where, rels)
	}
	var items []string
	var cols []fedCol
	for i := range 1 + g.n(5) {
		sql, c := g.item(rels, depth)
		c.name = fmt.Sprintf("c%d", i)
		items, cols = append(items, sql+" AS "+c.name), append(cols, c)
	}
	list := strings.Join(items, ", ")
	switch g.n(8) {
	case 0:
		return "SELECT DISTINCT " + list + " FROM " + from + where, cols
	case 1, 2:
		return "SELECT " + list + " FROM " + from + where + " ORDER BY " + g.order(rels) + fmt.Sprintf(" LIMIT %d", 1+g.n(20)) + g.pick("", "", fmt.Sprintf(" OFFSET %d", g.n(4))), cols
	case 3:
		rel, c := g.anyOf(rels)
		return "SELECT DISTINCT ON (" + rel.ref(c) + ") " + list + " FROM " + from + where + " ORDER BY " + rel.ref(c) + ", " + g.order(rels), cols
	case 4:
		rel, c := g.anyOf(rels)
		return "SELECT " + list + " FROM " + from + where + " QUALIFY row_number() OVER (PARTITION BY " + rel.ref(c) + " ORDER BY " + g.order(rels) + ") " + g.pick("= 1", "<= 2", "> 1"), cols
	}
	return "SELECT " + list + " FROM " + from + where, cols
}

// aggregates are aggregates whose result does not depend on the order of rows.
func (g *fedGen) aggregates(rels []fedRel, first int) (items []string, cols []fedCol) {
	for i := range 1 + g.n(3) {
		rel, c := g.anyOf(rels)
		q := rel.ref(c)
		out := fedCol{kind: "int"}
		sql := g.pick("count(*)", "count("+q+")", "count(DISTINCT "+q+")")
		switch {
		case g.chance(50):
			sql, out = g.pick("min(", "max(")+q+")", c
			out.small = false
		case (c.kind == "int" || c.kind == "dec") && !c.wide:
			sql, out = "sum("+q+"::HUGEINT)", fedCol{kind: "int"}
			if c.kind == "dec" {
				sql, out = "sum("+q+")", fedCol{kind: "dec"}
			}
		case c.kind == "text":
			sql, out = "string_agg("+q+", '|' ORDER BY "+q+")", fedCol{kind: "text"}
		case c.kind == "boolean":
			sql, out = g.pick("bool_or(", "bool_and(")+q+")", fedCol{kind: "boolean"}
		}
		if g.chance(15) {
			sql += " FILTER (WHERE " + g.atom(rels) + ")"
		}
		out.name = fmt.Sprintf("c%d", first+i)
		items, cols = append(items, sql+" AS "+out.name), append(cols, out)
	}
	return items, cols
}

func (g *fedGen) aggregate(from, where string, rels []fedRel) (string, []fedCol) {
	var keys, items []string
	var cols []fedCol
	for i := range g.n(3) {
		rel, c := g.anyOf(rels)
		q := rel.ref(c)
		keys = append(keys, q)
		c.name = fmt.Sprintf("c%d", i)
		items, cols = append(items, q+" AS "+c.name), append(cols, c)
	}
	more, moreCols := g.aggregates(rels, len(items))
	items, cols = append(items, more...), append(cols, moreCols...)
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + where
	if len(keys) == 0 {
		return sql + g.pick("", "", " HAVING count(*) > 0"), cols
	}
	having := g.pick("", "", " HAVING "+g.said("count(*) > 1"), " HAVING "+g.said(keys[0]+" IS NOT NULL"), " HAVING "+g.said(g.compare(keys[0], cols[0])))
	return sql + " GROUP BY " + strings.Join(keys, ", ") + having, cols
}

func (g *fedGen) rollup(from, where string, rels []fedRel) (string, []fedCol) {
	r1, c1 := g.anyOf(rels)
	r2, c2 := g.anyOf(rels)
	k1, k2 := r1.ref(c1), r2.ref(c2)
	if k1 == k2 {
		return g.aggregate(from, where, rels)
	}
	items, cols := g.aggregates(rels, 2)
	c1.name, c2.name = "c0", "c1"
	by := g.pick("ROLLUP ("+k1+", "+k2+")", "CUBE ("+k1+", "+k2+")", "GROUPING SETS (("+k1+"), ("+k2+"), ())", "GROUPING SETS (("+k1+"), ("+k1+", "+k2+"))")
	return "SELECT " + k1 + " AS c0, " + k2 + " AS c1, " + strings.Join(items, ", ") + " FROM " + from + where + " GROUP BY " + by + g.pick("", "", " HAVING "+g.said(k1+" IS NOT NULL")), append([]fedCol{c1, c2}, cols...)
}

// window is a query with a window function, perhaps filtered by its partition.
func (g *fedGen) window(from, where string, rels []fedRel) (string, []fedCol) {
	rel, part := g.anyOf(rels)
	other, val := g.anyOf(rels)
	p, v, order := rel.ref(part), other.ref(val), g.order(rels)
	over := " OVER (" + g.pick("PARTITION BY "+p+" ", "PARTITION BY "+p+" ", "") + "ORDER BY " + order + ")"
	fn, out := g.pick("row_number()", "rank()", "dense_rank()", "count("+v+")", "ntile(3)"), fedCol{kind: "int"}
	if g.chance(50) {
		fn, out = g.pick("lag("+v+")", "lead("+v+")", "first_value("+v+")", "last_value("+v+")", "max("+v+")", "min("+v+")"), val
		out.small = false
	}
	part.name, val.name, out.name = "c0", "c1", "c2"
	sql := "SELECT " + p + " AS c0, " + v + " AS c1, " + fn + over + " AS c2 FROM " + from + where
	cols := []fedCol{part, val, out}
	if g.chance(50) {
		w := fedRel{alias: g.alias(), cols: cols}
		sql = "SELECT * FROM (" + sql + ") " + w.alias + " WHERE " + g.said(g.pick(g.compare(w.ref(part), part), g.compare(w.ref(out), out), g.atom([]fedRel{w})))
	}
	return sql, cols
}

// union is a set operation; the second side has columns of the kinds of the first.
func (g *fedGen) union(depth int) (string, []fedCol) {
	side := func(kinds []fedKind) (string, []fedCol) {
		from, rels := g.from(depth - 1)
		where := g.where(rels, 0)
		var items []string
		var cols []fedCol
		for i := range max(len(kinds), 1+g.n(3)) {
			if kinds != nil && i == len(kinds) {
				break
			}
			rel, c := g.anyOf(rels)
			q := rel.ref(c)
			if kinds != nil && c.kind != kinds[i] {
				var ok bool
				if q, c, ok = g.column(rels, kinds[i]); !ok {
					q, c = "NULL", fedCol{kind: kinds[i]}
				}
			}
			c.name = fmt.Sprintf("c%d", i)
			items, cols = append(items, q+" AS "+c.name), append(cols, c)
		}
		return "SELECT " + strings.Join(items, ", ") + " FROM " + from + where, cols
	}
	left, cols := side(nil)
	var kinds []fedKind
	for _, c := range cols {
		kinds = append(kinds, c.kind)
	}
	right, others := side(kinds)
	for i := range cols {
		cols[i].lits, cols[i].small = append(slices.Clone(cols[i].lits), others[i].lits...), cols[i].small && others[i].small
		cols[i].wide = cols[i].wide || others[i].wide
	}
	return left + " " + g.pick("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL") + " " + right, cols
}

// model is a whole model; ordered says that its rows come in one order.
func (g *fedGen) model() (sql string, ordered bool) {
	var with []string
	if g.chance(35) {
		for i := range 1 + g.n(2) {
			body, cols := g.query(1)
			name := fmt.Sprintf("cte%d", i)
			with = append(with, name+" AS "+g.pick("", "", "", "MATERIALIZED ", "NOT MATERIALIZED ")+"("+body+")")
			g.ctes = append(g.ctes, fedRel{alias: name, cols: cols})
		}
	}
	switch {
	case g.chance(12):
		sql = g.again()
	case g.chance(20):
		sql = g.plain()
	default:
		sql, _ = g.query(1 + g.n(2))
	}
	if g.chance(20) {
		sql = "SELECT * FROM (" + sql + ") z ORDER BY ALL" + g.pick("", " DESC") + g.pick(" NULLS FIRST", " NULLS LAST", "") + g.pick("", fmt.Sprintf(" LIMIT %d", 1+g.n(10)))
		ordered = true
	}
	if len(with) > 0 && !strings.HasPrefix(sql, "WITH ") {
		sql = "WITH " + strings.Join(with, ", ") + " " + sql
	}
	return sql, ordered
}

// plain is one table under a filter and a limit: what may be streamed, cut at its source
// or read as one row.
func (g *fedGen) plain() string {
	from, rel := g.table()
	rels := []fedRel{rel}
	where := ""
	for i := range g.n(4) {
		where += []string{" WHERE ", " AND ", " AND "}[i] + g.said(g.pred(rels))
	}
	if g.chance(40) {
		var items []string
		for i := range 1 + g.n(3) {
			_, c := g.anyOf(rels)
			items = append(items, g.pick("min(", "max(")+rel.ref(c)+fmt.Sprintf(") AS c%d", i))
		}
		return "SELECT " + strings.Join(items, ", ") + " FROM " + from + where
	}
	var items []string
	for i, j := range g.r.Perm(len(rel.cols))[:1+g.n(min(6, len(rel.cols)))] {
		items = append(items, rel.ref(rel.cols[j])+fmt.Sprintf(" AS c%d", i))
	}
	limit := ""
	if g.chance(40) {
		limit = " ORDER BY " + g.order(rels) + fmt.Sprintf(" LIMIT %d", 1+g.n(30)) + g.pick("", "", " OFFSET 3")
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + from + where + limit
}

// again names one table in several places, each with needs of its own: joined to itself,
// in branches of a UNION, in a common table expression that is used twice.
func (g *fedGen) again() string {
	g.twice = true
	x := g.tables[g.n(len(g.tables))]
	part := func() (string, fedRel) {
		from, rel := g.tableOf(x)
		inner := []fedRel{rel}
		sql := "SELECT * FROM " + from
		for i := range g.n(3) {
			sql += []string{" WHERE ", " AND "}[i] + g.said(g.pred(inner))
		}
		if g.chance(15) {
			sql += " ORDER BY " + g.order(inner) + " LIMIT 5"
		}
		rel.alias = g.alias()
		return "(" + sql + ") " + rel.alias, rel
	}
	items := func(rels ...fedRel) string {
		var out []string
		for i := range 1 + g.n(4) {
			rel, c := g.anyOf(rels)
			out = append(out, rel.ref(c)+fmt.Sprintf(" AS c%d", i))
		}
		return strings.Join(out, ", ")
	}
	left, a := part()
	right, b := part()
	on := g.same(a, b)
	switch g.n(5) {
	case 0:
		_, c := g.anyOf([]fedRel{a})
		_, d := g.anyOf([]fedRel{a})
		list := func(r fedRel) string { return "SELECT " + r.ref(c) + " AS c0, " + r.ref(d) + " AS c1 FROM " }
		return list(a) + left + g.pick(" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ") + list(b) + right
	case 1:
		third, c := part()
		return "WITH w AS " + g.pick("", "MATERIALIZED ", "NOT MATERIALIZED ") + "(SELECT * FROM " + third + ") SELECT " + items(a, b) + " FROM w " + a.alias +
			" JOIN w " + b.alias + " ON " + on + g.pick("", " LEFT") + " JOIN " + third + " ON " + g.same(b, c)
	case 2:
		_, key, _ := strings.Cut(on, " = ")
		mine, _, _ := strings.Cut(on, " = ")
		if key == "" {
			mine, key = "1", "1"
		}
		return "SELECT " + items(a) + " FROM " + left + " WHERE " + mine + g.pick(" IN ", " NOT IN ") + "(SELECT " + key + " FROM " + right + " WHERE " + key + " IS NOT NULL)"
	}
	return "SELECT " + items(a, b) + " FROM " + left + g.pick(" JOIN ", " LEFT JOIN ", " FULL JOIN ") + right + " ON " + on
}
