package watermark

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Window is what one load reads of the update key. No bound is nil on that side; a
// window without bounds is everything.
type Window struct {
	Lower, Upper *Value
	// Inclusive says that the lower bound belongs to the window. The upper never does.
	Inclusive bool
}

// Condition is the window as a predicate over column, which is SQL text.
func (w Window) Condition(column string) string {
	var parts []string
	if w.Lower != nil {
		op := ">"
		if w.Inclusive {
			op = ">="
		}
		parts = append(parts, column+" "+op+" "+w.Lower.Literal())
	}
	if w.Upper != nil {
		parts = append(parts, column+" < "+w.Upper.Literal())
	}
	if len(parts) == 0 {
		return "1=1"
	}
	return strings.Join(parts, " AND ")
}

// Value is the lower bound as a literal, null without one.
func (w Window) Value() string {
	if w.Lower == nil {
		return "null"
	}
	return w.Lower.Literal()
}

// Plain is the window after a watermark: strictly newer.
func Plain(mark *Value) Window { return Window{Lower: mark} }

// Lookback reads again the time before a watermark, the watermark's own rows included.
func Lookback(mark *Value, back Duration) Window {
	if mark == nil {
		return Window{}
	}
	lower := mark.Add(-back.Fixed())
	return Window{Lower: &lower, Inclusive: true}
}

// Advance is the next window of a paged load: from the state (less lookback, if any) to
// one step further, but not beyond now. ok is false when there is nothing to read.
func Advance(state Value, step Duration, back *Duration, now time.Time) (w Window, ok bool) {
	lower, upper := state, state.Add(step.Fixed())
	if back != nil {
		lower = state.Add(-back.Fixed())
	}
	if end := At(state.Type, now); upper.Compare(end) > 0 {
		upper = end
	}
	// Behind the state there is nothing new, however far lookback reaches.
	return Window{Lower: &lower, Upper: &upper, Inclusive: true}, state.Compare(upper) < 0 && lower.Compare(upper) < 0
}

// Range is the value of --range.
type Range struct{ Start, End, Step string }

// ParseRange reads "start,end" or "start,end,step".
func ParseRange(v string) (Range, error) {
	parts := strings.Split(v, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] == "" {
		return Range{}, fmt.Errorf("invalid --range %q: expected 'start,end' or 'start,end,step'", v)
	}
	if parts[0] == "" || parts[1] == "" {
		return Range{}, fmt.Errorf("invalid --range %q: start and end must be non-empty", v)
	}
	r := Range{Start: parts[0], End: parts[1]}
	if len(parts) == 3 {
		r.Step = parts[2]
	}
	return r, nil
}

// String is the value as --range takes it.
func (r Range) String() string {
	s := r.Start + "," + r.End
	if r.Step != "" {
		s += "," + r.Step
	}
	return s
}

// maxChunks bounds what one --range may ask for.
const maxChunks = 100_000

// Chunks cuts the range into windows that tile [start, end) without gap or overlap, the
// last one cut off at end. t is the type of the update key.
func (r Range) Chunks(t connectors.Type) ([]Window, error) {
	temporal := Temporal(t)
	if r.Step != "" && !Numeric(t) {
		if _, ok := ParseTime(r.Start); !ok || !temporal {
			return nil, fmt.Errorf("--range with step requires ISO date/timestamp start")
		}
		if _, ok := ParseTime(r.End); !ok {
			return nil, fmt.Errorf("--range with step requires ISO date/timestamp end")
		}
	}
	start, err := Parse(t, r.Start)
	if err != nil {
		return nil, fmt.Errorf("invalid --range %q: start %w", r.String(), err)
	}
	end, err := Parse(t, r.End)
	if err != nil {
		return nil, fmt.Errorf("invalid --range %q: end %w", r.String(), err)
	}
	if start.Compare(end) >= 0 {
		return nil, fmt.Errorf("invalid --range %q: start must be before end", r.String())
	}
	next := func(int64) (Value, error) { return end, nil }
	if r.Step != "" {
		if next, err = r.stepper(start); err != nil {
			return nil, err
		}
	}
	var chunks []Window
	for lower, k := start, int64(1); ; k++ {
		upper, err := next(k)
		if err != nil {
			return nil, err
		}
		if upper.Compare(lower) <= 0 {
			return nil, fmt.Errorf("invalid --range %q: a step of %s does not move a %s", r.String(), r.Step, strings.ToLower(t.String()))
		}
		last := upper.Compare(end) >= 0
		if last {
			upper = end
		}
		from, to := lower, upper
		chunks = append(chunks, Window{Lower: &from, Upper: &to, Inclusive: true})
		if last {
			return chunks, nil
		}
		if len(chunks) == maxChunks {
			return nil, fmt.Errorf("invalid --range %q: more than %d chunks", r.String(), maxChunks)
		}
		lower = upper
	}
}

// stepper gives the end of the k-th chunk.
func (r Range) stepper(start Value) (func(int64) (Value, error), error) {
	if Numeric(start.Type) {
		step, ok := new(big.Rat).SetString(r.Step)
		if !ok || step.Sign() <= 0 {
			return nil, fmt.Errorf("invalid --range %q: the step of a numeric key is a positive number", r.String())
		}
		return func(k int64) (Value, error) {
			v := start
			v.Num = new(big.Rat).Add(start.Num, new(big.Rat).Mul(step, new(big.Rat).SetInt64(k)))
			return v, nil
		}, nil
	}
	step, err := ParseDuration(r.Step)
	if err != nil {
		return nil, err
	}
	return func(k int64) (Value, error) { return At(start.Type, step.after(start.Time, k)), nil }, nil
}
