package planner

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// This file holds all the DuckDB text that the planner builds.

// quote quotes an identifier, literal a text.
func quote(ident string) string { return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"` }
func literal(s string) string   { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func viewName(r *Relation) string {
	return quote(r.Catalog+Marker) + "." + quote(r.Schema) + "." + quote(r.Name)
}

func createView(r *Relation, id int) string {
	return "CREATE OR REPLACE VIEW " + viewName(r) + " AS SELECT * FROM system.main." + scanFunction + "(" + literal(strconv.Itoa(id)) + ")"
}

func dropView(name string) string { return "DROP VIEW IF EXISTS " + name }

func boundsQuery(r *Relation, col int) string {
	c := quote(r.Table.Columns[col].Name)
	return "SELECT CAST(min(" + c + ") AS VARCHAR), CAST(max(" + c + ") AS VARCHAR) FROM " + viewName(r)
}

func keysQuery(r *Relation, col int) string {
	c := quote(r.Table.Columns[col].Name)
	return "SELECT DISTINCT CAST(" + c + " AS VARCHAR) FROM " + viewName(r) + " WHERE " + c + " IS NOT NULL LIMIT " + strconv.Itoa(MaxKeys+1)
}

func extremeName(highest bool) string {
	if highest {
		return "max"
	}
	return "min"
}

// ExecutionSettings are statements that the instance which runs plans needs to compute
// what was planned, besides ClockMacros. DuckDB 1.5 pushes filters of a join's keys below
// LIMIT and TOP_N when it has more than one thread, so that other rows fill the limit.
func ExecutionSettings() []string {
	return []string{"SET GLOBAL TimeZone = 'UTC'", "SET GLOBAL disabled_optimizers = 'join_filter_pushdown'"}
}

// ClockMacros are statements that make now() and its kin constants of an in-memory
// DuckDB, for all sessions that have memory.main in their search path. The execution
// instance needs the same ones as the shadow: a predicate like ts < now() would
// lose rows if the extract and DuckDB's own filter used different times.
func ClockMacros(now time.Time) []string {
	ts := now.UTC().Format("2006-01-02 15:04:05.000000")
	date, day := "DATE "+literal(ts[:10]), ts[11:]
	instant := "TIMESTAMPTZ " + literal(ts+"+00")
	var out []string
	for _, m := range [][2]string{
		{"now", instant}, {"get_current_timestamp", instant}, {"transaction_timestamp", instant},
		{"current_date", date}, {"today", date},
		{"current_localtimestamp", "TIMESTAMP " + literal(ts)}, {"current_localtime", "TIME " + literal(day)},
		{"get_current_time", "TIMETZ " + literal(day+"+00")},
	} {
		out = append(out, "CREATE OR REPLACE MACRO memory.main."+m[0]+"() AS "+m[1])
	}
	// age(t) is the time since t at today's midnight.
	return append(out, "CREATE OR REPLACE MACRO memory.main.age(a) AS system.main.age(CAST("+date+" AS TIMESTAMP), a), (a, b) AS system.main.age(a, b)")
}

// ScalarLiteral is the value of a scalar as a literal of its type. text is what DuckDB
// gives for CAST(value AS VARCHAR) in a session whose time zone is UTC. Nested values
// have no text that is read back unchanged.
func ScalarLiteral(t connectors.Type, text string) (string, error) {
	switch t.Kind {
	case connectors.Invalid, connectors.List, connectors.Struct, connectors.Map:
		return "", &connectors.TypeError{Column: "value", Native: t.String(), Reason: "a value of this type cannot be put into SQL as a literal"}
	}
	return "CAST(" + literal(text) + " AS " + t.String() + ")", nil
}

// exprText is an expression over a relation's columns, for people and as a key.
func exprText(e *expr) string {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = exprText(a)
	}
	switch e.op {
	case opColumn:
		return plainName(e.name)
	case opConst:
		return e.value.String()
	case opCompare:
		return operand(e.args[0]) + " " + e.name + " " + operand(e.args[1])
	case opAnd:
		return joined(e.args, " AND ", opOr)
	case opOr:
		return joined(e.args, " OR ", opAnd)
	case opNot:
		return "NOT " + operand(e.args[0])
	case opIsNull:
		return operand(e.args[0]) + " IS NULL"
	case opNotNull:
		return operand(e.args[0]) + " IS NOT NULL"
	case opIn:
		return operand(e.args[0]) + " IN (" + strings.Join(args[1:], ", ") + ")"
	case opNotIn:
		return operand(e.args[0]) + " NOT IN (" + strings.Join(args[1:], ", ") + ")"
	case opCast:
		return "CAST(" + args[0] + " AS " + e.typ.String() + ")"
	case opTryCast:
		return "TRY_CAST(" + args[0] + " AS " + e.typ.String() + ")"
	case opFunction:
		return functionText(e, args)
	case opCase:
		return caseText(args)
	case opCoalesce:
		return "coalesce(" + strings.Join(args, ", ") + ")"
	}
	return "<" + e.name + ">"
}

// joined joins the parts of a junction, with those of the other kind in parentheses.
func joined(parts []*expr, sep string, other op) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = exprText(p)
		if p.op == other && len(p.args) > 1 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return strings.Join(texts, sep)
}

// operand is e as one side of an operator.
func operand(e *expr) string {
	t := exprText(e)
	switch e.op {
	case opColumn, opConst, opCast, opTryCast, opCoalesce, opCase, opOther:
		return t
	case opFunction:
		if infix[e.name] == "" {
			return t
		}
	}
	return "(" + t + ")"
}

// infix are the functions that SQL spells as operators.
var infix = map[string]string{
	"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB", "||": "||", "^@": "^@",
	"+": "+", "-": "-", "*": "*", "/": "/", "//": "//", "%": "%", "**": "**", "&": "&", "|": "|", "<<": "<<", ">>": ">>",
	"->": "->", "->>": "->>",
}

func functionName(name string) string {
	if s := infix[name]; s != "" {
		return s
	}
	return name
}

func functionText(e *expr, args []string) string {
	var shown []string
	for i, a := range e.args {
		if a.op != opOther || a.name != "bind data" {
			shown = append(shown, args[i])
		}
	}
	if s := infix[e.name]; s != "" && len(shown) == 2 {
		return operand(e.args[0]) + " " + s + " " + operand(e.args[1])
	}
	return e.name + "(" + strings.Join(shown, ", ") + ")"
}

func caseText(args []string) string {
	var b strings.Builder
	b.WriteString("CASE")
	for i := 0; i+1 < len(args); i += 2 {
		b.WriteString(" WHEN " + args[i] + " THEN " + args[i+1])
	}
	return b.String() + " ELSE " + args[len(args)-1] + " END"
}

// plainName quotes an identifier only where a reader would need it.
func plainName(name string) string {
	plain := name != ""
	for i, c := range name {
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' && i > 0)
	}
	if plain {
		return name
	}
	return quote(name)
}

func (c constant) String() string {
	switch {
	case c.null:
		return "NULL"
	case c.opaque && c.show != "":
		return c.show
	case c.opaque:
		return "<" + c.typ.String() + ">"
	}
	switch c.typ.id {
	case "VARCHAR", "UUID":
		return literal(c.text)
	case "FLOAT", "DOUBLE":
		return floatText(c.float)
	case "DECIMAL":
		return decimalText(c.num, c.typ.scale)
	case "BOOLEAN":
		return strconv.FormatBool(c.num.Sign() != 0)
	case "DATE":
		return "DATE " + literal(dateText(c.num.Int64()))
	case "TIMESTAMP":
		return "TIMESTAMP " + literal(timestampText(c.num.Int64()))
	case "TIMESTAMP WITH TIME ZONE":
		return "TIMESTAMPTZ " + literal(instantText(c.num.Int64()))
	}
	if c.num != nil {
		return c.num.String()
	}
	return "<" + c.typ.String() + ">"
}

// floatText always has an exponent, so that it is read as a DOUBLE.
func floatText(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return literal(strconv.FormatFloat(f, 'g', -1, 64)) + "::DOUBLE"
	}
	return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e+0", "e", 1)
}

func decimalText(n *big.Int, scale int) string {
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

func intervalText(months, days, micros int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		unit string
	}{{months, " months"}, {days, " days"}, {micros, " microseconds"}} {
		if p.n != 0 {
			parts = append(parts, strconv.Itoa(p.n)+p.unit)
		}
	}
	if len(parts) == 0 {
		parts = []string{"0 days"}
	}
	return "INTERVAL " + literal(strings.Join(parts, " "))
}

func dateText(days int64) string {
	switch days {
	case math.MaxInt32:
		return "infinity"
	case -math.MaxInt32:
		return "-infinity"
	}
	return time.Unix(days*86400, 0).UTC().Format("2006-01-02")
}

func instantText(micros int64) string {
	text := timestampText(micros)
	if strings.HasSuffix(text, "infinity") {
		return text
	}
	return text + "+00"
}

func timestampText(micros int64) string {
	switch micros {
	case math.MaxInt64:
		return "infinity"
	case -math.MaxInt64:
		return "-infinity"
	}
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999")
}
