package jinja

// conditional are the names that a template sets under an if, and maybe nowhere else:
// reading one where the if was false is no misspelled name but Python's empty undefined
// value, on which packages rely.
func conditional(body []Stmt) map[string]bool {
	names := map[string]bool{}
	var visit func(body []Stmt, under bool)
	set := func(target Expr, under bool) {
		if n, ok := target.(*Name); ok && under {
			names[n.Name] = true
		}
	}
	visit = func(body []Stmt, under bool) {
		for _, s := range body {
			switch n := s.(type) {
			case *SetStmt:
				set(n.Target, under)
			case *SetBlock:
				set(n.Target, under)
				visit(n.Body, false)
			case *If:
				for _, b := range n.Bodies {
					visit(b, true)
				}
				visit(n.Else, true)
			case *For: // what a loop sets is not seen after it
				visit(n.Body, false)
				visit(n.Else, false)
			case *With:
				visit(n.Body, false)
			case *FilterBlk:
				visit(n.Body, false)
			case *CallBlock:
				visit(n.M.Body, false)
			case *Macro:
				visit(n.Body, false)
			}
		}
	}
	visit(body, false)
	return names
}
