package planner

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error refuses a model's SQL, in DuckDB's words where DuckDB refuses it. Line and
// Column count from 1, the column in characters, and mean the rendered SQL as users
// see it, without Marker; both are 0 when the fault has no place.
type Error struct {
	File         string
	Line, Column int
	Msg          string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d of the rendered SQL: ", e.Line, e.Column)
	}
	return b.String() + e.Msg
}

// faultAt is an Error at a byte offset of sql; an offset outside sql gives none.
func faultAt(sql string, offset int, format string, args ...any) *Error {
	e := &Error{Msg: strings.TrimSpace(unmark(fmt.Sprintf(format, args...)))}
	if offset >= 0 && offset <= len(sql) {
		before := unmark(sql[:offset])
		e.Line = 1 + strings.Count(before, "\n")
		e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	}
	return e
}

// unmark removes Marker from a text for people.
func unmark(s string) string { return strings.ReplaceAll(s, Marker, "") }

// duckFault is the error that a serialize function of DuckDB reports inside its JSON.
func duckFault(sql string, root obj) *Error {
	offset := -1
	if p := str(root, "position"); p != "" {
		if _, err := fmt.Sscanf(p, "%d", &offset); err != nil {
			offset = -1
		}
	}
	kind := str(root, "error_type")
	if kind != "" {
		kind = strings.ToUpper(kind[:1]) + kind[1:] + " Error: "
	}
	return faultAt(sql, offset, "%s", kind+str(root, "error_message"))
}
