package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/compute"
)

// report is what a run found. It names no host and no path.
type report struct {
	Began, Ended time.Time
	Commit       string
	Cores        int
	MemoryMB     int64
	Versions     []string
	Load         string // of the machine when the run began
	Rows, Runs   int64
	Seed         int64
	Routes       []result
	Overhead     []overhead
	Growth       []growth
	Deltas       []growth // Rows are the target's
}

// result is one route: its limit and dvt.
type result struct {
	Name, Title, Against string
	Bar                  float64
	Raw, DVT             figure
}

func (r result) ratio() float64 {
	if r.Raw.Seconds == 0 {
		return 0
	}
	return r.DVT.Seconds / r.Raw.Seconds
}

// busy is the time that an idle machine of two cores needs at least: a server's session
// is one thread, and all together have two cores.
func (f figure) busy() float64 { return max(f.ServerCPU, (f.ServerCPU+f.CPU)/2) }

// busyRatio is the ratio of those times, which other work on the machine does not change.
func (r result) busyRatio() float64 {
	if r.Raw.busy() == 0 {
		return 0
	}
	return r.DVT.busy() / r.Raw.busy()
}

func (r result) verdict() string {
	switch {
	case r.Bar == 0:
		return ""
	case r.ratio() <= r.Bar:
		return "met"
	case r.DVT.ServerCPU+r.Raw.ServerCPU > 0 && r.busyRatio() <= r.Bar:
		return "met by CPU"
	}
	return "**open**"
}

// overhead is a time that no rows explain.
type overhead struct {
	Name     string
	MS, Bar  float64
	Measured string
}

// growth is one size of one table on its way.
type growth struct {
	Table string
	Rows  int64
	figure
}

func describe(ctx context.Context, o options) *report {
	r := &report{Began: time.Now().UTC(), Rows: o.rows, Runs: o.runs, Seed: o.seed, Cores: runtime.NumCPU(), MemoryMB: machineMB(), Load: loadNow()}
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		r.Commit = strings.TrimSpace(string(out))
	}
	r.Versions = append([]string{"Go " + strings.TrimPrefix(runtime.Version(), "go"), compute.Version()}, serverVersions(ctx, o)...)
	return r
}

// serverVersions asks the servers that the environment names. The schema of the tables
// may have to be made first: it is the default of the connections.
func serverVersions(ctx context.Context, o options) (versions []string) {
	_ = inWorld(settings{dir: o.dir}, func(w *world) error {
		for _, name := range []string{"pg", "my", "ch"} {
			_, _ = w.load(ctx, name, "empty", "SELECT 1 AS id")
			if c, err := w.conn(name); err == nil {
				if info, err := c.Ping(ctx); err == nil {
					versions = append(versions, info.Version)
				}
			}
		}
		return nil
	})
	return versions
}

func machineMB() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(f[1], 10, 64)
	return n >> 10
}

func loadNow() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("Measured on %s, commit %s, %d cores, %d GB of memory, load %s at the beginning and %s at the end; %s. %s rows, seed %d, best of %d.\n",
		r.Began.Format("2006-01-02 15:04 MST"), r.Commit, r.Cores, (r.MemoryMB+512)>>10, r.Load, loadNow(), strings.Join(r.Versions, ", "), grouped(r.Rows), r.Seed, r.Runs)
	if len(r.Routes) > 0 {
		p("| route | limit | limit s | dvt s | ratio | by CPU | bar | | krows/s | CPU s dvt + server | of the limit | allocations | peak MB |")
		p("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
		for _, x := range r.Routes {
			bar := "-"
			if x.Bar > 0 {
				bar = fmt.Sprintf("≤ %.2f", x.Bar)
			}
			p("| %s | %s | %.2f | %.2f | %.2f | %.2f | %s | %s | %.0f | %.1f + %.1f | %.1f + %.1f | %s | %.0f |", x.Title, x.Against, x.Raw.Seconds, x.DVT.Seconds, x.ratio(), x.busyRatio(), bar, x.verdict(),
				float64(r.Rows)/x.DVT.Seconds/1000, x.DVT.CPU, x.DVT.ServerCPU, x.Raw.CPU, x.Raw.ServerCPU, grouped(int64(x.DVT.Allocs)), float64(x.DVT.Peak)/(1<<20))
		}
		p("")
	}
	if len(r.Overhead) > 0 {
		p("| overhead | measured as | ms | bar | |")
		p("|---|---|---|---|---|")
		for _, x := range r.Overhead {
			verdict := "met"
			if x.MS > x.Bar {
				verdict = "**open**"
			}
			p("| %s | %s | %.1f | ≤ %.0f | %s |", x.Name, x.Measured, x.MS, x.Bar, verdict)
		}
		p("")
	}
	if len(r.Growth) > 0 {
		p("| growth | rows | s | µs a row | CPU s | CPU µs a row | peak MB |")
		p("|---|---|---|---|---|---|---|")
		for _, x := range r.Growth {
			p("| %s | %s | %.2f | %.2f | %.1f | %.2f | %.0f |", x.Table, grouped(x.Rows), x.Seconds, x.Seconds*1e6/float64(x.Rows), x.CPU+x.ServerCPU, (x.CPU+x.ServerCPU)*1e6/float64(x.Rows), float64(x.Peak)/(1<<20))
		}
		p("")
	}
	if len(r.Deltas) > 0 {
		p("| a delta of %s rows into | rows of the target | s | CPU s dvt + server |", grouped(deltaRows))
		p("|---|---|---|---|")
		for _, x := range r.Deltas {
			p("| %s | %s | %.2f | %.2f + %.2f |", x.Table, grouped(x.Rows), x.Seconds, x.CPU, x.ServerCPU)
		}
		p("")
	}
	return b.String()
}

// grouped is a number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The part of a document that belongs to this program.
const (
	docBegin = "<!-- written by make bench: begin -->\n"
	docEnd   = "<!-- written by make bench: end -->\n"
)

// into puts the tables into a document, in the place of those of the run before.
func (r *report) into(path string) error {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(text) == 0 {
		text = []byte("# Performance\n\n" + docBegin + docEnd)
	}
	from, to := bytes.Index(text, []byte(docBegin)), bytes.Index(text, []byte(docEnd))
	if from < 0 || to < from {
		return fmt.Errorf("writing %s: it lacks the lines %q and %q", path, strings.TrimSpace(docBegin), strings.TrimSpace(docEnd))
	}
	out := string(text[:from]) + docBegin + r.markdown() + string(text[to:])
	return os.WriteFile(path, []byte(out), 0o644)
}

// compared sets the figures beside those of a saved run. Ratios compare across machines,
// seconds do not.
func compared(old, now *report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Compared with the run of %s, commit %s:\n\n| figure | then | now | change |\n|---|---|---|---|\n", old.Began.Format("2006-01-02 15:04 MST"), old.Commit)
	line := func(name string, then, new float64) {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %+.0f %% |\n", name, then, new, (new/then-1)*100)
	}
	for _, x := range now.Routes {
		for _, y := range old.Routes {
			if x.Name == y.Name && y.ratio() > 0 {
				line(x.Title+", ratio", y.ratio(), x.ratio())
				line(x.Title+", ratio by CPU", y.busyRatio(), x.busyRatio())
				line(x.Title+", CPU s", y.DVT.CPU, x.DVT.CPU)
				line(x.Title+", peak MB", float64(y.DVT.Peak)/(1<<20), float64(x.DVT.Peak)/(1<<20))
			}
		}
	}
	for _, x := range now.Overhead {
		for _, y := range old.Overhead {
			if x.Name == y.Name && y.MS > 0 {
				line(x.Name+", ms", y.MS, x.MS)
			}
		}
	}
	for _, x := range now.Growth {
		for _, y := range old.Growth {
			if x.Table == y.Table && x.Rows == y.Rows && y.Seconds > 0 {
				line(fmt.Sprintf("%s, %s rows, s", x.Table, grouped(x.Rows)), y.Seconds, x.Seconds)
			}
		}
	}
	return b.String()
}
