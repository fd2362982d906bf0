package jinja

import (
	"strings"
	"unicode/utf8"
)

// window narrows s to [start:end] in code points; off is the rune offset.
func window(s string, b Bound) (string, int64) {
	if !b.Has("start") && !b.Has("end") {
		return s, 0
	}
	r := []rune(s)
	lo, hi := optInt(b, "start", 0), optInt(b, "end", int64(len(r)))
	x, y := bounds(&lo, &hi, 1, int64(len(r)))
	if x > y {
		return "", x
	}
	return string(r[x:y]), x
}

func affix(f func(s, p string) bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("startswith", "prefix", "start?", "end?")
		if err != nil {
			return nil, err
		}
		s, _ := window(self.(string), b)
		if t, ok := b.Get("prefix").(*Tuple); ok {
			for _, p := range t.Items {
				if q, ok := p.(string); ok && f(s, q) {
					return true, nil
				}
			}
			return false, nil
		}
		p, ok := b.Get("prefix").(string)
		if !ok {
			return nil, TypeErr("startswith first arg must be str or a tuple of str, not %s", TypeName(b.Get("prefix")))
		}
		return f(s, p), nil
	}
}

func findM(right, must bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("find", "sub", "start?", "end?")
		if err != nil {
			return nil, err
		}
		sub, err := needStr(b.Get("sub"), "find")
		if err != nil {
			return nil, err
		}
		s, off := window(self.(string), b)
		i := strings.Index(s, sub)
		if right {
			i = strings.LastIndex(s, sub)
		}
		if i < 0 {
			if must {
				return nil, ValueErr("substring not found")
			}
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])) + off, nil
	}
}

func strCount(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("count", "sub", "start?", "end?")
	if err != nil {
		return nil, err
	}
	sub, err := needStr(b.Get("sub"), "count")
	if err != nil {
		return nil, err
	}
	s, _ := window(self.(string), b)
	return int64(strings.Count(s, sub)), nil
}
