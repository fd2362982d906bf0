package dbt

import (
	"strings"
	"time"
	_ "time/tzdata" // pytz must know the zones on machines that have no zone files

	"github.com/dvt-dev/dvt/jinja"
)

// Modules is the "modules" variable: the parts of datetime, re, pytz and itertools
// that packages use. now is the run's clock.
func Modules(now time.Time) V {
	return NewObject("datetime", datetimeModule(now), "re", reModule(), "pytz", pytzModule(now), "itertools", itertoolsModule())
}

// dtClass is datetime.datetime or datetime.date.
type dtClass struct {
	date bool
	now  time.Time
}

func (c dtClass) PyType() string { return "type" }
func (c dtClass) Call(_ *ST, a A) (V, error) {
	b, err := a.Bind("datetime", "year", "month", "day", "hour?", "minute?", "second?", "microsecond?", "tzinfo?")
	if err != nil {
		return nil, err
	}
	var n [7]int
	for i, k := range []string{"year", "month", "day", "hour", "minute", "second", "microsecond"} {
		v, ok := b.Or(k, int64(0)).(int64)
		if !ok {
			return nil, jinja.TypeErr("'%s' object cannot be interpreted as an integer", jinja.TypeName(b.Get(k)))
		}
		n[i] = int(v)
	}
	z, aware := b.Get("tzinfo").(zone)
	if !aware {
		z.loc = time.UTC
	}
	t, err := civil(n[0], n[1], n[2], n[3], n[4], n[5], n[6], z.loc)
	if err != nil {
		return nil, err
	}
	return &dateTime{t, c.date, aware}, nil
}

func (c dtClass) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "now", "utcnow", "today":
		return bound(n, params("tz?"), func(b jinja.Bound) (V, error) {
			t := c.now.UTC()
			if n == "utcnow" {
				return Datetime(t), nil
			}
			if c.date {
				return Date(t), nil
			}
			if z, ok := b.Get("tz").(zone); ok {
				return Aware(t.In(z.loc)), nil
			}
			return Datetime(t), nil
		}), true
	case "strptime":
		return bound(n, params("string", "format"), func(b jinja.Bound) (V, error) {
			return strptime(jinja.Str(b.Get("string")), jinja.Str(b.Get("format")))
		}), true
	case "fromisoformat":
		return bound(n, params("string"), func(b jinja.Bound) (V, error) { return fromISO(jinja.Str(b.Get("string")), c.date) }), true
	case "fromtimestamp", "utcfromtimestamp":
		return bound(n, params("timestamp", "tz?"), func(b jinja.Bound) (V, error) {
			var t time.Time
			switch x := b.Get("timestamp").(type) {
			case int64:
				t = time.Unix(x, 0).UTC()
			case float64:
				t = time.UnixMicro(int64(x * 1e6)).UTC()
			default:
				return nil, jinja.TypeErr("'%s' object cannot be interpreted as an integer", jinja.TypeName(x))
			}
			if z, ok := b.Get("tz").(zone); ok {
				return Aware(t.In(z.loc)), nil
			}
			return Datetime(t), nil
		}), true
	case "combine":
		return bound(n, params("date", "time"), func(b jinja.Bound) (V, error) {
			d, ok := b.Get("date").(*dateTime)
			clock, ok2 := b.Get("time").(*timeDelta)
			if !ok || !ok2 {
				return nil, jinja.TypeErr("combine() needs a date and a time")
			}
			return (&dateTime{t: midnight(d.t)}).add(clock.d), nil
		}), true
	}
	return nil, false
}

func fromISO(s string, date bool) (V, error) {
	norm := strings.Replace(s, " ", "T", 1)
	for _, l := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(l, norm); err == nil {
			return &dateTime{t: t, date: date}, nil
		}
	}
	if t, err := time.Parse("2006-01-02T15:04:05Z07:00", norm); err == nil && !date {
		return Aware(t), nil
	}
	return nil, jinja.ValueErr("Invalid isoformat string: %s", jinja.StrRepr(s))
}

var deltaUnits = map[string]time.Duration{"days": day, "seconds": time.Second, "microseconds": time.Microsecond,
	"milliseconds": time.Millisecond, "minutes": time.Minute, "hours": time.Hour, "weeks": 7 * day}

func datetimeModule(now time.Time) V {
	return NewObject("datetime", dtClass{now: now}, "date", dtClass{date: true, now: now},
		"timezone", NewObject("utc", zone{time.UTC}),
		"time", bound("time", params("hour?", "minute?", "second?", "microsecond?"), func(b jinja.Bound) (V, error) {
			var d time.Duration
			for k, u := range map[string]time.Duration{"hour": time.Hour, "minute": time.Minute, "second": time.Second, "microsecond": time.Microsecond} {
				n, _ := b.Get(k).(int64)
				d += time.Duration(n) * u
			}
			return &timeDelta{d}, nil
		}),
		"timedelta", bound("timedelta", params("days?", "seconds?", "microseconds?", "milliseconds?", "minutes?", "hours?", "weeks?"), func(b jinja.Bound) (V, error) {
			var d time.Duration
			for k, u := range deltaUnits {
				switch x := b.Get(k).(type) {
				case nil:
				case int64:
					d += time.Duration(x) * u
				case float64:
					d += time.Duration(x * float64(u))
				default:
					return nil, jinja.TypeErr("unsupported type for timedelta %s component: %s", k, jinja.TypeName(x))
				}
			}
			return &timeDelta{d}, nil
		}))
}

// zone is a time zone, of pytz or of datetime.
type zone struct{ loc *time.Location }

func (z zone) PyType() string { return "tzinfo" }
func (z zone) PyStr() string  { return z.loc.String() }
func (z zone) PyRepr() string {
	if z.loc == time.UTC {
		return "<UTC>"
	}
	return "<DstTzInfo '" + z.loc.String() + "'>"
}
func (z zone) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "zone":
		return z.loc.String(), true
	case "localize":
		return bound(n, params("dt", "is_dst?"), func(b jinja.Bound) (V, error) {
			d, ok := b.Get("dt").(*dateTime)
			if !ok || d.aware {
				return nil, jinja.ValueErr("Not naive datetime (tzinfo is already set)")
			}
			t := d.t
			return Aware(time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), z.loc)), nil
		}), true
	case "normalize":
		return bound(n, params("dt"), func(b jinja.Bound) (V, error) {
			d, ok := b.Get("dt").(*dateTime)
			if !ok || !d.aware {
				return nil, jinja.ValueErr("Naive time - no tzinfo set")
			}
			return Aware(d.t.In(z.loc)), nil
		}), true
	}
	return nil, false
}

func pytzModule(time.Time) V {
	utc := zone{time.UTC}
	return NewObject("utc", utc, "UTC", utc,
		"timezone", bound("timezone", params("zone"), func(b jinja.Bound) (V, error) {
			name := jinja.Str(b.Get("zone"))
			if strings.EqualFold(name, "utc") {
				return utc, nil
			}
			loc, err := time.LoadLocation(name)
			if err != nil || name == "" || name == "Local" {
				return nil, &jinja.Error{Kind: "UnknownTimeZoneError", Msg: jinja.StrRepr(name)}
			}
			return zone{loc}, nil
		}))
}

// itertoolsModule has the two functions that make sense without laziness.
func itertoolsModule() V {
	return NewObject(
		"chain", function("chain", func(a A) (V, error) {
			var all []V
			for _, v := range a.Pos {
				it, err := jinja.Iter(v)
				if err != nil {
					return nil, err
				}
				all = append(all, it...)
			}
			return jinja.NewGen("chain", all), nil
		}),
		"product", function("product", func(a A) (V, error) {
			rows := [][]V{nil}
			for _, v := range a.Pos {
				it, err := jinja.Iter(v)
				if err != nil {
					return nil, err
				}
				if len(rows)*len(it) > 100000 {
					return nil, &jinja.Error{Kind: "LimitError", Msg: "product() is too large"}
				}
				var next [][]V
				for _, r := range rows {
					for _, x := range it {
						next = append(next, append(r[:len(r):len(r)], x))
					}
				}
				rows = next
			}
			out := make([]V, len(rows))
			for i, r := range rows {
				out[i] = jinja.NewTuple(r...)
			}
			return jinja.NewGen("product", out), nil
		}))
}
