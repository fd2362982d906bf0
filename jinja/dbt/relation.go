package dbt

import (
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// Spelling is how relations and identifiers are written in the SQL being rendered.
type Spelling struct {
	// Relation writes a name. database, schema and name are "" when left out.
	Relation func(database, schema, name string) string
	// Catalog writes the whole name of a relation whose catalog the host knows
	// (Relation.In); the host may spell it in a form that it finds again later.
	Catalog func(catalog, schema, name string) string
	// Ident quotes one identifier.
	Ident func(name string) string
	// Type is the relation class's name as metadata.type shows it.
	Type string
}

// Relation is what ref(), source() and this give: a mapping that prints as the name
// of a table. Two are equal when they print alike.
type Relation struct {
	parts    [3]V // database, schema, identifier: string or nil
	kind     V    // table, view, cte or nil
	include  [3]bool
	quote    [3]bool
	spelling *Spelling
	cte      string // the name of an ephemeral model's CTE
	catalog  string // see Spelling.Catalog, "" = unknown
}

var partNames = [3]string{"database", "schema", "identifier"}

// NewRelation makes a relation; parts may be nil, and so may kind.
func NewRelation(s *Spelling, database, schema, identifier, kind V) *Relation {
	all := [3]bool{true, true, true}
	return &Relation{parts: [3]V{database, schema, identifier}, kind: kind, include: all, quote: all, spelling: s}
}

// NewCTE is the relation of an ephemeral model, which prints as name.
func NewCTE(s *Spelling, name string) *Relation {
	r := NewRelation(s, nil, nil, name, "cte")
	r.cte = name
	return r
}

// In gives r the catalog that stands for its database when it prints whole.
func (r *Relation) In(catalog string) *Relation {
	r.catalog = catalog
	return r
}

// Catalog is what In gave, "" if the relation is not the host's own any more.
func (r *Relation) Catalog() string { return r.catalog }

// Part is the text of part i (database, schema, identifier), "" when absent.
func (r *Relation) Part(i int) string {
	if r.parts[i] == nil || !r.include[i] {
		return ""
	}
	return jinja.Str(r.parts[i])
}

// PyStr is the relation in SQL.
func (r *Relation) PyStr() string {
	if r.cte != "" {
		return r.cte
	}
	if r.quote == [3]bool{} {
		var out []string
		for i := range r.parts {
			if s := r.Part(i); s != "" {
				out = append(out, s)
			}
		}
		return strings.Join(out, ".")
	}
	if r.catalog != "" && r.include == [3]bool{true, true, true} {
		return r.spelling.Catalog(r.catalog, r.Part(1), r.Part(2))
	}
	return r.spelling.Relation(r.Part(0), r.Part(1), r.Part(2))
}

// PyRepr and the other Py methods make a Relation behave as dbt's.
func (r *Relation) PyRepr() string  { return "<" + r.spelling.Type + " " + r.PyStr() + ">" }
func (r *Relation) PyType() string  { return r.spelling.Type }
func (r *Relation) PyMapping() bool { return true }
func (r *Relation) PyLen() int      { return 3 }
func (r *Relation) PyHash() string  { return "rel:" + r.PyStr() }
func (r *Relation) PyEq(o V) bool {
	q, ok := o.(*Relation)
	return ok && r.PyStr() == q.PyStr()
}

// GetItem gives database, schema, identifier, type and metadata.
func (r *Relation) GetItem(_ *ST, k V) (V, bool) {
	switch k {
	case "metadata":
		return Dict("type", r.spelling.Type), true
	case "type":
		return r.kind, true
	}
	for i, n := range partNames {
		if n == k {
			return r.parts[i], true
		}
	}
	return nil, false
}

// GetAttr gives the attributes and methods that macros use.
func (r *Relation) GetAttr(st *ST, n string) (V, bool) {
	switch n {
	case "database", "schema", "identifier", "type":
		return r.GetItem(st, n)
	case "name", "table":
		return r.parts[2], true
	case "is_table", "is_view", "is_cte", "is_materialized_view", "is_pointer", "is_dynamic_table":
		return r.kind == n[3:], true
	case "render":
		return function(n, func(A) (V, error) { return r.PyStr(), nil }), true
	case "include":
		return r.flags(n, r.include, func(x *Relation, f [3]bool) { x.include = f }), true
	case "quote":
		return r.flags(n, r.quote, func(x *Relation, f [3]bool) { x.quote = f }), true
	case "without_identifier":
		return function(n, func(A) (V, error) { x := *r; x.include[2] = false; return &x, nil }), true
	case "incorporate":
		return function(n, r.incorporate), true
	case "replace_path":
		return function(n, func(a A) (V, error) {
			x := *r
			x.setParts(Dict(kwPairs(a)...))
			return &x, nil
		}), true
	case "get":
		return bound(n, params("key", "default?"), func(b jinja.Bound) (V, error) {
			if v, ok := r.GetItem(st, b.Get("key")); ok {
				return v, nil
			}
			return b.Get("default"), nil
		}), true
	}
	return nil, false
}

func (r *Relation) flags(name string, cur [3]bool, set func(*Relation, [3]bool)) V {
	return bound(name, params("database?", "schema?", "identifier?"), func(b jinja.Bound) (V, error) {
		n, flags := *r, cur
		for i, k := range partNames {
			if v := b.Get(k); v != nil {
				flags[i] = jinja.Truth(v)
			}
		}
		set(&n, flags)
		return &n, nil
	})
}

func (r *Relation) incorporate(a A) (V, error) {
	x := *r
	for _, k := range a.Kw {
		switch k.Name {
		case "path":
			if d, ok := k.Val.(*jinja.Dict); ok {
				x.setParts(d)
			}
		case "type":
			if k.Val != nil {
				x.kind = k.Val
			}
		}
	}
	return &x, nil
}

func (r *Relation) setParts(d *jinja.Dict) {
	r.cte = ""
	for i, n := range partNames {
		v, ok := d.GetStr(n)
		if !ok {
			continue
		}
		if i == 0 && !jinja.Equal(v, r.parts[0]) {
			r.catalog = ""
		}
		r.parts[i] = v
	}
}

func kwPairs(a A) []V {
	var kv []V
	for _, k := range a.Kw {
		kv = append(kv, k.Name, k.Val)
	}
	return kv
}

// relationClass is api.Relation.
type relationClass struct{ spelling *Spelling }

func (relationClass) PyType() string { return "type" }
func (c relationClass) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "create":
		return function(n, func(a A) (V, error) {
			d := Dict(kwPairs(a)...)
			g := func(k string) V { v, _ := d.GetStr(k); return v }
			return NewRelation(c.spelling, g("database"), g("schema"), g("identifier"), g("type")), nil
		}), true
	case "create_from":
		return bound(n, params("quoting?", "node?", "relation_config?"), func(b jinja.Bound) (V, error) {
			return nil, &jinja.Error{Kind: "CompilationError", Msg: "api.Relation.create_from is not supported: use ref(), source() or api.Relation.create"}
		}), true
	case "add_ephemeral_prefix":
		return bound(n, params("name"), func(b jinja.Bound) (V, error) { return CTEPrefix + jinja.Str(b.Get("name")), nil }), true
	case "Table", "View", "CTE":
		return strings.ToLower(n), true
	}
	return nil, false
}

// CTEPrefix starts the name of every CTE that stands for an ephemeral model.
const CTEPrefix = "__dbt__cte__"
