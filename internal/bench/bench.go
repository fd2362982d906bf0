package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// bench is one run of the program.
type bench struct {
	options
	filter *regexp.Regexp
	report *report
	loaded map[string]bool
}

// figure is one measurement: the best of its runs.
type figure struct {
	Seconds    float64 `json:"seconds"`
	Rows       int64   `json:"rows"`
	CPU        float64 `json:"cpu_seconds"` // of the measured process and the clients it ran
	ServerCPU  float64 `json:"server_cpu_seconds"`
	Allocs     uint64  `json:"allocations"`
	AllocBytes uint64  `json:"allocated_bytes"`
	Peak       int64   `json:"peak_bytes"` // resident, as the system accounts it
}

func (b *bench) all(ctx context.Context) error {
	for _, part := range strings.Split(b.parts, ",") {
		var err error
		switch strings.TrimSpace(part) {
		case "routes":
			err = b.measureRoutes(ctx)
		case "overhead":
			err = b.measureOverhead(ctx)
		case "growth":
			err = b.measureGrowth(ctx)
		default:
			err = fmt.Errorf("-parts: %q is none of routes, overhead, growth", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measureRoutes(ctx context.Context) error {
	for _, r := range routes {
		if !b.filter.MatchString(r.name) {
			continue
		}
		if err := b.prepare(ctx, r.needs); err != nil {
			return fmt.Errorf("preparing %s: %w", r.name, err)
		}
		out := result{Name: r.name, Title: r.title, Bar: r.bar, Against: r.against}
		// The two alternate: what else the machine does then meets both.
		for n := range b.runs {
			for i, f := range []*figure{&out.Raw, &out.DVT} {
				got, err := b.once(ctx, r.name+[]string{"/raw", "/dvt"}[i])
				if err != nil {
					return err
				}
				if n == 0 || got.Seconds < f.Seconds {
					*f = got
				}
			}
		}
		b.report.Routes = append(b.report.Routes, out)
		b.progress("%-22s raw %6.2f s   dvt %6.2f s   ratio %.2f, by CPU %.2f (bar %.2f)   %.0f MB", r.name, out.Raw.Seconds, out.DVT.Seconds, out.ratio(), out.busyRatio(), r.bar, float64(out.DVT.Peak)/(1<<20))
	}
	return nil
}

// once runs one measurement in a process of its own.
func (b *bench) once(ctx context.Context, what string) (f figure, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, self, "measure", what)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "DVT_BENCH_DIR="+b.dir, fmt.Sprintf("DVT_BENCH_ROWS=%d", b.rows), fmt.Sprintf("DVT_BENCH_SEED=%d", b.seed), fmt.Sprintf("DVT_BENCH_KEEPER=%d", os.Getppid()))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return f, fmt.Errorf("measuring %s: %w", what, err)
	}
	if out.Len() == 0 {
		return f, nil
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		return f, fmt.Errorf("measuring %s: it printed %q: %w", what, out.String(), err)
	}
	return f, nil
}

// prepare makes the data that a route needs, once.
func (b *bench) prepare(ctx context.Context, needs []string) error {
	for _, n := range needs {
		if b.loaded[n] {
			continue
		}
		began := time.Now()
		if _, err := b.once(ctx, "prepare/"+n); err != nil {
			return err
		}
		if b.loaded == nil {
			b.loaded = map[string]bool{}
		}
		b.loaded[n] = true
		b.progress("prepared %s in %.1f s", n, time.Since(began).Seconds())
	}
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
