package conformance

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMatrix(t *testing.T) {
	b := NewBench(t)
	from, to := Engines, Engines
	if v := os.Getenv("DVT_CONFORMANCE_PAIR"); v != "" {
		f, tt, _ := strings.Cut(v, ",")
		from, to = []string{f}, strings.Split(tt, "+")
	}
	for _, f := range from {
		s := b.Source(f, nil)
		for _, to := range to {
			s.Pair(to)
		}
	}
}
