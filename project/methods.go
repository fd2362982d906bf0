package project

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// methods are the selector methods, for messages.
var methods = []string{"access", "config", "exposure", "file", "fqn", "group", "package", "path", "resource_type", "source", "tag", "test_name", "test_type", "version"}

// method is the test that a criterion puts to every node and source.
func (s *selection) method(c criterion) (func(id string) bool, error) {
	v := c.value
	name, rest, _ := strings.Cut(c.method, ".")
	switch name {
	case "fqn":
		return s.either(func(n *Node) bool { return matchFQN(n.FQN, n.Package, v) || n.UniqueID == v || n.isVersion(v) },
			func(x *Source) bool { return x.UniqueID == v }), nil
	case "path":
		dir := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(v, "./")), "/")
		if filepath.IsAbs(v) {
			if rel, err := filepath.Rel(s.p.Dir, v); err == nil {
				dir = filepath.ToSlash(rel)
			}
		}
		return s.either(func(n *Node) bool { return matchPath(n.Path, dir) }, func(x *Source) bool { return matchPath(x.Path, dir) }), nil
	case "file":
		return s.either(func(n *Node) bool { return matchFile(n.Path, v) }, func(x *Source) bool { return matchFile(x.Path, v) }), nil
	case "tag":
		return s.either(func(n *Node) bool { return anyMatch(n.Tags, v) }, func(x *Source) bool { return anyMatch(x.Tags, v) }), nil
	case "package":
		if v == "this" {
			v = s.p.Name
		}
		return s.either(func(n *Node) bool { return wild(v, n.Package) }, func(x *Source) bool { return wild(v, x.Package) }), nil
	case "resource_type":
		return s.either(func(n *Node) bool { return n.ResourceType == v }, func(*Source) bool { return v == TypeSource }), nil
	case "source":
		return s.either(nil, func(x *Source) bool { return matchSource(x, v) }), nil
	case "config":
		if rest == "" {
			return nil, &Error{Msg: fmt.Sprintf("invalid selector '%s': write config.KEY:VALUE", c.raw)}
		}
		keys := strings.Split(rest, ".")
		return s.either(func(n *Node) bool { return matchConfig(n, keys, v) }, func(x *Source) bool {
			return keys[0] == "meta" && configEquals(dig(x.Meta, keys[1:]), v)
		}), nil
	case "test_type":
		return s.either(func(n *Node) bool { return matchTestType(n, v) }, nil), nil
	case "test_name":
		return s.either(func(n *Node) bool {
			return n.Test != nil && wild(v, n.Test.Generic[strings.LastIndexByte(n.Test.Generic, '.')+1:])
		}, nil), nil
	case "group":
		return s.either(func(n *Node) bool { return n.group() != "" && wild(v, n.group()) }, nil), nil
	case "access":
		return s.either(func(n *Node) bool { return n.ResourceType == TypeModel && n.access() == v }, nil), nil
	case "version":
		return s.either(func(n *Node) bool { return n.hasVersion(v) }, nil), nil
	case "exposure":
		return s.exposure(c), nil
	case "metric", "semantic_model", "saved_query", "unit_test":
		return func(string) bool { return false }, nil
	}
	return nil, &Error{Msg: fmt.Sprintf("'%s' is not a valid method name in selector '%s': known are %s%s",
		c.method, c.raw, strings.Join(methods, ", "), didYouMean(c.method, methods))}
}

func (s *selection) either(node func(*Node) bool, source func(*Source) bool) func(id string) bool {
	return func(id string) bool {
		if n := s.p.Nodes[id]; n != nil {
			return node != nil && node(n)
		}
		if x := s.p.Sources[id]; x != nil {
			return source != nil && source(x)
		}
		return false
	}
}

// wild matches with * ? and [] over any characters.
func wild(pattern, text string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return pattern == text
	}
	// path.Match stops at slashes, which names do not have but test names may.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
	return err == nil && ok
}

func anyMatch(all []string, pattern string) bool {
	for _, s := range all {
		if wild(pattern, s) {
			return true
		}
	}
	return false
}

// matchFQN matches a name, or a path of names from the package or from its first
// folder on: a, marts, marts.a, shop.marts.
func matchFQN(fqn []string, pkg, value string) bool {
	if wild(value, fqn[len(fqn)-1]) {
		return true
	}
	parts := strings.Split(value, ".")
	return fqnPrefix(fqn, parts) || fqn[0] == pkg && fqnPrefix(fqn[1:], parts)
}

func fqnPrefix(fqn, parts []string) bool {
	for i, p := range parts {
		if i >= len(fqn) {
			return false
		}
		if !wild(p, fqn[i]) {
			return false
		}
		if p == "*" && i == len(parts)-1 {
			return true
		}
	}
	return true
}

// matchPath matches a file, a folder above it, or a pattern for either.
func matchPath(file, dir string) bool {
	if dir == "" || dir == "." {
		return true
	}
	for f := file; f != "." && f != "/"; f = path.Dir(f) {
		if f == dir || matchGlob(strings.Split(dir, "/"), strings.Split(f, "/")) {
			return true
		}
	}
	return false
}

// matchGlob matches part by part; ** stands for any number of parts.
func matchGlob(pattern, parts []string) bool {
	if len(pattern) == 0 {
		return len(parts) == 0
	}
	if pattern[0] == "**" {
		for i := 0; i <= len(parts); i++ {
			if matchGlob(pattern[1:], parts[i:]) {
				return true
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return err == nil && ok && matchGlob(pattern[1:], parts[1:])
}

// matchFile matches a file's name, with or without its extension.
func matchFile(file, value string) bool {
	return wild(value, path.Base(file)) || wild(value, stem(file))
}

// matchSource matches source, source.table or package.source.table.
func matchSource(s *Source, value string) bool {
	parts := strings.Split(value, ".")
	switch len(parts) {
	case 1:
		return wild(parts[0], s.SourceName)
	case 2:
		return wild(parts[0], s.SourceName) && wild(parts[1], s.Name)
	case 3:
		return wild(parts[0], s.Package) && wild(parts[1], s.SourceName) && wild(parts[2], s.Name)
	}
	return false
}

func matchConfig(n *Node, keys []string, value string) bool {
	if keys[0] == "materialized" {
		if n.ResourceType != TypeModel {
			return n.Config.Materialized == value
		}
		want, ok := canonical(value, false)
		if !ok {
			return false
		}
		return n.Config.Materialized == want || n.Promoted && n.PromotedFrom == want
	}
	if to, ok := aliases[keys[0]]; ok {
		keys = append([]string{to}, keys[1:]...)
	}
	if keys[0] == "schema" && len(keys) == 1 {
		return n.Config.Schema == value || n.Schema == value
	}
	var v any = n.Config.Raw
	if v = dig(v, keys); v == nil && keys[0] == "enabled" {
		v = n.Config.Enabled
	}
	return configEquals(v, value)
}

func dig(v any, keys []string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// configEquals compares a setting with a selector's text: a list has it as an
// element, a mapping as a key.
func configEquals(v any, value string) bool {
	switch x := v.(type) {
	case nil:
		return false
	case []any:
		for _, e := range x {
			if configEquals(e, value) {
				return true
			}
		}
		return false
	case map[string]any:
		_, ok := x[value]
		return ok
	case bool:
		b, ok := truth(value)
		return ok && b == x
	}
	return wild(value, fmt.Sprint(v))
}

func matchTestType(n *Node, v string) bool {
	if n.Test == nil {
		return false
	}
	switch v {
	case "generic", "schema":
		return n.Test.Generic != ""
	case "singular":
		return n.Test.Generic == ""
	case "data":
		return true
	}
	return false
}
