package watermark

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Value is one bound: a value of the update key's type. Dates and timestamps are held
// as times (naive ones as if they were UTC), numbers exactly, everything else as text.
type Value struct {
	Type connectors.Type
	Time time.Time
	Num  *big.Rat
	Text string
}

// Temporal says that values of t are dates or times, so that durations move them.
func Temporal(t connectors.Type) bool {
	switch t.Kind {
	case connectors.Date, connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ:
		return true
	}
	return false
}

// Numeric says that values of t are exact numbers.
func Numeric(t connectors.Type) bool {
	return t.Kind >= connectors.TinyInt && t.Kind <= connectors.UBigInt || t.Kind == connectors.Decimal
}

var layouts = []string{
	"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
}

// ParseTime reads an ISO date or timestamp, with or without an offset.
func ParseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// Parse reads a value of type t from text: what a user wrote, what state holds, or what
// a database printed.
func Parse(t connectors.Type, s string) (Value, error) {
	v := Value{Type: t, Text: s}
	switch {
	case Temporal(t):
		at, ok := ParseTime(s)
		if !ok {
			return v, fmt.Errorf("%q is not a %s", s, strings.ToLower(t.String()))
		}
		return At(t, at), nil
	case Numeric(t):
		n, ok := new(big.Rat).SetString(strings.TrimSpace(s))
		if !ok || strings.ContainsAny(s, "/eExXpP_") {
			return v, fmt.Errorf("%q is not a number", s)
		}
		v.Num = n
	}
	return v, nil
}

// At is t cut down to what typ can hold.
func At(typ connectors.Type, t time.Time) Value {
	t = t.UTC()
	switch typ.Kind {
	case connectors.Date:
		t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	case connectors.TimestampNS:
	default:
		t = t.Truncate(time.Microsecond)
	}
	return Value{Type: typ, Time: t}
}

// Literal is v in DuckDB SQL.
func (v Value) Literal() string {
	switch {
	case v.Num != nil:
		return v.number()
	case Temporal(v.Type):
		return "'" + v.stamp(" ", "+00") + "'::" + map[connectors.Kind]string{
			connectors.Date: "DATE", connectors.Timestamp: "TIMESTAMP", connectors.TimestampNS: "TIMESTAMP_NS", connectors.TimestampTZ: "TIMESTAMPTZ",
		}[v.Type.Kind]
	}
	lit := "'" + strings.ReplaceAll(v.Text, "'", "''") + "'"
	if v.Type.Kind == connectors.Varchar {
		return lit
	}
	return lit + "::" + v.Type.String()
}

// State is v as a state record keeps it: RFC 3339 with offset for instants.
func (v Value) State() string {
	switch {
	case v.Num != nil:
		return v.number()
	case v.Type.Kind == connectors.TimestampTZ:
		return v.stamp("T", "+00:00")
	case Temporal(v.Type):
		return v.stamp(" ", "")
	}
	return v.Text
}

// Short is v for a line of output: a midnight is printed as its date.
func (v Value) Short() string {
	if Temporal(v.Type) && v.Time.Equal(v.Time.Truncate(24*time.Hour)) {
		return v.Time.Format("2006-01-02")
	}
	if Temporal(v.Type) {
		return v.stamp(" ", "+00")
	}
	return v.State()
}

func (v Value) number() string {
	if v.Num.IsInt() {
		return v.Num.Num().String()
	}
	scale := v.Type.Scale
	for s := scale; s <= 40; s++ {
		text := v.Num.FloatString(s)
		if back, _ := new(big.Rat).SetString(text); back.Cmp(v.Num) == 0 {
			return text
		}
	}
	return v.Num.FloatString(40)
}

// stamp writes the time with as many digits of its fraction as it has.
func (v Value) stamp(sep, zone string) string {
	if v.Type.Kind == connectors.Date {
		return v.Time.Format("2006-01-02")
	}
	text := v.Time.Format("2006-01-02" + sep + "15:04:05.999999999")
	if v.Type.Kind == connectors.TimestampTZ {
		text += zone
	}
	return text
}

// Compare orders values of one type; text compares by bytes.
func (v Value) Compare(o Value) int {
	switch {
	case v.Num != nil && o.Num != nil:
		return v.Num.Cmp(o.Num)
	case Temporal(v.Type):
		return v.Time.Compare(o.Time)
	}
	return strings.Compare(v.Text, o.Text)
}

// Add moves a date or time by a fixed length, backwards if it is negative.
func (v Value) Add(d time.Duration) Value { return At(v.Type, v.Time.Add(d)) }
