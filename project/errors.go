package project

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/dvt-dev/dvt/jinja"
)

// Error is a fault of the project's files. Line and Column are 1-based, 0 when the
// fault has no place.
type Error struct {
	File         string // relative to the project
	Line, Column int
	Msg          string
	Cause        error
}

func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// Unwrap gives the error behind.
func (e *Error) Unwrap() error { return e.Cause }

// pos is a place in a file.
type pos struct {
	file      string
	line, col int
}

func (p pos) errorf(f string, args ...any) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.col, Msg: fmt.Sprintf(f, args...)}
}

// faults collects errors of files that are read at the same time.
type faults struct {
	mu   sync.Mutex
	errs []error
}

func (f *faults) add(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// err joins what was collected, by file and line, each text once.
func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	sort.SliceStable(f.errs, func(i, j int) bool { return before(f.errs[i], f.errs[j]) })
	seen := map[string]bool{}
	var out []error
	for _, e := range f.errs {
		if !seen[e.Error()] {
			seen[e.Error()] = true
			out = append(out, e)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

func before(a, b error) bool {
	var x, y *Error
	if !errors.As(a, &x) || !errors.As(b, &y) {
		return x == nil && y != nil
	}
	if x.File != y.File {
		return x.File < y.File
	}
	if x.Line != y.Line {
		return x.Line < y.Line
	}
	return x.Msg < y.Msg
}

// fromJinja turns a template's error into one with a place in a file. at is the place
// that counts when the error has none.
func fromJinja(err error, at pos) error { return translate(err, at, true) }

// translate is fromJinja with or without the quoted line of the template.
func translate(err error, at pos, snippet bool) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var j *jinja.Error
	if !errors.As(err, &j) {
		return &Error{File: at.file, Line: at.line, Column: at.col, Msg: err.Error(), Cause: err}
	}
	e := &Error{File: at.file, Line: at.line, Column: at.col, Cause: err}
	if j.Line > 0 {
		e.File, e.Line, e.Column = j.File, j.Line, j.Col
	}
	var sb strings.Builder
	sb.WriteString(j.Msg)
	if j.Hint != "" {
		sb.WriteString(". " + j.Hint)
	}
	if s := j.Snippet(); s != "" && snippet {
		sb.WriteString("\n" + s)
	}
	for _, f := range j.Stack {
		fmt.Fprintf(&sb, "\n  in %s called at %s:%d", f.What, f.File, f.Line)
	}
	e.Msg = sb.String()
	return e
}
