package chunker

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// String is the range for people: [1, 500001), [2024-01-01, 2024-06-30], is NULL.
func (r Range) String() string {
	switch {
	case r.Nulls:
		return "is NULL"
	case r.Whole:
		return "is not NULL"
	case r.Closed:
		return "[" + text(r.Lower) + ", " + text(r.Upper) + "]"
	}
	return "[" + text(r.Lower) + ", " + text(r.Upper) + ")"
}

func text(v connectors.Value) string {
	switch v.Type.Kind {
	case connectors.Float, connectors.Double:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case connectors.Decimal:
		return decimal(v.Int, v.Type.Scale)
	case connectors.Date:
		return time.Unix(v.Int.Int64()*86400, 0).UTC().Format("2006-01-02")
	case connectors.Time:
		return time.UnixMicro(v.Int.Int64()).UTC().Format("15:04:05.999999")
	case connectors.Timestamp:
		return time.UnixMicro(v.Int.Int64()).UTC().Format("2006-01-02 15:04:05.999999")
	case connectors.TimestampNS:
		return time.Unix(0, v.Int.Int64()).UTC().Format("2006-01-02 15:04:05.999999999")
	case connectors.TimestampTZ:
		return time.UnixMicro(v.Int.Int64()).UTC().Format("2006-01-02 15:04:05.999999+00")
	}
	return v.Int.String()
}

// decimal puts the point into an unscaled number.
func decimal(i *big.Int, scale int) string {
	if scale == 0 {
		return i.String()
	}
	digits := new(big.Int).Abs(i).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	sign := ""
	if i.Sign() < 0 {
		sign = "-"
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
