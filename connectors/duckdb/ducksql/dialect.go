// Package ducksql is the DuckDB text that the connectors share whose data DuckDB opens
// itself: identifiers, literals, predicates, extracts. Predicates mean there what they
// mean in the compute engine, for it is the same engine, except under a collation.
package ducksql

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Quote quotes an identifier, Literal a text.
func Quote(ident string) string { return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"` }
func Literal(s string) string   { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Quotes quotes a list of identifiers.
func Quotes(idents []string) string {
	quoted := make([]string, len(idents))
	for i, s := range idents {
		quoted[i] = Quote(s)
	}
	return strings.Join(quoted, ", ")
}

// Dialect is the part of a connectors.Dialect that does not depend on where a relation
// comes from.
type Dialect struct {
	// From is the text after FROM of a described relation.
	From func(t *connectors.Table) string
}

// Quote quotes one identifier.
func (Dialect) Quote(ident string) string { return Quote(ident) }

// Select is the extract's SQL.
func (d Dialect) Select(e connectors.Extract) string {
	exprs := make([]string, len(e.Columns))
	for i, at := range e.Columns {
		c := &e.Table.Columns[at]
		exprs[i] = column(c)
		if exprs[i] != Quote(c.Name) {
			exprs[i] += " AS " + Quote(c.Name)
		}
	}
	return d.selectFrom(e, exprs)
}

func (d Dialect) selectFrom(e connectors.Extract, exprs []string) string {
	if len(exprs) == 0 {
		exprs = []string{"1"}
	}
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + d.From(e.Table)
	if e.Where != "" {
		sql += " WHERE " + e.Where
	}
	if len(e.OrderBy) > 0 {
		sql += " ORDER BY " + strings.Join(e.OrderBy, ", ")
	}
	if e.Limit >= 0 {
		sql += " LIMIT " + strconv.FormatInt(e.Limit, 10)
	}
	return sql
}

// Extreme is max or min of a column.
func (Dialect) Extreme(t *connectors.Table, col int, highest bool) (string, bool) {
	c := &t.Columns[col]
	if !ordered(c) {
		return "", false
	}
	name := "min"
	if highest {
		name = "max"
	}
	return name + "(" + column(c) + ")", true
}

// SelectExtremes is the extract's SQL with one row of exprs.
func (d Dialect) SelectExtremes(e connectors.Extract, exprs []string) string {
	named := make([]string, len(exprs))
	for i, x := range exprs {
		named[i] = x + " AS " + Quote(e.Table.Columns[e.Columns[i]].Name)
	}
	return d.selectFrom(e, named)
}

// OrderKey is one ORDER BY key.
func (Dialect) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	c := &t.Columns[k.Col]
	if !ordered(c) {
		return "", false
	}
	dir, nulls := " ASC", " NULLS FIRST"
	if k.Desc {
		dir = " DESC"
	}
	if k.NullsLast {
		nulls = " NULLS LAST"
	}
	return column(c) + dir + nulls, true
}

// ordered says that the column sorts as in the compute engine.
func ordered(c *connectors.Column) bool {
	return c.Collation == "" && c.Type.Kind != connectors.Invalid && c.Type.Kind < connectors.List
}

// column is the value of a column as the compute engine sees it: an ENUM there is its
// text, and compares and sorts as such.
func column(c *connectors.Column) string {
	if strings.HasPrefix(c.Native, "ENUM(") {
		return "CAST(" + Quote(c.Name) + " AS VARCHAR)"
	}
	return Quote(c.Name)
}

// TargetType is the type that holds c: the column's own if it came from DuckDB, for it
// is never narrower than the values that come from it.
func (Dialect) TargetType(c connectors.Column) (string, error) {
	if c.Engine == Engine && c.Native != "" {
		return c.Native, nil
	}
	if c.Type.Kind == connectors.Invalid || c.Type.Kind == connectors.Decimal && c.Type.Precision == 0 {
		return "", &connectors.TypeError{Column: c.Name, Native: c.Native, Reason: "duckdb has no type for it"}
	}
	return c.Type.String(), nil
}

// Engine is the registered name of the engine whose Native texts are DuckDB's.
const Engine = "duckdb"

// Leaf answers for one leaf of a predicate.
func (Dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	c := &t.Columns[p.Col]
	if p.Kind == connectors.PNull {
		return exact(Quote(c.Name) + is(p.Neg))
	}
	if c.Collation != "" {
		return no("the column's collation " + c.Collation + " is not that of the compute engine")
	}
	col := column(c)
	switch p.Kind {
	case connectors.PCmp:
		if p.Op == "=" && manyForms(p.Vals[0]) {
			return exact(anyForm(col, p.Vals[0]))
		}
		return withValues(p.Vals[:1], func(v []string) string { return col + " " + p.Op + " " + v[0] })
	case connectors.PColCmp:
		other := &t.Columns[p.Col2]
		if other.Collation != "" {
			return no("the column's collation " + other.Collation + " is not that of the compute engine")
		}
		return exact(col + " " + p.Op + " " + column(other))
	case connectors.PIn:
		if !p.Neg && slices.ContainsFunc(p.Vals, manyForms) {
			return inForms(col, p.Vals)
		}
		return withValues(p.Vals, func(v []string) string { return col + not(p.Neg) + " IN (" + strings.Join(v, ", ") + ")" })
	case connectors.PLike:
		return like(p, col)
	case connectors.PBool:
		if p.Neg {
			return exact("NOT " + col)
		}
		return exact(col)
	}
	return no("not a predicate of one column")
}

// manyForms says that the equal of v may have other bits: zero has a sign, and NaN a
// payload. A Parquet file's Bloom filter knows bits: DuckDB skips rows that hold -0.0 for
// f = 0, also of a view in a database.
func manyForms(v connectors.Value) bool {
	k := v.Type.Kind
	return (k == connectors.Float || k == connectors.Double) && !v.Null && (v.Float == 0 || math.IsNaN(v.Float))
}

// anyForm is col = v where DuckDB does not see a value to look for.
func anyForm(col string, v connectors.Value) string {
	if v.Float == 0 {
		return "abs(" + col + ") = 0"
	}
	return "isnan(" + col + ")"
}

// inForms is col IN vals.
func inForms(col string, vals []connectors.Value) connectors.Answer {
	var forms []string
	var rest []connectors.Value
	for _, v := range vals {
		if !manyForms(v) {
			rest = append(rest, v)
		} else if form := anyForm(col, v); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return withValues(rest, func(texts []string) string {
		if len(texts) > 0 {
			forms = append(forms, col+" IN ("+strings.Join(texts, ", ")+")")
		}
		return "(" + strings.Join(forms, " OR ") + ")"
	})
}

func like(p *connectors.Pred, col string) connectors.Answer {
	if p.Op == "like" {
		return withValues(p.Vals[:1], func(v []string) string { return col + not(p.Neg) + " LIKE " + v[0] })
	}
	name := map[string]string{"prefix": "starts_with", "suffix": "suffix", "contains": "contains"}[p.Op]
	if name == "" {
		return no("no pattern " + p.Op)
	}
	return withValues(p.Vals[:1], func(v []string) string {
		sql := name + "(" + col + ", " + v[0] + ")"
		if p.Neg {
			return "NOT " + sql
		}
		return sql
	})
}

func withValues(vals []connectors.Value, sql func([]string) string) connectors.Answer {
	texts := make([]string, len(vals))
	for i, v := range vals {
		text, ok := Value(v)
		if !ok {
			return no("no literal of type " + v.Type.String())
		}
		texts[i] = text
	}
	return exact(sql(texts))
}

func exact(sql string) connectors.Answer {
	return connectors.Answer{SQL: sql, Verdict: connectors.Exact}
}
func no(reason string) connectors.Answer { return connectors.Answer{Reason: reason} }

func not(neg bool) string {
	if neg {
		return " NOT"
	}
	return ""
}

func is(neg bool) string {
	if neg {
		return " IS NOT NULL"
	}
	return " IS NULL"
}

// Value is a typed constant.
func Value(v connectors.Value) (string, bool) {
	text, ok := valueText(v)
	switch {
	case !ok || v.Null || strings.IndexByte(text, 0) >= 0:
		return "", false
	case v.Type.Kind == connectors.Boolean:
		return text, true
	case v.Type.Kind == connectors.Varchar:
		return Literal(text), true
	case strings.HasSuffix(text, ")"): // a function, for what has no text in common years
		return text, true
	}
	return "CAST(" + Literal(text) + " AS " + v.Type.String() + ")", true
}

func valueText(v connectors.Value) (string, bool) {
	switch k := v.Type.Kind; k {
	case connectors.Varchar, connectors.UUID:
		return v.Text, true
	case connectors.Float, connectors.Double:
		bits := 64
		if k == connectors.Float {
			bits = 32
		}
		return strconv.FormatFloat(v.Float, 'g', -1, bits), true
	case connectors.Boolean:
		return strconv.FormatBool(v.Int.Sign() != 0), true
	case connectors.Decimal:
		return decimal(v.Int, v.Type.Scale), true
	case connectors.Date:
		return date(v.Int.Int64()), true
	case connectors.Time:
		return clock(v.Int.Int64()), true
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		return stamp(k, v.Int.Int64()), true
	}
	if k := v.Type.Kind; k >= connectors.TinyInt && k <= connectors.UBigInt && v.Int != nil {
		return v.Int.String(), true
	}
	return "", false
}

func decimal(n *big.Int, scale int) string {
	s := new(big.Int).Abs(n).String()
	if missing := scale + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// common says that a time is in years that all its texts spell alike.
func common(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

func date(days int64) string {
	t := time.Unix(days*86400, 0).UTC()
	switch {
	case days == math.MaxInt32:
		return "infinity"
	case days == -math.MaxInt32:
		return "-infinity"
	case common(t):
		return t.Format("2006-01-02")
	}
	return fmt.Sprintf("(DATE '1970-01-01' + (%d))", days)
}

func clock(micros int64) string {
	if micros == 86_400_000_000 {
		return "24:00:00"
	}
	return time.UnixMicro(micros).UTC().Format("15:04:05.000000")
}

func stamp(k connectors.Kind, n int64) string {
	t, zone, function, layout := time.UnixMicro(n).UTC(), "", "make_timestamp", "2006-01-02 15:04:05.000000"
	switch k {
	case connectors.TimestampTZ:
		zone, function = "+00", "make_timestamptz"
	case connectors.TimestampNS:
		t, function, layout = time.Unix(0, n).UTC(), "make_timestamp_ns", "2006-01-02 15:04:05.000000000"
	}
	switch {
	case n == math.MaxInt64:
		return "infinity"
	case n == -math.MaxInt64:
		return "-infinity"
	case common(t):
		return t.Format(layout) + zone
	}
	return function + "(" + strconv.FormatInt(n, 10) + ")"
}
