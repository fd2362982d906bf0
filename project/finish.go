package project

import (
	"errors"
	"fmt"
)

// finish builds the graph, promotes what cannot run on its target alone, and checks
// what needs all nodes.
func (l *loader) finish() error {
	p := l.p
	if err := p.build(); err != nil {
		return err
	}
	for _, id := range p.graph.order {
		if n := p.Nodes[id]; n != nil {
			l.promote(n)
		}
	}
	l.sharedRelations()
	return nil
}

// promotions say as what a node runs that reads from elsewhere.
var promotions = map[string]string{View: FTable, Table: FTable, Incremental: FIncremental}

// promote makes a view, table or incremental federated when it reads a relation that
// is not on its own connection.
func (l *loader) promote(n *Node) {
	to, ok := promotions[n.Config.Materialized]
	if n.ResourceType != TypeModel || !ok || l.p.local(n, n.Connection, map[string]bool{}) {
		return
	}
	n.Promoted, n.PromotedFrom, n.Federated = true, n.Config.Materialized, true
	n.PromotionWarning = fmt.Sprintf("Model '%s' is materialized as '%s' but reads federated sources — running it as '%s'. Set materialized='%s' explicitly to silence this.",
		n.Name, n.PromotedFrom, to, to)
	n.Config.Materialized = to
	l.warn("%s", n.PromotionWarning)
}

// local reports whether everything that n reads is on connection; an ephemeral model
// stands for what it reads itself.
func (p *Project) local(n *Node, connection string, seen map[string]bool) bool {
	for _, id := range n.DependsOn {
		if seen[id] {
			continue
		}
		seen[id] = true
		if s := p.Sources[id]; s != nil {
			if s.Connection != connection {
				return false
			}
			continue
		}
		d := p.Nodes[id]
		if d.Config.Materialized == Ephemeral {
			if !p.local(d, connection, seen) {
				return false
			}
		} else if d.Connection != connection {
			return false
		}
	}
	return true
}

// Check reports what would keep nodes from running although the project loads: a
// connection that they use with an unknown type or a missing variable, a source with
// a missing variable. Call it with the selected nodes before anything runs.
func (p *Project) Check(nodes []*Node) error {
	var f faults
	outputs, seen := map[string]bool{}, map[string]bool{}
	var uses func(n *Node)
	uses = func(n *Node) {
		for _, id := range n.DependsOn {
			if seen[id] {
				continue
			}
			seen[id] = true
			if s := p.Sources[id]; s != nil {
				f.add(s.Err)
				if s.Connection != "" {
					outputs[s.Connection] = true
				}
				continue
			}
			if d := p.Nodes[id]; d.Config.Materialized == Ephemeral {
				uses(d)
			} else {
				outputs[d.Connection] = true
			}
		}
	}
	for _, n := range nodes {
		f.add(n.Err)
		if n.Config.Materialized != Ephemeral {
			outputs[n.Connection] = true
		}
		uses(n)
	}
	for name := range outputs {
		_, err := p.Output(name)
		f.add(err)
	}
	return f.err()
}

// Connections are the names of the outputs that a node uses, its own first.
func (p *Project) Connections(n *Node) []string {
	out := []string{n.Connection}
	seen := map[string]bool{}
	var uses func(n *Node)
	uses = func(n *Node) {
		for _, id := range n.DependsOn {
			if seen[id] {
				continue
			}
			seen[id] = true
			if s := p.Sources[id]; s != nil {
				out = append(out, s.Connection)
			} else if d := p.Nodes[id]; d.Config.Materialized == Ephemeral {
				uses(d)
			} else {
				out = append(out, d.Connection)
			}
		}
	}
	uses(n)
	return unique(out)
}

// IsUsage reports whether err is a fault of the project's files.
func IsUsage(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
