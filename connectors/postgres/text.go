package postgres

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The days of 0001-01-01 and 9999-12-31: within them a date needs no BC and no fifth
// digit.
const (
	minDay    = -719162
	maxDay    = 2932896
	dayMicros = 86400 * 1000000
)

// appendDate spells days since 1970-01-01 as PostgreSQL reads them.
func appendDate(b []byte, days int64) []byte {
	switch days {
	case math.MaxInt32:
		return append(b, "infinity"...)
	case -math.MaxInt32:
		return append(b, "-infinity"...)
	}
	y, m, d := civil(days)
	bc := y <= 0
	if bc {
		y = 1 - y
	}
	b = appendPadded(b, y, 4)
	b = appendPadded(append(b, '-'), m, 2)
	b = appendPadded(append(b, '-'), d, 2)
	if bc {
		b = append(b, " BC"...)
	}
	return b
}

// appendTimestamp spells microseconds since 1970-01-01; the caller adds a zone.
func appendTimestamp(b []byte, micros int64) []byte {
	switch micros {
	case math.MaxInt64:
		return append(b, "infinity"...)
	case -math.MaxInt64:
		return append(b, "-infinity"...)
	}
	days, rest := micros/dayMicros, micros%dayMicros
	if rest < 0 {
		days, rest = days-1, rest+dayMicros
	}
	b = appendDate(b, days)
	if n := len(b); n > 3 && string(b[n-3:]) == " BC" {
		b = appendTime(append(b[:n-3], ' '), rest)
		return append(b, " BC"...)
	}
	return appendTime(append(b, ' '), rest)
}

// appendTime spells microseconds of a day, 24:00:00 included.
func appendTime(b []byte, micros int64) []byte {
	s := micros / 1000000
	b = appendPadded(b, s/3600, 2)
	b = appendPadded(append(b, ':'), s/60%60, 2)
	b = appendPadded(append(b, ':'), s%60, 2)
	return appendFraction(b, micros%1000000)
}

// appendFraction spells microseconds without trailing zeros, nothing for 0.
func appendFraction(b []byte, micros int64) []byte {
	if micros == 0 {
		return b
	}
	b = appendPadded(append(b, '.'), micros, 6)
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

func appendPadded(b []byte, n int64, width int) []byte {
	s := strconv.AppendInt(nil, n, 10)
	for i := len(s); i < width; i++ {
		b = append(b, '0')
	}
	return append(b, s...)
}

// civil is the proleptic Gregorian date of days since 1970-01-01; year 0 is 1 BC.
func civil(days int64) (year, month, day int64) {
	days += 719468 // from 0000-03-01, so that the leap day ends a year
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// decimalText spells an integer count of 10^-scale.
func decimalText(n *big.Int, scale int) string {
	s := new(big.Int).Abs(n).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale-len(s)+1) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.Sign() < 0 {
		s = "-" + s
	}
	return s
}
