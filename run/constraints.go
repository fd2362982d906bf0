package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/project"
)

// makesConstraints says whether n's materialization gives its table constraints. The
// history of a snapshot has each key more than once.
func makesConstraints(n *project.Node) bool {
	switch n.Config.Materialized {
	case project.FTable, project.FIncremental, project.Table, project.Incremental:
		return n.Contract()
	}
	return false
}

// support is what target does with a kind of constraint.
func support(target connectors.Conn, kind connectors.ConstraintKind) (connectors.Support, string) {
	if c, ok := target.(connectors.Constrainer); ok {
		return c.Constrains(kind)
	}
	if kind == connectors.NotNull {
		return connectors.Enforced, "" // by withoutNull
	}
	return connectors.Unsupported, ""
}

// warnConstraints warns, before anything is read, of the constraints of n's contract that
// its target does not enforce, and refuses what cannot be made anywhere.
func (r *Runner) warnConstraints(n *project.Node, target connectors.Conn) error {
	if !n.Contract() {
		return nil
	}
	told := map[string]bool{}
	for _, c := range n.Constraints {
		text := ""
		level, why := support(target, connectors.KindOfConstraint(c.Type))
		if why != "" {
			why = ": " + why
		}
		adapter := r.Project.Outputs[n.Connection].Type
		switch {
		case !makesConstraints(n):
			if c.WarnUnsupported {
				text = fmt.Sprintf("a %s gets no constraints: %s is left out; warn_unsupported: false at the constraint silences this", n.Config.Materialized, c.Type)
			}
		case level == connectors.Unsupported && c.WarnUnsupported:
			text = fmt.Sprintf("%s has no %s constraints, which are left out%s; warn_unsupported: false at the constraint silences this", adapter, c.Type, why)
		case level == connectors.Unenforced && c.WarnUnenforced:
			text = fmt.Sprintf("%s does not enforce %s constraints after the table is built%s; warn_unenforced: false at the constraint silences this", adapter, c.Type, why)
		}
		if text != "" && !told[text] {
			told[text] = true
			r.emit(Warn, "warning", n, "", nil, "model '"+n.Name+"': "+text)
		}
	}
	_, err := r.constrained(n, target, connectors.TargetOptions{})
	return err
}

// constrained adds what the contract of n says of the table that is going to be made to
// the options of its load.
func (r *Runner) constrained(n *project.Node, target connectors.Conn, o connectors.TargetOptions) (connectors.TargetOptions, error) {
	if _, ok := target.(connectors.Constrainer); !ok {
		return o, nil
	}
	o.PointedFrom = r.pointedFrom(n)
	if !makesConstraints(n) {
		return o, nil
	}
	o.Contract = true
	for _, c := range n.Constraints {
		kind := connectors.KindOfConstraint(c.Type)
		if level, _ := support(target, kind); level == connectors.Unsupported {
			continue
		}
		out := connectors.Constraint{Kind: kind, Name: c.Name, Columns: c.Columns, Expression: strings.TrimSpace(c.Expression), ToColumns: c.ToColumns}
		if c.ToID != "" {
			conn, rel := r.relationOf(c.ToID)
			if conn != n.Connection {
				return o, &connectors.ConstraintError{Constraint: out, Err: fmt.Errorf("%s is on %s and the model on %s: a foreign key stays on one connection; test it with relationships, which runs across them", c.To, conn, n.Connection)}
			}
			out.To, out.Expression = &rel, ""
		}
		o.Constraints = append(o.Constraints, out)
	}
	return o, nil
}

// pointedFrom are the relations of the models whose contracts have foreign keys to n.
func (r *Runner) pointedFrom(n *project.Node) []connectors.Relation {
	var out []connectors.Relation
	for _, id := range r.Project.Children(n.UniqueID) {
		child := r.Project.Nodes[id]
		if child == nil || child.Connection != n.Connection || !makesConstraints(child) {
			continue
		}
		if slices.ContainsFunc(child.Constraints, func(c project.Constraint) bool { return c.ToID == n.UniqueID }) {
			out = append(out, child.Relation())
		}
	}
	return out
}

// relationOf is where the node or source with this unique id lies.
func (r *Runner) relationOf(id string) (connection string, rel connectors.Relation) {
	if s := r.Project.Sources[id]; s != nil {
		return s.Connection, s.Relation()
	}
	n := r.Project.Nodes[id]
	return n.Connection, n.Relation()
}

// promised gives text columns the length that the contract promises, so that a target
// which has lengths refuses longer values and can put the column into a key.
func promised(n *project.Node, cols []connectors.Column) []connectors.Column {
	if !makesConstraints(n) {
		return cols
	}
	out := slices.Clone(cols)
	for i := range out {
		for _, spec := range n.Columns {
			t, err := connectors.ParseType(spec.DataType)
			if err != nil || !strings.EqualFold(spec.Name, out[i].Name) || t.Kind != connectors.Varchar || out[i].Type.Kind != connectors.Varchar {
				continue
			}
			if t.Length > 0 && (out[i].Type.Length == 0 || out[i].Type.Length > t.Length) {
				out[i].Type.Length, out[i].Native, out[i].Engine = t.Length, "", ""
			}
		}
	}
	return out
}

// declaredTypes are the types of n's contract that say more than a kind.
func declaredTypes(n *project.Node) map[string]string {
	out := map[string]string{}
	for _, c := range n.Columns {
		if n.Contract() && strings.Contains(c.DataType, "(") {
			out[c.Name] = c.DataType
		}
	}
	return out
}

// withoutNull is rows that end in an error where the contract forbids a NULL, for targets
// that make no constraints.
func withoutNull(n *project.Node, target connectors.Conn, spec connectors.StageSpec, rows load.Source) load.Source {
	if _, ok := target.(connectors.Constrainer); ok || !makesConstraints(n) {
		return rows
	}
	w := &noNulls{Source: rows, columns: connectors.Names(spec.Columns), key: n.Config.UniqueKey}
	for i, col := range spec.Columns {
		if slices.ContainsFunc(n.Constraints, func(c project.Constraint) bool {
			return c.Type == "not_null" && slices.ContainsFunc(c.Columns, func(name string) bool { return strings.EqualFold(name, col.Name) })
		}) {
			w.required = append(w.required, i)
		}
	}
	if len(w.required) == 0 {
		return rows
	}
	return w
}

// stageSpec is what stages the result of p, whose columns are cols, for a new table.
func (r *Runner) stageSpec(p *Prepared, target connectors.Conn, cols []connectors.Column) (connectors.StageSpec, error) {
	options, err := r.constrained(p.Node, target, targetOptions(p.Node, p.Plan))
	return connectors.StageSpec{RunID: r.RunID, Target: p.Target, Columns: promised(p.Node, cols), Options: options}, err
}

// noNulls checks the batches of a result: each row passes here, so that Fill is not
// offered.
type noNulls struct {
	load.Source
	required []int
	columns  []string
	key      []string
	rows     int64
}

func (w *noNulls) Rows(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	return w.Source.Rows(ctx, func(rec arrow.RecordBatch) error {
		for _, i := range w.required {
			if rec.Column(i).NullN() == 0 {
				continue
			}
			for at := range int(rec.NumRows()) {
				if rec.Column(i).IsNull(at) {
					row := connectors.RowName(w.columns, w.key, w.rows+int64(at)+1, func(c int) string { return rec.Column(c).ValueStr(at) })
					return &connectors.ConstraintError{Constraint: connectors.Constraint{Kind: connectors.NotNull, Columns: []string{w.columns[i]}},
						Err: fmt.Errorf("it is NULL in row %s", row)}
				}
			}
		}
		w.rows += rec.NumRows()
		return emit(rec)
	})
}

func (w *noNulls) Fill(context.Context, connectors.Filler) (int64, bool, error) { return 0, false, nil }
