package jinja

import (
	"strings"
	"unicode/utf8"
)

func fields(s string, max int64, right bool) []Value {
	var out []Value
	if right {
		for {
			s = strings.TrimRightFunc(s, pySpace)
			if s == "" {
				break
			}
			i := strings.LastIndexFunc(s, pySpace)
			if max == 0 || i < 0 {
				if max == 0 {
					out = append(out, strings.TrimRightFunc(s, pySpace))
				} else {
					out = append(out, s)
				}
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			out = append(out, s[i+n:])
			s = s[:i]
			max--
		}
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		return out
	}
	for {
		s = strings.TrimLeftFunc(s, pySpace)
		if s == "" {
			return out
		}
		i := strings.IndexFunc(s, pySpace)
		if max == 0 || i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i:]
		max--
	}
}

func splitM(right bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("split", "sep?", "maxsplit?")
		if err != nil {
			return nil, err
		}
		s, n := self.(string), optInt(b, "maxsplit", -1)
		if b.Get("sep") == nil {
			return NewList(fields(s, n, right)...), nil
		}
		sep, err := needStr(b.Get("sep"), "split")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, ValueErr("empty separator")
		}
		out := &List{Items: []Value{}}
		if right && n >= 0 {
			var rev []Value
			for ; n > 0; n-- {
				i := strings.LastIndex(s, sep)
				if i < 0 {
					break
				}
				rev = append(rev, s[i+len(sep):])
				s = s[:i]
			}
			out.Items = append(out.Items, s)
			for i := len(rev) - 1; i >= 0; i-- {
				out.Items = append(out.Items, rev[i])
			}
			return out, nil
		}
		lim := -1
		if n >= 0 {
			lim = int(n) + 1
		}
		for _, p := range strings.SplitN(s, sep, lim) {
			out.Items = append(out.Items, p)
		}
		return out, nil
	}
}

func partM(right bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("partition", "sep")
		if err != nil {
			return nil, err
		}
		sep, err := needStr(b.Get("sep"), "partition")
		if err != nil {
			return nil, err
		}
		s := self.(string)
		i := strings.Index(s, sep)
		if right {
			i = strings.LastIndex(s, sep)
		}
		if i < 0 {
			if right {
				return NewTuple("", "", s), nil
			}
			return NewTuple(s, "", ""), nil
		}
		return NewTuple(s[:i], sep, s[i+len(sep):]), nil
	}
}

func strSplitlines(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("splitlines", "keepends?")
	if err != nil {
		return nil, err
	}
	out := &List{Items: []Value{}}
	for _, l := range splitLines(self.(string), Truth(b.Or("keepends", false))) {
		out.Items = append(out.Items, l)
	}
	return out, nil
}

// splitLines is str.splitlines: more line ends than \n, and none after the last line.
func splitLines(s string, keep bool) []string {
	var out []string
	for s != "" {
		i := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if i < 0 {
			return append(out, s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, s[:i+n])
		} else {
			out = append(out, s[:i])
		}
		s = s[i+n:]
	}
	return out
}
