package sqlite

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// text compares by bytes, under an explicit COLLATE BINARY: a NOCASE column finds 'A'
// for = 'a', which is too many, but loses 'A' for <> 'a'.
func (l leaf) text() connectors.Answer {
	lits := make([]string, len(l.p.Vals))
	for i, v := range l.p.Vals {
		if v.Type.Kind != connectors.Varchar || strings.IndexByte(v.Text, 0) >= 0 {
			return no(whyLiteral)
		}
		lits[i] = literal(v.Text)
	}
	col, untyped := l.col, affinityOf(l.c.Native) != affText
	if untyped {
		// +c has no affinity: a column declared MONEY would make a number of '5', and
		// then no text is smaller than it. Numbers and blobs are kept below.
		col = "+" + l.col
	}
	utf16 := l.c.Attrs[attrEncoding] != ""
	var sql, reason string
	switch {
	case l.p.Kind == connectors.PLike:
		sql, reason = l.like(col, utf16)
	case l.p.Kind == connectors.PIn:
		sql = in("("+col+" COLLATE BINARY)", l.p.Neg, lits)
	case l.p.Kind == connectors.PCmp && (l.p.Op == "=" || l.p.Op == "<>" || !utf16):
		sql = col + " " + l.p.Op + " " + lits[0] + " COLLATE BINARY"
	case l.p.Kind == connectors.PCmp:
		return no(whyEncoding) // UTF-16 orders 4-byte characters before U+E000
	}
	switch {
	case sql == "" && reason == "":
		return no(whyOperator)
	case sql == "":
		return no(reason)
	case untyped:
		return superset("("+sql+" OR "+col+" < '' OR "+col+" >= x'')", whyUntyped)
	case !l.fixed:
		return superset("("+sql+" OR "+l.col+" >= x'')", whyClass) // every blob, no text
	case reason != "":
		return superset(sql, reason)
	}
	return exact(sql)
}

// like renders prefix, suffix, contains and LIKE. SQLite's string functions and LIKE
// end a text at a NUL character; the forms here do not, or keep such texts.
func (l leaf) like(col string, utf16 bool) (sql, reason string) {
	s := l.p.Vals[0].Text
	bytes := "CAST(" + col + " AS BLOB)"
	switch l.p.Op {
	case "contains":
		if l.p.Neg {
			return "instr(" + col + ", " + literal(s) + ") = 0", ""
		}
		return "instr(" + col + ", " + literal(s) + ") > 0", ""
	case "prefix", "suffix":
		if utf16 {
			return "", whyEncoding
		}
		if s == "" {
			return "", whyLiteral
		}
		n := strconv.Itoa(len(s))
		end := "substr(" + bytes + ", -" + n + ")"
		if l.p.Op == "prefix" {
			if next, ok := successor(s); ok && !l.p.Neg {
				// A range: an index on the column serves it.
				return "(" + col + " >= " + literal(s) + " COLLATE BINARY AND " + col + " < " + literal(next) + " COLLATE BINARY)", ""
			}
			end = "substr(" + bytes + ", 1, " + n + ")"
		}
		if l.p.Neg {
			// substr of an empty blob is NULL, and '' would be lost.
			return "(" + end + " <> CAST(" + literal(s) + " AS BLOB) OR " + col + " = '' COLLATE BINARY)", ""
		}
		return end + " = CAST(" + literal(s) + " AS BLOB)", ""
	case "like":
		if l.p.Neg {
			return "", whyLike // NOT LIKE 'a%' would lose 'A'
		}
		if len(s) > 40000 {
			return "", whyLiteral // SQLite refuses patterns above 50,000 bytes
		}
		return "(" + col + " LIKE " + literal(s) + " OR instr(" + col + ", char(0)) > 0)", whyLike
	}
	return "", whyOperator
}

// successor is the smallest text greater than every text that begins with s.
func successor(s string) (string, bool) {
	r := []rune(s)
	last := r[len(r)-1]
	switch {
	case last == 0x10ffff || last == 0xfffd:
		return "", false
	case last == 0xd7ff:
		last = 0xe000
	default:
		last++
	}
	return string(r[:len(r)-1]) + string(last), true
}

// dayRange guards ranges over texts that begin with a date: what cannot be one (numbers,
// blobs, texts that begin below '0' or above '9') is kept. Like the other guards these
// are ranges.
func (l leaf) dayRange(from, below string) string {
	switch {
	case from != "" && below != "":
		return "((" + l.col + " >= " + literal(from) + " AND " + l.col + " < " + literal(below) + ") OR " + l.col + " < '0' OR " + l.col + " >= ':')"
	case from != "":
		return "(" + l.col + " >= " + literal(from) + " OR " + l.col + " < '0')"
	}
	return "(" + l.col + " < " + literal(below) + " OR " + l.col + " >= ':')"
}

const day = 86_400_000_000 // µs

// dayText is the date of a moment, within the years that texts can hold and a margin
// for the day before and after.
func dayText(us *big.Int) (t time.Time, ok bool) {
	if us == nil || !us.IsInt64() {
		return t, false
	}
	t = time.UnixMicro(us.Int64()).UTC()
	return t, t.Year() >= 1 && t.Year() < 9999
}

func iso(t time.Time) string { return t.Format("2006-01-02") }

// date: a valid text is a date, or a date and midnight, so that it begins with its day.
func (l leaf) date() connectors.Answer {
	var parts []string
	for _, v := range l.p.Vals {
		if v.Type.Kind != connectors.Date || v.Int == nil {
			return no(whyLiteral)
		}
		t, ok := dayText(new(big.Int).Mul(v.Int, big.NewInt(day)))
		if !ok {
			return no(whyLiteral)
		}
		s, next := iso(t), iso(t.AddDate(0, 0, 1))
		op := l.p.Op
		if l.p.Kind == connectors.PIn {
			op = "="
		}
		switch op {
		case "=":
			parts = append(parts, l.dayRange(s, next))
		case ">":
			parts = append(parts, l.dayRange(next, ""))
		case ">=":
			parts = append(parts, l.dayRange(s, ""))
		case "<":
			parts = append(parts, l.dayRange("", s))
		case "<=":
			parts = append(parts, l.dayRange("", next))
		default:
			return no(whyOperator)
		}
	}
	return l.texts(parts, whyDayText)
}

// stamp: the same with a time behind the day, after a blank or a T, to the minute or
// finer. A text with a zone may stand up to a day away from its UTC.
func (l leaf) stamp() connectors.Answer {
	if _, unix := unixFactor(l.c.Native); unix {
		return no(whyKind)
	}
	var parts []string
	for _, v := range l.p.Vals {
		if v.Type.Kind != l.c.Type.Kind {
			return no(whyLiteral)
		}
		t, ok := dayText(v.Int)
		if !ok {
			return no(whyLiteral)
		}
		from, below := t, t.AddDate(0, 0, 1)
		if l.c.Type.Kind == connectors.TimestampTZ {
			from, below = t.AddDate(0, 0, -1), t.AddDate(0, 0, 2)
		}
		if from.Year() < 1 || below.Year() > 9999 {
			return no(whyLiteral)
		}
		lo := iso(from)
		if l.c.Type.Kind == connectors.Timestamp && (t.Hour() > 0 || t.Minute() > 0) {
			// A blank sorts before T, so that every form of a later time is greater.
			lo = t.Format("2006-01-02 15:04")
		}
		op := l.p.Op
		if l.p.Kind == connectors.PIn {
			op = "="
		}
		switch op {
		case "=":
			parts = append(parts, l.dayRange(lo, iso(below)))
		case ">", ">=":
			parts = append(parts, l.dayRange(lo, ""))
		case "<", "<=":
			parts = append(parts, l.dayRange("", iso(below)))
		default:
			return no(whyOperator)
		}
	}
	return l.texts(parts, whyStampText)
}

func (l leaf) texts(parts []string, reason string) connectors.Answer {
	switch {
	case l.p.Kind == connectors.PIn && !l.p.Neg:
		return superset("("+strings.Join(parts, " OR ")+")", reason)
	case l.p.Kind == connectors.PCmp:
		return superset(parts[0], reason)
	}
	return no(whyOperator)
}
