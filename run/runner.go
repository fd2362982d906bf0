// Package run walks plans: it opens connections, plans models against live catalogs,
// schedules them over the DAG, runs each through extract, compute and load, and writes
// what happened. It holds no engine and no SQL of its own.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/internal/memo"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/state"
)

// Options are the choices of one run.
type Options struct {
	FullRefresh bool
	FailFast    bool
	Empty       bool   // read no rows: build every target empty
	Range       string // --range start,end[,step]
	Resume      bool   // go on after the chunks of first loads that failed
	Store       bool   // --store-failures: keep the failing rows of every test
	PlanAnew    bool   // --no-partial-parse: use no analysis that an earlier run kept
	Version     string // of the program
	// DisabledRules switches rules of the planner off by name, for tests.
	DisabledRules map[string]bool
	// Stream is planner.Input.Stream, for tests.
	Stream *int64
}

// Runner runs the models of one project. Close it.
type Runner struct {
	Project *project.Project
	Options Options
	Sink    Sink
	Log     *slog.Logger
	Redact  *Redactor
	RunID   string
	Now     time.Time

	Conns   *Connections
	planner *planner.Planner
	plans   *memo.File // what the planner remembers; nil: nothing
	limits  *extract.Limits

	engineOnce sync.Once
	engine     *compute.Engine
	engineErr  error

	stateOnce sync.Once
	state     *state.Place
	stateErr  error

	mu        sync.Mutex
	active    map[string]*activity
	plannedAs map[string][]connectors.Column // columns of models that are planned but not built
}

// New prepares a runner; no connection is opened.
func New(p *project.Project, o Options, sink Sink, log *slog.Logger) *Runner {
	r := &Runner{
		Project: p, Options: o, Sink: sink, Log: log, Redact: NewRedactor(p.Outputs),
		RunID: p.InvocationID(), Now: time.Now().UTC().Truncate(time.Microsecond),
		planner: planner.New(), limits: extract.NewLimits(p.Settings.ExtractParallelism),
		plannedAs: map[string][]connectors.Column{},
	}
	if r.RunID == "" {
		r.RunID = uuid.NewString()
	}
	r.Conns = NewConnections(p.Outputs, p.Output, connectors.Env{
		ProjectDir: p.Dir, RunID: r.RunID, Log: log, ConnectTimeout: 10 * time.Second,
		Engine: func(ctx context.Context) (connectors.Engine, error) {
			e, err := r.Engine()
			if err != nil {
				return nil, err
			}
			return e.Instance(ctx)
		},
	})
	r.Conns.fault = p.OutputFault
	r.remember()
	return r
}

// Engine is the run's one compute engine, started when first needed.
func (r *Runner) Engine() (*compute.Engine, error) {
	r.engineOnce.Do(func() {
		s := r.Project.Settings
		if err := os.MkdirAll(filepath.Join(r.Project.Dir, ".dvt"), 0o700); err != nil {
			r.engineErr = fmt.Errorf("creating .dvt: %w", err)
			return
		}
		r.engine, r.engineErr = compute.Open(compute.Config{
			MemoryLimit: s.MemoryLimit, Threads: s.Threads, TempDirectory: s.TempDirectory,
			MaxTempDirectorySize: s.MaxTempDirectorySize, RunID: r.RunID, Now: r.Now,
		})
	})
	return r.engine, r.engineErr
}

// Close ends connections, planner and compute engine.
func (r *Runner) Close() error {
	errs := []error{r.Conns.Close(), r.planner.Close()}
	r.savePlans()
	r.engineOnce.Do(func() { r.engineErr = errors.New("the run is over") })
	if r.engine != nil {
		errs = append(errs, r.engine.Close())
	}
	return errors.Join(errs...)
}

func (r *Runner) emit(level Level, name string, node *project.Node, status Status, fields map[string]any, text string) {
	e := Event{Time: time.Now().UTC(), Level: level, Name: name, Text: r.Redact.String(text), Status: status, Fields: fields}
	if node != nil {
		e.Node = node.UniqueID
	}
	r.Log.Debug(e.Text, EventKey, name, "node", e.Node)
	r.Sink.Event(e)
}
