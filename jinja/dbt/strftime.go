package dbt

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/jinja"
)

// strftime formats as C's and Python's function of that name in the C locale.
func strftime(d *dateTime, f string) string {
	t := d.t
	var sb strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 >= len(f) {
			sb.WriteByte(f[i])
			continue
		}
		i++
		pad := true
		if f[i] == '-' && i+1 < len(f) {
			pad = false
			i++
		}
		if n, width, ok := strftimeNumber(t, f[i]); ok {
			if !pad {
				width = 0
			}
			fmt.Fprintf(&sb, "%0*d", width, n)
			continue
		}
		switch f[i] {
		case 'p':
			sb.WriteString(t.Format("PM"))
		case 'B':
			sb.WriteString(t.Month().String())
		case 'b', 'h':
			sb.WriteString(t.Month().String()[:3])
		case 'A':
			sb.WriteString(t.Weekday().String())
		case 'a':
			sb.WriteString(t.Weekday().String()[:3])
		case 'F':
			sb.WriteString(t.Format("2006-01-02"))
		case 'D', 'x':
			sb.WriteString(t.Format("01/02/06"))
		case 'T', 'X':
			sb.WriteString(t.Format("15:04:05"))
		case 'R':
			sb.WriteString(t.Format("15:04"))
		case 'c':
			sb.WriteString(t.Format("Mon Jan _2 15:04:05 2006"))
		case 's':
			sb.WriteString(strconv.FormatInt(t.Unix(), 10))
		case 'z':
			if d.aware {
				sb.WriteString(t.Format("-0700"))
			}
		case 'Z':
			if d.aware {
				sb.WriteString(t.Format("MST"))
			}
		case '%':
			sb.WriteByte('%')
		default:
			sb.WriteByte('%')
			sb.WriteByte(f[i])
		}
	}
	return sb.String()
}

// strftimeNumber is the value and width of the numeric directives.
func strftimeNumber(t time.Time, c byte) (n, width int, ok bool) {
	switch c {
	case 'Y':
		return t.Year(), 4, true
	case 'y':
		return t.Year() % 100, 2, true
	case 'm':
		return int(t.Month()), 2, true
	case 'd':
		return t.Day(), 2, true
	case 'H':
		return t.Hour(), 2, true
	case 'I':
		return (t.Hour()+11)%12 + 1, 2, true
	case 'M':
		return t.Minute(), 2, true
	case 'S':
		return t.Second(), 2, true
	case 'f':
		return t.Nanosecond() / 1000, 6, true
	case 'j':
		return t.YearDay(), 3, true
	case 'w':
		return int(t.Weekday()), 1, true
	case 'u':
		return int(t.Weekday()+6)%7 + 1, 1, true
	case 'U':
		return (t.YearDay() + 6 - int(t.Weekday())) / 7, 2, true
	case 'W':
		return (t.YearDay() + 6 - int(t.Weekday()+6)%7) / 7, 2, true
	case 'V':
		_, w := t.ISOWeek()
		return w, 2, true
	case 'G':
		y, _ := t.ISOWeek()
		return y, 4, true
	}
	return 0, 0, false
}

// strptimeLayouts maps directives to Go's layout.
var strptimeLayouts = map[byte]string{'Y': "2006", 'm': "1", 'd': "2", 'H': "15", 'M': "4", 'S': "5", 'y': "06", 'B': "January",
	'b': "Jan", 'j': "002", 'p': "PM", 'I': "3", 'z': "-0700", 'A': "Monday", 'a': "Mon", '%': "%", 'F': "2006-1-2", 'T': "15:4:5"}

// strptime parses s by format f.
func strptime(s, f string) (*dateTime, error) {
	bad := jinja.ValueErr("time data %s does not match format %s", jinja.StrRepr(s), jinja.StrRepr(f))
	layout, aware := "", false
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 == len(f) {
			layout += string(f[i])
			continue
		}
		i++
		if f[i] == 'f' {
			// Go reads a fraction after the seconds by itself.
			if !strings.HasSuffix(layout, "5.") {
				return nil, bad
			}
			layout = strings.TrimSuffix(layout, ".")
			continue
		}
		l, ok := strptimeLayouts[f[i]]
		if !ok {
			return nil, jinja.ValueErr("'%c' is a bad directive in format %s", f[i], jinja.StrRepr(f))
		}
		layout += l
		aware = aware || f[i] == 'z'
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return nil, bad
	}
	if t.Year() == 0 {
		t = t.AddDate(1900, 0, 0) // Python's default year
	}
	return &dateTime{t: t, aware: aware}, nil
}
