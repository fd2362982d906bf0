package run

import (
	"context"
	"strings"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
)

// aligned gives the open versions the types of the current state. A target may read a
// column back as another type than it took, with the same values: SQLite all integers as
// BIGINT, ClickHouse naive time stamps as instants, MySQL uuids as text. Compared and
// united as they come, they would be neither equal nor of the layout that is staged.
// It returns the current state and the open versions to compare; of two integers the
// wider type holds both.
func (s *snapshotRun) aligned(ctx context.Context, fit *load.Fit) (current, open string, err error) {
	current, open = compute.Kept("fitted"), compute.Kept("open")
	have, err := s.m.Columns(ctx, "SELECT * FROM "+open)
	if err != nil {
		return "", "", err
	}
	stored := map[string]connectors.Column{}
	for _, c := range have {
		stored[strings.ToLower(c.Name)] = c
	}
	var names, as, to, currentTo []string
	var openNames []string
	for i, c := range fit.Columns {
		names, currentTo = append(names, c.Name), append(currentTo, "")
		old, ok := stored[strings.ToLower(c.Name)]
		if !ok {
			continue
		}
		cast := ""
		if !c.Type.Equal(old.Type) {
			cast = c.Type.String()
			if wide, ok := widerInteger(c.Type, old.Type); ok {
				cast, currentTo[i] = wide.String(), wide.String()
				fit.Columns[i].Type = wide
			}
		}
		openNames, as, to = append(openNames, old.Name), append(as, c.Name), append(to, cast)
	}
	if _, err := s.m.Keep(ctx, "aligned", compute.CastColumns(open, openNames, as, to)); err != nil {
		return "", "", err
	}
	if strings.Join(currentTo, "") != "" {
		if _, err := s.m.Keep(ctx, "widened", compute.CastColumns(current, names, names, currentTo)); err != nil {
			return "", "", err
		}
		current = compute.Kept("widened")
	}
	return current, compute.Kept("aligned"), nil
}

// widerInteger is the type of the two integer types that holds the other's values.
func widerInteger(a, b connectors.Type) (connectors.Type, bool) {
	for _, t := range [][2]connectors.Type{{a, b}, {b, a}} {
		if load.HoldsInteger(t[0], t[1]) {
			return t[0], true
		}
	}
	return connectors.Type{}, false
}
