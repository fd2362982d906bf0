package conformance

import "testing"

// TestConnector runs here what each connector's own test runs.
func TestConnector(t *testing.T) {
	for _, e := range Engines {
		t.Run(e, func(t *testing.T) {
			for _, p := range promises {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					b := NewBench(t)
					p.check(b, b.Site(e))
				})
			}
		})
	}
}
