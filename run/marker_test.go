package run

import (
	"testing"

	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// Neither package may import the other, and a name marked by one is read by the other.
func TestMarkersAreOne(t *testing.T) {
	if project.RelationMarker != planner.Marker {
		t.Errorf("project marks relations with %q and the planner reads %q", project.RelationMarker, planner.Marker)
	}
}
