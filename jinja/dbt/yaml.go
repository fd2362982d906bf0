package dbt

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
)

// maxYAMLDepth bounds nesting and maxYAMLNodes the size after aliases are followed,
// so that a few lines of aliases to aliases cannot fill the memory.
const (
	maxYAMLDepth = 200
	maxYAMLNodes = 1 << 20
)

// FromYAML turns a YAML node into a template value: dicts keep their order.
func FromYAML(n *yaml.Node) (V, error) {
	left := maxYAMLNodes
	return fromYAML(n, 0, &left)
}

func fromYAML(n *yaml.Node, depth int, left *int) (V, error) {
	if *left--; depth > maxYAMLDepth || *left < 0 {
		return nil, fmt.Errorf("line %d: the document is nested or repeated too often", n.Line)
	}
	switch n.Kind {
	case 0:
		return nil, nil
	case yaml.DocumentNode:
		return fromYAML(n.Content[0], depth+1, left)
	case yaml.AliasNode:
		return fromYAML(n.Alias, depth+1, left)
	case yaml.SequenceNode:
		l := jinja.NewList()
		for _, c := range n.Content {
			v, err := fromYAML(c, depth+1, left)
			if err != nil {
				return nil, err
			}
			l.Items = append(l.Items, v)
		}
		return l, nil
	case yaml.MappingNode:
		d := jinja.NewDict()
		return d, fillDict(d, n, depth, left)
	}
	return scalar(n)
}

func fillDict(d *jinja.Dict, n *yaml.Node, depth int, left *int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		v, err := fromYAML(c, depth+1, left)
		if err != nil {
			return err
		}
		if k.Tag == "!!merge" {
			if m, ok := v.(*jinja.Dict); ok {
				m.Each(func(k, v V) {
					if _, set := d.Get(k); !set {
						_ = d.Set(k, v) // the key was in a dict before
					}
				})
			}
			continue
		}
		key, err := fromYAML(k, depth+1, left)
		if err != nil {
			return err
		}
		if err := d.Set(key, v); err != nil {
			return fmt.Errorf("line %d: %w", k.Line, err)
		}
	}
	return nil
}

func scalar(n *yaml.Node) (V, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		var i int64
		if err := n.Decode(&i); err == nil {
			return i, nil
		}
		if b, ok := new(big.Int).SetString(n.Value, 0); ok {
			return b, nil
		}
		return n.Value, nil
	case "!!float":
		var f float64
		err := n.Decode(&f)
		return f, err
	case "!!timestamp":
		// YAML 1.1 reads 2024-01-01 as a date, as dbt's loader does.
		var t time.Time
		if err := n.Decode(&t); err != nil {
			return n.Value, nil
		}
		if len(n.Value) == len("2024-01-01") {
			return Date(t), nil
		}
		if _, offset := t.Zone(); offset != 0 {
			return Aware(t), nil
		}
		return Datetime(t), nil
	}
	return n.Value, nil
}

// yamlNode is the way back, for toyaml.
func yamlNode(v V, depth int) (*yaml.Node, error) {
	if depth > maxYAMLDepth {
		return nil, fmt.Errorf("nested too deeply")
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch x := v.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(x)
	case int64, *big.Int:
		n.Tag, n.Value = "!!int", jinja.Str(x)
	case float64:
		n.Tag, n.Value = "!!float", jinja.Str(x)
	case string:
		n.SetString(x)
	case *jinja.Dict:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		var bad error
		x.Each(func(k, e V) {
			for _, part := range []V{k, e} {
				c, err := yamlNode(part, depth+1)
				if err != nil {
					bad = err
					return
				}
				n.Content = append(n.Content, c)
			}
		})
		return n, bad
	case *jinja.List, *jinja.Tuple:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		items, err := jinja.Iter(x)
		if err != nil {
			return nil, err
		}
		for _, e := range items {
			c, err := yamlNode(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
	default:
		return nil, fmt.Errorf("cannot represent a %s", jinja.TypeName(v))
	}
	return n, nil
}
