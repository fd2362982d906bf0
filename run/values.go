package run

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// templateValue is a value of a result as templates see it: numbers, booleans, dates and
// times as Python's, everything else, and what Python could not hold, as text.
func templateValue(kind connectors.Kind, text string) dbt.V {
	var v dbt.V
	ok := false
	switch kind {
	case connectors.Boolean:
		v, ok = truths[text]
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.UTinyInt, connectors.USmallInt, connectors.UInteger:
		n, err := strconv.ParseInt(text, 10, 64)
		v, ok = n, err == nil
	case connectors.UBigInt, connectors.HugeInt:
		v, ok = integer(text)
	case connectors.Decimal:
		v, ok = jinja.NewDecimal(text)
	case connectors.Float, connectors.Double:
		f, err := strconv.ParseFloat(text, 64)
		v, ok = f, err == nil
	case connectors.Date:
		t, err := time.Parse(time.DateOnly, text)
		v, ok = dbt.Date(t), err == nil
	case connectors.Timestamp:
		t, fits := pointInTime("2006-01-02 15:04:05", text)
		v, ok = dbt.Datetime(t), fits
	case connectors.TimestampTZ:
		for _, layout := range []string{"2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00"} {
			if t, fits := pointInTime(layout, text); fits {
				return dbt.Aware(t)
			}
		}
		t, fits := pointInTime("2006-01-02 15:04:05", text) // engines that print an instant without its zone
		v, ok = dbt.Datetime(t), fits
	}
	if ok {
		return v
	}
	return text
}

// truths are the spellings of the engines.
var truths = map[string]dbt.V{"true": true, "t": true, "1": true, "false": false, "f": false, "0": false}

func integer(text string) (dbt.V, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if ok && n.IsInt64() {
		return n.Int64(), true
	}
	return n, ok
}

// pointInTime reads a time that Python can hold: it knows microseconds.
func pointInTime(layout, text string) (time.Time, bool) {
	t, err := time.Parse(layout, strings.Replace(text, "T", " ", 1))
	return t, err == nil && t.Nanosecond()%1000 == 0
}
