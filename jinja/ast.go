package jinja

// Expr is an expression node, Stmt a statement node. Hosts read them (Walk) and custom
// tags make Macro nodes; everything else is made by the parser.
type Expr interface {
	Pos() int    // line
	Column() int // 1-based, 0 if unknown
}

// Stmt is a statement node.
type Stmt interface {
	Pos() int
	Column() int
}

// P is a node's position: the line in the file and the column in characters, from 1.
type P struct{ Line, Col int }

// Pos is the line.
func (p P) Pos() int { return p.Line }

// Column is the column in characters.
func (p P) Column() int { return p.Col }

func posOf(n Stmt) P { return P{n.Pos(), n.Column()} }

// The expressions.
type (
	// Const is a literal.
	Const struct {
		P
		V Value
	}
	// Name is a name that is read.
	Name struct {
		P
		Name string
	}
	// ListX is [a, b].
	ListX struct {
		P
		Items []Expr
	}
	// TupleX is (a, b), also as an assignment's target.
	TupleX struct {
		P
		Items []Expr
	}
	// DictX is {k: v}.
	DictX struct {
		P
		K, V []Expr
	}
	// Cond is "then if test else else"; Else may be nil.
	Cond struct {
		P
		Test, Then, Else Expr
	}
	// And is "l and r"; it gives one of the two values.
	And struct {
		P
		L, R Expr
	}
	// Or is "l or r".
	Or struct {
		P
		L, R Expr
	}
	// Not is "not x".
	Not struct {
		P
		X Expr
	}
	// Unary is -x or +x.
	Unary struct {
		P
		Op string
		X  Expr
	}
	// Bin is an arithmetic operator.
	Bin struct {
		P
		Op   string
		L, R Expr
	}
	// Concat is a ~ b ~ c.
	Concat struct {
		P
		Items []Expr
	}
	// Cmp is a chain such as a < b <= c.
	Cmp struct {
		P
		X    Expr
		Ops  []string
		Rest []Expr
	}
	// GetAttr is x.attr.
	GetAttr struct {
		P
		X    Expr
		Attr string
	}
	// GetItem is x[key]; key may be a Slice.
	GetItem struct {
		P
		X, Key Expr
	}
	// Slice is lo:hi:step; each may be nil.
	Slice struct {
		P
		Lo, Hi, Step Expr
	}
	// KwX is one name=value of a call.
	KwX struct {
		Name string
		V    Expr
	}
	// CallX is f(args, kw=..., *dyn, **dynkw).
	CallX struct {
		P
		F              Expr
		Args           []Expr
		Kw             []KwX
		DynArgs, DynKw Expr
	}
	// FilterX is x|name(args).
	FilterX struct {
		P
		X    Expr // nil in a filter block
		Name string
		Call CallX
	}
	// TestX is x is name(args).
	TestX struct {
		P
		X    Expr
		Name string
		Call CallX
	}
	// NSRef is the target "ns.attr" of a set.
	NSRef struct {
		P
		Name, Attr string
	}
)

// The statements.
type (
	// Data is text between tags.
	Data struct {
		P
		S string
	}
	// Output is {{ x }}.
	Output struct {
		P
		X Expr
	}
	// If holds one condition and body for if and each elif.
	If struct {
		P
		Conds  []Expr
		Bodies [][]Stmt
		Else   []Stmt
	}
	// For is a loop; Test is its "if".
	For struct {
		P
		Target     Expr
		Iter, Test Expr
		Body, Else []Stmt
		Recursive  bool
	}
	// SetStmt is {% set target = v %}.
	SetStmt struct {
		P
		Target, V Expr
	}
	// SetBlock is {% set target %}...{% endset %}.
	SetBlock struct {
		P
		Target Expr
		Filter *FilterX
		Body   []Stmt
	}
	// Do is {% do x %}.
	Do struct {
		P
		X Expr
	}
	// Param is one macro parameter; Type is dbt's note after a colon.
	Param struct {
		Name string
		Def  Expr
		Type string
	}
	// Macro is a macro, a custom macro-like tag, or the body of a call block.
	Macro struct {
		P
		Kind, Name          string // Kind: macro, caller, or what a custom tag says
		Params              []Param
		Body                []Stmt
		Varargs, Kwargs     bool // the body uses the implicit variable
		Caller, ExplicitCal bool // implicit caller; caller as a named parameter

		src *source
		bad *Error // an unknown filter or test, to be raised when the macro is called
	}
	// CallBlock is {% call(params) f(args) %}...{% endcall %}.
	CallBlock struct {
		P
		M    *Macro
		Call *CallX
	}
	// FilterBlk is {% filter f %}...{% endfilter %}.
	FilterBlk struct {
		P
		Filter *FilterX
		Body   []Stmt
	}
	// With is {% with a = 1 %}...{% endwith %}.
	With struct {
		P
		Names, Vals []Expr
		Body        []Stmt
	}
	// Break is {% break %}.
	Break struct{ P }
	// Continue is {% continue %}.
	Continue struct{ P }
)
