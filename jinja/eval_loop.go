package jinja

import (
	"errors"
	"strings"
)

// cursor gives the items of a loop one by one, as Python's iterators do: a list that
// grows while it is looped over is followed, a dict that grows is an error, and a loop's
// "if" is asked only when its item is due.
type cursor struct {
	next   func() (Value, bool, error)
	length func() (int, bool) // of the value looped over; not with an "if"
}

func newCursor(v Value) (*cursor, error) {
	i := 0
	switch x := v.(type) {
	case *List:
		return &cursor{
			next: func() (Value, bool, error) {
				if i >= len(x.Items) {
					return nil, false, nil
				}
				i++
				return x.Items[i-1], true, nil
			},
			length: func() (int, bool) { return len(x.Items), true },
		}, nil
	case *Range:
		n := int(x.Len())
		return &cursor{
			next: func() (Value, bool, error) {
				if i >= n {
					return nil, false, nil
				}
				i++
				return x.Start + int64(i-1)*x.Step, true, nil
			},
			length: func() (int, bool) { return n, true },
		}, nil
	}
	items, err := Iter(v)
	if err != nil {
		return nil, err
	}
	size := func() int { return len(items) }
	kind := ""
	switch x := v.(type) {
	case *Dict:
		kind, size = "dictionary", func() int { return x.n }
	case *DictView:
		kind, size = "dictionary", func() int { return x.D.n }
	case *Set:
		kind, size = "Set", func() int { return x.D.n }
	}
	start := size()
	_, gen := v.(*Gen)
	return &cursor{
		next: func() (Value, bool, error) {
			if size() != start {
				return nil, false, newErr("RuntimeError", "%s changed size during iteration", kind)
			}
			if i >= len(items) {
				return nil, false, nil
			}
			i++
			return items[i-1], true, nil
		},
		length: func() (int, bool) { return len(items), !gen },
	}, nil
}

// filtered passes on the items for which the loop's "if" holds.
func (f *frame) filtered(n *For, c *cursor) *cursor {
	return &cursor{
		next: func() (Value, bool, error) {
			for {
				v, ok, err := c.next()
				if err != nil || !ok {
					return nil, false, err
				}
				if err := f.st.step(); err != nil {
					return nil, false, err
				}
				t := f.child()
				if err := t.assign(n.Target, v); err != nil {
					return nil, false, err
				}
				keep, err := t.use(n.Test)
				if err != nil {
					return nil, false, err
				}
				if Truth(keep) {
					return v, true, nil
				}
			}
		},
		length: func() (int, bool) { return 0, false },
	}
}

// runLoop runs the body for each item of it. As Jinja compiles it, else also runs when
// every iteration ended in break or continue.
func (f *frame) runLoop(n *For, it Value, depth int) error {
	c, err := newCursor(it)
	if err != nil {
		return err
	}
	if n.Test != nil {
		c = f.filtered(n, c)
	}
	l := &Loop{c: c, i: -1, node: n, f: f, depth0: depth, length: -1}
	done := false
	for {
		ok, err := l.advance()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := f.st.step(); err != nil {
			return err
		}
		// a fresh scope each time: a macro or caller made here keeps this iteration's values
		b := &frame{st: f.st, sc: &scope{parent: f.sc, vars: make([]binding, 0, 4)}, out: f.out, src: f.src, nat: f.nat, txt: f.txt}
		b.sc.vars = append(b.sc.vars, binding{"loop", l})
		if err := b.assign(n.Target, l.cur); err != nil {
			return err
		}
		err = b.stmts(n.Body)
		if errors.Is(err, sigBreak) {
			break
		}
		if errors.Is(err, sigContinue) {
			continue
		}
		if err != nil {
			return err
		}
		done = true
	}
	if done {
		return nil
	}
	return f.child().stmts(n.Else)
}

// Loop is the "loop" variable.
type Loop struct {
	c         *cursor
	i         int
	cur, prev Value
	peeked    bool // after holds what advance gives next, or that there is nothing
	after     Value
	more      bool
	length    int // -1: not asked for yet
	depth0    int
	node      *For
	f         *frame
	changed   Value
	seen      bool
}

func (l *Loop) advance() (bool, error) {
	v, ok, err := l.after, l.more, error(nil)
	if !l.peeked {
		v, ok, err = l.c.next()
	}
	l.peeked, l.after = false, nil
	if err != nil || !ok {
		return false, err
	}
	l.i++
	l.prev, l.cur = l.cur, v
	return true, nil
}

// peek looks one item ahead; an error in the loop's "if" shows as a limitPanic does,
// since reading loop.last has no way to fail.
func (l *Loop) peek() bool {
	if !l.peeked {
		var err error
		if l.after, l.more, err = l.c.next(); err != nil {
			panic(limitPanic{locate(err, l.f.src, posOf(l.node))})
		}
		l.peeked = true
	}
	return l.more
}

// PyLen is the number of items. If it cannot be known, the rest is read ahead.
func (l *Loop) PyLen() int {
	if l.length >= 0 {
		return l.length
	}
	n, ok := l.c.length()
	if !ok {
		n = l.i + 1
		var rest []Value
		for l.peek() {
			rest = append(rest, l.after)
			l.peeked = false
		}
		n += len(rest)
		i := 0
		l.c = &cursor{next: func() (Value, bool, error) {
			if i >= len(rest) {
				return nil, false, nil
			}
			i++
			return rest[i-1], true, nil
		}}
		l.peeked = false
	}
	l.length = n
	return n
}

// PyType is Python's name of the type.
func (l *Loop) PyType() string { return "LoopContext" }

// PyRepr is what printing loop gives.
func (l *Loop) PyRepr() string {
	return "<LoopContext " + Str(int64(l.i+1)) + "/" + Str(int64(l.PyLen())) + ">"
}

// GetAttr gives loop's attributes.
func (l *Loop) GetAttr(_ *State, name string) (Value, bool) {
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(l.PyLen() - l.i), true
	case "revindex0":
		return int64(l.PyLen() - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return !l.peek(), true
	case "length":
		return int64(l.PyLen()), true
	case "depth":
		return int64(l.depth0 + 1), true
	case "depth0":
		return int64(l.depth0), true
	case "previtem":
		if l.i > 0 {
			return l.prev, true
		}
		return &Undefined{Hint: "there is no previous item"}, true
	case "nextitem":
		if l.peek() {
			return l.after, true
		}
		return &Undefined{Hint: "there is no next item"}, true
	case "cycle":
		return NewFunc("cycle", l.cycle), true
	case "changed":
		return NewFunc("changed", l.hasChanged), true
	}
	return nil, false
}

func (l *Loop) cycle(_ *State, a Args) (Value, error) {
	if len(a.Pos) == 0 {
		return nil, TypeErr("no items for cycling given")
	}
	return a.Pos[l.i%len(a.Pos)], nil
}

func (l *Loop) hasChanged(_ *State, a Args) (Value, error) {
	t := NewTuple(a.Pos...)
	if l.seen && Equal(l.changed, t) {
		return false, nil
	}
	l.changed, l.seen = t, true
	return true, nil
}

// Call runs a recursive loop's body for the items of its argument.
func (l *Loop) Call(st *State, a Args) (Value, error) {
	if !l.node.Recursive {
		return nil, TypeErr("The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(a.Pos) != 1 {
		return nil, TypeErr("loop() takes exactly one argument")
	}
	st.depth++
	defer func() { st.depth-- }()
	if st.depth > st.Env.MaxDepth {
		return nil, newErr("RecursionError", "maximum recursion depth exceeded")
	}
	var sb strings.Builder
	c := &frame{st: st, sc: l.f.sc, out: &sb, src: l.f.src}
	err := c.runLoop(l.node, a.Pos[0], l.depth0+1)
	return sb.String(), err
}
