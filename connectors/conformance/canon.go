package conformance

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Canon brings an engine's own spelling of a value of type t into one form, so that
// texts of two engines can be compared: t and 1 are true, 1.50 is 1.5, \x41 is 41. It
// changes no value and refuses what it does not understand.
func Canon(t connectors.Type, s string) (string, error) {
	switch t.Kind {
	case connectors.Boolean:
		switch strings.ToLower(s) {
		case "t", "true", "1":
			return "true", nil
		case "f", "false", "0":
			return "false", nil
		}
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n.String(), nil
		}
	case connectors.Decimal:
		return canonDecimal(s)
	case connectors.Float:
		return canonFloat(s, 32)
	case connectors.Double:
		return canonFloat(s, 64)
	case connectors.Varchar, connectors.JSON, connectors.Bit:
		return s, nil
	case connectors.Blob:
		b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
		return hex.EncodeToString(b), err
	case connectors.Date:
		return canonTime(s, datePattern)
	case connectors.Timestamp, connectors.TimestampNS:
		return canonTime(s, stampPattern)
	case connectors.TimestampTZ:
		return canonInstant(s)
	case connectors.Time:
		return canonTime(s, clockPattern)
	case connectors.TimeTZ:
		return canonTimeTZ(s)
	case connectors.Interval:
		return canonInterval(s)
	case connectors.UUID:
		if low := strings.ToLower(s); uuidPattern.MatchString(low) {
			return low, nil
		}
	case connectors.List, connectors.Struct, connectors.Map:
		return canonNested(t, s)
	}
	return "", fmt.Errorf("%q is no text of a %s", connectors.Shorten(s), t)
}

var (
	uuidPattern  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	datePattern  = regexp.MustCompile(`^-?\d{4,}-\d\d-\d\d( BC)?$`)
	stampPattern = regexp.MustCompile(`^-?\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( BC)?$`)
	clockPattern = regexp.MustCompile(`^-?\d{2,}:\d\d:\d\d(\.\d+)?$`)
	offset       = regexp.MustCompile(`([+-])(\d\d)(?::?(\d\d))?(?::(\d\d))?$`)
	fraction     = regexp.MustCompile(`\.(\d*?)0*( BC)?$`)
)

func canonDecimal(s string) (string, error) {
	switch low := strings.ToLower(s); low {
	case "nan", "infinity", "-infinity":
		return low, nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || strings.ContainsAny(s, "/_xX") {
		return "", fmt.Errorf("%q is no decimal", s)
	}
	out := r.FloatString(120)
	if back, _ := new(big.Rat).SetString(out); back.Cmp(r) != 0 {
		return "", fmt.Errorf("%q has too many digits", s)
	}
	out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	if out == "-0" || out == "" {
		out = "0"
	}
	return out, nil
}

func canonFloat(s string, bits int) (string, error) {
	low := strings.ToLower(s)
	switch low {
	case "nan", "-nan":
		return "nan", nil
	case "inf", "infinity", "+inf":
		return "inf", nil
	case "-inf", "-infinity":
		return "-inf", nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "", err
	}
	if bits == 32 {
		return strconv.FormatFloat(float64(float32(f)), 'g', -1, 32), nil
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}

// canonTime brings ISO dates, times and both into one form: a blank between them, no
// trailing zeros in the fraction, BC at the end.
func canonTime(s string, pattern *regexp.Regexp) (string, error) {
	if s == "infinity" || s == "-infinity" {
		return s, nil
	}
	out := strings.Replace(s, "T", " ", 1)
	if era := strings.Replace(strings.Replace(out, " (BC)", "", 1), " BC", "", 1); era != out {
		out = era + " BC"
	}
	if m := fraction.FindStringSubmatchIndex(out); m != nil {
		digits := out[m[2]:m[3]]
		if digits != "" {
			digits = "." + digits
		}
		era := ""
		if m[4] >= 0 {
			era = " BC"
		}
		out = out[:m[0]] + digits + era
	}
	if !pattern.MatchString(out) {
		return "", fmt.Errorf("%q is not in ISO form", s)
	}
	return out, nil
}

// canonInstant wants the offset 0, for every session that is asked is in UTC.
func canonInstant(s string) (string, error) {
	if s == "infinity" || s == "-infinity" {
		return s, nil
	}
	era := ""
	for _, bc := range []string{" (BC)", " BC"} {
		if strings.Contains(s, bc) {
			s, era = strings.Replace(s, bc, "", 1), " BC"
		}
	}
	for _, zone := range []string{"+00:00", "+00", "Z"} {
		if rest, ok := strings.CutSuffix(s, zone); ok {
			out, err := canonTime(rest+era, stampPattern)
			return out + "+00", err
		}
	}
	return "", fmt.Errorf("%q does not end in the offset 0", s)
}

func canonTimeTZ(s string) (string, error) {
	m := offset.FindStringSubmatchIndex(s)
	if m == nil {
		return "", fmt.Errorf("%q has no offset", s)
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return "00"
		}
		return s[m[2*i]:m[2*i+1]]
	}
	clock, err := canonTime(s[:m[0]], clockPattern)
	out := clock + part(1) + part(2) + ":" + part(3)
	if part(4) != "00" {
		out += ":" + part(4)
	}
	return out, err
}

var (
	intervalPart  = regexp.MustCompile(`^([+-]?\d+) (year|month|mon|day)s? ?`)
	intervalClock = regexp.MustCompile(`^([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$`)
)

// canonInterval counts months, days and microseconds, each with its own sign.
func canonInterval(s string) (string, error) {
	rest := s
	var months, days, micros int64
	for {
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		rest = rest[len(m[0]):]
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return "", err
		}
		switch m[2] {
		case "year":
			months += 12 * n
		case "day":
			days += n
		default:
			months += n
		}
	}
	if rest != "" {
		m := intervalClock.FindStringSubmatch(rest)
		if m == nil {
			return "", fmt.Errorf("%q is no interval", s)
		}
		for i, unit := range []int64{3600, 60, 1} {
			n, err := strconv.ParseInt(m[i+2], 10, 64)
			if err != nil {
				return "", err
			}
			micros += n * unit * 1e6
		}
		n, _ := strconv.ParseInt((m[5] + "000000")[:6], 10, 64)
		if micros += n; m[1] == "-" {
			micros = -micros
		}
	}
	return fmt.Sprintf("%d months %d days %d us", months, days, micros), nil
}
