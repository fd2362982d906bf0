package compute

import (
	"regexp"
	"strconv"
)

// Check is how a test's failing rows are judged; its texts are SQL of the test's author.
type Check struct {
	FailCalc, WarnIf, ErrorIf string
	Limit                     int64 // 0: all failing rows count
}

// Rows is the query of the failing rows that count. Like the verdict's, its text is the
// same in every engine's SQL.
func (c Check) Rows(sql string) string {
	if c.Limit > 0 {
		return "SELECT * FROM (\n" + trimmed(sql) + "\n) AS dbt_internal_rows LIMIT " + strconv.FormatInt(c.Limit, 10)
	}
	return sql
}

// Verdict gives one row over a test's query: the failures, whether they warn, whether
// they fail.
func (c Check) Verdict(sql string) string {
	return "SELECT " + c.FailCalc + " AS failures, CASE WHEN " + c.FailCalc + " " + c.WarnIf + " THEN 1 ELSE 0 END AS should_warn, CASE WHEN " + c.FailCalc + " " + c.ErrorIf +
		" THEN 1 ELSE 0 END AS should_error FROM (\n" + trimmed(c.Rows(sql)) + "\n) AS dbt_internal_test"
}

// VerdictColumns are the columns of a verdict.
var VerdictColumns = []string{"failures", "should_warn", "should_error"}

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
