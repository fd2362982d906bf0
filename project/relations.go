package project

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// RelationUse is one relation that SQL names.
type RelationUse struct {
	// Catalog, Schema and Name are the parts as the SQL spells them, the catalog
	// without RelationMarker.
	Catalog, Schema, Name string
	Connection            string // output name: equal to Catalog
	// Relation is what the connection calls it.
	Relation connectors.Relation
	Label    string // for people: crm.customers, the model's name, this
	NodeID   string // unique id of the source or node, "" if it is none
	IsThis   bool
}

// noSchema stands in SQL for the schema of a relation that has none: DuckDB has no
// empty names.
const noSchema = "main"

// Relations lists the relations that SQL with RelationMarker names, in the order of
// their first mention; n, which may be nil, is the node that it belongs to. Names in
// comments and strings do not count.
func (p *Project) Relations(n *Node, sql string) []RelationUse {
	var out []RelationUse
	seen := map[[3]string]bool{}
	s := scanner{src: sql}
	for t := s.next(); t.kind != tokEnd; {
		catalog, ok := strings.CutSuffix(t.text, RelationMarker)
		if !ok || t.kind != tokQuoted && t.kind != tokWord {
			t = s.next()
			continue
		}
		var parts [2]string
		i := 0
		for ; i < 2; i++ {
			if t = s.next(); t.kind != tokPunct || t.text != "." {
				break
			}
			if t = s.next(); t.kind != tokQuoted && t.kind != tokWord {
				break
			}
			parts[i] = t.text
		}
		if i < 2 {
			continue
		}
		key := [3]string{catalog, parts[0], parts[1]}
		if !seen[key] {
			seen[key] = true
			u, _ := p.use(n, key[0], key[1], key[2])
			out = append(out, u)
		}
		t = s.next()
	}
	return out
}

// use tells what a relation is: n itself, something that n depends on, or any other
// source or node of the project; ok is false when it is none of these.
func (p *Project) use(n *Node, catalog, schema, name string) (u RelationUse, ok bool) {
	u = RelationUse{Catalog: catalog, Schema: schema, Name: name, Connection: catalog, Label: strings.TrimPrefix(schema+"."+name, "."),
		Relation: connectors.Relation{Schema: schema, Name: name}}
	same := func(connection string, r connectors.Relation) bool {
		return connection == catalog && r.Name == name && (r.Schema == schema || r.Schema == "" && schema == noSchema)
	}
	if n != nil && n.Config.Materialized != Ephemeral && same(n.Connection, n.Relation()) {
		u.Label, u.NodeID, u.IsThis, u.Relation = "this", n.UniqueID, true, n.Relation()
		return u, true
	}
	match := func(id string) bool {
		if s := p.Sources[id]; s != nil && same(s.Connection, s.Relation()) {
			u.Label, u.NodeID, u.Relation = s.Label(), id, s.Relation()
			return true
		}
		if d := p.Nodes[id]; d != nil && d.ResourceType != TypeTest && d.Config.Materialized != Ephemeral && same(d.Connection, d.Relation()) {
			u.Label, u.NodeID, u.Relation = d.Name, id, d.Relation()
			return true
		}
		return false
	}
	if n != nil {
		for _, id := range n.DependsOn {
			if match(id) {
				return u, true
			}
		}
	}
	for _, id := range p.graph.order {
		if match(id) {
			return u, true
		}
	}
	return u, false
}
