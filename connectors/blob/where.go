package blob

import (
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// parse gives a predicate back from its text, nil if the text is not wholly one of leaves
// that this dialect rendered, joined as connectors.RenderPred joins them. Whatever parse
// it finds is the meaning of the text, for each leaf is and the rest is parentheses.
func (d *dialect) parse(where string, t *connectors.Table) *connectors.Pred {
	if where == "" {
		return &connectors.Pred{Kind: connectors.PTrue}
	}
	d.mu.Lock()
	p := parser{table: t, leaves: map[string]leaf{}}
	prefix := leafKey(t, "")
	for key, l := range d.leaves {
		if text, ok := strings.CutPrefix(key, prefix); ok && strings.Contains(where, text) {
			p.leaves[text] = l
		}
	}
	d.mu.Unlock()
	pred, rest, ok := p.junction(where)
	if !ok || rest != "" {
		return nil
	}
	return pred
}

type parser struct {
	table  *connectors.Table
	leaves map[string]leaf
}

// junction reads terms that are joined by one operator.
func (p *parser) junction(s string) (*connectors.Pred, string, bool) {
	first, rest, ok := p.term(s)
	if !ok {
		return nil, "", false
	}
	out := &connectors.Pred{Kind: connectors.PAnd, Kids: []*connectors.Pred{first}}
	sep := " AND "
	if strings.HasPrefix(rest, " OR ") {
		sep, out.Kind = " OR ", connectors.POr
	}
	for {
		next, more := strings.CutPrefix(rest, sep)
		if !more {
			return out, rest, true
		}
		var kid *connectors.Pred
		if kid, rest, ok = p.term(next); !ok {
			return nil, "", false
		}
		out.Kids = append(out.Kids, kid)
	}
}

// term reads the longest leaf that stands here, or a junction in parentheses.
func (p *parser) term(s string) (*connectors.Pred, string, bool) {
	best := ""
	for text := range p.leaves {
		if len(text) > len(best) && strings.HasPrefix(s, text) && ends(s[len(text):]) {
			best = text
		}
	}
	if best != "" {
		pred := p.known(p.leaves[best])
		return pred, s[len(best):], pred != nil
	}
	if rest, ok := strings.CutPrefix(s, "1 = 0"); ok && ends(rest) {
		return &connectors.Pred{Kind: connectors.PFalse}, rest, true
	}
	inner, ok := strings.CutPrefix(s, "(")
	if !ok {
		return nil, "", false
	}
	pred, rest, ok := p.junction(inner)
	if !ok || !strings.HasPrefix(rest, ")") {
		return nil, "", false
	}
	return pred, rest[1:], true
}

func ends(rest string) bool {
	return rest == "" || rest[0] == ')' || strings.HasPrefix(rest, " AND ") || strings.HasPrefix(rest, " OR ")
}

// known is the leaf's predicate on the columns of this description of the table.
func (p *parser) known(l leaf) *connectors.Pred {
	out := *l.pred
	if out.Col = p.table.Index(l.names[0]); out.Col < 0 {
		return nil
	}
	if len(l.names) > 1 {
		if out.Col2 = p.table.Index(l.names[1]); out.Col2 < 0 {
			return nil
		}
	}
	return &out
}

// columnsOf adds the columns of a predicate to a set.
func columnsOf(p *connectors.Pred, set map[int]bool) {
	switch p.Kind {
	case connectors.PAnd, connectors.POr:
		for _, k := range p.Kids {
			columnsOf(k, set)
		}
	case connectors.PTrue, connectors.PFalse:
	default:
		set[p.Col] = true
		if p.Kind == connectors.PColCmp {
			set[p.Col2] = true
		}
	}
}
