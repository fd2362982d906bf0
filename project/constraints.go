package project

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// Contract reports whether n is a model with contract: {enforced: true}.
func (n *Node) Contract() bool {
	if n.ResourceType != TypeModel {
		return false
	}
	c, ok := n.Config.Raw["contract"].(map[string]any)
	on, _ := c["enforced"].(bool)
	return ok && on
}

// constraints reads those of a node's columns and of the node. Where no contract is
// enforced they mean nothing, and are not looked at any closer.
func (l *loader) constraints(n *Node) []Constraint {
	d := n.patch.d
	var out []Constraint
	read := func(node *yaml.Node, column string) {
		for _, y := range items(get(node, "constraints")) {
			c, err := l.constraint(d, y)
			if err == nil && column != "" {
				c.OnColumn, c.Columns = column, []string{column}
			}
			if err == nil && n.Contract() {
				err = checkConstraint(n, c)
			}
			if err != nil {
				l.add(d.at(y).errorf("model '%s': %v", n.Name, err))
				continue
			}
			out = append(out, c)
		}
	}
	for _, col := range items(get(n.patch.n, "columns")) {
		read(col, text(get(col, "name")))
	}
	read(n.patch.n, "")
	return out
}

func (l *loader) constraint(d doc, y *yaml.Node) (Constraint, error) {
	c := Constraint{Columns: texts(get(y, "columns")), ToColumns: texts(get(y, "to_columns")), WarnUnenforced: true, WarnUnsupported: true, at: d.at(y)}
	for key, to := range map[string]*string{"type": &c.Type, "name": &c.Name, "expression": &c.Expression, "to": &c.To} {
		var err error
		if *to, err = l.yaml.text(d, get(y, key)); err != nil && key == "to" { // {{ ref('x') }}: read as it stands
			*to, err = text(get(y, key)), nil
		}
		if err != nil {
			return c, err
		}
	}
	for key, to := range map[string]*bool{"warn_unenforced": &c.WarnUnenforced, "warn_unsupported": &c.WarnUnsupported} {
		switch on, err := l.yaml.text(d, get(y, key)); {
		case err != nil:
			return c, err
		case on != "":
			*to = !strings.EqualFold(on, "false")
		}
	}
	return c, nil
}

// checkConstraint refuses what says too little to be made.
func checkConstraint(n *Node, c Constraint) error {
	if !slices.Contains(connectors.ConstraintKinds, c.Type) {
		return fmt.Errorf("a constraint of type '%s': there are %s%s", c.Type, strings.Join(connectors.ConstraintKinds, ", "), didYouMean(c.Type, connectors.ConstraintKinds))
	}
	bad := func(what string) error { return fmt.Errorf("its %s constraint %s", c.Type, what) }
	switch c.Type {
	case "check", "custom":
		if strings.TrimSpace(c.Expression) == "" {
			return bad("needs an expression")
		}
		return nil
	case "foreign_key":
		if c.To == "" && strings.TrimSpace(c.Expression) == "" {
			return bad("needs to: ref('…') with to_columns, or an expression")
		}
		if c.To != "" && len(c.ToColumns) != len(c.Columns) {
			return bad(fmt.Sprintf("has %d columns and %d to_columns", len(c.Columns), len(c.ToColumns)))
		}
	}
	if len(c.Columns) == 0 {
		return bad("names no columns")
	}
	for _, name := range c.Columns {
		if !slices.ContainsFunc(n.Columns, func(s ColumnSpec) bool { return strings.EqualFold(s.Name, name) }) {
			return bad("names the column '" + name + "', which the contract lacks")
		}
	}
	return nil
}

// pointsTo resolves what a foreign key of an enforced contract points to.
func (l *loader) pointsTo(n *Node, c *Constraint) string {
	if c.Type != "foreign_key" || c.To == "" || !n.Contract() {
		return ""
	}
	id, err := l.named(n, c.To, c.at)
	if err == nil && id == "" {
		err = fmt.Errorf("expected ref('…') or source('…', '…')")
	}
	if err != nil {
		l.add(c.at.errorf("model '%s': to: %s of a foreign_key constraint: %v", n.Name, c.To, err))
	}
	c.ToID = id
	return c.ToID
}

// named is the unique id that a text with a ref() or source() names for n, "" if it has
// neither.
func (l *loader) named(n *Node, src string, at pos) (id string, err error) {
	if !dbt.HasJinja(src) {
		src = "{{ " + src + " }}"
	}
	l.yaml.mu.Lock()
	tmpl, err := l.yaml.env.Parse(src, at.file, at.line)
	l.yaml.mu.Unlock()
	if err != nil {
		return "", err
	}
	for _, call := range inspect(tmpl.Body).calls {
		if found, e := l.called(n, call); e != nil || found != "" {
			id, err = found, e
		}
	}
	return id, err
}

// called is the unique id that a literal ref() or source() of n names.
func (l *loader) called(n *Node, c call) (string, error) {
	if r, ok := refOf(c.args); ok && c.name == "ref" {
		to, err := l.p.ref(n, r)
		if err != nil {
			return "", err
		}
		return to.UniqueID, nil
	}
	if s, ok := sourceOf(c.args); ok && c.name == "source" {
		to, err := l.p.source(n, s[0], s[1])
		if err != nil {
			return "", err
		}
		return to.UniqueID, nil
	}
	return "", nil
}
