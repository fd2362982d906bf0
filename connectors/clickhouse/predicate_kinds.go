package clickhouse

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dvt-dev/dvt/connectors"
)

// float compares as IEEE numbers do in ClickHouse; in DuckDB NaN equals NaN and is
// greater than everything else, so that f > 1 alone would lose the rows with NaN.
func (l *leaf) float() connectors.Answer {
	if l.p.Kind == connectors.PIn {
		return l.floatIn()
	}
	if l.p.Kind != connectors.PCmp {
		return no("not a comparison")
	}
	f, ok := l.number(l.p.Vals[0])
	if !ok {
		return no("the constant is of another type than the column")
	}
	nan, number := "isNaN("+l.q+")", "NOT isNaN("+l.q+")"
	if math.IsNaN(f) {
		switch l.p.Op {
		case "=", ">=":
			return exact(nan)
		case "<>", "<":
			return exact(number)
		case "<=":
			return l.always()
		}
		return l.never()
	}
	switch eq := l.floatEquals(f); {
	case l.p.Op == "=" && eq == "":
		return l.never()
	case l.p.Op == "<>" && eq == "":
		return l.always()
	case l.p.Op == "=":
		return exact(eq)
	case l.p.Op == "<>":
		return exact("NOT " + eq)
	}
	sql := l.q + " " + l.p.Op + " " + floatLiteral(f)
	if l.p.Op[0] == '>' {
		sql = "(" + sql + " OR " + nan + ")"
	}
	return exact(sql)
}

// floatEquals is f = v in a form that stays right inside f = 1 OR f = 2 OR f = 0: the
// server makes f IN (1, 2, 0) of that, and IN compares bits, so that -0.0 would be
// lost, and rounds its constants to Float32, so that 0.1 would be found in a column
// that cannot hold it. "" if the column cannot hold v.
func (l *leaf) floatEquals(v float64) string {
	switch {
	case v == 0:
		return "(" + l.q + " BETWEEN 0e0 AND 0e0)"
	case l.t.name == "Float32" && float64(float32(v)) != v:
		return ""
	}
	return "(" + l.q + " = " + floatLiteral(v) + ")"
}

func (l *leaf) floatIn() connectors.Answer {
	var parts []string
	for _, v := range l.p.Vals {
		f, ok := l.number(v)
		if !ok {
			return no("a constant is of another type than the column")
		}
		s := "isNaN(" + l.q + ")"
		if !math.IsNaN(f) {
			s = l.floatEquals(f)
		}
		switch {
		case s != "" && l.p.Neg:
			parts = append(parts, "NOT "+s)
		case s != "":
			parts = append(parts, s)
		}
	}
	switch {
	case len(parts) == 0 && l.p.Neg:
		return l.always()
	case len(parts) == 0:
		return l.never()
	case l.p.Neg:
		return exact("(" + strings.Join(parts, " AND ") + ")")
	}
	return exact("(" + strings.Join(parts, " OR ") + ")")
}

// number is a constant that DuckDB compares with the column as floating point. A
// Float32 column against a double is widened on both sides.
func (l *leaf) number(v connectors.Value) (float64, bool) {
	switch {
	case v.Null:
		return 0, false
	case v.Type.Kind == connectors.Double:
		return v.Float, true
	case v.Type.Kind == connectors.Float:
		return float64(float32(v.Float)), true
	}
	return 0, false
}

// text compares bytes on both sides.
func (l *leaf) text() connectors.Answer {
	for _, v := range l.p.Vals {
		if v.Null || v.Type.Kind != connectors.Varchar {
			return no("the constant is not text")
		}
	}
	switch l.p.Kind {
	case connectors.PCmp:
		return exact(l.compareText(literal(l.p.Vals[0].Text)))
	case connectors.PIn:
		lits := make([]string, len(l.p.Vals))
		for i, v := range l.p.Vals {
			lits[i] = literal(v.Text)
		}
		return l.in(lits, true)
	case connectors.PLike:
		return l.like(l.p.Vals[0].Text)
	}
	return no("not a comparison")
}

// compareText: old servers take 'a' <= 'a' followed by a zero byte for equal under <=
// and >= (so that 'a\0' <= 'a' holds there), but not under < and >.
func (l *leaf) compareText(other string) string {
	if l.old {
		switch l.p.Op {
		case "<=":
			return "NOT (" + l.q + " > " + other + ")"
		case ">=":
			return "NOT (" + l.q + " < " + other + ")"
		}
	}
	return l.q + " " + l.p.Op + " " + other
}

func (l *leaf) like(s string) connectors.Answer {
	not := ""
	if l.p.Neg {
		not = "NOT "
	}
	if s == "" && l.p.Op != "like" { // old versions disagree about empty needles
		if l.p.Neg {
			return l.never()
		}
		return l.always()
	}
	switch l.p.Op {
	case "prefix":
		return exact(not + "startsWith(" + l.q + ", " + literal(s) + ")")
	case "suffix":
		return exact(not + "endsWith(" + l.q + ", " + literal(s) + ")")
	case "contains":
		if l.p.Neg {
			return exact("position(" + l.q + ", " + literal(s) + ") = 0")
		}
		return exact("position(" + l.q + ", " + literal(s) + ") > 0")
	}
	if strings.Contains(s, "\x00") {
		return no("the pattern contains a NUL")
	}
	// DuckDB's LIKE has no escape character, ClickHouse's is the backslash.
	return exact(l.q + " " + not + "LIKE " + literal(strings.ReplaceAll(s, `\`, `\\`)))
}

// enum is decided here, name by name: ClickHouse compares enums by number, and a name
// that the type does not have is an error there.
func (l *leaf) enum() connectors.Answer {
	keep, ok := l.textTest()
	if !ok {
		return no("not a comparison with text")
	}
	var lits []string
	for _, e := range l.t.enum {
		if keep(e.name) {
			lits = append(lits, literal(e.name))
		}
	}
	switch len(lits) {
	case 0:
		return l.never()
	case len(l.t.enum):
		return l.always()
	}
	pos := *l
	pos.p = &connectors.Pred{Kind: connectors.PIn}
	return pos.in(lits, true)
}

// textTest is the predicate as a function of a text.
func (l *leaf) textTest() (keep func(string) bool, ok bool) {
	for _, v := range l.p.Vals {
		if v.Null || v.Type.Kind != connectors.Varchar {
			return nil, false
		}
	}
	switch l.p.Kind {
	case connectors.PCmp:
		return func(s string) bool {
			c := strings.Compare(s, l.p.Vals[0].Text)
			switch l.p.Op {
			case "=":
				return c == 0
			case "<>":
				return c != 0
			case "<":
				return c < 0
			case "<=":
				return c <= 0
			case ">":
				return c > 0
			}
			return c >= 0
		}, true
	case connectors.PIn:
		return func(s string) bool {
			for _, v := range l.p.Vals {
				if v.Text == s {
					return !l.p.Neg
				}
			}
			return l.p.Neg
		}, true
	case connectors.PLike:
		return func(s string) bool { return likes(l.p.Op, s, l.p.Vals[0].Text) != l.p.Neg }, true
	}
	return nil, false
}

func likes(op, s, pattern string) bool {
	switch op {
	case "prefix":
		return strings.HasPrefix(s, pattern)
	case "suffix":
		return strings.HasSuffix(s, pattern)
	case "contains":
		return strings.Contains(s, pattern)
	}
	return likeMatch(s, pattern)
}

// likeMatch is LIKE without an escape character.
func likeMatch(s, pattern string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '%':
			for i := 0; i <= len(s); i++ {
				if likeMatch(s[i:], pattern[1:]) {
					return true
				}
			}
			return false
		case '_':
			if s == "" {
				return false
			}
			_, n := utf8.DecodeRuneInString(s)
			s, pattern = s[n:], pattern[1:]
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
			s, pattern = s[1:], pattern[1:]
		}
	}
	return s == ""
}

// uuid has equality only: ClickHouse orders UUIDs by their second half first. Old
// servers refuse IN over them.
func (l *leaf) uuid() connectors.Answer {
	lits := make([]string, len(l.p.Vals))
	for i, v := range l.p.Vals {
		if v.Null || v.Type.Kind != connectors.UUID || len(v.Text) != 36 {
			return no("the constant is not a UUID")
		}
		lits[i] = "toUUID(" + literal(v.Text) + ")"
	}
	switch {
	case l.p.Kind == connectors.PIn:
		return l.in(lits, false)
	case l.p.Kind == connectors.PCmp && (l.p.Op == "=" || l.p.Op == "<>"):
		return exact(l.q + " " + l.p.Op + " " + lits[0])
	}
	return no("UUIDs do not order by their text")
}

func (l *leaf) boolean() connectors.Answer {
	want := !l.p.Neg
	switch {
	case l.p.Kind == connectors.PBool:
	case l.p.Kind == connectors.PCmp && (l.p.Op == "=" || l.p.Op == "<>") && l.p.Vals[0].Type.Kind == connectors.Boolean && l.p.Vals[0].Int != nil:
		want = (l.p.Vals[0].Int.Sign() != 0) == (l.p.Op == "=")
	default:
		return no("not a test of a boolean")
	}
	if want {
		return exact(l.q + " = 1")
	}
	return exact(l.q + " = 0")
}
