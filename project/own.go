package project

// Own is a query of everything that stands in a node's own relation, as a compiled model.
func (p *Project) Own(n *Node) *Compiled {
	rel := n.Relation()
	schema := rel.Schema
	if schema == "" {
		schema = noSchema
	}
	use, _ := p.use(n, n.Connection, schema, rel.Name)
	return &Compiled{
		SQL:       "SELECT * FROM " + quoteIdent(n.Connection+RelationMarker) + "." + quoteIdent(schema) + "." + quoteIdent(rel.Name),
		Relations: []RelationUse{use},
	}
}
