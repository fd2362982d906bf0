package clickhouse

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// gridLiteral writes k units of the column's type as a constant of that very type.
func (l *leaf) gridLiteral(c class, k *big.Int) string {
	switch c {
	case classInt:
		if l.t.name == "Int128" && !k.IsInt64() && !k.IsUint64() {
			return "toInt128(" + literal(k.String()) + ")"
		}
		return k.String()
	case classDecimal:
		return decimalLiteral(k, l.t.prec, l.t.scale)
	case classDate:
		return dateLiteral(l.t, k.Int64())
	}
	return timeLiteral(l.t, k.Int64())
}

func decimalLiteral(k *big.Int, prec, scale int) string {
	size := "128"
	switch {
	case prec <= 9:
		size = "32"
	case prec <= 18:
		size = "64"
	}
	return "toDecimal" + size + "(" + literal(decimalText(k, scale)) + ", " + strconv.Itoa(scale) + ")"
}

func decimalText(k *big.Int, scale int) string {
	s := new(big.Int).Abs(k).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale-len(s)+1) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if k.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// dateLiteral: old servers cannot read the text of days after 2105, but compare them.
func dateLiteral(t *chType, k int64) string {
	text := literal(day(time.Unix(k*daySeconds, 0).UTC()))
	switch {
	case t.name == "Date32":
		return "toDate32(" + text + ")"
	case k > lastOldDay:
		return "toDate(" + strconv.FormatInt(k, 10) + ")"
	}
	return "toDate(" + text + ")"
}

// timeLiteral names UTC: without it the text would be read in the server's time zone.
func timeLiteral(t *chType, k int64) string {
	if t.name == "DateTime" {
		if k > lastOldSecond {
			return "toDateTime(" + strconv.FormatInt(k, 10) + ", 'UTC')"
		}
		return "toDateTime(" + literal(clock(time.Unix(k, 0).UTC())) + ", 'UTC')"
	}
	unit := int64(math.Pow10(t.prec))
	sec := floorDiv(k, unit)
	s := clock(time.Unix(sec, 0).UTC())
	if t.prec > 0 {
		f := strconv.FormatInt(k-sec*unit, 10)
		s += "." + strings.Repeat("0", t.prec-len(f)) + f
	}
	return "toDateTime64(" + literal(s) + ", " + strconv.Itoa(t.prec) + ", 'UTC')"
}

// floatLiteral is a number literal: the text that toFloat64 takes is read with an error
// in the last digit by old servers, number literals exactly. `5e-324` is a syntax error
// there, as is any decimal below the smallest normal number; hexadecimal it is a number.
func floatLiteral(f float64) string {
	if math.IsInf(f, 0) {
		return formatFloat(f, 64)
	}
	if f == 0 {
		return "0e0"
	}
	if math.Abs(f) < 0x1p-1022 {
		return strconv.FormatFloat(f, 'x', -1, 64)
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}
