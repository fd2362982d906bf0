package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func str1(f func(string) Value) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		if len(a.Pos)+len(a.Kw) > 0 {
			return nil, TypeErr("method takes no arguments (%d given)", len(a.Pos)+len(a.Kw))
		}
		return f(self.(string)), nil
	}
}

func allRunes(f func(rune) bool) func(string) Value {
	return func(s string) Value {
		if s == "" {
			return false
		}
		for _, r := range s {
			if !f(r) {
				return false
			}
		}
		return true
	}
}

func pyTitle(s string) string {
	var sb strings.Builder
	prev := false
	for _, r := range s {
		if unicode.IsLetter(r) {
			if prev {
				sb.WriteRune(unicode.ToLower(r))
			} else {
				sb.WriteRune(unicode.ToTitle(r))
			}
			prev = true
		} else {
			sb.WriteRune(r)
			prev = false
		}
	}
	return sb.String()
}

func pyCapitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToTitle(r)) + pyLower(s[n:])
}

func pyLower(s string) string { return strings.ToLower(s) }

func pyUpper(s string) string { return strings.ReplaceAll(strings.ToUpper(s), "ß", "SS") }

func strip(s string, cut Value, left, right bool) (string, error) {
	f := pySpace
	if cut != nil {
		c, err := needStr(cut, "strip")
		if err != nil {
			return "", err
		}
		f = func(r rune) bool { return strings.ContainsRune(c, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, f)
	}
	if right {
		s = strings.TrimRightFunc(s, f)
	}
	return s, nil
}

func stripM(l, r bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("strip", "chars?")
		if err != nil {
			return nil, err
		}
		return strip(self.(string), b.Get("chars"), l, r)
	}
}

// pad brings s to a width of code points; mode is l, r or c.
func pad(s string, width int64, fill string, mode byte) (string, error) {
	n := width - int64(utf8.RuneCountInString(s))
	if n <= 0 {
		return s, nil
	}
	if err := checkRepeat(len(fill), n, maxText); err != nil {
		return "", err
	}
	switch mode {
	case 'l':
		return s + strings.Repeat(fill, int(n)), nil
	case 'r':
		return strings.Repeat(fill, int(n)) + s, nil
	}
	l := n / 2
	if n%2 == 1 && width%2 == 1 { // CPython's choice of the longer side
		l++
	}
	return strings.Repeat(fill, int(l)) + s + strings.Repeat(fill, int(n-l)), nil
}

func padM(mode byte) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("ljust", "width", "fillchar?")
		if err != nil {
			return nil, err
		}
		f, ok := b.Or("fillchar", " ").(string)
		if !ok || utf8.RuneCountInString(f) != 1 {
			return nil, TypeErr("The fill character must be exactly one character long")
		}
		return pad(self.(string), optInt(b, "width", 0), f, mode)
	}
}

func cased(up bool) func(string) Value {
	return func(s string) Value {
		any := false
		for _, r := range s {
			if up && unicode.IsLower(r) || !up && unicode.IsUpper(r) {
				return false
			}
			if unicode.IsUpper(r) || unicode.IsLower(r) {
				any = true
			}
		}
		return any
	}
}

var strMethods map[string]method

func init() {
	strMethods = map[string]method{
		"upper": str1(func(s string) Value { return pyUpper(s) }), "lower": str1(func(s string) Value { return pyLower(s) }),
		"casefold": str1(func(s string) Value { return strings.ReplaceAll(pyLower(s), "ß", "ss") }),
		"title":    str1(func(s string) Value { return pyTitle(s) }), "capitalize": str1(func(s string) Value { return pyCapitalize(s) }),
		"swapcase": str1(func(s string) Value {
			return strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, s)
		}),
		"isdigit": str1(allRunes(unicode.IsDigit)), "isnumeric": str1(allRunes(unicode.IsNumber)), "isdecimal": str1(allRunes(unicode.IsDigit)),
		"isalpha": str1(allRunes(unicode.IsLetter)), "isspace": str1(allRunes(pySpace)),
		"isalnum": str1(allRunes(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })),
		"isupper": str1(cased(true)), "islower": str1(cased(false)),
		"istitle":      str1(func(s string) Value { return s != "" && pyTitle(s) == s && pyUpper(s) != pyLower(s) }),
		"isascii":      str1(func(s string) Value { return isASCII(s) }),
		"isidentifier": str1(func(s string) Value { return isIdent(s) }),
		"strip":        stripM(true, true), "lstrip": stripM(true, false), "rstrip": stripM(false, true),
		"split": splitM(false), "rsplit": splitM(true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"find": findM(false, false), "rfind": findM(true, false), "index": findM(false, true), "rindex": findM(true, true),
		"ljust": padM('l'), "rjust": padM('r'), "center": padM('c'), "partition": partM(false), "rpartition": partM(true),
		"replace":      strReplace,
		"join":         strJoin,
		"count":        strCount,
		"zfill":        strZfill,
		"splitlines":   strSplitlines,
		"removeprefix": strRemoveprefix,
		"removesuffix": strRemovesuffix,
		"expandtabs":   strExpandtabs,
		"format":       func(st *State, self Value, a Args) (Value, error) { return StrFormat(st, self.(string), a) },
		"format_map":   strFormatMap,
		"encode":       func(_ *State, self Value, a Args) (Value, error) { return Bytes(self.(string)), nil },
	}
}

func isIdent(s string) bool {
	for i, r := range s {
		if i == 0 && !isIdStart(r) || !isIdPart(r) {
			return false
		}
	}
	return s != ""
}

func strReplace(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("replace", "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	o, ok1 := b.Get("old").(string)
	n, ok2 := b.Get("new").(string)
	if !ok1 {
		return nil, TypeErr("replace() argument 1 must be str, not %s", TypeName(b.Get("old")))
	}
	if !ok2 {
		return nil, TypeErr("replace() argument 2 must be str, not %s", TypeName(b.Get("new")))
	}
	return replaceText(self.(string), o, n, optInt(b, "count", -1))
}

func strJoin(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("join", "iterable")
	if err != nil {
		return nil, err
	}
	it, err := Iter(b.Get("iterable"))
	if err != nil {
		return nil, err
	}
	p := make([]string, len(it))
	for i, v := range it {
		s, ok := v.(string)
		if !ok {
			return nil, TypeErr("sequence item %d: expected str instance, %s found", i, TypeName(v))
		}
		p[i] = s
	}
	return joinText(p, self.(string))
}

func strZfill(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("zfill", "width")
	if err != nil {
		return nil, err
	}
	s, w := self.(string), optInt(b, "width", 0)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		t, err := pad(s[1:], w-1, "0", 'r')
		return s[:1] + t, err
	}
	return pad(s, w, "0", 'r')
}

func strRemoveprefix(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("removeprefix", "prefix")
	if err != nil {
		return nil, err
	}
	return strings.TrimPrefix(self.(string), Str(b.Get("prefix"))), nil
}

func strRemovesuffix(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("removesuffix", "suffix")
	if err != nil {
		return nil, err
	}
	return strings.TrimSuffix(self.(string), Str(b.Get("suffix"))), nil
}

func strExpandtabs(_ *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("expandtabs", "tabsize?")
	if err != nil {
		return nil, err
	}
	ts, col := optInt(b, "tabsize", 8), int64(0)
	var sb strings.Builder
	for _, r := range self.(string) {
		switch {
		case r == '\t' && ts > 0:
			n := ts - col%ts
			if err := checkRepeat(1, n+int64(sb.Len()), maxText); err != nil {
				return nil, err
			}
			sb.WriteString(strings.Repeat(" ", int(n)))
			col += n
		case r == '\n' || r == '\r':
			sb.WriteRune(r)
			col = 0
		default:
			sb.WriteRune(r)
			col++
		}
	}
	return sb.String(), nil
}

func strFormatMap(st *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("format_map", "mapping")
	if err != nil {
		return nil, err
	}
	d, ok := b.Get("mapping").(*Dict)
	if !ok {
		return nil, TypeErr("format_map() argument must be a mapping")
	}
	var x Args
	d.Each(func(k, v Value) { x.Kw = append(x.Kw, KwArg{Str(k), v}) })
	return StrFormat(st, self.(string), x)
}
