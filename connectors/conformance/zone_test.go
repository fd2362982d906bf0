package conformance

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/servers"
)

// TestZone: the client's time zone must not matter. The dates and times of the matrix and
// of the cases again, in a process that lives in New York. The test servers live in
// Kolkata.
func TestZone(t *testing.T) {
	t.Parallel()
	if zone := os.Getenv("DVT_CONFORMANCE_ZONE"); zone != "" {
		times(t, zone)
		return
	}
	inZone(t, "America/New_York", os.Environ())
}

// TestAcceptanceZones: nor must the servers' zone. In one of them clocks skip an hour and
// show another twice, as New York's do.
func TestAcceptanceZones(t *testing.T) {
	homes, clients := []string{"UTC"}, []string{"America/New_York"}
	if full() {
		homes, clients = []string{"UTC", "America/New_York", servers.DefaultZone}, []string{"UTC", "America/New_York", "Asia/Kolkata"}
	}
	for _, home := range homes {
		t.Run(home, func(t *testing.T) {
			set, err := servers.StartIn(t.Context(), home)
			if set != nil {
				defer func() {
					if err := set.Stop(); err != nil {
						t.Error(err)
					}
				}()
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, client := range clients {
				env := append(os.Environ(), set.Env()...)
				if !full() { // those that have a zone
					env = append(env, "DVT_CONFORMANCE_ENGINES=postgres,mysql,clickhouse,duckdb")
				}
				inZone(t, client, env)
			}
		})
	}
}

// inZone runs the tests of dates and times in a process of its own.
func inZone(t *testing.T, zone string, env []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^(TestZone|TestCase(A17|A19|A30|A36|A37))$")
	cmd.Env = append(env, "TZ="+zone, "DVT_CONFORMANCE_ZONE="+zone)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("with TZ=%s: %v\n%s", zone, err, out)
	}
}

// times moves dates and times from every engine to every engine.
func times(t *testing.T, zone string) {
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.Local)
	_, offset := day.Zone()
	if _, want := day.In(place).Zone(); offset != want {
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
	engines := Engines
	if only := os.Getenv("DVT_CONFORMANCE_ENGINES"); only != "" {
		engines = strings.Split(only, ",")
	}
	for _, from := range engines {
		s := b.Source(from, temporal)
		for _, to := range engines {
			s.Pair(to)
		}
	}
}
