package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

func (a *app) compileCommand() *cobra.Command {
	var o run.Options
	c := &cobra.Command{Use: "compile", Short: "Render models to target/compiled; nothing is moved"}
	sel, exclude := selectFlags(c)
	c.Flags().BoolVarP(&o.FullRefresh, "full-refresh", "f", false, "render as for a full refresh")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.start(cmd.Context(), "compile", o)
		if err != nil {
			return err
		}
		nodes, err := a.selectNodes(r.Project, *sel, *exclude, "model")
		if err != nil {
			return err
		}
		a.promoted(nodes)
		for _, n := range nodes {
			sql, err := r.Compile(cmd.Context(), n)
			if err != nil {
				return err
			}
			if err := r.WriteCompiled(n.CompiledPath(), sql); err != nil {
				return err
			}
			if len(*sel) > 0 {
				if err := a.out(fmt.Sprintf("Compiled node '%s' is:\n%s", n.Name, sql)); err != nil {
					return err
				}
			}
		}
		a.say("Compiled %s to target/compiled", count(len(nodes), "model"))
		return r.WriteJSON("manifest.json", r.Project.Manifest())
	}
	return c
}

func (a *app) explainCommand() *cobra.Command {
	var o run.Options
	var output string
	c := &cobra.Command{Use: "explain", Short: "Show the plan of each model: what each source will be sent, and why"}
	sel, exclude := selectFlags(c)
	c.Flags().BoolVarP(&o.FullRefresh, "full-refresh", "f", false, "plan a full refresh")
	c.Flags().StringVar(&o.Range, "range", "", "plan the first window of --range")
	c.Flags().StringVar(&output, "output", "text", "text or json")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != "text" && output != "json" {
			return fmt.Errorf("--output %q: expected text or json", output)
		}
		r, err := a.start(cmd.Context(), "explain", o)
		if err != nil {
			return err
		}
		nodes, err := a.selectNodes(r.Project, *sel, *exclude, "model")
		if err != nil {
			return err
		}
		a.promoted(nodes)
		return a.explain(cmd, r, runnable(nodes), output)
	}
	return c
}

func (a *app) explain(cmd *cobra.Command, r *run.Runner, nodes []*project.Node, output string) error {
	all := []run.Explanation{}
	var failed []error
	for i, n := range nodes {
		p, err := r.Explain(cmd.Context(), n)
		if err != nil {
			failed = append(failed, r.Failure(n, err))
			continue
		}
		e := p.Explanation()
		all = append(all, e)
		if output == "text" {
			if i > 0 {
				if err := a.out(""); err != nil {
					return err
				}
			}
			var b strings.Builder
			if err := e.Write(&b, n.Config.Materialized); err != nil {
				return err
			}
			if err := a.out(b.String()); err != nil {
				return err
			}
		}
	}
	if output == "json" {
		doc, err := run.EncodeJSON(all)
		if err != nil {
			return err
		}
		if err := a.out(doc); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return &nodeError{errors.Join(failed...)}
	}
	return nil
}

func (a *app) lsCommand() *cobra.Command {
	var output string
	var types []string
	c := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List nodes"}
	sel, exclude := selectFlags(c)
	c.Flags().StringVar(&output, "output", "selector", "selector, name, path or json")
	c.Flags().StringArrayVar(&types, "resource-type", nil, "model, seed, snapshot, test, source")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"selector", "name", "path", "json"}, output) {
			return fmt.Errorf("--output %q: expected name, path or json", output)
		}
		p, err := a.load(cmd.Context(), "list", false)
		if err != nil {
			return err
		}
		nodes, err := a.selectNodes(p, *sel, *exclude, types...)
		if err != nil {
			return err
		}
		var all []listed
		for _, n := range nodes {
			all = append(all, listedNode(n))
		}
		if len(types) == 0 || slices.Contains(types, project.TypeSource) {
			sources, _, err := p.SelectSources(words(*sel), words(*exclude)) // its warnings are those of the nodes
			if err != nil {
				return err
			}
			for _, s := range sources {
				all = append(all, listedSource(s))
			}
		}
		for _, l := range all {
			line, err := l.line(output)
			if err != nil {
				return err
			}
			if err := a.out(line); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// listed is a line of ls.
type listed struct {
	selector, name, path string
	facts                map[string]any
}

func listedNode(n *project.Node) listed {
	return listed{strings.Join(n.FQN, "."), n.Name, n.Path, map[string]any{
		"name": n.Name, "resource_type": n.ResourceType, "package_name": n.Package, "original_file_path": n.Path,
		"unique_id": n.UniqueID, "alias": n.Alias, "tags": append([]string{}, n.Tags...), "config": map[string]any{"materialized": n.Config.Materialized, "enabled": true},
		"depends_on": map[string]any{"nodes": append([]string{}, n.DependsOn...)}, "connection": n.Connection,
	}}
}

func listedSource(s *project.Source) listed {
	return listed{"source:" + strings.Join([]string{s.Package, s.SourceName, s.Name}, "."), s.SourceName + "." + s.Name, s.Path, map[string]any{
		"name": s.Name, "source_name": s.SourceName, "resource_type": project.TypeSource, "package_name": s.Package, "original_file_path": s.Path,
		"unique_id": s.UniqueID, "tags": append([]string{}, s.Tags...), "config": map[string]any{"enabled": s.Enabled}, "connection": s.Connection,
	}}
}

func (l listed) line(output string) (string, error) {
	switch output {
	case "name":
		return l.name, nil
	case "path":
		return l.path, nil
	case "json":
		doc, err := json.Marshal(l.facts)
		return string(doc), err
	}
	return l.selector, nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return a.out("dvt " + version)
	}}
}
