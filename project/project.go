// Package project reads a dbt project from disk into typed values with file
// positions: its models, seeds, snapshots, tests and sources, their configuration,
// the graph between them, and how each renders to SQL. It opens no connection and
// runs nothing; what a rendering needs of a database comes in through Render.
package project

import (
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// Options say which project to load and how the run is called.
type Options struct {
	Dir           string // the project's folder, "" = the working directory
	ProfilesDir   string // "" = search, see profilesDir
	Profile       string // "" = dbt_project.yml's
	Target        string // "" = the profile's default
	Vars          map[string]any
	Threads       int // 0 = the profile's
	FullRefresh   bool
	StoreFailures bool   // flags.STORE_FAILURES
	Command       string // "run", "compile", ...: flags.WHICH
	Shallow       bool   // read project and profile files only: no macros, no nodes
	// Env looks an environment variable up; nil is os.LookupEnv.
	Env          func(string) (string, bool)
	InvocationID string
	StartedAt    time.Time
}

// Project is a loaded project. It is read-only and safe for concurrent use.
type Project struct {
	Name        string
	Version     string
	Dir         string // absolute
	ProfileName string
	ProfilesDir string
	TargetName  string // --target or the profile's default
	// Outputs are the profile's connections. Keys whose environment variable is
	// missing are absent; Output and Check give the error.
	Outputs     map[string]connectors.Output
	OutputNames []string // in the order of the file
	Threads     int
	Settings    Settings
	CleanTarget []string // dbt's clean-targets
	SeedPaths   []string
	TargetPath  string // relative to Dir: "target"

	Nodes   map[string]*Node // by unique id
	Sources map[string]*Source
	// Disabled are the nodes whose config says enabled: false.
	Disabled []*Node
	// Warnings are texts for the user, in a stable order. Notes are for the debug log.
	Warnings []string
	Notes    []string
	// OnRunStart and OnRunEnd are the project's hooks, not rendered.
	OnRunStart, OnRunEnd []string

	opts      Options
	env       func(string) (string, bool)
	profile   *profile
	packages  []*pkg // the project itself first
	registry  *dbt.Registry
	graph     graph
	lookup    lookup
	exposures []exposure
	graphVar  graphVar
	compiled  sync.Map // unique id to the SQL that users see
}

// Settings are dvt_project.yml with its defaults filled in.
type Settings struct {
	MemoryLimit          int64 // bytes
	Threads              int   // of the compute engine
	TempDirectory        string
	MaxTempDirectorySize string // "" = the default, 90 % of the free disk
	ExtractParallelism   int
	State                string
	LockWait             time.Duration
}

// Output is the connection called name with all its keys, or the error that stands in
// the way of using it: no such output, an unknown type, a missing variable.
func (p *Project) Output(name string) (connectors.Output, error) {
	return p.profile.output(name)
}

// InvocationID is what the loader was given: the run's id in Jinja and artifacts.
func (p *Project) InvocationID() string { return p.opts.InvocationID }
