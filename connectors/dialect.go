package connectors

import "math/big"

// Dialect builds the SQL text of one connection and answers what the engine can be
// trusted with. It holds no connection; its answers depend on the server's version
// and on the Table that Describe gave.
type Dialect interface {
	// Quote quotes one identifier.
	Quote(ident string) string
	// Relation is the quoted, qualified name of rel.
	Relation(rel Relation) string
	// Select is the extract's SQL: the columns in the form that Read decodes, the
	// predicates, the order and the limit.
	Select(e Extract) string
	// Leaf answers whether the engine can apply one leaf of a predicate to t: never
	// a PAnd or POr.
	Leaf(p *Pred, t *Table) Answer
	// OrderKey is the text of one ORDER BY key whose order equals DuckDB's, for
	// top-N; ok is false when there is none.
	OrderKey(t *Table, k OrderKey) (sql string, ok bool)
	// TargetType is the type in which the engine holds c as a target, exactly; a
	// *TypeError when it has none.
	TargetType(c Column) (ddl string, err error)
}

// Extract is what the planner wants to read of one relation.
type Extract struct {
	Table   *Table
	Columns []int    // indexes into Table.Columns; empty: only the number of rows matters, and Select returns one constant column
	Where   string   // rendered by RenderPred, "" = all rows
	OrderBy []string // rendered by OrderKey
	Limit   int64    // -1 = all
}

// OrderKey is one key of a top-N.
type OrderKey struct {
	Col       int // index into Table.Columns
	Desc      bool
	NullsLast bool
}

// Verdict says how an engine's text relates to DuckDB's predicate.
type Verdict uint8

// The verdicts. Whatever the answer, the model's own SQL applies the predicate again,
// so the only sin is a text that keeps fewer rows than DuckDB would.
const (
	No       Verdict = iota // cannot be sent
	Superset                // the text keeps every row that DuckDB keeps, and may keep more
	Exact                   // the text keeps the same rows
)

func (v Verdict) String() string { return [...]string{"no", "superset", "exact"}[v] }

// Answer is what a dialect says of one predicate.
type Answer struct {
	SQL     string // set unless Verdict is No
	Verdict Verdict
	Reason  string // why it is not exact, for explain; "" when exact
}

// PredKind is the kind of one node of a Pred.
type PredKind uint8

// The nodes of a predicate.
const (
	PTrue PredKind = iota
	PFalse
	PAnd    // of Kids
	POr     // of Kids
	PCmp    // Col Op Vals[0]; Op is = <> < <= > >=
	PColCmp // Col Op Col2, two columns of the relation with one type
	PIn     // Col [NOT] IN Vals, no NULL among them
	PNull   // Col IS [NOT] NULL
	PLike   // Col [NOT] like: Op is like, prefix, suffix or contains; Vals[0] the pattern or text
	PBool   // Col is true; Neg: is false
)

// Pred is a predicate over one relation in the normal form that dialects read:
// negations stand at the leaves, and each leaf is about one column and typed constants
// or two columns. It is meant as a filter: a row for which it is NULL is dropped like
// one for which it is false. Columns are indexes into Table.Columns.
type Pred struct {
	Kind PredKind
	Kids []*Pred
	Col  int
	Col2 int
	Op   string
	Neg  bool // PIn, PNull, PLike, PBool
	Vals []Value
}

// Value is a typed constant, as DuckDB folded it. Never NULL inside a Pred.
type Value struct {
	Type  Type
	Null  bool
	Int   *big.Int // booleans (0, 1), integers, decimals (unscaled), dates (days since 1970), times, timestamps (µs, or ns for TimestampNS)
	Float float64  // Float, Double
	Text  string   // Varchar, JSON, UUID (canonical text)
}

// Rendered is a predicate in an engine's text.
type Rendered struct {
	SQL     string // "" when nothing can be sent
	Verdict Verdict
	Reasons []string // why it is not exact
}

// RenderPred puts p into the engine's text. Under AND a part that cannot be sent is
// left out (the whole becomes a superset); under OR it makes the whole unsendable.
func RenderPred(d Dialect, p *Pred, t *Table) Rendered {
	switch p.Kind {
	case PTrue:
		return Rendered{Verdict: Exact}
	case PFalse:
		return Rendered{SQL: "1 = 0", Verdict: Exact}
	case PAnd, POr:
		return renderJunction(d, p, t)
	}
	a := d.Leaf(p, t)
	r := Rendered{SQL: a.SQL, Verdict: a.Verdict}
	if a.Verdict != Exact {
		r.Reasons = []string{a.Reason}
	}
	return r
}

func renderJunction(d Dialect, p *Pred, t *Table) Rendered {
	out := Rendered{Verdict: Exact}
	var parts []string
	for _, k := range p.Kids {
		r := RenderPred(d, k, t)
		out.Reasons = append(out.Reasons, r.Reasons...)
		if r.Verdict < Exact {
			out.Verdict = Superset
		}
		switch {
		case r.Verdict == No && p.Kind == POr:
			return Rendered{Verdict: No, Reasons: r.Reasons}
		case r.Verdict == No || r.SQL == "" && p.Kind == PAnd:
		case r.SQL == "": // true OR anything
			return Rendered{Verdict: r.Verdict}
		default:
			parts = append(parts, r.SQL)
		}
	}
	switch len(parts) {
	case 0:
		if out.Verdict != Exact {
			out.Verdict = No
		}
	case 1:
		out.SQL = parts[0]
	default:
		sep := " AND "
		if p.Kind == POr {
			sep = " OR "
		}
		out.SQL = "(" + parts[0]
		for _, s := range parts[1:] {
			out.SQL += sep + s
		}
		out.SQL += ")"
	}
	return out
}
