package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// faultSample are the cells of a run that is not full.
const faultSample = 60

// TestAcceptanceFaults breaks runs at each step in each way on each target engine, and
// after each: the target is old or new as a whole, the next run succeeds and is right, and
// nothing is left behind.
//
//	DVT_ACCEPTANCE=full  all cells, whose outcome docs/reliability.md holds; otherwise a
//	                     sample (DVT_SEED repeats one)
//	DVT_FAULTS=text      only cells whose description contains the words of text
func TestAcceptanceFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DVT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("DVT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	bin := buildDVT(t)
	cells := faultCells(rng, faultKinds)
	byTarget := map[string][]faultCell{}
	for _, i := range rng.Perm(len(cells)) {
		c := cells[i]
		if !wanted(c) || !full() && os.Getenv("DVT_FAULTS") == "" && len(byTarget[c.target]) == faultSample/len(faultTargets) {
			continue
		}
		byTarget[c.target] = append(byTarget[c.target], c)
	}
	var mu sync.Mutex
	var all []outcome
	t.Run("on", func(t *testing.T) {
		for _, target := range faultTargets {
			if len(byTarget[target]) == 0 {
				continue
			}
			t.Run(target, func(t *testing.T) {
				t.Parallel()
				newWorld(t, bin, target).playAll(t, byTarget[target], func(o outcome) {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, o)
					if full() && os.Getenv("DVT_FAULTS") == "" {
						if err := writeReliability(all, len(cells)); err != nil {
							t.Error(err)
						}
					}
				})
			})
		}
	})
	table := faultTable(all)
	t.Log("\n" + table)
	reached := 0
	for _, o := range all {
		if o.reached {
			reached++
		}
		if len(o.faults) > 0 {
			t.Errorf("%s\n  %s", o.cell, strings.Join(o.faults, "\n  "))
		}
	}
	if len(all) > 20 && reached < len(all)*7/10 {
		t.Errorf("only %d of %d faults were reached", reached, len(all))
	}
}

// wanted: DVT_FAULTS selects.
func wanted(c faultCell) bool {
	for _, word := range strings.Fields(os.Getenv("DVT_FAULTS")) {
		if !strings.Contains(c.String(), word) {
			return false
		}
	}
	return true
}

// faultTable is one line for each cell, worst first.
func faultTable(all []outcome) string {
	sort.Slice(all, func(i, j int) bool { return all[i].cell.String() < all[j].cell.String() })
	var b strings.Builder
	for _, o := range all {
		mark := "ok "
		if len(o.faults) > 0 {
			mark = "BAD"
		}
		at := ""
		if !o.reached {
			at = " (not reached)"
		}
		fmt.Fprintf(&b, "%s %s%s → exit %d, %s, %.1fs  %s\n", mark, o.cell, at, o.code, o.content, o.elapsed.Seconds(), o.message)
	}
	return b.String()
}
