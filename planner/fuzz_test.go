package planner

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPlansKeepResults runs random queries twice: over whole relations, and over what
// the plan extracts of them. Every row must be the same. DVT_FUZZ_QUERIES and
// DVT_FUZZ_SEED set how many and which.
func TestPlansKeepResults(t *testing.T) {
	queries := envInt(t, "DVT_FUZZ_QUERIES", 300)
	seed := envInt(t, "DVT_FUZZ_SEED", 1+time.Now().UnixNano()%1_000_000)
	t.Logf("DVT_FUZZ_SEED=%d DVT_FUZZ_QUERIES=%d", seed, queries)
	f := newFuzz(t, seed)
	for i := range int(queries) {
		f.step(i)
		if f.mismatch != "" {
			t.Fatalf("query %d of seed %d: %s", i, seed, f.mismatch)
		}
	}
	s := f.stats
	t.Log(s)
	// The comparison proves nothing if nothing was pushed or nothing came out. Few queries
	// scatter.
	withRows, pushed := 50, 40
	if queries >= 2000 {
		withRows, pushed = 60, 50
	}
	if queries >= 200 && (s.compared < int(queries)*9/10 || percent(s.nonEmpty, s.compared) < withRows || percent(s.pushed, s.pushed+s.kept) < pushed ||
		s.limits == 0 || s.extremes == 0 || s.keys == 0 || s.streamed == 0 || s.apart == 0 || s.remembered < s.compared*9/10 || s.staged > s.whole*9/10) {
		t.Errorf("too little was put to the test: %+v", s)
	}
}

// TestLostGuardsAreFound takes away one guard at a time: the comparison must fail.
func TestLostGuardsAreFound(t *testing.T) {
	const limit = 400
	for _, g := range []guard{guardOr, guardLimit, guardScans, guardWhole, guardChain, guardDistinct, guardOffset, guardNulls,
		guardExtremeLimit, guardExtremeExact, guardExtremeRow, guardSide, guardFree, guardNullKeys, guardOnce, guardPlace} {
		t.Run(string(g), func(t *testing.T) {
			f := newFuzz(t, 5)
			f.planner.without, f.gen.prefer = g, g
			for i := range limit {
				f.step(i)
				if strings.HasPrefix(f.mismatch, "planning") {
					t.Fatal(f.mismatch)
				}
				if f.mismatch != "" {
					t.Logf("found by query %d", i)
					return
				}
			}
			t.Errorf("%d queries without the guard were right: %+v", limit, f.stats)
		})
	}
}

// TestSerializationFailures: without statistics_propagation one plan in four cannot be
// serialized. What comes instead must be right.
func TestSerializationFailures(t *testing.T) {
	kept := keepOptimizers
	defer func() { keepOptimizers = kept }()
	keepOptimizers = slices.DeleteFunc(slices.Clone(kept), func(o string) bool {
		return o == "statistics_propagation" || o == "empty_result_pullup"
	})
	f := newFuzz(t, 3)
	for i := range 80 {
		f.step(i)
		if f.mismatch != "" {
			t.Fatalf("query %d: %s", i, f.mismatch)
		}
	}
	if f.stats.noted < 5 {
		t.Errorf("%d plans without serialization, want more", f.stats.noted)
	}
}

func envInt(t *testing.T, name string, def int64) int64 {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
