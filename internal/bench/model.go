package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/internal/projectfiles"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

const projectFile = "name: bench\nversion: '1.0'\nprofile: bench\n"

const sourcesFile = `sources:
  - {name: pg, schema: dvt_bench, meta: {connection: pg}, tables: [{name: t}, {name: narrow}, {name: one}, {name: wide}]}
  - {name: my, schema: dvt_bench, meta: {connection: my}, tables: [{name: t}, {name: customers}]}
  - {name: ch, schema: dvt_bench, meta: {connection: ch}, tables: [{name: cities}]}
`

// writeProject makes a project of f_table models, by name.
func writeProject(dir, target string, outs map[string]map[string]any, models map[string]string) error {
	profile, err := yaml.Marshal(map[string]any{"bench": map[string]any{"target": target, "outputs": outs}})
	if err != nil {
		return err
	}
	files := map[string]string{
		"dbt_project.yml": projectFile, "profiles.yml": string(profile), "models/sources.yml": sourcesFile,
		"dvt_project.yml": fmt.Sprintf("federation_memory_limit: %dMB\n", memoryLimit>>20),
	}
	for name, sql := range models {
		if !strings.HasPrefix(sql, "{{") {
			sql = "{{ config(materialized='f_table') }}\n" + sql
		}
		files["models/"+name+".sql"] = sql + "\n"
	}
	return projectfiles.Write(dir, files)
}

// model runs a project of one model, from the reading of its files to its artifacts.
func model(target, sql string) job {
	return func(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
		dir, err := os.MkdirTemp(s.dir, "project-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := writeProject(dir, target, outputs(s), map[string]string{"landed": sql}); err != nil {
			return err
		}
		return timed(func() (int64, error) { return runProject(ctx, dir, false) })
	}
}

type silent struct{}

func (silent) Event(run.Event) {}

func runProject(ctx context.Context, dir string, fresh bool) (rows int64, err error) {
	p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "run", Threads: 1, FullRefresh: fresh})
	if err != nil {
		return 0, err
	}
	r := run.New(p, run.Options{FullRefresh: fresh}, silent{}, slog.New(slog.DiscardHandler))
	defer func() { _ = r.Close() }()
	nodes, _, err := p.Select(nil, nil, project.TypeModel)
	if err != nil {
		return 0, err
	}
	for _, res := range r.Nodes(ctx, nodes) {
		if res.Status != run.Success {
			return 0, fmt.Errorf("running %s: %s", res.Node.Name, res.Message)
		}
		rows += res.RowsOut
	}
	return rows, nil
}
