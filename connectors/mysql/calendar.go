package mysql

// The proleptic Gregorian calendar in days since 1970-01-01, and the engine's spelling
// of dates and times. time.Time is not used: it would bring a zone to naive values.

const (
	secMicros int64 = 1e6
	dayMicros       = 86400 * secMicros
)

// The days that a DATE can hold: 0000-01-01 to 9999-12-31. Literals and targets keep to
// years the engines agree on, 0001 to 9999.
var (
	minDay = daysOf(1, 1, 1)
	maxDay = daysOf(9999, 12, 31)
)

// daysOf counts from 1970-01-01. The year starts in March here, so that the leap day
// comes last.
func daysOf(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return 365*y + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + (153*(m-3)+2)/5 + d - 1 - 719468
}

// dateOf is the inverse of daysOf.
func dateOf(days int64) (y, m, d int64) {
	days += 719468
	era := floorDiv(days, 146097)
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	y = yoe + era*400
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func daysIn(y, m int64) int64 {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// digits appends n with at least width digits. n is not negative.
func digits(b []byte, n int64, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for n > 0 || i > len(buf)-width {
		i--
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return append(b, buf[i:]...)
}

func appendDate(b []byte, days int64) []byte {
	y, m, d := dateOf(days)
	b = append(digits(b, y, 4), '-')
	b = append(digits(b, m, 2), '-')
	return digits(b, d, 2)
}

// appendTime writes µs since midnight as hh:mm:ss.ffffff.
func appendTime(b []byte, us int64) []byte {
	s := us / secMicros
	b = append(digits(b, s/3600, 2), ':')
	b = append(digits(b, s/60%60, 2), ':')
	b = append(digits(b, s%60, 2), '.')
	return digits(b, us%secMicros, 6)
}

func appendTimestamp(b []byte, us int64) []byte {
	day := floorDiv(us, dayMicros)
	b = append(appendDate(b, day), ' ')
	return appendTime(b, us-day*dayMicros)
}

// number reads s[from:to] as digits.
func number(s []byte, from, to int) (n int64, ok bool) {
	if to > len(s) || from >= to {
		return 0, false
	}
	for _, c := range s[from:to] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// dateKind says what a date of the engine is.
type dateKind uint8

const (
	dateReal    dateKind = iota
	dateZero             // month or day is zero
	dateInvalid          // no such day, or not a date at all
)

// parseDate reads yyyy-mm-dd.
func parseDate(s []byte) (days int64, kind dateKind) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, dateInvalid
	}
	y, ok1 := number(s, 0, 4)
	m, ok2 := number(s, 5, 7)
	d, ok3 := number(s, 8, 10)
	switch {
	case !ok1 || !ok2 || !ok3 || m > 12 || d > 31:
		return 0, dateInvalid
	case m == 0 || d == 0:
		return 0, dateZero
	case d > daysIn(y, m):
		return 0, dateInvalid // ALLOW_INVALID_DATES stores '2024-02-31'
	}
	return daysOf(y, m, d), dateReal
}

// parseTimestamp reads yyyy-mm-dd[ hh:mm:ss[.ffffff]].
func parseTimestamp(s []byte) (us int64, kind dateKind) {
	days, kind := parseDate(s)
	if kind != dateReal {
		return 0, kind
	}
	if len(s) == 10 {
		return days * dayMicros, dateReal
	}
	t, ok := parseClock(s[11:])
	if !ok || s[10] != ' ' || t >= dayMicros {
		return 0, dateInvalid
	}
	return days*dayMicros + t, dateReal
}

// parseClock reads [-]h…h:mm:ss[.ffffff] as µs.
func parseClock(s []byte) (us int64, ok bool) {
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	i := 0
	for i < len(s) && s[i] != ':' {
		i++
	}
	if len(s) < i+6 || s[i] != ':' || s[i+3] != ':' {
		return 0, false
	}
	h, ok1 := number(s, 0, i)
	m, ok2 := number(s, i+1, i+3)
	sec, ok3 := number(s, i+4, i+6)
	if !ok1 || !ok2 || !ok3 || m > 59 || sec > 59 {
		return 0, false
	}
	us = (h*3600 + m*60 + sec) * secMicros
	if f := s[i+6:]; len(f) > 0 {
		n, okf := number(f, 1, len(f))
		if !okf || f[0] != '.' || len(f) > 7 {
			return 0, false
		}
		for k := len(f); k < 7; k++ {
			n *= 10
		}
		us += n
	}
	if neg {
		us = -us
	}
	return us, true
}
