package jinja

import (
	"math/big"
)

// A template comes from a package that nobody has read, so nothing it does may hang or
// exhaust the process: texts, lists, loops, nesting and numbers are all bounded. The
// bounds are far above what SQL needs; reaching one is a LimitError, never a cut result.
const (
	maxText    = 64 << 20 // bytes of one string value or of one render's output
	maxItems   = 4 << 20  // elements of one list or tuple
	maxWalk    = 4 << 20  // elements one repr, comparison, hash or JSON dump may visit
	maxBits    = 1 << 20  // of an integer
	maxNesting = 200      // blocks or parentheses within each other, as in CPython
	maxLinks   = 2000     // operators chained in one expression: it is evaluated by recursion
	maxDepth   = 1000     // lists within lists, as Python's recursion limit
)

// limitErr makes the error of a limit that was reached.
func limitErr(f string, a ...any) *Error { return newErr("LimitError", f, a...) }

// limitPanic leaves code whose signature has no error (Repr, Equal, hashing);
// frame.stmts and MacroVal.Call turn it into the error it holds.
type limitPanic struct{ err error }

func exceed(f string, a ...any) { panic(limitPanic{limitErr(f, a...)}) }

// caught turns a recovered limitPanic into its error; other panics go on.
func caught(r any) error {
	if l, ok := r.(limitPanic); ok {
		return l.err
	}
	panic(r)
}

// walk counts the elements that a recursive operation visits. Lists may contain one
// another many times over, so a tiny template can describe 2^60 elements.
type walk struct{ n int }

func (w *walk) step(depth int) {
	if w.n++; w.n > maxWalk {
		exceed("value has too many elements")
	}
	if depth > maxDepth {
		panic(limitPanic{newErr("RecursionError", "maximum recursion depth exceeded")})
	}
}

// checkRepeat refuses a text or list of n times size.
func checkRepeat(size int, n int64, limit int) error {
	if size > 0 && n > int64(limit/size) {
		return newErr("MemoryError", "repeat count too large")
	}
	return nil
}

func checkItems(n int) error {
	if n > maxItems {
		return limitErr("list has more than %d items", maxItems)
	}
	return nil
}

func checkBits(b *big.Int) error {
	if b.BitLen() > maxBits {
		return limitErr("integer has more than %d bits", maxBits)
	}
	return nil
}

// step counts one loop iteration or macro call, and sees a cancelled context.
func (st *State) step() error {
	st.steps++
	if m := st.Env.MaxSteps; m > 0 && st.steps > m {
		return limitErr("template runs more than %d loop iterations and macro calls", m)
	}
	if st.Context != nil {
		if err := st.Context.Err(); err != nil {
			return &Error{Kind: "Cancelled", Msg: err.Error(), Cause: err}
		}
	}
	return nil
}

// charge counts the size of a value that the render has made. What it made in all
// bounds what it can hold at once.
func (st *State) charge(v Value) error {
	var n int
	switch x := v.(type) {
	case string:
		if n = len(x); n > maxText {
			return limitErr("text of more than %d bytes", maxText)
		}
	case *List:
		n = 16 * len(x.Items)
		if err := checkItems(len(x.Items)); err != nil {
			return err
		}
	case *Tuple:
		n = 16 * len(x.Items)
		if err := checkItems(len(x.Items)); err != nil {
			return err
		}
	case *big.Int:
		n = x.BitLen() / 8
	default:
		return nil
	}
	return st.chargeBytes(n)
}

func (st *State) chargeBytes(n int) error {
	st.made += int64(n)
	if m := st.Env.MaxAlloc; m > 0 && st.made > m {
		return limitErr("template makes more than %d bytes of values", m)
	}
	return nil
}

// grown counts n items that were added to a list.
func (st *State) grown(l *List, n int) error {
	if err := checkItems(len(l.Items)); err != nil {
		return err
	}
	return st.chargeBytes(16 * n)
}
