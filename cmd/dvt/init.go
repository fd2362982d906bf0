package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// scaffold is the project that `dvt init` writes: it runs at once on the engines that
// are built in.
//
//go:embed all:scaffold
var scaffold embed.FS

// gitignore is written beside it; a real .gitignore in the scaffold would hide files of
// this repository.
const gitignore = ".dvt/\ntarget/\nlogs/\n"

func (a *app) initCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [dir]", Short: "Write a small project that runs at once: two sources on two engines, one model across them", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := a.projectDir
			if len(args) == 1 {
				dir = args[0]
			}
			if err := writeScaffold(dir, force); err != nil {
				return err
			}
			cd := ""
			if filepath.Clean(dir) != "." {
				cd = "cd " + dir + " && "
			}
			return a.out(fmt.Sprintf("Wrote a project to %s. Next:\n  %sdvt run && dvt show -s revenue_by_country", dir, cd))
		},
	}
	c.Flags().BoolVar(&force, "force", false, "write into a folder that has files, replacing those of the same names")
	return c
}

func writeScaffold(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("creating a project in %s: %w", dir, err)
	}
	for _, e := range entries {
		if !force && !strings.HasPrefix(e.Name(), ".git") {
			return fmt.Errorf("creating a project in %s: the folder has files already (%s); choose another or use --force", dir, e.Name())
		}
	}
	name := projectName(dir)
	err = fs.WalkDir(scaffold, "scaffold", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, "scaffold"))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := scaffold.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".yml") {
			data = []byte(strings.ReplaceAll(string(data), "my_project", name))
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(gitignore), 0o644)
	}
	if err != nil {
		return fmt.Errorf("creating a project in %s: %w", dir, err)
	}
	return nil
}

// projectName makes a dbt project name of a folder's: letters, digits and underscores.
func projectName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "my_project"
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, filepath.Base(abs))
	if strings.Trim(name, "_0123456789") == "" {
		return "my_project"
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
