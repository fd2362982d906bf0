package project

import (
	"container/heap"
	"sort"
	"strings"
)

// graph is the DAG over nodes and sources, by unique id.
type graph struct {
	parents, children map[string][]string
	order             []string       // topological, stable by name; sources first
	rank              map[string]int // position in order
}

// Parents are the unique ids that id depends on, sorted.
func (p *Project) Parents(id string) []string { return p.graph.parents[id] }

// Children are the unique ids that depend on id, sorted.
func (p *Project) Children(id string) []string { return p.graph.children[id] }

// build makes the graph and reports a cycle, if there is one.
func (p *Project) build() error {
	g := graph{parents: map[string][]string{}, children: map[string][]string{}, rank: map[string]int{}}
	for id, n := range p.Nodes {
		g.parents[id] = n.DependsOn
		for _, d := range n.DependsOn {
			g.children[d] = append(g.children[d], id)
		}
	}
	for id := range p.Sources {
		g.parents[id] = nil
	}
	for _, c := range g.children {
		sort.Strings(c)
	}
	if c := cycle(g.parents); c != nil {
		names := make([]string, len(c))
		for i, id := range c {
			names[i] = p.Nodes[id].Name
		}
		return &Error{File: p.Nodes[c[0]].Path, Msg: "cycle detected in model dependencies: " + strings.Join(names, " -> ")}
	}
	g.order = topological(g.parents, g.children, func(id string) string {
		if n := p.Nodes[id]; n != nil {
			return n.Name + "\x00" + id
		}
		return "\x00" + id
	})
	for i, id := range g.order {
		g.rank[id] = i
	}
	p.graph = g
	return nil
}

// cycle finds a cycle: a, what a depends on, ..., a. It starts at the name that comes
// first, so that the message does not change from run to run.
func cycle(parents map[string][]string) []string {
	const (
		fresh = iota
		open
		done
	)
	state := map[string]int{}
	var path []string
	var found []string
	var visit func(id string) bool
	visit = func(id string) bool {
		state[id] = open
		path = append(path, id)
		for _, d := range parents[id] {
			switch state[d] {
			case open:
				for i, s := range path {
					if s == d {
						found = append(found, path[i:]...)
					}
				}
				return true
			case fresh:
				if visit(d) {
					return true
				}
			}
		}
		path = path[:len(path)-1]
		state[id] = done
		return false
	}
	ids := make([]string, 0, len(parents))
	for id := range parents {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		if state[id] == fresh && visit(id) {
			break
		}
	}
	if found == nil {
		return nil
	}
	first := 0
	for i, id := range found {
		if id < found[first] {
			first = i
		}
	}
	return append(append(found[first:len(found):len(found)], found[:first]...), found[first])
}

// topological orders ids so that parents come first; among those that are ready the
// smallest key does.
func topological(parents, children map[string][]string, key func(string) string) []string {
	waits := map[string]int{}
	ready := &keyHeap{}
	for id, ps := range parents {
		if waits[id] = len(ps); len(ps) == 0 {
			ready.items = append(ready.items, keyed{key(id), id})
		}
	}
	heap.Init(ready)
	var out []string
	for ready.Len() > 0 {
		id := heap.Pop(ready).(keyed).id
		out = append(out, id)
		for _, c := range children[id] {
			if waits[c]--; waits[c] == 0 {
				heap.Push(ready, keyed{key(c), c})
			}
		}
	}
	return out
}

type keyed struct{ key, id string }

type keyHeap struct{ items []keyed }

func (h *keyHeap) Len() int           { return len(h.items) }
func (h *keyHeap) Less(i, j int) bool { return h.items[i].key < h.items[j].key }
func (h *keyHeap) Swap(i, j int)      { h.items[i], h.items[j] = h.items[j], h.items[i] }
func (h *keyHeap) Push(x any)         { h.items = append(h.items, x.(keyed)) }
func (h *keyHeap) Pop() any {
	x := h.items[len(h.items)-1]
	h.items = h.items[:len(h.items)-1]
	return x
}
