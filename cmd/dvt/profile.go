package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/pflag"
)

// profiles are the hidden flags by which dvt is looked into while it runs: files that
// `go tool pprof` and `go tool trace` read.
type profiles struct {
	cpu, mem, trace string
	open            []*os.File
	tracing         bool
}

func (p *profiles) flags(f *pflag.FlagSet) {
	f.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile to this file")
	f.StringVar(&p.mem, "memprofile", "", "write a heap profile to this file when the command ends")
	f.StringVar(&p.trace, "trace", "", "write an execution trace to this file")
	for _, name := range []string{"cpuprofile", "memprofile", "trace"} {
		_ = f.MarkHidden(name)
	}
}

func (p *profiles) start() error {
	if p.cpu != "" {
		f, err := p.create(p.cpu)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("--cpuprofile: %w", err)
		}
	}
	if p.trace != "" {
		f, err := p.create(p.trace)
		if err != nil {
			return err
		}
		if err := trace.Start(f); err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		p.tracing = true
	}
	return nil
}

func (p *profiles) create(path string) (*os.File, error) {
	f, err := os.Create(path)
	if err == nil {
		p.open = append(p.open, f)
	}
	return f, err
}

// stop ends what was started and writes the heap.
func (p *profiles) stop() error {
	if p.cpu != "" {
		pprof.StopCPUProfile()
	}
	if p.tracing {
		trace.Stop()
	}
	var errs []error
	if p.mem != "" {
		f, err := p.create(p.mem)
		if err == nil {
			runtime.GC()
			err = pprof.WriteHeapProfile(f)
		}
		errs = append(errs, err)
	}
	for _, f := range p.open {
		errs = append(errs, f.Close())
	}
	p.open = nil
	return errors.Join(errs...)
}
