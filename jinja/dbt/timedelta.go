package dbt

import (
	"fmt"
	"strings"
	"time"
)

// timeDelta is a Python timedelta.
type timeDelta struct{ d time.Duration }

const day = 24 * time.Hour

// days is the number of whole days, rounded down as Python does.
func (t *timeDelta) days() int64 {
	n := int64(t.d / day)
	if t.d%day < 0 {
		n--
	}
	return n
}

func (t *timeDelta) rest() time.Duration { return t.d - time.Duration(t.days())*day }

func (t *timeDelta) PyType() string { return "timedelta" }
func (t *timeDelta) PyBool() bool   { return t.d != 0 }
func (t *timeDelta) PyStr() string {
	days, r := t.days(), t.rest()
	s := fmt.Sprintf("%d:%02d:%02d", r/time.Hour, r/time.Minute%60, r/time.Second%60)
	if us := r / time.Microsecond % 1e6; us != 0 {
		s += fmt.Sprintf(".%06d", us)
	}
	if days == 1 || days == -1 {
		return fmt.Sprintf("%d day, %s", days, s)
	}
	if days != 0 {
		return fmt.Sprintf("%d days, %s", days, s)
	}
	return s
}

func (t *timeDelta) PyRepr() string {
	var parts []string
	for _, f := range []struct {
		name string
		n    int64
	}{{"days", t.days()}, {"seconds", int64(t.rest() / time.Second)}, {"microseconds", int64(t.rest() % time.Second / time.Microsecond)}} {
		if f.n != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", f.name, f.n))
		}
	}
	if parts == nil {
		parts = []string{"0"}
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}

func (t *timeDelta) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "days":
		return t.days(), true
	case "seconds":
		return int64(t.rest() / time.Second), true
	case "microseconds":
		return int64(t.rest() % time.Second / time.Microsecond), true
	case "total_seconds":
		return constantly(n, t.d.Seconds()), true
	}
	return nil, false
}

func (t *timeDelta) PyEq(o V) bool { x, ok := o.(*timeDelta); return ok && x.d == t.d }
func (t *timeDelta) PyCmp(o V) (int, bool) {
	x, ok := o.(*timeDelta)
	if !ok {
		return 0, false
	}
	return int(min(max(int64(t.d-x.d), -1), 1)), true
}

func (t *timeDelta) PyBinOp(op string, o V, reflected bool) (V, bool, error) {
	switch x := o.(type) {
	case *timeDelta:
		switch {
		case op == "+":
			return &timeDelta{t.d + x.d}, true, nil
		case op == "-" && !reflected:
			return &timeDelta{t.d - x.d}, true, nil
		case op == "/" && !reflected && x.d != 0:
			return float64(t.d) / float64(x.d), true, nil
		}
	case int64:
		if op == "*" {
			return &timeDelta{t.d * time.Duration(x)}, true, nil
		}
		if (op == "/" || op == "//") && !reflected && x != 0 {
			return &timeDelta{t.d / time.Duration(x)}, true, nil
		}
	}
	return nil, false, nil
}
