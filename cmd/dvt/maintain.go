package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

func (a *app) debugCommand() *cobra.Command {
	return &cobra.Command{
		Use: "debug", Short: "Open every connection of the profile, or the one of --target", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.start(cmd.Context(), "debug", run.Options{})
			if err != nil {
				return err
			}
			p := r.Project
			a.say("dvt %s, project %s in %s, profile %s (target %s)", version, p.Name, p.Dir, p.ProfileName, p.TargetName)
			failed := 0
			for _, name := range p.OutputNames {
				if a.target != "" && name != a.target {
					continue
				}
				line, err := a.check(cmd, r, name)
				if err != nil {
					failed++
					line = fmt.Sprintf("%s (%s): ERROR %v", name, p.Outputs[name].Type, err)
				}
				if err := a.out(line); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &failedError{failed}
			}
			return a.out("All connections work.")
		},
	}
}

func (a *app) check(cmd *cobra.Command, r *run.Runner, name string) (string, error) {
	out := r.Project.Outputs[name]
	kind, err := connectors.Lookup(out.Type)
	if err != nil {
		return "", err
	}
	conn, err := r.Conns.Get(name)
	if err != nil {
		return "", err
	}
	start := time.Now()
	info, err := conn.Ping(cmd.Context())
	if err != nil {
		return "", err
	}
	can := "can merge"
	if !kind.CanMerge {
		can = "cannot merge"
	}
	return fmt.Sprintf("%s (%s): OK  %s  %.1f ms  %s", name, out.Type, info.Version, float64(time.Since(start).Microseconds())/1000, can), nil
}

func (a *app) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Remove target/, the project's clean-targets and spill files of dead runs; never state, index or data", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.load(cmd.Context(), "clean", false)
			if err != nil {
				return err
			}
			for _, dir := range append([]string{p.TargetPath}, p.CleanTarget...) {
				if err := cleanFolder(p, dir); err != nil {
					return err
				}
			}
			if err := compute.CleanTemp(p.Settings.TempDirectory); err != nil {
				return fmt.Errorf("cleaning %s: %w", p.Settings.TempDirectory, err)
			}
			return a.out("Cleaned.")
		},
	}
}

// cleanFolder removes one folder of the project; what lies outside, the project itself
// and its sources of truth stay.
func cleanFolder(p *project.Project, dir string) error {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Dir, dir)
	}
	rel, err := filepath.Rel(p.Dir, dir)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("clean-targets: %s is not a folder inside the project", dir)
	}
	first := strings.Split(rel, string(filepath.Separator))[0]
	for _, keep := range []string{".git", "models", "macros", "seeds", "snapshots", "tests", "analyses"} {
		if rel == keep || first == ".dvt" {
			return fmt.Errorf("clean-targets: %s holds state or sources of the project and is never removed", rel)
		}
	}
	for _, path := range []string{p.Settings.State, os.Getenv("SLING_STATE"), os.Getenv("DVT_STATE")} {
		if path != "" && holds(p, dir, path) {
			return fmt.Errorf("clean-targets: %s holds state and is never removed", rel)
		}
	}
	for _, name := range p.OutputNames {
		for _, path := range dataPaths(p.Outputs[name]) {
			if holds(p, dir, path) {
				return fmt.Errorf("clean-targets: %s holds the data of output %s and is never removed", rel, name)
			}
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cleaning %s: %w", rel, err)
	}
	return nil
}

// holds says that path, of the project or absolute, is dir or lies below it.
func holds(p *project.Project, dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	below, err := filepath.Rel(dir, path)
	return err == nil && !strings.HasPrefix(below, "..")
}

// dataPaths are the files and folders that an output keeps its tables in.
func dataPaths(out connectors.Output) []string {
	var paths []string
	if path, ok := out.Keys["path"].(string); ok && path != "" {
		paths = append(paths, path)
	}
	if byschema, ok := out.Keys["schemas_and_paths"].(map[string]any); ok {
		for _, path := range byschema {
			paths = append(paths, fmt.Sprint(path))
		}
	}
	return paths
}

func (a *app) syncCommand() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "sync", Short: "Write the macros that let plain dbt parse this project, and check its connections", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.start(cmd.Context(), "sync", run.Options{})
			if err != nil {
				return err
			}
			path := filepath.Join(r.Project.Dir, "macros", "dvt_compat.sql")
			if err := a.writeCompat(path, dry); err != nil {
				return err
			}
			failed := 0
			for _, name := range r.Project.OutputNames {
				line, err := a.check(cmd, r, name)
				if err != nil {
					failed++
					line = fmt.Sprintf("%s (%s): ERROR %v", name, r.Project.Outputs[name].Type, err)
				}
				if err := a.out(line); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &failedError{failed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be written")
	return c
}
