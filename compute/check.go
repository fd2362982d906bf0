package compute

import "regexp"

// Check is how a test's failing rows are judged; its texts are SQL of the test's author.
type Check struct {
	FailCalc, WarnIf, ErrorIf string
	Limit                     int64 // 0: all failing rows count
}

// Rows is the query of the failing rows that count.
func (c Check) Rows(sql string) string {
	if c.Limit > 0 {
		return LimitQuery(sql, c.Limit)
	}
	return sql
}

// Verdict gives one row over a test's query: the failures, whether they warn, whether
// they fail.
func (c Check) Verdict(sql string) string {
	return "SELECT CAST(" + c.FailCalc + " AS BIGINT) AS failures, " + c.FailCalc + " " + c.WarnIf + " AS should_warn, " + c.FailCalc + " " + c.ErrorIf +
		" AS should_error FROM (\n" + trimmed(c.Rows(sql)) + "\n) AS dbt_internal_test"
}

// Selected is all of a kept result.
func Selected(kept string) string { return "SELECT * FROM " + kept }

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Newest is the highest value of an expression over a SELECT; a plain name is a column's,
// also where DuckDB has a keyword of that name.
func Newest(sql, expr string) string {
	if plainName.MatchString(expr) {
		expr = quote(expr)
	}
	return "SELECT max(" + expr + ") AS value FROM (\n" + trimmed(sql) + "\n) AS __dvt_source"
}
