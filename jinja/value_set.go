package jinja

// Set keeps insertion order (Python's order is by hash; templates should sort).
type Set struct{ D *Dict }

// NewSet makes a set; the only error is an unhashable item.
func NewSet(items []Value) (*Set, error) {
	s := &Set{NewDict()}
	for _, i := range items {
		if err := s.D.Set(i, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) subsetOf(o *Set) bool {
	for h := range s.D.idx {
		if _, ok := o.D.idx[h]; !ok {
			return false
		}
	}
	return true
}

// Gen is a single-pass generator (what map, select, ... return).
// It does its work on first use, so a generator that nobody reads never fails.
type Gen struct {
	src   func() ([]Value, error)
	items []Value
	pos   int
	name  string
}

// NewGen makes a generator of items that are there already; name is for its repr.
func NewGen(name string, items []Value) *Gen { return &Gen{items: items, name: name} }

// LazyGen makes a generator whose items src computes on first use.
func LazyGen(name string, src func() ([]Value, error)) *Gen {
	return &Gen{src: src, name: name}
}

func (g *Gen) load() error {
	if g.src == nil {
		return nil
	}
	f := g.src
	g.src = nil
	var err error
	g.items, err = f()
	return err
}

// drain gives what is left.
func (g *Gen) drain() ([]Value, error) {
	if err := g.load(); err != nil {
		return nil, err
	}
	r := g.items[g.pos:]
	g.pos = len(g.items)
	return r, nil
}
