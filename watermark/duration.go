// Package watermark computes the bounds of incremental models: durations, windows and
// the chunks of a range. It is pure arithmetic over typed values; it reads no state, no
// clock and no database.
package watermark

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time as models write it: a positive count of one unit.
type Duration struct {
	Count int64
	Unit  string // ms s m h d w mo y
}

// units are fixed lengths; mo and y are 30 and 365 days except as steps of a range.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "mo": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour,
}

// ParseDuration reads "7d".
func ParseDuration(s string) (Duration, error) {
	digits := strings.TrimLeft(s, "0123456789")
	n, err := strconv.ParseInt(s[:len(s)-len(digits)], 10, 64)
	unit, ok := units[digits]
	if err != nil || !ok || n <= 0 || n > int64(1<<62)/int64(unit) {
		return Duration{}, fmt.Errorf("invalid duration '%s': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y", s)
	}
	return Duration{n, digits}, nil
}

// Fixed is the duration as an exact length.
func (d Duration) Fixed() time.Duration { return time.Duration(d.Count) * units[d.Unit] }

// SubDay says that the duration is shorter than a day, which a date cannot move by.
func (d Duration) SubDay() bool { return d.Fixed() < 24*time.Hour }

func (d Duration) String() string { return fmt.Sprintf("%d%s", d.Count, d.Unit) }

// after is the k-th step from t: calendar steps for months and years, cut to the last
// day of a shorter month, and fixed ones else. Steps are counted from t, not from the
// step before, so that January 31 is followed by the ends of months, not by 28ths.
func (d Duration) after(t time.Time, k int64) time.Time {
	months := int64(0)
	switch d.Unit {
	case "mo":
		months = d.Count * k
	case "y":
		months = 12 * d.Count * k
	default:
		return t.Add(time.Duration(k) * d.Fixed())
	}
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
