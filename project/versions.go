package project

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// addVersions makes one patch of each version of a model: that of name_v1.sql or
// name.v1.sql, or of the file that defined_in names.
func (l *loader) addVersions(p *patch, versions []*yaml.Node) {
	latest := text(get(p.n, "latest_version"))
	if latest == "" {
		for _, v := range versions {
			if name := text(get(v, "v")); latest == "" || newer(name, latest) {
				latest = name
			}
		}
	}
	known := false
	for _, v := range versions {
		name := text(get(v, "v"))
		if name == "" {
			l.add(p.d.at(v).errorf("a version of '%s' has no 'v': 'versions' is a list of entries like '- v: 1'", p.name))
			continue
		}
		known = known || name == latest
		one := *p
		one.version, one.latest = v, latest
		files := []string{p.name + "_v" + name, p.name + ".v" + name}
		if in := text(get(v, "defined_in")); in != "" {
			files = []string{in}
		}
		for _, f := range files {
			l.patches.nodes[[3]string{p.pkg.name, p.section, f}] = &one
		}
		l.patches.order = append(l.patches.order, &one)
	}
	if !known {
		l.add(p.d.at(p.n).errorf("latest_version %s of '%s' is none of its versions", latest, p.name))
	}
}

// newer compares versions as numbers where both are some, else as text.
func newer(a, b string) bool {
	x, ex := strconv.ParseFloat(a, 64)
	y, ey := strconv.ParseFloat(b, 64)
	if ex == nil && ey == nil {
		return x > y
	}
	return a > b
}

// columnsOf are the columns of a relation, or of a version of it: those of its own, and
// of the relation's what include and exclude leave.
func columnsOf(n, version *yaml.Node) []*yaml.Node {
	all := items(get(n, "columns"))
	if get(version, "columns") == nil {
		return all
	}
	var own []*yaml.Node
	with, without := map[string]bool{}, map[string]bool{}
	every, said := true, map[string]bool{}
	for _, c := range items(get(version, "columns")) {
		in := get(c, "include")
		if in == nil {
			own, said[text(get(c, "name"))] = append(own, c), true
			continue
		}
		if t := text(in); t != "all" && t != "*" {
			every = false
			for _, name := range texts(in) {
				with[name] = true
			}
		}
		for _, name := range texts(get(c, "exclude")) {
			without[name] = true
		}
	}
	var out []*yaml.Node
	for _, c := range all {
		if name := text(get(c, "name")); !said[name] && !without[name] && (every || with[name]) {
			out = append(out, c)
		}
	}
	return append(out, own...)
}

// versionNames are the names by which ref() finds a version, the latest also by the
// model's own.
func (n *Node) versionNames() []string {
	out := []string{n.VersionOf + ".v" + n.Version}
	if n.Version == n.LatestVersion {
		out = append(out, n.VersionOf)
	}
	return out
}

// isVersion reports whether a selector's name means the node as a version: the model's
// name means all of them.
func (n *Node) isVersion(name string) bool {
	return n.Version != "" && (wild(name, n.VersionOf) || name == n.VersionOf+".v"+n.Version)
}

// hasVersion is what version:latest, version:old, version:prerelease and version:none ask.
func (n *Node) hasVersion(v string) bool {
	switch {
	case n.ResourceType != TypeModel:
		return false
	case n.Version == "":
		return v == "none"
	case v == "latest":
		return n.Version == n.LatestVersion
	case v == "old":
		return newer(n.LatestVersion, n.Version)
	case v == "prerelease":
		return newer(n.Version, n.LatestVersion)
	}
	return false
}

// group and access are what the configuration says of who may read the model.
func (n *Node) group() string { return str(n.config["group"].v) }

func (n *Node) access() string { return orText(str(n.config["access"].v), "protected") }

// mayRead reports a ref() to a model that is private to another group, as dbt does.
func mayRead(n, to *Node) error {
	if to.ResourceType != TypeModel || to.access() != "private" || n.ResourceType == TypeTest && n.Test != nil && n.Test.Generic != "" {
		return nil
	}
	if g := to.group(); g == "" || g != n.group() {
		return fmt.Errorf("ref('%s'): the model is private to %s, which %s '%s' is not in", to.Name, groupName(g), n.ResourceType, n.Name)
	}
	return nil
}

func groupName(g string) string {
	if g == "" {
		return "its group (it names none)"
	}
	return "group '" + g + "'"
}
