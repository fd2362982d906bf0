package duck

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Error is DuckDB's own account of what went wrong.
type Error struct {
	Kind    string // "Catalog", "Conversion", "Out of Memory", "IO", …
	Subtype string // "MISSING_ENTRY", …, or ""
	Message string
}

func (e *Error) Error() string {
	switch {
	case e.Kind == "":
		return e.Message
	case e.Kind == "INTERRUPT": // where ctx is the cause, its error is returned
		return "DuckDB stopped the statement after a part of it had failed, and does not say why: run again"
	case e.Kind == "INTERNAL":
		return "DuckDB failed in itself, which is no fault of the data (" + e.Message + "): write the query another way, or report it to DuckDB"
	case e.Kind == "FATAL" && strings.Contains(e.Message, "has been invalidated"):
		return "DuckDB was ended by a failure of its own in another statement: run this again"
	}
	return e.Kind + " Error: " + e.Message
}

// ends reports whether the instance takes no statement after this.
func (e *Error) ends() bool { return e.Kind == "INTERNAL" || e.Kind == "FATAL" }

// firstLine leaves out the stack trace of an internal error.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

// statementError makes sense of an error text; sessions have errors_as_json set, which
// is the only way to learn the fault's position.
func statementError(sql, text string) error {
	e, pos := parseError(text)
	if pos > len(sql) {
		pos = -1
	}
	return &connectors.StatementError{SQL: sql, Position: pos, Err: e}
}

func parseError(text string) (*Error, int) {
	body := text
	if i := strings.IndexByte(text, '{'); i > 0 && strings.HasSuffix(text[:i], "Error: ") {
		body = text[i:]
	}
	var fields map[string]any
	if json.Unmarshal([]byte(body), &fields) != nil || fields["exception_message"] == nil {
		kind, msg, ok := strings.Cut(text, " Error: ")
		if !ok || strings.Contains(kind, "\n") {
			kind, msg = "", text
		}
		return &Error{Kind: kind, Message: msg}, -1
	}
	str := func(k string) string { s, _ := fields[k].(string); return s }
	pos := -1
	if n, err := strconv.Atoi(str("position")); err == nil {
		pos = n
	}
	e := &Error{Kind: str("exception_type"), Subtype: str("error_subtype"), Message: str("exception_message")}
	if e.Kind == "INTERNAL" {
		e.Message = firstLine(e.Message)
	}
	if msg, ok := csvFault(e.Message); ok {
		e.Kind, e.Message = "CSV", msg
	}
	return e, pos
}

var (
	csvLine    = regexp.MustCompile(`^CSV Error on Line: (\d+)`)
	csvFile    = regexp.MustCompile(`(?m)^  file = (.*)$`)
	csvColumns = regexp.MustCompile(`(?m)^Expected Number of Columns: (\d+) Found: (\d+)`)
)

// csvFault says in one line what DuckDB says in thirty: where a CSV file is broken, and
// how. Its advice is about options of DuckDB that nobody can set here.
func csvFault(text string) (string, bool) {
	line := csvLine.FindStringSubmatch(text)
	if line == nil {
		return "", false
	}
	what := ""
	switch n := csvColumns.FindStringSubmatch(text); {
	case n != nil:
		what = "expected " + n[1] + " columns, found " + n[2]
	case strings.Contains(text, "unterminated quote"):
		what = "a quote is not closed"
	case strings.Contains(text, "Invalid unicode"):
		what = "it is not UTF-8, which CSV files must be"
	default:
		return "", false
	}
	where := "line " + line[1] + ": "
	if file := csvFile.FindStringSubmatch(text); file != nil {
		where = file[1] + ", " + where
	}
	return where + what, true
}
