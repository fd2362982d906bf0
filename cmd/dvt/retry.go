package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

// lastRun is what retry reads of target/run_results.json.
type lastRun struct {
	Results []struct {
		Status   run.Status `json:"status"`
		UniqueID string     `json:"unique_id"`
	} `json:"results"`
	Args struct {
		Which         string `json:"which"`
		FullRefresh   bool   `json:"full_refresh"`
		FailFast      bool   `json:"fail_fast"`
		Empty         bool   `json:"empty"`
		Range         string `json:"range"`
		StoreFailures bool   `json:"store_failures"`
		Target        string `json:"target"`
		Profile       string `json:"profile"`
		Vars          string `json:"vars"`
	} `json:"args"`
}

// retryKinds are the kinds of nodes that each command runs.
var retryKinds = map[string][]string{
	"run":      {project.TypeModel},
	"seed":     {project.TypeSeed},
	"snapshot": {project.TypeSnapshot},
	"test":     {project.TypeTest},
	"build":    {project.TypeSeed, project.TypeModel, project.TypeSnapshot, project.TypeTest},
}

func (a *app) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "retry", Short: "Run again what failed or was skipped last time, with the same command and options", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			last, err := a.lastRun()
			if err != nil {
				return err
			}
			n := &nodesRun{which: last.Args.Which, types: retryKinds[last.Args.Which], ids: map[string]bool{}}
			if n.types == nil {
				return fmt.Errorf("the last command was %q: retry repeats build, run, seed, snapshot and test", last.Args.Which)
			}
			n.options = run.Options{FullRefresh: last.Args.FullRefresh, FailFast: last.Args.FailFast, Empty: last.Args.Empty, Range: last.Args.Range, Store: last.Args.StoreFailures}
			for _, r := range last.Results {
				if r.Status == run.Error || r.Status == run.Fail || r.Status == run.Skipped {
					n.ids[r.UniqueID] = true
				}
			}
			if !cmd.Flags().Changed("target") {
				a.target = last.Args.Target
			}
			if !cmd.Flags().Changed("profile") {
				a.profile = last.Args.Profile
			}
			if !cmd.Flags().Changed("vars") {
				a.vars = last.Args.Vars
			}
			return a.runNodes(cmd.Context(), n)
		},
	}
}

// lastRun reads the results of the last command. The project is not loaded for it: that
// may need the variables which stand in them.
func (a *app) lastRun() (*lastRun, error) {
	path := filepath.Join(a.targetPath(), "run_results.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is nothing to retry: no %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the last results: %w", err)
	}
	last := &lastRun{}
	if err := json.Unmarshal(data, last); err != nil {
		return nil, fmt.Errorf("reading the last results: %s: %w", path, err)
	}
	return last, nil
}

// targetPath is the folder of artifacts as dbt_project.yml has it.
func (a *app) targetPath() string {
	var settings struct {
		TargetPath string `yaml:"target-path"`
	}
	if data, err := os.ReadFile(filepath.Join(a.projectDir, "dbt_project.yml")); err == nil {
		_ = yaml.Unmarshal(data, &settings) // loading the project says what is wrong with it
	}
	if settings.TargetPath == "" {
		settings.TargetPath = "target"
	}
	if filepath.IsAbs(settings.TargetPath) {
		return settings.TargetPath
	}
	return filepath.Join(a.projectDir, settings.TargetPath)
}
