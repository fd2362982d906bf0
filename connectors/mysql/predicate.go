package mysql

import (
	"math/big"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// class groups columns by the rules under which the engine compares them.
type class uint8

const (
	classOther class = iota // nothing but IS NULL is sent
	classInt
	classDecimal
	classFloat
	classBool
	classDate // date, datetime, timestamp
	classTime
	classText
	classEnum
	classUUID
)

// kindOf takes both the logical type and the engine's: a project may have given the
// column a type that the engine does not compare by.
func kindOf(c *connectors.Column) class {
	base := parseNative(c.Native).base
	switch k := c.Type.Kind; {
	case isInteger(k) && isIntegerBase(base):
		return classInt
	case k == connectors.Decimal && base == "decimal":
		return classDecimal
	case k == connectors.Float && base == "float", k == connectors.Double && base == "double":
		return classFloat
	case k == connectors.Boolean && (base == "tinyint" || base == "bit"):
		return classBool
	case k == connectors.Date && base == "date", k == connectors.Timestamp && base == "datetime", k == connectors.TimestampTZ && base == "timestamp":
		return classDate
	case k == connectors.Time && base == "time":
		return classTime
	case k == connectors.UUID && base == "uuid":
		return classUUID
	case k == connectors.Varchar && (base == "enum" || base == "set"):
		return classEnum
	case k == connectors.Varchar && c.Attrs[attrCharset] != "" && c.Attrs[attrCharset] != "binary":
		return classText
	}
	return classOther
}

func isIntegerBase(base string) bool {
	switch base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit":
		return true
	}
	return false
}

// operand is the column as comparisons name it.
//
// YEAR is compared with two-digit numbers as if they were years: y > 50 means y > 2050
// and loses every row that DuckDB keeps. BIT is compared as a number only in a numeric
// expression on older servers.
func operand(c *connectors.Column) string {
	q := quote(c.Name)
	switch parseNative(c.Native).base {
	case "year", "bit":
		return "(" + q + " + 0)"
	}
	return q
}

// nullDate is true for the dates that arrive as NULL: zero and partial ones.
func nullDate(c string) string {
	return "(" + c + " IS NULL OR MONTH(" + c + ") = 0 OR DAYOFMONTH(" + c + ") = 0)"
}

func notNullDate(c string) string {
	return "MONTH(" + c + ") <> 0 AND DAYOFMONTH(" + c + ") <> 0"
}

func no(reason string) connectors.Answer { return connectors.Answer{Reason: reason} }
func exact(sql string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Exact}
}
func superset(sql, reason string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Superset, Reason: reason}
}

// Leaf renders one leaf. Every rule says what would be lost without it.
func (d dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	col := &t.Columns[p.Col]
	cl, c := kindOf(col), operand(col)
	switch p.Kind {
	case connectors.PNull:
		return nullLeaf(col, cl, c, p.Neg)
	case connectors.PColCmp:
		return columnLeaf(p, col, &t.Columns[p.Col2])
	case connectors.PBool:
		if cl != classBool {
			return no("not a boolean column on " + d.c.server().engine)
		}
		// "c = TRUE" means c = 1; a tinyint(1) of 2 is true as well.
		if p.Neg {
			return exact(c + " = 0")
		}
		return exact(c + " <> 0")
	}
	if cl == classOther {
		return no("type " + col.Native + " is not compared as DuckDB compares it")
	}
	lits := make([]string, len(p.Vals))
	for i, v := range p.Vals {
		l, ok := literal(v, cl)
		if !ok || !sameMeaning(v.Type, col.Type, cl) {
			return no("no literal of type " + v.Type.String() + " means the same on " + col.Native)
		}
		lits[i] = l
	}
	switch {
	case p.Kind == connectors.PLike && (cl == classText || cl == classEnum):
		return likeLeaf(p, col, cl)
	case p.Kind != connectors.PCmp && p.Kind != connectors.PIn:
		return no("no exact equivalent on " + d.c.server().engine)
	case p.Kind == connectors.PCmp && !comparison(p.Op):
		return no("operator " + p.Op)
	case cl == classText || cl == classEnum:
		return textLeaf(p, col, cl, lits)
	case cl == classUUID:
		return uuidLeaf(p, c, lits)
	}
	if cl == classDate || cl == classTime {
		if q, lost := coarse(p, col); lost {
			if p, lits = q, nil; p.Kind == connectors.PFalse {
				return exact("1 = 0")
			}
			if p.Kind == connectors.PNull {
				return nullLeaf(col, cl, c, true)
			}
			for _, v := range p.Vals {
				l, ok := literal(v, cl)
				if !ok {
					return no("no literal of type " + v.Type.String() + " means the same on " + col.Native)
				}
				lits = append(lits, l)
			}
		}
	}
	sql := c + " " + operator(p) + " " + operandList(p, lits)
	if cl == classDate {
		// '0000-00-00' is below every date, '2024-00-10' above 2023: both are NULL to
		// DuckDB, so a LIMIT would be filled with rows that it drops.
		sql = "(" + sql + " AND " + notNullDate(c) + ")"
	}
	return exact(sql)
}

// sameMeaning: a constant of another type would be compared after a conversion that the
// engine does in its own way, or with digits that an index lookup rounds away.
func sameMeaning(v, col connectors.Type, cl class) bool {
	switch cl {
	case classInt, classText, classEnum:
		return true
	case classDecimal:
		return v.Kind != connectors.Decimal || v.Scale <= col.Scale
	}
	return v.Kind == col.Kind
}

// coarse rewrites a comparison with a constant that has more fractional digits than the
// column. By way of an index the server cuts the constant first: on a datetime,
// c = '12:00:00.5' finds the rows of 12:00:00. lost is false when there is nothing to
// rewrite.
func coarse(p *connectors.Pred, col *connectors.Column) (q *connectors.Pred, lost bool) {
	step := int64(1)
	n := parseNative(col.Native)
	if n.base == "date" {
		return p, false
	}
	for d := n.arg(0, 0); d < 6; d++ {
		step *= 10
	}
	fine := func(v connectors.Value) bool { return v.Int.Int64()-floorDiv(v.Int.Int64(), step)*step != 0 }
	c := *p
	if p.Kind == connectors.PIn {
		c.Vals = nil
		for _, v := range p.Vals {
			if !fine(v) {
				c.Vals = append(c.Vals, v)
			}
		}
		switch {
		case len(c.Vals) == len(p.Vals):
			return p, false
		case len(c.Vals) > 0:
		case p.Neg:
			c.Kind = connectors.PNull
		default:
			c.Kind = connectors.PFalse
		}
		return &c, true
	}
	v := p.Vals[0]
	if !fine(v) {
		return p, false
	}
	v.Int = big.NewInt(floorDiv(v.Int.Int64(), step) * step)
	c.Vals = []connectors.Value{v}
	switch p.Op {
	case "=":
		c.Kind = connectors.PFalse
	case "<>":
		c.Kind = connectors.PNull
	case "<":
		c.Op = "<="
	case ">=":
		c.Op = ">"
	}
	return &c, true
}

func comparison(op string) bool {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func operator(p *connectors.Pred) string {
	if p.Kind != connectors.PIn {
		return p.Op
	}
	if p.Neg {
		return "NOT IN"
	}
	return "IN"
}

func operandList(p *connectors.Pred, lits []string) string {
	if p.Kind == connectors.PIn {
		return "(" + strings.Join(lits, ", ") + ")"
	}
	return lits[0]
}

func nullLeaf(col *connectors.Column, cl class, c string, neg bool) connectors.Answer {
	q := quote(col.Name)
	switch {
	case cl == classDate && neg:
		return exact("(" + c + " IS NOT NULL AND " + notNullDate(c) + ")")
	case cl == classDate:
		// Plain IS NULL loses the zero dates that arrive as NULL.
		return exact(nullDate(c))
	case neg:
		return exact(q + " IS NOT NULL")
	}
	return exact(q + " IS NULL")
}

// columnLeaf compares two columns of one type.
func columnLeaf(p *connectors.Pred, a, b *connectors.Column) connectors.Answer {
	cl := kindOf(a)
	if cl != kindOf(b) || !a.Type.Equal(b.Type) && cl != classInt && cl != classDecimal || !comparison(p.Op) {
		return no("the columns have different types")
	}
	x, y := operand(a), operand(b)
	switch cl {
	case classInt, classDecimal, classFloat, classBool, classTime:
		return exact(x + " " + p.Op + " " + y)
	case classDate:
		return exact("(" + x + " " + p.Op + " " + y + " AND " + notNullDate(x) + " AND " + notNullDate(y) + ")")
	case classText:
		return exact(binaryForm(a) + " " + p.Op + " " + binaryForm(b))
	}
	return no("type " + a.Native + " is not compared as DuckDB compares it")
}

// binaryForm is a text column as the bytes of its UTF-8 form, which is what DuckDB
// compares. A collation folds case and accents, and even utf8mb4_bin pads: 'a' = 'a '.
func binaryForm(c *connectors.Column) string {
	return "CAST(CONVERT(" + quote(c.Name) + " USING utf8mb4) AS BINARY)"
}

// textLeaf renders = <> < and IN on text.
func textLeaf(p *connectors.Pred, col *connectors.Column, cl class, lits []string) connectors.Answer {
	q := quote(col.Name)
	if p.Kind == connectors.PIn && !p.Neg || p.Kind == connectors.PCmp && p.Op == "=" {
		// Equal bytes are equal under every collation, and this form can use an index.
		bytes := cl == classText && byteEqual(col.Collation)
		if beyondCharset(col, p.Vals) {
			// A literal that the column's character set lacks is error 1267. The
			// conversion brings the default collation of utf8mb4 with it.
			bytes = false
			q = "CONVERT(" + q + " USING utf8mb4)"
		}
		sql := q + " " + operator(p) + " " + operandList(p, lits)
		if bytes {
			return exact(sql)
		}
		return superset(sql, collationReason(col, cl))
	}
	// <> and NOT IN under a collation lose 'A' for <> 'a', and < orders 'B' after 'a'.
	bin := make([]string, len(lits))
	for i, l := range lits {
		bin[i] = "CAST(" + l + " AS BINARY)"
	}
	return exact(binaryForm(col) + " " + operator(p) + " " + operandList(p, bin))
}

func collationReason(col *connectors.Column, cl class) string {
	switch {
	case byteEqual(col.Collation):
		return "compared in utf8mb4, which ignores case"
	case cl == classEnum:
		return "an enum or set is also equal to its number"
	case strings.HasSuffix(col.Collation, "_bin"):
		return "collation " + col.Collation + " ignores trailing spaces"
	case strings.Contains(col.Collation, "_cs"):
		return "collation " + col.Collation + " does not compare bytes"
	}
	return "collation " + col.Collation + " ignores case"
}

// byteEqual: two values are equal under the collation only if their bytes are.
func byteEqual(collation string) bool {
	return strings.HasSuffix(collation, "_nopad_bin") || collation == "utf8mb4_0900_bin"
}

// beyondCharset reports whether a literal may lie outside the column's character set.
func beyondCharset(col *connectors.Column, vals []connectors.Value) bool {
	ascii := true
	for _, v := range vals {
		for i := 0; i < len(v.Text); i++ {
			ascii = ascii && v.Text[i] < 0x80
		}
	}
	switch cs := col.Attrs[attrCharset]; cs {
	case "utf8mb4":
		return false
	case "utf8mb3", "utf8", "latin1", "ascii", "latin2", "latin5", "latin7", "cp1250", "cp1251", "cp1252", "koi8r", "ucs2", "utf16", "utf32":
		return !ascii
	}
	return true
}

// likeLeaf renders LIKE and the tests that DuckDB makes of simple patterns. LIKE under
// utf8mb4_bin compares characters without folding or padding; under the column's own
// collation NOT LIKE would lose rows that differ in case only.
func likeLeaf(p *connectors.Pred, col *connectors.Column, cl class) connectors.Answer {
	c := "CONVERT(" + quote(col.Name) + " USING utf8mb4)"
	if col.Attrs[attrCharset] == "utf8mb4" && cl == classText {
		c = quote(col.Name)
	}
	op := " LIKE "
	if p.Neg {
		op = " NOT LIKE "
	}
	pattern, ok := likePattern(p.Op, p.Vals[0].Text)
	if !ok {
		return no("no exact equivalent of " + p.Op)
	}
	return exact(c + " COLLATE utf8mb4_bin" + op + str(pattern))
}

// likePattern escapes what the engine would read as a sign. DuckDB's LIKE has no
// escape character unless one is named, so a backslash is itself.
func likePattern(op, s string) (string, bool) {
	if op == "like" {
		return strings.ReplaceAll(s, `\`, `\\`), true
	}
	s = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
	switch op {
	case "prefix":
		return s + "%", true
	case "suffix":
		return "%" + s, true
	case "contains":
		return "%" + s + "%", true
	}
	return "", false
}

// uuidLeaf compares for equality only: MariaDB orders UUIDs by their time part, and a
// literal that it does not take for a UUID makes <> and IN NULL for every row.
func uuidLeaf(p *connectors.Pred, c string, lits []string) connectors.Answer {
	if p.Kind == connectors.PCmp && p.Op == "=" {
		return exact(c + " = " + lits[0])
	}
	if p.Kind == connectors.PIn && !p.Neg {
		part := make([]string, len(lits))
		for i, l := range lits {
			part[i] = c + " = " + l
		}
		return exact("(" + strings.Join(part, " OR ") + ")")
	}
	return no("uuid is not ordered by its bytes")
}
