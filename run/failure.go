package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// Failure is a model's error as its user reads it: which model, where it was to land,
// the engine's own message, the file, and the statement that was sent.
type Failure struct {
	Kind                   string // Model, Seed, Test, Snapshot
	Model, Target, Adapter string
	File                   string
	Line, Column           int    // 0: not known
	Rendered               bool   // the position is one of the compiled SQL
	SQL                    string // what was sent, "" if nothing was
	Err                    error
}

func (f *Failure) Error() string {
	s := fmt.Sprintf("%s '%s' (target: %s, adapter: %s): %v", f.Kind, f.Model, f.Target, f.Adapter, f.Err)
	where := f.File
	switch {
	case f.Line > 0 && f.Rendered:
		where = fmt.Sprintf("%s, line %d, column %d of its compiled SQL", f.File, f.Line, f.Column)
	case f.Line > 0:
		where = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	if where != "" {
		s += "\n  in " + where
	}
	if f.SQL != "" {
		s += "\n  sent: " + strings.ReplaceAll(shortSQL(f.SQL), "\n", "\n        ")
	}
	return s
}

// shortSQL keeps a statement of a thousand columns from burying what is wrong with it.
func shortSQL(sql string) string {
	const most = 4000
	if len(sql) <= most {
		return sql
	}
	return strings.ToValidUTF8(sql[:most], "") + fmt.Sprintf(" … (%d characters in all)", len(sql))
}

func (f *Failure) Unwrap() error { return f.Err }

// Failure is err as the user of node n reads it.
func (r *Runner) Failure(n *project.Node, err error) error { return r.explainError(n, err) }

func (r *Runner) explainError(n *project.Node, err error) error {
	f := &Failure{Kind: strings.ToUpper(n.ResourceType[:1]) + n.ResourceType[1:], Model: n.Name, Target: n.Connection, Adapter: r.Project.Outputs[n.Connection].Type, File: n.Path, Err: err}
	var pe *planner.Error
	var je *project.Error
	var se *connectors.StatementError
	switch {
	case errors.As(err, &pe):
		f.Line, f.Column, f.Err = pe.Line, pe.Column, errors.New(pe.Msg)
		if line, column, ok := sourcePosition(n.RawCode, r.Project.CompiledSQL(n), pe.Line, pe.Column); ok {
			f.Line, f.Column = line, column
		} else {
			f.Rendered = true
		}
	case errors.As(err, &je):
		f.File, f.Line, f.Column, f.Err = je.File, je.Line, je.Column, errors.New(je.Msg)
	case errors.As(err, &se):
		f.SQL = project.Display(se.SQL)
	}
	var xe *extract.Error
	if errors.As(err, &xe) && f.SQL == "" {
		f.SQL = xe.Extract.Query.SQL
	}
	return f
}
