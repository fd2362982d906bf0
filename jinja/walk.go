package jinja

// Walk visits every expression below v (a Stmt, Expr or []Stmt) in the order of the
// text; fn returning false keeps it from going below that expression. Assigned names
// come as StoreName.
func Walk(v any, fn func(Expr) bool) {
	switch n := v.(type) {
	case nil:
		return
	case []Stmt:
		for _, s := range n {
			Walk(s, fn)
		}
		return
	}
	if walkStmt(v, fn) {
		return
	}
	if x, ok := v.(Expr); ok && fn(x) {
		walkBelow(x, fn)
	}
}

// StoreName is what Walk gives for a name that is assigned.
type StoreName struct {
	P
	Name string
}

func walkAll(fn func(Expr) bool, xs ...Expr) {
	for _, x := range xs {
		if x != nil {
			Walk(x, fn)
		}
	}
}

func walkStore(fn func(Expr) bool, xs ...Expr) {
	for _, x := range xs {
		Walk(x, func(e Expr) bool {
			if n, ok := e.(*Name); ok {
				return fn(&StoreName{n.P, n.Name})
			}
			return true
		})
	}
}

func walkStmt(v any, fn func(Expr) bool) bool {
	switch n := v.(type) {
	case *Data, *Break, *Continue:
	case *Output:
		walkAll(fn, n.X)
	case *If:
		walkAll(fn, n.Conds...)
		for _, b := range n.Bodies {
			Walk(b, fn)
		}
		Walk(n.Else, fn)
	case *For:
		walkStore(fn, n.Target)
		walkAll(fn, n.Iter, n.Test)
		Walk(n.Body, fn)
		Walk(n.Else, fn)
	case *SetStmt:
		walkStore(fn, n.Target)
		walkAll(fn, n.V)
	case *SetBlock:
		walkStore(fn, n.Target)
		if n.Filter != nil {
			Walk(n.Filter, fn)
		}
		Walk(n.Body, fn)
	case *Do:
		walkAll(fn, n.X)
	case *Macro:
		for _, p := range n.Params {
			walkAll(fn, p.Def)
		}
		Walk(n.Body, fn)
	case *CallBlock:
		walkAll(fn, n.Call)
		Walk(n.M, fn)
	case *FilterBlk:
		walkAll(fn, n.Filter)
		Walk(n.Body, fn)
	case *With:
		walkStore(fn, n.Names...)
		walkAll(fn, n.Vals...)
		Walk(n.Body, fn)
	default:
		return false
	}
	return true
}

func walkBelow(x Expr, fn func(Expr) bool) {
	switch n := x.(type) {
	case *ListX:
		walkAll(fn, n.Items...)
	case *TupleX:
		walkAll(fn, n.Items...)
	case *DictX:
		walkAll(fn, n.K...)
		walkAll(fn, n.V...)
	case *Cond:
		walkAll(fn, n.Test, n.Then, n.Else)
	case *And:
		walkAll(fn, n.L, n.R)
	case *Or:
		walkAll(fn, n.L, n.R)
	case *Not:
		walkAll(fn, n.X)
	case *Unary:
		walkAll(fn, n.X)
	case *Bin:
		walkAll(fn, n.L, n.R)
	case *Concat:
		walkAll(fn, n.Items...)
	case *Cmp:
		walkAll(fn, n.X)
		walkAll(fn, n.Rest...)
	case *GetAttr:
		walkAll(fn, n.X)
	case *GetItem:
		walkAll(fn, n.X, n.Key)
	case *Slice:
		walkAll(fn, n.Lo, n.Hi, n.Step)
	case *CallX:
		walkAll(fn, n.F)
		walkCall(n, fn)
	case *FilterX:
		walkAll(fn, n.X)
		walkCall(&n.Call, fn)
	case *TestX:
		walkAll(fn, n.X)
		walkCall(&n.Call, fn)
	}
}

func walkCall(c *CallX, fn func(Expr) bool) {
	walkAll(fn, c.Args...)
	for _, k := range c.Kw {
		walkAll(fn, k.V)
	}
	walkAll(fn, c.DynArgs, c.DynKw)
}

// WalkNames visits every name that is read before it is assigned.
func WalkNames(v any, fn func(string)) {
	stored := map[string]bool{}
	Walk(v, func(x Expr) bool {
		switch n := x.(type) {
		case *StoreName:
			stored[n.Name] = true
		case *Name:
			if !stored[n.Name] {
				fn(n.Name)
			}
		}
		return true
	})
}
