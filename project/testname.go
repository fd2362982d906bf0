package project

import (
	"crypto/md5"
	"encoding/hex"
	"regexp"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

var notWord = regexp.MustCompile(`[^0-9A-Za-z_]+`)

// testName is dbt's name for a test: what it is, what it tests, and its arguments in
// the order of their names; the alias is cut so that every engine takes it.
func testName(test string, t genericTest, args *jinja.Dict) (full, alias string) {
	var keys []string
	args.Each(func(k, _ jinja.Value) { keys = append(keys, jinja.Str(k)) })
	sort.Strings(keys)
	var parts []string
	for _, k := range keys {
		v, _ := args.GetStr(k)
		for _, e := range list(v) {
			if d, ok := e.(*jinja.Dict); ok {
				d.Each(func(_, x jinja.Value) { parts = append(parts, jinja.Str(x)) })
				continue
			}
			parts = append(parts, jinja.Str(e))
		}
	}
	for i, s := range parts {
		parts[i] = notWord.ReplaceAllString(s, "_")
	}
	head := strings.ReplaceAll(test, ".", "_") + "_" + t.target
	if t.source {
		head = "source_" + head
	}
	full = head + "_" + strings.Join(parts, "__")
	if len(full) < 64 {
		return full, full
	}
	sum := md5.Sum([]byte(full))
	return full, head[:min(30, len(head))] + "_" + hex.EncodeToString(sum[:])
}
