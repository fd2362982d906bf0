package compute

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// CSV is a file of comma-separated values with a header line.
type CSV struct {
	Path      string
	Delimiter string
	Names     []string // of its columns, in their order
}

// Text reads the file with all columns as text; a value that is empty or null is NULL.
// Nothing is detected: a sniffer that looks at the first rows would decide for the rest.
func (c CSV) Text() string {
	types, exprs := make([]string, len(c.Names)), make([]string, len(c.Names))
	for i, n := range c.Names {
		types[i] = fmt.Sprintf("'c%d': 'VARCHAR'", i)
		exprs[i] = fmt.Sprintf("CASE WHEN lower(trim(c%d, E' \\t\\r\\n')) NOT IN ('', 'null') THEN c%d END AS %s", i, i, quote(n))
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM read_csv(" + literal(c.Path) + ", auto_detect = false, header = true, delim = " + literal(c.Delimiter) +
		`, quote = '"', escape = '"', strict_mode = true, columns = {` + strings.Join(types, ", ") + "})"
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// What the values of a column all are; the patterns admit one spelling of each value, so
// that text such as 007, 1.25%, _4 or 1-Mar-15 stays text.
const (
	integerPattern = `0|-?[1-9][0-9]*`
	decimalPattern = `-?(0|[1-9][0-9]*)?(\.[0-9]+)?`
	floatPattern   = `-?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+`
	datePattern    = `[0-9]{4}-[0-9]{2}-[0-9]{2}`
	timePattern    = datePattern + `[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?`
	zonePattern    = timePattern + ` ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)`
)

// factsPerColumn is how many integers CSVFacts gives for each column.
const factsPerColumn = 12

// CSVFacts counts, for each column of a kept text, the values that are of each type.
func CSVFacts(kept string, names []string) string {
	var exprs []string
	for _, n := range names {
		q := "trim(" + quote(n) + ", E' \\t\\r\\n')"
		matches := func(pattern, and string) string {
			return "count(*) FILTER (WHERE regexp_full_match(" + q + ", " + literal(pattern) + ")" + and + ")"
		}
		cast := func(typ string) string { return " AND TRY_CAST(" + q + " AS " + typ + ") IS NOT NULL" }
		digits := "regexp_replace(" + q + ", '[^0-9]', '', 'g')"
		exprs = append(exprs,
			"count("+q+")",
			matches(integerPattern, cast("INTEGER")), matches(integerPattern, cast("BIGINT")), matches(integerPattern, ""),
			matches(decimalPattern, " AND "+digits+" <> ''"),
			matches(decimalPattern, " AND "+digits+" <> ''")+" + "+matches(floatPattern, cast("DOUBLE")),
			"coalesce(max(length("+digits+")), 0)",
			"coalesce(max(length(split_part("+q+", '.', 2))), 0)",
			matches(datePattern, cast("DATE")), matches(timePattern, cast("TIMESTAMP")), matches(zonePattern, cast("TIMESTAMPTZ")),
			"count(*) FILTER (WHERE lower("+q+") IN ('true', 'false'))")
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + kept
}

// CSVTypes reads one row of CSVFacts: the type of each column that holds every value of
// it exactly, text if none does or there are no values.
func CSVTypes(facts []*string) ([]connectors.Type, error) {
	if len(facts)%factsPerColumn != 0 {
		return nil, fmt.Errorf("%d facts about the columns of a file", len(facts))
	}
	types := make([]connectors.Type, len(facts)/factsPerColumn)
	for i := range types {
		var f [factsPerColumn]int64
		for j := range f {
			n, err := strconv.ParseInt(*facts[i*factsPerColumn+j], 10, 64)
			if err != nil {
				return nil, err
			}
			f[j] = n
		}
		types[i] = csvType(f)
	}
	return types, nil
}

// exactDigits is how many decimal digits a DOUBLE gives back as they were.
const exactDigits = 15

func csvType(f [factsPerColumn]int64) connectors.Type {
	all, digits, scale := f[0], f[6], f[7]
	switch all {
	case 0:
		return connectors.T(connectors.Varchar)
	case f[1]:
		return connectors.T(connectors.Integer)
	case f[2]:
		return connectors.T(connectors.BigInt)
	case f[3]:
		if digits <= 38 {
			return connectors.Dec(38, 0)
		}
		return connectors.T(connectors.Varchar)
	case f[8]:
		return connectors.T(connectors.Date)
	case f[9]:
		return connectors.T(connectors.Timestamp)
	case f[10]:
		return connectors.T(connectors.TimestampTZ)
	case f[11]:
		return connectors.T(connectors.Boolean)
	}
	switch {
	case all == f[5] && digits <= exactDigits:
		return connectors.T(connectors.Double)
	case all == f[4] && digits+scale <= 38:
		return connectors.Dec(38, int(scale))
	}
	return connectors.T(connectors.Varchar)
}

// CSVColumns gives the columns of a kept text under new names and with their types.
func CSVColumns(kept string, names, as []string, types []connectors.Type) string {
	exprs := make([]string, len(names))
	for i, n := range names {
		exprs[i] = quote(n)
		if types[i].Kind != connectors.Varchar {
			exprs[i] = "CAST(trim(" + exprs[i] + ", E' \\t\\r\\n') AS " + types[i].String() + ")"
		}
		exprs[i] += " AS " + quote(as[i])
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + kept
}

// CSVMisfit gives one value of a column of a kept text that is no value of a type, or
// that the type would round or cut, and the columns that name its row.
func CSVMisfit(kept, column string, t connectors.Type, named []string) string {
	q := "trim(" + quote(column) + ", E' \\t\\r\\n')"
	wide := ""
	switch t.Kind {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt, connectors.UTinyInt, connectors.USmallInt,
		connectors.UInteger, connectors.UBigInt, connectors.Decimal:
		wide = "DECIMAL(38,12)"
		if t.Kind == connectors.Decimal {
			wide = fmt.Sprintf("DECIMAL(38,%d)", min(38-(t.Precision-t.Scale), t.Scale+10))
		}
	case connectors.Date:
		wide = "TIMESTAMP"
	case connectors.Timestamp:
		wide = "TIMESTAMP_NS"
	}
	cast := "TRY_CAST(" + q + " AS " + t.String() + ")"
	bad := cast + " IS NULL"
	if wide != "" {
		bad += " OR TRY_CAST(" + q + " AS " + wide + ") <> " + cast
	}
	return "SELECT " + quote(column) + " AS value" + textColumns(named) + " FROM " + kept + " WHERE " + quote(column) + " IS NOT NULL AND (" + bad + ") LIMIT 1"
}
