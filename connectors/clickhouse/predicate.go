package clickhouse

import (
	"math/big"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// class is how a column compares.
type class int

const (
	classNone class = iota
	classInt
	classDecimal
	classFloat
	classText
	classDate
	classTime
	classEnum
	classUUID
	classBool
)

var classes = map[string]class{
	"Int8": classInt, "Int16": classInt, "Int32": classInt, "Int64": classInt, "Int128": classInt,
	"UInt8": classInt, "UInt16": classInt, "UInt32": classInt, "UInt64": classInt,
	"Decimal": classDecimal, "Float32": classFloat, "Float64": classFloat, "String": classText,
	"Date": classDate, "Date32": classDate, "DateTime": classTime, "DateTime64": classTime,
	"Enum8": classEnum, "Enum16": classEnum, "UUID": classUUID, "Bool": classBool,
}

// classOf is classNone for a column that compares otherwise than DuckDB would (a
// FixedString keeps its zero bytes, an address is text in DuckDB only), and for one
// that the project reads under another type than its own.
func classOf(col *connectors.Column) (class, *chType) {
	t, err := parseType(col.Native)
	if err != nil {
		return classNone, nil
	}
	natural := t.logical()
	if natural.Kind == connectors.Invalid || !natural.Equal(col.Type) {
		return classNone, t
	}
	return classes[t.bare().name], t.bare()
}

// leaf is one leaf being answered.
type leaf struct {
	p        *connectors.Pred
	q        string // the quoted column
	t        *chType
	nullable bool
	old      bool // the server is of 2018 or 2019
}

func exact(sql string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Exact}
}

func no(reason string) connectors.Answer {
	return connectors.Answer{Verdict: connectors.No, Reason: reason}
}

// always and never are predicates that are true, or false, for every value; NULL is
// dropped by both.
func (l *leaf) always() connectors.Answer {
	if l.nullable {
		return exact(l.q + " IS NOT NULL")
	}
	return exact("1 = 1")
}

func (l *leaf) never() connectors.Answer { return exact("1 = 0") }

// Leaf answers for one leaf. Whatever is sent keeps exactly the rows that DuckDB keeps.
func (d *dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	col := &t.Columns[p.Col]
	c, typ := classOf(col)
	l := &leaf{p: p, q: quote(col.Name), t: typ, nullable: col.Nullable, old: d.old()}
	if p.Kind == connectors.PNull {
		return l.null(col)
	}
	if p.Kind == connectors.PColCmp {
		return l.columns(c, &t.Columns[p.Col2])
	}
	switch c {
	case classInt, classDecimal, classDate, classTime:
		return l.grid(c)
	case classFloat:
		return l.float()
	case classText:
		return l.text()
	case classEnum:
		return l.enum()
	case classUUID:
		return l.uuid()
	case classBool:
		return l.boolean()
	}
	return no(col.Native + " does not compare as " + col.Type.String() + " does")
}

// old: nobody has connected yet counts as old, for what old servers take is right on
// new ones too.
func (d *dialect) old() bool {
	d.conn.mu.Lock()
	defer d.conn.mu.Unlock()
	return d.conn.known == nil || d.conn.known.old()
}

func (l *leaf) null(col *connectors.Column) connectors.Answer {
	if l.t == nil || l.t.logical().Kind == connectors.Invalid || l.t.bare().name == "JSON" {
		return no("the type " + col.Native + " is not known")
	}
	if l.p.Neg {
		return exact(l.q + " IS NOT NULL")
	}
	return exact(l.q + " IS NULL")
}

// columns compares two columns. Floats are left out: NaN > 1 is false in ClickHouse
// and true in DuckDB. So are enums, which compare by number, and UUIDs.
func (l *leaf) columns(c class, other *connectors.Column) connectors.Answer {
	c2, t2 := classOf(other)
	if c != c2 || c == classNone {
		return no("the columns compare otherwise than in DuckDB")
	}
	equality := l.p.Op == "=" || l.p.Op == "<>"
	switch c {
	case classText:
		return exact(l.compareText(quote(other.Name)))
	case classInt, classDate:
	case classDecimal: // scales are made equal by multiplying, which may overflow
		if l.t.scale != t2.scale {
			return no("decimals of two scales may overflow when compared")
		}
	case classTime:
		if l.t.name != t2.name || l.t.prec != t2.prec {
			return no("times of two precisions may overflow when compared")
		}
	case classUUID, classBool:
		if !equality {
			return no("UUIDs do not order by their text")
		}
	default:
		return no("the columns compare otherwise than in DuckDB")
	}
	return exact(l.q + " " + l.p.Op + " " + quote(other.Name))
}

// ---- classes whose values are whole multiples of a unit ----

// point is a constant in units of the column: floor, and whether something is left.
type point struct {
	k    *big.Int
	rest bool
}

func pointOf(num, den *big.Int) point {
	q, r := new(big.Int).DivMod(num, den, new(big.Int))
	return point{q, r.Sign() != 0}
}

// grid compares a column of integers, decimals, days or ticks. The constant is brought
// to the column's own unit here: sent as it is, Int8 = 2.5 would be compared as floats,
// Decimal(9,2) < 1e37 would overflow in the server, and a day before 1970 would wrap.
func (l *leaf) grid(c class) connectors.Answer {
	lo, hi, known := l.span(c)
	if l.p.Kind == connectors.PIn {
		return l.gridIn(c, lo, hi)
	}
	if l.p.Kind != connectors.PCmp {
		return no("not a comparison")
	}
	pt, ok := l.point(c, l.p.Vals[0])
	if !ok {
		return no("the constant is of another type than the column")
	}
	op := l.p.Op
	if pt.rest { // between two values of the column
		switch op {
		case "=":
			return l.never()
		case "<>":
			return l.always()
		case "<":
			op = "<="
		case ">=":
			op = ">"
		}
	}
	below, above := pt.k.Cmp(lo) < 0, pt.k.Cmp(hi) > 0
	if !known && (below || above) {
		return no("the constant is outside the range of " + l.t.text)
	}
	switch {
	case (below || above) && op == "=", below && op[0] == '<' && op != "<>", above && op[0] == '>':
		return l.never()
	case below || above:
		return l.always()
	}
	return exact(l.q + " " + op + " " + l.gridLiteral(c, pt.k))
}

func (l *leaf) gridIn(c class, lo, hi *big.Int) connectors.Answer {
	var lits []string
	for _, v := range l.p.Vals {
		pt, ok := l.point(c, v)
		if !ok {
			return no("a constant is of another type than the column")
		}
		if pt.rest || pt.k.Cmp(lo) < 0 || pt.k.Cmp(hi) > 0 {
			continue // equals no value that the column can have
		}
		lits = append(lits, l.gridLiteral(c, pt.k))
	}
	// Old servers refuse IN over decimals ("Type mismatch in IN").
	return l.in(lits, c != classDecimal)
}

// in renders [NOT] IN over literals. NULL NOT IN (1) is true on servers that do not
// make it NULL, hence the guard.
func (l *leaf) in(lits []string, set bool) connectors.Answer {
	if len(lits) == 0 {
		if l.p.Neg {
			return l.always()
		}
		return l.never()
	}
	if !set || len(lits) == 1 {
		op, sep := " = ", " OR "
		if l.p.Neg {
			op, sep = " != ", " AND "
		}
		parts := make([]string, len(lits))
		for i, s := range lits {
			parts[i] = l.q + op + s
		}
		if len(parts) == 1 {
			return exact(parts[0])
		}
		return exact("(" + strings.Join(parts, sep) + ")")
	}
	sql := l.q + " IN (" + strings.Join(lits, ", ") + ")"
	if !l.p.Neg {
		return exact(sql)
	}
	sql = l.q + " NOT IN (" + strings.Join(lits, ", ") + ")"
	if l.nullable {
		sql = "(" + l.q + " IS NOT NULL AND " + sql + ")"
	}
	return exact(sql)
}

// span is the range of values of the column. known says that it has none outside: a
// constant out there decides without being sent. Where it is not known (a Date32 may
// hold what its functions do not take) such a constant is not sent.
func (l *leaf) span(c class) (lo, hi *big.Int, known bool) {
	switch c {
	case classInt:
		lo, hi = kindRange(plainKinds[l.t.name])
		return lo, hi, true
	case classDecimal:
		hi = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(l.t.prec)), nil)
		hi.Sub(hi, big.NewInt(1))
		return new(big.Int).Neg(hi), hi, true
	case classDate:
		if l.t.name == "Date" {
			return new(big.Int), big.NewInt(maxDay), true
		}
		return big.NewInt(firstDay), big.NewInt(lastDay), false
	}
	if l.t.name == "DateTime" {
		return new(big.Int), big.NewInt(maxSecond), true
	}
	unit := pow10(l.t.prec)
	lo = new(big.Int).Mul(big.NewInt(firstDay*daySeconds), unit)
	hi = new(big.Int).Mul(big.NewInt((lastDay+1)*daySeconds-1), unit)
	if top := big.NewInt(1<<63 - 1); hi.Cmp(top) > 0 {
		hi = top
	}
	return lo, hi, false
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// point brings a constant to the column's unit; ok is false for a type that DuckDB
// would compare in another way (an integer column with a double: both as doubles).
func (l *leaf) point(c class, v connectors.Value) (pt point, ok bool) {
	if v.Null || v.Int == nil {
		return pt, false
	}
	k := v.Type.Kind
	one := big.NewInt(1)
	switch {
	case (c == classInt || c == classDecimal) && (isInteger(k) || k == connectors.Decimal):
		num, den := v.Int, one
		if k == connectors.Decimal {
			den = pow10(v.Type.Scale)
		}
		if c == classDecimal {
			num = new(big.Int).Mul(num, pow10(l.t.scale))
		}
		return pointOf(num, den), true
	case c == classDate && k == connectors.Date:
		return pointOf(v.Int, one), true
	case c == classDate && k == connectors.Timestamp:
		return pointOf(v.Int, big.NewInt(daySeconds*1_000_000)), true
	case c == classTime && l.t.logical().Kind == k:
		return l.tick(v.Int, k), true
	}
	return pt, false
}

// tick turns micro- or nanoseconds into the column's ticks.
func (l *leaf) tick(v *big.Int, k connectors.Kind) point {
	digits := 6
	if k == connectors.TimestampNS {
		digits = 9
	}
	return pointOf(v, pow10(digits-l.t.prec))
}
