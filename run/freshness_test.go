package run

import (
	"math"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/project"
)

// TestPeriod: a limit that is longer than a duration can be is not a short one.
func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		age  project.Age
		want time.Duration
	}{
		{project.Age{Count: 2, Period: "day"}, 48 * time.Hour},
		{project.Age{Count: 213_504, Period: "day"}, math.MaxInt64},
		{project.Age{Count: math.MaxInt64, Period: "minute"}, math.MaxInt64},
		{project.Age{Count: -1, Period: "hour"}, -time.Hour},
		{project.Age{Count: 1, Period: "week"}, 0},
	} {
		if got := period(&c.age); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.age.Count, c.age.Period, got, c.want)
		}
	}
}
