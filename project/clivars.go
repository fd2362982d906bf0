package project

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// ParseVars reads the mapping of --vars as the files' YAML is read: a date is a date,
// not an instant.
func ParseVars(text string) (map[string]any, error) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		return nil, err
	}
	v, err := dbt.FromYAML(&n)
	if err != nil || v == nil {
		return nil, err
	}
	d, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("it is a " + jinja.TypeName(v))
	}
	vars := map[string]any{}
	d.Each(func(k, v jinja.Value) { vars[jinja.Str(k)] = v })
	return vars, nil
}
