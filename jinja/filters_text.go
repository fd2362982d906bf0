package jinja

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var escaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

var wordRe = regexp.MustCompile(`[\p{L}\p{N}_]+`)

var tagRe = regexp.MustCompile(`(?s)<!--.*?-->|<.*?>`)

var titleRe = regexp.MustCompile(`[-\s({\[<]+`)

// replaceText is str.replace; its size is known before it is made.
func replaceText(s, old, repl string, count int64) (Value, error) {
	n := int64(strings.Count(s, old))
	if count >= 0 {
		n = min(n, count)
	}
	if err := checkRepeat(len(repl), n, maxText); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, repl, int(n)), nil
}

// joinText is str.join with the same care.
func joinText(parts []string, sep string) (Value, error) {
	size := len(sep) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	if size > maxText {
		return nil, limitErr("text of more than %d bytes", maxText)
	}
	return strings.Join(parts, sep), nil
}

func quoteURL(s string, safe string) string {
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-~"+safe, c) >= 0 {
			sb.WriteByte(c)
		} else {
			fmt.Fprintf(&sb, "%%%02X", c)
		}
	}
	return sb.String()
}

func filterReplace(v Value, b Bound) (Value, error) {
	return replaceText(Str(v), Str(b.Get("old")), Str(b.Get("new")), optInt(b, "count", -1))
}

func filterTojson(v Value, b Bound) (Value, error) {
	ind := -1
	if x, ok := asInt(b.Get("indent")); ok {
		ind = int(x)
	}
	s, err := JSON(v, ind, true)
	if err != nil {
		return nil, err
	}
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(s), nil
}

func filterFormat(_ *State, v Value, a Args) (Value, error) {
	if len(a.Kw) > 0 {
		d := NewDict()
		for _, k := range a.Kw {
			d.setStr(k.Name, k.Val)
		}
		return PercentFormat(Str(v), d)
	}
	return PercentFormat(Str(v), NewTuple(a.Pos...))
}

func filterIndent(v Value, b Bound) (Value, error) {
	if _, ok := v.(string); !ok {
		if _, ok := v.(*List); ok { // list += str is no error in Python
			return nil, noAttribute(v, "splitlines")
		}
		if u, ok := v.(*Undefined); ok {
			return nil, u.Err()
		}
		return nil, binErr("+=", v, "\n")
	}
	ind, ok := b.Get("width").(string)
	if !ok {
		w := max(0, optInt(b, "width", 4))
		if err := checkRepeat(1, w, maxText); err != nil {
			return nil, err
		}
		ind = strings.Repeat(" ", int(w))
	}
	lines := splitLines(Str(v)+"\n", false)
	if err := checkRepeat(len(ind), int64(len(lines)), maxText); err != nil {
		return nil, err
	}
	for i := range lines {
		if i > 0 && (lines[i] != "" || Truth(b.Or("blank", false))) {
			lines[i] = ind + lines[i]
		}
	}
	s := strings.Join(lines, "\n")
	if Truth(b.Or("first", false)) {
		s = ind + s
	}
	return s, nil
}

func filterTruncate(v Value, b Bound) (Value, error) {
	if _, ok := v.(string); !ok {
		k, err := Len(v)
		if err != nil {
			return nil, err
		}
		if int64(k) <= optInt(b, "length", 255)+optInt(b, "leeway", 5) {
			return v, nil
		}
		return nil, TypeErr("can only concatenate %s (not \"str\") to %s", TypeName(v), TypeName(v))
	}
	r := []rune(Str(v))
	n, end := optInt(b, "length", 255), Str(b.Or("end", "..."))
	if int64(len(r)) <= n+optInt(b, "leeway", 5) {
		return string(r), nil
	}
	if k := int64(utf8.RuneCountInString(end)); n < k {
		return nil, newErr("AssertionError", "expected length >= %d, got %d", k, n)
	}
	cut := string(r[:n-int64(utf8.RuneCountInString(end))])
	if !Truth(b.Or("killwords", false)) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return cut + end, nil
}

func filterUrlencode(_ *State, v Value, a Args) (Value, error) {
	if s, ok := v.(string); ok {
		return quoteURL(s, "/"), nil
	}
	var pairs []Value
	if d, ok := v.(*Dict); ok {
		pairs = (&DictView{d, "items"}).Items()
	} else if it, err := Iter(v); err == nil {
		pairs = it
	} else {
		return quoteURL(Str(v), "/"), nil
	}
	var out []string
	for _, p := range pairs {
		kv, err := Iter(p)
		if err != nil || len(kv) != 2 {
			return nil, ValueErr("not enough values to unpack (expected 2, got %d)", len(kv))
		}
		q := func(x Value) string { return strings.ReplaceAll(quoteURL(Str(x), ""), "%20", "+") }
		out = append(out, q(kv[0])+"="+q(kv[1]))
	}
	return strings.Join(out, "&"), nil
}

func filterXmlattr(_ *State, v Value, a Args) (Value, error) {
	d, ok := v.(*Dict)
	if !ok {
		return nil, noAttribute(v, "items")
	}
	var out []string
	d.Each(func(k, x Value) {
		if _, u := x.(*Undefined); x != nil && !u {
			out = append(out, escaper.Replace(Str(k))+`="`+escaper.Replace(Str(x))+`"`)
		}
	})
	if len(out) == 0 {
		return "", nil
	}
	return " " + strings.Join(out, " "), nil
}
