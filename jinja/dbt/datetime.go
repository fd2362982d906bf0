package dbt

import (
	"fmt"
	"time"

	"github.com/dvt-dev/dvt/jinja"
)

// dateTime is a Python date or datetime: naive, or aware of its zone.
type dateTime struct {
	t     time.Time // in UTC when naive: the wall clock is what counts
	date  bool
	aware bool
}

// Datetime makes the naive datetime of t's wall clock; Aware one that knows its zone;
// Date a date.
func Datetime(t time.Time) V { return &dateTime{t: naive(t)} }

// Aware makes a datetime with a zone.
func Aware(t time.Time) V { return &dateTime{t: t.Truncate(time.Microsecond), aware: true} }

// Date makes a date.
func Date(t time.Time) V { return &dateTime{t: midnight(t), date: true} }

func naive(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/1000*1000, time.UTC)
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func (d *dateTime) PyType() string {
	if d.date {
		return "date"
	}
	return "datetime"
}

func (d *dateTime) PyStr() string { return d.iso(" ") }

func (d *dateTime) iso(sep string) string {
	if d.date {
		return d.t.Format("2006-01-02")
	}
	s := d.t.Format("2006-01-02" + sep + "15:04:05")
	if us := d.t.Nanosecond() / 1000; us != 0 {
		s += fmt.Sprintf(".%06d", us)
	}
	if d.aware {
		s += d.t.Format("-07:00")
	}
	return s
}

func (d *dateTime) PyRepr() string {
	if d.date {
		return fmt.Sprintf("datetime.date(%d, %d, %d)", d.t.Year(), d.t.Month(), d.t.Day())
	}
	s := fmt.Sprintf("datetime.datetime(%d, %d, %d, %d, %d", d.t.Year(), d.t.Month(), d.t.Day(), d.t.Hour(), d.t.Minute())
	us := d.t.Nanosecond() / 1000
	if d.t.Second() != 0 || us != 0 {
		s += fmt.Sprintf(", %d", d.t.Second())
	}
	if us != 0 {
		s += fmt.Sprintf(", %d", us)
	}
	if d.aware {
		s += ", tzinfo=" + jinja.Repr(zone{d.t.Location()})
	}
	return s + ")"
}

func (d *dateTime) PyHash() string { return "datetime:" + d.iso("T") }
func (d *dateTime) PyEq(o V) bool {
	x, ok := o.(*dateTime)
	return ok && d.aware == x.aware && d.date == x.date && d.t.Equal(x.t)
}

// PyCmp refuses to order naive against aware, and dates against datetimes.
func (d *dateTime) PyCmp(o V) (int, bool) {
	x, ok := o.(*dateTime)
	if !ok || d.aware != x.aware || d.date != x.date {
		return 0, false
	}
	return d.t.Compare(x.t), true
}

func (d *dateTime) PyFormat(spec string) (string, error) {
	if spec == "" {
		return d.PyStr(), nil
	}
	return strftime(d, spec), nil
}

// add moves the wall clock, as Python does: also across a change of offset.
func (d *dateTime) add(delta time.Duration) *dateTime {
	w := naive(d.t).Add(delta)
	if d.date {
		w = midnight(w)
	}
	if d.aware {
		w = time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), d.t.Location())
	}
	return &dateTime{w, d.date, d.aware}
}

func (d *dateTime) PyBinOp(op string, o V, reflected bool) (V, bool, error) {
	switch x := o.(type) {
	case *timeDelta:
		delta := x.d
		if d.date {
			delta = time.Duration(x.days()) * 24 * time.Hour // a date counts whole days only
		}
		if op == "+" {
			return d.add(delta), true, nil
		}
		if op == "-" && !reflected {
			return d.add(-delta), true, nil
		}
	case *dateTime:
		if op == "-" && !reflected {
			if d.aware != x.aware {
				return nil, true, jinja.TypeErr("can't subtract offset-naive and offset-aware datetimes")
			}
			return &timeDelta{d.t.Sub(x.t)}, true, nil
		}
	}
	return nil, false, nil
}

func (d *dateTime) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "year":
		return int64(d.t.Year()), true
	case "month":
		return int64(d.t.Month()), true
	case "day":
		return int64(d.t.Day()), true
	case "hour":
		return int64(d.t.Hour()), !d.date
	case "minute":
		return int64(d.t.Minute()), !d.date
	case "second":
		return int64(d.t.Second()), !d.date
	case "microsecond":
		return int64(d.t.Nanosecond() / 1000), !d.date
	case "tzinfo":
		if !d.aware {
			return nil, true
		}
		return zone{d.t.Location()}, true
	}
	return d.method(n)
}

func (d *dateTime) method(n string) (V, bool) {
	switch n {
	case "strftime":
		return bound(n, params("format"), func(b jinja.Bound) (V, error) { return strftime(d, jinja.Str(b.Get("format"))), nil }), true
	case "isoformat":
		return bound(n, params("sep?"), func(b jinja.Bound) (V, error) { return d.iso(jinja.Str(b.Or("sep", "T"))), nil }), true
	case "date":
		return constantly(n, Date(d.t)), true
	case "weekday":
		return constantly(n, int64((d.t.Weekday()+6)%7)), true
	case "isoweekday":
		return constantly(n, int64((d.t.Weekday()+6)%7)+1), true
	case "timestamp":
		return constantly(n, float64(d.t.UnixMicro())/1e6), true
	case "toordinal":
		return constantly(n, int64(midnight(d.t).Sub(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)).Hours()/24)+1), true
	case "astimezone":
		return bound(n, params("tz?"), func(b jinja.Bound) (V, error) {
			z, ok := b.Or("tz", zone{time.UTC}).(zone)
			if !ok {
				return nil, jinja.TypeErr("tzinfo argument must be None or of a tzinfo subclass, not type '%s'", jinja.TypeName(b.Get("tz")))
			}
			return &dateTime{d.t.In(z.loc), false, true}, nil
		}), true
	case "replace":
		return function(n, d.replace), true
	}
	return nil, false
}

func (d *dateTime) replace(a A) (V, error) {
	f := map[string]int{"year": d.t.Year(), "month": int(d.t.Month()), "day": d.t.Day(), "hour": d.t.Hour(),
		"minute": d.t.Minute(), "second": d.t.Second(), "microsecond": d.t.Nanosecond() / 1000}
	loc, aware := d.t.Location(), d.aware
	names := []string{"year", "month", "day", "hour", "minute", "second", "microsecond"}
	kw := a.Kw
	for i, v := range a.Pos {
		if i < len(names) {
			kw = append(kw, jinja.KwArg{Name: names[i], Val: v})
		}
	}
	for _, k := range kw {
		if k.Name == "tzinfo" {
			z, ok := k.Val.(zone)
			if aware = ok; ok {
				loc = z.loc
			} else {
				loc = time.UTC
			}
			continue
		}
		i, ok := k.Val.(int64)
		if _, known := f[k.Name]; !known || !ok {
			return nil, jinja.TypeErr("replace() got an unexpected keyword argument '%s'", k.Name)
		}
		f[k.Name] = int(i)
	}
	t, err := civil(f["year"], f["month"], f["day"], f["hour"], f["minute"], f["second"], f["microsecond"], loc)
	return &dateTime{t, d.date, aware}, err
}

// civil is a time whose fields are all in range; Go would carry them over in silence.
func civil(year, month, day, hour, minute, second, micro int, loc *time.Location) (time.Time, error) {
	t := time.Date(year, time.Month(month), day, hour, minute, second, micro*1000, loc)
	switch {
	case year < 1 || year > 9999:
		return t, jinja.ValueErr("year %d is out of range", year)
	case month < 1 || month > 12:
		return t, jinja.ValueErr("month must be in 1..12")
	case day < 1 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day:
		return t, jinja.ValueErr("day is out of range for month")
	case hour < 0 || hour > 23:
		return t, jinja.ValueErr("hour must be in 0..23")
	case minute < 0 || minute > 59:
		return t, jinja.ValueErr("minute must be in 0..59")
	case second < 0 || second > 59:
		return t, jinja.ValueErr("second must be in 0..59")
	case micro < 0 || micro > 999999:
		return t, jinja.ValueErr("microsecond must be in 0..999999")
	}
	return t, nil
}
