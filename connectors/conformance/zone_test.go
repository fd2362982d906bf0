package conformance

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// The client's time zone must not matter: the dates and times of the matrix and of the
// cases again, in a process that lives in New York. The test servers live in Kolkata.
func TestZone(t *testing.T) {
	t.Parallel()
	const zone = "America/New_York"
	if os.Getenv("DVT_CONFORMANCE_ZONE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^(TestZone|TestCase(A17|A19|A30|A36|A37))$")
		cmd.Env = append(os.Environ(), "TZ="+zone, "DVT_CONFORMANCE_ZONE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("with TZ=%s: %v\n%s", zone, err, out)
		}
		return
	}
	if _, offset := time.Date(2024, 1, 1, 0, 0, 0, 0, time.Local).Zone(); offset != -5*3600 {
		t.Fatalf("TZ=%s has no effect: the offset is %d s", zone, offset)
	}
	b := NewBench(t)
	temporal := func(c *Column) bool {
		typ := c.Type()
		if typ.Kind == connectors.List {
			typ = *typ.Elem
		}
		return slices.Contains(timeKinds, typ.Kind) || typ.Kind == connectors.Time || typ.Kind == connectors.TimeTZ
	}
	for _, from := range Engines {
		s := b.Source(from, temporal)
		for _, to := range Engines {
			s.Pair(to)
		}
	}
}
