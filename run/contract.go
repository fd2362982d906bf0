package run

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
)

// contract compares a model's columns with those that its properties promise: names and
// types, without lengths and precisions, as dbt does.
func contract(n *project.Node, cols []connectors.Column) error {
	if !n.Contract() {
		return nil
	}
	var faults []string
	have := map[string]connectors.Column{}
	for _, c := range cols {
		have[strings.ToLower(c.Name)] = c
	}
	promised := map[string]bool{}
	for _, spec := range n.Columns {
		key := strings.ToLower(spec.Name)
		promised[key] = true
		c, ok := have[key]
		switch {
		case spec.DataType == "":
			faults = append(faults, fmt.Sprintf("%s: the contract names no data_type", spec.Name))
		case !ok:
			faults = append(faults, fmt.Sprintf("%s: missing in the model, the contract says %s", spec.Name, spec.DataType))
		case !sameType(spec.DataType, c):
			faults = append(faults, fmt.Sprintf("%s: is %s in the model, the contract says %s", spec.Name, typeText(c), spec.DataType))
		}
	}
	for _, c := range cols {
		if !promised[strings.ToLower(c.Name)] {
			faults = append(faults, fmt.Sprintf("%s: %s in the model, missing in the contract", c.Name, typeText(c)))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("the model's columns break its contract:\n    %s", strings.Join(faults, "\n    "))
}

func typeText(c connectors.Column) string {
	if c.Native != "" {
		return c.Native
	}
	return c.Type.String()
}

// sameType compares a promised type with the engine's own spelling, and else by what
// both mean.
func sameType(promised string, c connectors.Column) bool {
	if baseType(promised) == baseType(c.Native) {
		return true
	}
	t, err := connectors.ParseType(promised)
	return err == nil && t.Kind == c.Type.Kind
}

// baseType is a type without its parameters, in lower case.
func baseType(t string) string {
	head, rest, _ := strings.Cut(strings.ToLower(t), "(")
	if _, tail, ok := strings.Cut(rest, ")"); ok {
		head += tail
	}
	return strings.Join(strings.Fields(head), " ")
}
