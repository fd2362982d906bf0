package sqlite

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Why an answer is not exact, for explain.
const (
	whyClass     = "a column holds values of any class: those that are not of its type are kept"
	whyOverride  = "the column is read as another type than it declares"
	whyUntyped   = "the column declares no type"
	whyKind      = "no equivalent for the column's type"
	whyOperator  = "no equivalent for this comparison"
	whyLiteral   = "the constant has no exact spelling"
	whyReal      = "decimals are stored as REAL: widened by one unit of the last digit"
	whyDigits    = "reals are compared with room for the last digit"
	whyDayText   = "dates are texts"
	whyStampText = "time stamps are texts in more than one form: compared by their beginning"
	whyLike      = "LIKE ignores the case of ASCII letters"
	whyNull      = "values of another type are read as NULL"
	whyEncoding  = "the file is not UTF-8"
	whyCollation = "the column's collation is none of SQLite's own"
)

// builtIn are the collations that every connection has; "" is a view's column.
var builtIn = map[string]bool{"": true, "BINARY": true, "NOCASE": true, "RTRIM": true}

func no(reason string) connectors.Answer { return connectors.Answer{Reason: reason} }

func superset(sql, reason string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Superset, Reason: reason}
}

func exact(sql string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Exact}
}

// declaredAs reports whether the column is read as what it declares. Where the project
// or the text policy says otherwise, SQLite would compare by rules of another type: a
// TEXT column read as BIGINT compares '10' < '9'.
func declaredAs(c *connectors.Column) bool {
	t := typeOf(c.Native)
	probed := t.Kind == connectors.Decimal && t.Precision == 0 && c.Type.Kind == connectors.Decimal
	return probed || t.Equal(c.Type)
}

// Leaf answers for one leaf. SQLite compares by class first (numbers < texts < blobs)
// and a column may hold any class, whatever it declares. So each text keeps the rows
// whose value has the wrong class too: such a value is an error, and the error should
// not depend on whether a predicate was pushed. The guards are ranges (c >= ”), not
// typeof(c), so that an index on the column still serves.
func (d dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	c := &t.Columns[p.Col]
	l := leaf{dialect: d, p: p, c: c, col: quote(c.Name), fixed: c.Attrs[attrFixed] != ""}
	switch p.Kind {
	case connectors.PNull:
		return l.null()
	case connectors.PColCmp:
		return l.columns(&t.Columns[p.Col2])
	}
	if !declaredAs(c) {
		return no(whyOverride)
	}
	if !builtIn[c.Collation] {
		return no(whyCollation) // comparing would be an error: no such collation sequence
	}
	switch c.Type.Kind {
	case connectors.BigInt:
		return l.integer()
	case connectors.Boolean:
		return l.boolean()
	case connectors.Double:
		return l.double()
	case connectors.Decimal:
		return l.decimal()
	case connectors.Varchar:
		return l.text()
	case connectors.Date:
		return l.date()
	case connectors.Timestamp, connectors.TimestampTZ:
		return l.stamp()
	}
	return no(whyKind)
}

// leaf is one leaf being rendered.
type leaf struct {
	dialect
	p     *connectors.Pred
	c     *connectors.Column
	col   string
	fixed bool // the engine holds the column to its class
}

// guarded is sql for a column of numbers, plus the rows that hold texts and blobs: all
// of them, and no number, are >= ”.
func (l leaf) guarded(sql, reason string) connectors.Answer {
	switch {
	case !l.fixed:
		return superset("("+sql+" OR "+l.col+" >= '')", whyClass)
	case reason != "":
		return superset(sql, reason)
	}
	return exact(sql)
}

// null: values that do not match arrive as NULL under that policy, so IS NULL must keep
// them: `c IS NULL` alone loses 'abc' in an INTEGER column.
func (l leaf) null() connectors.Answer {
	if l.p.Neg {
		if l.policy == mismatchNull && !l.fixed {
			return superset(l.col+" IS NOT NULL", whyNull)
		}
		return exact(l.col + " IS NOT NULL")
	}
	isNull := l.col + " IS NULL"
	if l.policy != mismatchNull || l.fixed {
		return exact(isNull)
	}
	if !declaredAs(l.c) {
		return no(whyOverride)
	}
	class := ""
	switch l.c.Type.Kind {
	case connectors.BigInt:
		class = "'integer'"
	case connectors.Blob:
		class = "'blob'"
	default:
		// Which texts are valid dates, decimals or UTF-8 only the reader can tell.
		return no(whyNull)
	}
	return superset("("+isNull+" OR typeof("+l.col+") <> "+class+")", whyNull)
}

// columns compares two columns of one type. Only plain numbers: everything else has
// more than one spelling of a value.
func (l leaf) columns(o *connectors.Column) connectors.Answer {
	switch {
	case !declaredAs(l.c) || !declaredAs(o):
		return no(whyOverride)
	case l.c.Type.Kind != o.Type.Kind || l.c.Type.Kind != connectors.BigInt && l.c.Type.Kind != connectors.Double:
		return no(whyKind)
	}
	sql := l.col + " " + l.p.Op + " " + quote(o.Name)
	if l.fixed && o.Attrs[attrFixed] != "" {
		return exact(sql)
	}
	return superset("("+sql+" OR "+l.col+" >= '' OR "+quote(o.Name)+" >= '')", whyClass)
}

func (l leaf) boolean() connectors.Answer {
	want := false
	switch {
	case l.p.Kind == connectors.PBool:
		want = !l.p.Neg
	case l.p.Kind == connectors.PCmp && l.p.Vals[0].Type.Kind == connectors.Boolean && (l.p.Op == "=" || l.p.Op == "<>"):
		want = (l.p.Vals[0].Int.Sign() != 0) == (l.p.Op == "=")
	default:
		return no(whyOperator)
	}
	if want {
		return l.guarded(l.col+" <> 0", "") // 2 is no boolean: kept for the reader to refuse
	}
	return l.guarded(l.col+" = 0", "")
}

// integer: SQLite compares integers with reals exactly, DuckDB converts a BIGINT to
// DOUBLE first: beyond 2^53, c = 9007199254740992.0 holds for 9007199254740993 there.
func (l leaf) integer() connectors.Answer {
	lits := make([]string, len(l.p.Vals))
	for i, v := range l.p.Vals {
		s, ok := integerLiteral(v)
		if !ok {
			return no(whyLiteral)
		}
		lits[i] = s
	}
	switch l.p.Kind {
	case connectors.PCmp:
		return l.guarded(l.col+" "+l.p.Op+" "+lits[0], "")
	case connectors.PIn:
		return l.guarded(in(l.col, l.p.Neg, lits), "")
	}
	return no(whyOperator)
}

// integerLiteral spells v where SQLite reads the same number.
func integerLiteral(v connectors.Value) (string, bool) {
	const safe = 1 << 52
	switch v.Type.Kind {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		// A larger one would be read as REAL and lose digits.
		return v.Int.String(), v.Int.IsInt64()
	case connectors.Decimal:
		s := decimalText(v.Int, v.Type.Scale)
		return s, new(big.Int).Abs(v.Int).Cmp(big.NewInt(safe)) < 0
	case connectors.Float, connectors.Double:
		// Not for fractions: SQLite may read their digits as the neighbouring double,
		// but no integer lies in between.
		if math.Abs(v.Float) < safe { // false for NaN
			return realLiteral(v.Float), true
		}
	}
	return "", false
}

func in(col string, negated bool, lits []string) string {
	op := " IN ("
	if negated {
		op = " NOT IN ("
	}
	return col + op + strings.Join(lits, ", ") + ")"
}

func realLiteral(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "9e999"
	case math.IsInf(f, -1):
		return "-9e999"
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}

// ulps moves f by n doubles. SQLite does not promise to read 17 digits as the very
// double they came from; a few neighbours on each side cover that.
func ulps(f float64, n int) float64 {
	to := math.Inf(1)
	if n < 0 {
		to, n = math.Inf(-1), -n
	}
	for ; n > 0; n-- {
		f = math.Nextafter(f, to)
	}
	return f
}

func (l leaf) double() connectors.Answer {
	var parts []string
	reason := ""
	for _, v := range l.p.Vals {
		f := v.Float
		switch v.Type.Kind {
		case connectors.Float, connectors.Double:
		default:
			return no(whyLiteral)
		}
		if math.IsNaN(f) {
			return no(whyLiteral) // NaN cannot be stored, and is the greatest value in DuckDB
		}
		op := l.p.Op
		if l.p.Kind == connectors.PIn {
			op = "="
			if l.p.Neg {
				op = "<>"
			}
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 || math.IsInf(f, 0) {
			parts = append(parts, l.col+" "+op+" "+realLiteral(f))
			continue
		}
		reason = whyDigits
		lo, hi := realLiteral(ulps(f, -4)), realLiteral(ulps(f, 4))
		s, ok := l.between(op, lo, hi)
		if !ok {
			return no(whyOperator)
		}
		parts = append(parts, s)
	}
	switch {
	case l.p.Kind == connectors.PIn && l.p.Neg:
		return l.guarded("("+strings.Join(parts, " AND ")+")", reason)
	case l.p.Kind == connectors.PIn:
		return l.guarded("("+strings.Join(parts, " OR ")+")", reason)
	case l.p.Kind == connectors.PCmp:
		return l.guarded(parts[0], reason)
	}
	return no(whyOperator)
}

// between widens a comparison with a constant that lies somewhere in [lo, hi].
func (l leaf) between(op, lo, hi string) (string, bool) {
	switch op {
	case "=":
		return "(" + l.col + " BETWEEN " + lo + " AND " + hi + ")", true
	case ">", ">=":
		return l.col + " >= " + lo, true
	case "<", "<=":
		return l.col + " <= " + hi, true
	}
	return "", false // <> would lose the neighbours
}

// decimal: NUMERIC affinity stores 0.1 as a REAL near it. A text of digits under
// DECIMAL_TEXT compares as text ('9' > '10') and is not pushed.
func (l leaf) decimal() connectors.Answer {
	if affinityOf(l.c.Native) == affText {
		return no(whyKind)
	}
	var parts []string
	for _, v := range l.p.Vals {
		scale := 0
		switch v.Type.Kind {
		case connectors.Decimal:
			scale = v.Type.Scale
		case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
			connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		default:
			return no(whyLiteral)
		}
		f, err := strconv.ParseFloat(decimalText(v.Int, scale), 64)
		if err != nil {
			return no(whyLiteral)
		}
		room := math.Pow10(-l.c.Type.Scale) + math.Abs(f)*1e-14
		op := l.p.Op
		if l.p.Kind == connectors.PIn {
			op = "="
		}
		s, ok := l.between(op, realLiteral(f-room), realLiteral(f+room))
		if !ok {
			return no(whyOperator)
		}
		parts = append(parts, s)
	}
	switch {
	case l.p.Kind == connectors.PIn && !l.p.Neg:
		return l.guarded("("+strings.Join(parts, " OR ")+")", whyReal)
	case l.p.Kind == connectors.PCmp:
		return l.guarded(parts[0], whyReal)
	}
	return no(whyOperator)
}
