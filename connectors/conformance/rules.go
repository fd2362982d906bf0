package conformance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Rule is one documented difference between what a source holds and what a target will
// hold. The first rule that fits a value decides; a value that none fits must arrive
// exactly.
type Rule struct {
	From, To string              // engines, "" = any
	Except   string              // a target
	Kinds    []connectors.Kind   // of the column in the compute engine, nil = any
	Native   string              // start of the source's own type, "" = any
	Into     string              // part of the target's own type, "" = any
	When     func(v string) bool // of values, nil = all
	Null     bool                // the rule is about NULL, and only that
	// Note is what a user reads.
	Note string
	// As is the type in whose form the target's text is read; Invalid: the column's own.
	As      connectors.Kind
	Becomes func(v string) string // the text expected there; nil: the same
	Or      string                // another text that will do
	// Fails is part of the reason of the error that the value must give, at the target
	// and before it is touched. "" = it is no error.
	Fails string
	// Type says that the whole type is refused, with a *TypeError.
	Type bool
}

func (r *Rule) fits(from string, c *Column, kind connectors.Kind, to, into string, v *string) bool {
	to = family(to)
	if r.From != "" && r.From != from || r.To != "" && r.To != to || r.Except == to || !strings.HasPrefix(c.Native, r.Native) || !strings.Contains(into, r.Into) {
		return false
	}
	if r.Kinds != nil && !slices.Contains(r.Kinds, kind) {
		return false
	}
	if v == nil || r.Null || r.Type {
		return v == nil && (r.Null || r.Type)
	}
	return r.When == nil || r.When(*v)
}

func kinds(k ...connectors.Kind) []connectors.Kind { return k }

// ruleFor is the rule of a value, nil if it must arrive exactly.
func ruleFor(from string, c *Column, to, into string, v *string) *Rule {
	kind := c.Type().Kind
	for i := range Rules {
		if Rules[i].fits(from, c, kind, to, into, v) {
			return &Rules[i]
		}
	}
	return nil
}

func (r *Rule) place() int {
	return slices.IndexFunc(Rules, func(x Rule) bool {
		return x.Note == r.Note && x.To == r.To && x.Into == r.Into && slices.Equal(x.Kinds, r.Kinds)
	})
}

// typeRule is the rule by which a target refuses a type, nil if it must take it.
func typeRule(from string, c *Column, to string) *Rule {
	for i := range Rules {
		r := &Rules[i]
		if r.Type && r.fits(from, c, c.Type().Kind, to, "", nil) {
			return r
		}
	}
	return nil
}

// Rules are all documented conversions. docs/types.md prints those that were met.
var Rules = []Rule{
	{
		To: "postgres", Kinds: kinds(connectors.Varchar, connectors.JSON, connectors.List), When: withNUL, Fails: "NUL",
		Note: "PostgreSQL's text holds no NUL; `nul_bytes: strip` on the connection takes it out",
	},
	{
		To: "postgres", Kinds: kinds(connectors.TimestampNS), When: nanoseconds, Fails: "microseconds",
		Note: "PostgreSQL keeps microseconds: cast to TIMESTAMP in the model",
	},
	{
		To: "postgres", Kinds: kinds(connectors.Map), Into: "jsonb", When: unordered, Becomes: sortKeys,
		Note: "a map is a jsonb object, which keeps its keys in an order of its own",
	},
	{
		To: "postgres", Kinds: kinds(connectors.Date), When: outsideWithBC(5874897), Fails: "4713 BC to 5874897",
		Note: "PostgreSQL's dates go from 4713 BC to 5874897",
	},
	{
		To: "mysql", Kinds: kinds(connectors.TimestampNS), When: nanoseconds, Fails: "microseconds",
		Note: "MySQL and MariaDB keep microseconds: cast to TIMESTAMP in the model",
	},
	{
		To: "mysql", Kinds: floatKinds, When: is("nan", "inf", "-inf"), Fails: "NaN and infinity",
		Note: "MySQL and MariaDB have no NaN and no infinity",
	},
	{
		To: "mysql", Kinds: kinds(connectors.TimestampNS), When: is("infinity", "-infinity"), Fails: "the engine",
		Note: "MySQL and MariaDB have no infinity",
	},
	{
		To: "mysql", Kinds: timeKinds, When: outside(0, 9999), Fails: "years 0000 to 9999",
		Note: "dates of MySQL and MariaDB go to the year 9999; they have no infinity and no years before Christ",
	},
	{
		To: "mysql", Kinds: kinds(connectors.TimestampTZ), Into: "datetime", As: connectors.Timestamp, Becomes: without("+00"),
		Note: "an instant is stored as datetime(6) with its digits in UTC",
	},
	{
		To: "mysql", Kinds: kinds(connectors.JSON), When: deeperThan(31), Fails: "nested deeper",
		Note: "MariaDB's JSON is nested 31 levels deep at most (MySQL's 100); `column_types` can make the column a longtext",
	},
	{
		To: "mysql", Kinds: floatKinds, When: is("-0"), Becomes: always("0"),
		Note: "MySQL and MariaDB show -0 as 0, which equals it",
	},
	{
		To: "sqlite", Kinds: floatKinds, When: is("nan"), Fails: "NaN",
		Note: "SQLite has no NaN and would store NULL",
	},
	{
		To: "sqlite", Kinds: floatKinds, When: is("-0"), Becomes: always("0"),
		Note: "SQLite stores -0 as 0, which equals it",
	},
	{
		To: "sqlite", Kinds: kinds(connectors.TimestampNS), When: is("infinity", "-infinity"), Fails: "no infinity",
		Note: "SQLite has no infinity",
	},
	{
		To: "sqlite", Kinds: timeKinds, When: outside(0, 9999), Fails: "to 9999",
		Note: "dates in SQLite are ISO texts of the years 0000 to 9999, without infinity",
	},
	{
		To: "duckdb", Kinds: floatKinds, When: is("-0"), Or: "0",
		Note: "DuckDB's compression may make -0 the 0 beside it, which equals it",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.Date), Into: "Date", When: outside(1970, 2105), Fails: "Date holds",
		Note: "Date holds the years 1970 to 2105 (Date32, from 21.9: 1900 to 2299); `column_types` can make the column a String",
	},
	{
		To: "clickhouse", Kinds: timeKinds, Into: "DateTime(", When: either(outside(1970, 2105), fractional), Fails: "DateTime('UTC')",
		Note: "DateTime holds the years 1970 to 2105 in whole seconds (DateTime64, from 20.1: 1900 to 2299 in microseconds); `column_types` can make the column a String or Int64",
	},
	{
		To: "clickhouse", Kinds: nestedKinds, Null: true, Fails: "NULL",
		Note: "ClickHouse has no NULL array, map or tuple: coalesce it in the model",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.List), When: hasNullList, Fails: "NULL",
		Note: "ClickHouse has no NULL array, map or tuple: coalesce it in the model",
	},
	{
		To: "clickhouse", Kinds: nestedKinds, Type: true, Fails: "array of tuples or a map",
		Note: "servers before 19 have no column that is an array of tuples or a map: `column_types` can make it a String",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.HugeInt), Into: "Decimal", When: longerThan(38), Fails: "more digits",
		Note: "Decimal(38, 0) holds 38 digits (Int128, from 21.6: all)",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.Date), Into: "Date", When: is("1970-01-01"), Or: "0000-00-00",
		Note: "servers before 19 show day 0, 1970-01-01, as 0000-00-00",
	},
	{
		To: "clickhouse", Kinds: stampKinds, Into: "DateTime(", When: is("1970-01-01 00:00:00", "1970-01-01 00:00:00+00"),
		As: connectors.TimestampTZ, Becomes: always("1970-01-01 00:00:00+00"), Or: "0000-00-00 00:00:00+00",
		Note: "servers before 19 show second 0, 1970-01-01 00:00:00, as 0000-00-00 00:00:00",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.TimestampNS), Into: "DateTime64(9", When: outsideNS, Fails: "DateTime64(9",
		Note: "DateTime64(9) holds 1900 to 2262 in nanoseconds, without infinity",
	},
	{
		To: "clickhouse", Kinds: kinds(connectors.Timestamp, connectors.TimestampNS), Into: "DateTime", As: connectors.TimestampTZ, Becomes: with("+00"),
		Note: "a naive time stamp is stored with the same digits in a UTC column",
	},
	{
		To: "file", Kinds: kinds(connectors.HugeInt), When: longerThan(38), Fails: "does not fit",
		Note: "Parquet's decimals hold 38 digits",
	},
	{
		From: "mysql", Native: "point",
		Note: "a geometry is WKB, without its SRID",
	},
	{
		To: "mysql", Kinds: spelledKinds, Into: "text",
		Note: "stored as text that a cast in a model reads back",
	},
	{
		To: "mysql", Kinds: spelledKinds, Into: "varchar",
		Note: "stored as text that a cast in a model reads back",
	},
	{
		To: "clickhouse", Kinds: append(kinds(connectors.Time), spelledKinds...), Into: "String",
		Note: "stored as text that a cast in a model reads back",
	},
	{
		To: "sqlite", Kinds: spelledKinds, Into: "TEXT",
		Note: "stored as text that a cast in a model reads back",
	},
	{
		To: "file", Kinds: spelledKinds, Into: "VARCHAR",
		Note: "stored as text that a cast in a model reads back",
	},
	{
		To: "mysql", Kinds: nestedKinds, When: hasNaN, Fails: "NaN and infinity",
		Note: "JSON has no NaN and no infinity",
	},
	{
		To: "sqlite", Kinds: nestedKinds, When: hasNaN, Fails: "NaN",
		Note: "JSON has no NaN and no infinity",
	},
	{
		To: "mysql", Kinds: nestedKinds,
		Note: "stored as JSON; what JSON has no form of (dates, UUIDs) is a string in it",
	},
	{
		To: "sqlite", Kinds: nestedKinds,
		Note: "stored as JSON; what JSON has no form of (dates, UUIDs) is a string in it",
	},
	{
		To: "postgres", Kinds: nestedKinds, Into: "jsonb",
		Note: "stored as jsonb; what JSON has no form of (dates, UUIDs) is a string in it",
	},
}

var (
	spelledKinds = kinds(connectors.TimeTZ, connectors.Interval, connectors.Bit)
	nestedKinds  = kinds(connectors.List, connectors.Struct, connectors.Map)
	floatKinds   = kinds(connectors.Float, connectors.Double)
	timeKinds    = kinds(connectors.Date, connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ)
	stampKinds   = kinds(connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ)
)

func is(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

func either(a, b func(string) bool) func(string) bool {
	return func(v string) bool { return a(v) || b(v) }
}

// outside holds for infinities, years before Christ, and years before first or after
// last.
func outside(first, last int) func(string) bool {
	return func(v string) bool {
		year, err := strconv.Atoi(strings.SplitN(v, "-", 2)[0])
		return err != nil || strings.Contains(v, "BC") || year < first || year > last
	}
}

// outsideWithBC holds for years after last.
func outsideWithBC(last int) func(string) bool {
	return func(v string) bool {
		year, err := strconv.Atoi(strings.SplitN(v, "-", 2)[0])
		return err == nil && year > last && !strings.Contains(v, "BC")
	}
}

func outsideNS(v string) bool { return outside(1900, 2262)(v) }

func nanoseconds(v string) bool {
	_, digits, _ := strings.Cut(v, ".")
	return len(digits) > 6
}

// hasNullList holds for lists with a list in them that is NULL.
func hasNullList(v string) bool {
	return strings.Contains(v, "],null") || strings.Contains(v, "null,[")
}

func deeperThan(n int) func(string) bool {
	return func(v string) bool { return strings.HasPrefix(v, strings.Repeat("[", n+1)) }
}

func hasNaN(v string) bool { return strings.Contains(v, `"nan"`) || strings.Contains(v, `"inf"`) }

// withNUL holds for text with a NUL, and for lists that end in such a text.
func withNUL(v string) bool {
	return strings.Contains(v, "\x00") || strings.HasPrefix(v, "[") && strings.HasSuffix(v, `\u0000"]`)
}

func fractional(v string) bool { return strings.Contains(v, ".") }

func longerThan(digits int) func(string) bool {
	return func(v string) bool { return len(strings.TrimLeft(v, "-")) > digits }
}

func always(s string) func(string) string { return func(string) string { return s } }
func with(s string) func(string) string   { return func(v string) string { return v + s } }
func without(s string) func(string) string {
	return func(v string) string { return strings.TrimSuffix(v, s) }
}
