package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dvt-dev/dvt/compute"
)

// settings are what a child is told.
type settings struct {
	dir        string
	rows, seed int64
}

func readSettings() (s settings, err error) {
	s.dir = os.Getenv("DVT_BENCH_DIR")
	if s.rows, err = strconv.ParseInt(os.Getenv("DVT_BENCH_ROWS"), 10, 64); err != nil {
		return s, fmt.Errorf("reading DVT_BENCH_ROWS: %w", err)
	}
	s.seed, err = strconv.ParseInt(os.Getenv("DVT_BENCH_SEED"), 10, 64)
	return s, err
}

// measure runs "prepare/NAME", or "NAME/raw" or "NAME/dvt" of a route, which it prints
// the figure of.
func measure(what string) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	ctx := context.Background()
	if name, ok := strings.CutPrefix(what, "prepare/"); ok {
		return prepareData(ctx, s, name)
	}
	name, side, _ := strings.Cut(what, "/")
	if name == "many" {
		return printed(ctx, s, planMany)
	}
	if strings.HasPrefix(name, "grow-") {
		return printed(ctx, s, grow(name, side))
	}
	for _, r := range routes {
		if r.name != name {
			continue
		}
		if side == "raw" {
			return printed(ctx, s, r.raw)
		}
		return printed(ctx, s, r.dvt)
	}
	return fmt.Errorf("there is no route %q", name)
}

// job prepares on its own time and calls timed once around what counts.
type job func(ctx context.Context, s settings, timed func(func() (rows int64, err error)) error) error

func printed(ctx context.Context, s settings, do job) error {
	var f figure
	done := false
	err := do(ctx, s, func(work func() (int64, error)) error {
		if done {
			return fmt.Errorf("a measurement was begun twice")
		}
		done = true
		resetPeak()
		server := serverSeconds()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cpu, began := cpuSeconds(), time.Now()
		rows, err := profiled(work)
		f.Seconds, f.CPU, f.Rows = time.Since(began).Seconds(), cpuSeconds()-cpu, rows
		runtime.ReadMemStats(&after)
		f.ServerCPU = serverSeconds() - server
		f.Allocs, f.AllocBytes, f.Peak = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc, compute.PeakRSS()
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// profiled writes a CPU profile to $DVT_BENCH_PROFILE if that is set.
func profiled(work func() (int64, error)) (rows int64, err error) {
	path := os.Getenv("DVT_BENCH_PROFILE")
	if path == "" {
		return work()
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	rows, err = work()
	pprof.StopCPUProfile()
	return rows, errors.Join(err, f.Close())
}

// cpuSeconds are user and system time of the process and of its children that ended.
func cpuSeconds() (sum float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
		}
	}
	return sum
}

// resetPeak lets the peak of resident memory begin now; where the system cannot, the peak
// includes the preparation.
func resetPeak() {
	runtime.GC()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
