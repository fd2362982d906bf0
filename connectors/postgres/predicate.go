package postgres

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dvt-dev/dvt/connectors"
)

// class is how PostgreSQL compares a column; it decides the rules of a predicate.
type class uint8

const (
	classOther       class = iota // nothing but IS NULL is sent
	classBool                     // boolean
	classInt                      // smallint, integer, bigint
	classDecimal                  // numeric
	classDouble                   // double precision
	classFloat                    // real
	classDate                     // date
	classTimestamp                // timestamp
	classTimestampTZ              // timestamptz
	classTime                     // time
	classUUID                     // uuid
	classText                     // text, varchar under a deterministic collation
	classChar                     // char(n): compared without its padding, read with it
	classAsText                   // read and compared as its text: enum, citext, inet, …
)

func classOf(c *connectors.Column) class {
	switch c.Type.Kind {
	case connectors.Boolean:
		return classBool
	case connectors.SmallInt, connectors.Integer, connectors.BigInt:
		return classInt
	case connectors.Decimal, connectors.HugeInt:
		return classDecimal
	case connectors.Double:
		return classDouble
	case connectors.Float:
		return classFloat
	case connectors.Date:
		return classDate
	case connectors.Timestamp:
		return classTimestamp
	case connectors.TimestampTZ:
		return classTimestampTZ
	case connectors.Time:
		return classTime
	case connectors.UUID:
		return classUUID
	case connectors.Varchar:
		return textClass(c)
	}
	return classOther
}

func textClass(c *connectors.Column) class {
	switch {
	case c.Attrs[attrForm] == formText:
		return classAsText
	case c.Attrs[attrPadded] != "":
		return classChar
	case c.Attrs[attrDeterministic] == "false":
		// "s" <> 'a' is false for 'A' under a collation that ignores case, and LIKE is
		// an error there.
		return classAsText
	case strings.HasPrefix(c.Native, "character varying"), c.Native == "text":
		return classText
	}
	// A literal beside a name is cut to 63 bytes, so that "n" <> '<64 bytes>' drops the
	// row that has the first 63. Domains and whatever else compare as their base does.
	return classAsText
}

// byteText is a text column compared by bytes: DuckDB compares by bytes, and a
// collation orders 'a' < 'B'.
func byteText(c *connectors.Column) string {
	if classOf(c) == classAsText {
		return ownText(c) + ` COLLATE "C"`
	}
	return quoteIdent(c.Name) + ` COLLATE "C"`
}

// ownText is a column in the engine's own spelling.
func ownText(c *connectors.Column) string {
	q := quoteIdent(c.Name)
	if c.Attrs[attrAddress] != "" {
		return "pg_catalog.abbrev(" + q + ")"
	}
	return q + "::text"
}

func exact(sql string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Exact}
}

func superset(sql, reason string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Superset, Reason: reason}
}

func no(format string, args ...any) connectors.Answer {
	return connectors.Answer{Verdict: connectors.No, Reason: fmt.Sprintf(format, args...)}
}

// Leaf implements connectors.Dialect.
func (d dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	c := &t.Columns[p.Col]
	switch p.Kind {
	case connectors.PNull:
		return leafNull(p, c)
	case connectors.PBool:
		if classOf(c) != classBool {
			return no("%s is no boolean", c.Native)
		}
		if p.Neg {
			return exact("NOT " + quoteIdent(c.Name))
		}
		return exact(quoteIdent(c.Name))
	case connectors.PColCmp:
		return leafColumns(p, c, &t.Columns[p.Col2])
	case connectors.PCmp, connectors.PIn, connectors.PLike:
		switch classOf(c) {
		case classText, classChar, classAsText:
			return leafText(p, c)
		case classOther:
			return no("%s has no comparison known to equal DuckDB's", c.Native)
		}
		return leafValue(p, c)
	}
	return no("not a leaf")
}

// leafNull: ROW(NULL, NULL) IS NULL is true though the value is there and reads as
// '(,)'; ROW(1, NULL) IS NOT NULL is false. Their text has no such rule.
func leafNull(p *connectors.Pred, c *connectors.Column) connectors.Answer {
	q := quoteIdent(c.Name)
	if c.Attrs[attrComposite] != "" {
		q += "::text"
	}
	if p.Neg {
		return exact(q + " IS NOT NULL")
	}
	return exact(q + " IS NULL")
}

func leafColumns(p *connectors.Pred, a, b *connectors.Column) connectors.Answer {
	ca := classOf(a)
	if ca != classOf(b) && !(ca.isText() && classOf(b).isText()) {
		return no("columns of types %s and %s", a.Native, b.Native)
	}
	switch ca {
	case classOther, classChar:
		return no("%s has no comparison known to equal DuckDB's", a.Native)
	case classText, classAsText:
		if classOf(b) == classChar {
			return no("%s is compared without its padding", b.Native)
		}
		if isRange(p.Op) && a.Attrs[attrEncoding] != "" {
			return no("text of encoding %s sorts by other bytes", a.Attrs[attrEncoding])
		}
		return exact(byteText(a) + " " + p.Op + " " + byteText(b))
	}
	return exact(quoteIdent(a.Name) + " " + p.Op + " " + quoteIdent(b.Name))
}

func (c class) isText() bool { return c == classText || c == classAsText || c == classChar }

func isRange(op string) bool { return op != "=" && op != "<>" }

// leafText answers comparisons of text.
func leafText(p *connectors.Pred, c *connectors.Column) connectors.Answer {
	var lits []string
	for _, v := range p.Vals {
		if v.Type.Kind != connectors.Varchar {
			return no("a text column against a %s", v.Type)
		}
		if why := unsayable(v.Text, c); why != "" {
			return no("%s", why)
		}
		lits = append(lits, quoteText(v.Text))
	}
	cl := classOf(c)
	not := ""
	if p.Neg {
		not = "NOT "
	}
	if p.Kind == connectors.PLike {
		if cl == classChar {
			return no("LIKE on %s ignores the padding", c.Native)
		}
		// DuckDB's LIKE has no escape character: 'b\%' is a backslash and any text.
		return exact(byteText(c) + " " + not + "LIKE " + quoteText(likePattern(p)))
	}
	op, rhs := p.Op, lits[0]
	if p.Kind == connectors.PIn {
		op, rhs = not+"IN", "("+strings.Join(lits, ", ")+")"
	}
	positive := op == "=" || op == "IN"
	switch {
	case cl == classChar && positive:
		// 'a' equals 'a     ' here and not in DuckDB: more rows, never fewer.
		return superset(quoteIdent(c.Name)+" "+op+" "+rhs, c.Native+" ignores padding when it compares")
	case cl == classChar:
		// "c" <> 'a' is false for 'a     ', which DuckDB keeps.
		return no("%s ignores padding when it compares", c.Native)
	case cl == classText && positive:
		return exact(quoteIdent(c.Name) + " " + op + " " + rhs) // an index of the column serves it
	case isRange(op) && p.Kind == connectors.PCmp && c.Attrs[attrEncoding] != "":
		return no("text of encoding %s sorts by other bytes", c.Attrs[attrEncoding])
	}
	return exact(byteText(c) + " " + op + " " + rhs)
}

// unsayable tells why a text cannot stand in a statement.
func unsayable(s string, c *connectors.Column) string {
	switch {
	case strings.ContainsRune(s, 0):
		return "text with a NUL byte does not exist in PostgreSQL"
	case !utf8.ValidString(s):
		return "the text is not UTF-8"
	case c.Attrs[attrEncoding] != "" && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0:
		return "the database's encoding " + c.Attrs[attrEncoding] + " may lack a character of the text"
	}
	return ""
}

// likePattern is the pattern with PostgreSQL's escape character, the backslash, doubled
// where DuckDB means it literally.
func likePattern(p *connectors.Pred) string {
	s := p.Vals[0].Text
	if p.Op == "like" {
		return strings.ReplaceAll(s, `\`, `\\`)
	}
	s = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
	switch p.Op {
	case "prefix":
		return s + "%"
	case "suffix":
		return "%" + s
	}
	return "%" + s + "%"
}

// leafValue answers comparisons of everything but text.
func leafValue(p *connectors.Pred, c *connectors.Column) connectors.Answer {
	if p.Kind == connectors.PLike {
		return no("LIKE on %s", c.Native)
	}
	var lits []string
	for _, v := range p.Vals {
		lit, ok := literal(v, classOf(c))
		if !ok {
			return no("no exact %s literal beside a %s", v.Type, c.Native)
		}
		lits = append(lits, lit)
	}
	q := quoteIdent(c.Name)
	if p.Kind == connectors.PIn {
		if p.Neg {
			return exact(q + " NOT IN (" + strings.Join(lits, ", ") + ")")
		}
		return exact(q + " IN (" + strings.Join(lits, ", ") + ")")
	}
	return exact(q + " " + p.Op + " " + lits[0])
}

// literal spells v for comparison with a column of class cl. Each carries its type: an
// untyped '2024-01-02' is read by DateStyle, an instant without an offset by TimeZone.
func literal(v connectors.Value, cl class) (string, bool) {
	switch k := v.Type.Kind; k {
	case connectors.Boolean:
		if cl != classBool || v.Int == nil {
			return "", false
		}
		if v.Int.Sign() != 0 {
			return "TRUE", true
		}
		return "FALSE", true
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt, connectors.Decimal:
		return numberLiteral(v, cl)
	case connectors.Float, connectors.Double:
		return floatLiteral(v, cl)
	case connectors.Date:
		if cl == classDate && v.Int != nil && v.Int.IsInt64() {
			return sayDate(v.Int.Int64())
		}
	case connectors.Timestamp, connectors.TimestampTZ:
		if v.Int == nil || !v.Int.IsInt64() {
			return "", false
		}
		if k == connectors.Timestamp && cl == classTimestamp {
			return sayTimestamp(v.Int.Int64(), "", "timestamp")
		}
		if k == connectors.TimestampTZ && cl == classTimestampTZ {
			return sayTimestamp(v.Int.Int64(), "+00", "timestamptz")
		}
	case connectors.Time:
		if cl == classTime && v.Int != nil && v.Int.IsInt64() {
			return quoteText(string(appendTime(nil, v.Int.Int64()))) + "::time", true
		}
	case connectors.UUID:
		if cl == classUUID && !strings.ContainsRune(v.Text, 0) {
			return quoteText(v.Text) + "::uuid", true
		}
	}
	return "", false
}

func numberLiteral(v connectors.Value, cl class) (string, bool) {
	if v.Int == nil {
		return "", false
	}
	switch cl {
	case classInt, classDecimal:
		return decimalText(v.Int, v.Type.Scale), true
	case classDouble:
		if v.Type.Kind == connectors.Decimal {
			return "", false // DuckDB's quotient may differ in the last bit
		}
		return quoteText(v.Int.String()) + "::float8", true
	case classFloat:
		if v.Type.Kind == connectors.Decimal || v.Int.BitLen() > 24 {
			return "", false // compared as FLOAT or as DOUBLE: not told here
		}
		return quoteText(v.Int.String()) + "::float4", true
	}
	return "", false
}

// floatLiteral: 0.1 as a real and as a double precision are different numbers, so the
// literal has the type in which DuckDB compares. NaN equals itself and is greatest in
// both engines.
func floatLiteral(v connectors.Value, cl class) (string, bool) {
	switch cl {
	case classInt, classDouble, classFloat:
	default:
		return "", false // DuckDB turns the decimal into a double its own way
	}
	typ, bits := "float8", 64
	if v.Type.Kind == connectors.Float && cl == classFloat {
		typ, bits = "float4", 32
	}
	s := strconv.FormatFloat(v.Float, 'g', -1, bits)
	switch {
	case math.IsNaN(v.Float):
		s = "NaN"
	case math.IsInf(v.Float, 1):
		s = "Infinity"
	case math.IsInf(v.Float, -1):
		s = "-Infinity"
	}
	return quoteText(s) + "::" + typ, true
}

func sayDate(days int64) (string, bool) {
	switch {
	case days == math.MaxInt32:
		return "'infinity'::date", true
	case days == -math.MaxInt32:
		return "'-infinity'::date", true
	case days < minDay || days > maxDay:
		return "", false
	}
	return quoteText(string(appendDate(nil, days))) + "::date", true
}

func sayTimestamp(micros int64, zone, typ string) (string, bool) {
	switch {
	case micros == math.MaxInt64:
		return "'infinity'::" + typ, true
	case micros == -math.MaxInt64:
		return "'-infinity'::" + typ, true
	case micros < minDay*dayMicros || micros >= (maxDay+1)*dayMicros:
		return "", false
	}
	return quoteText(string(appendTimestamp(nil, micros))+zone) + "::" + typ, true
}
