// Package dvt holds the checks of the house itself: who imports whom, and that no file
// grows beyond what one reads at a sitting.
package dvt

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/dvt-dev/dvt/"

// mayNot lists, per room, the rooms that its code (not its tests) must not import.
var mayNot = map[string][]string{
	"jinja":      {"project", "planner", "connectors", "extract", "compute", "load", "run", "cmd"},
	"connectors": {"project", "planner", "jinja", "extract", "compute", "index", "load", "run", "cmd"},
	"project":    {"planner", "extract", "compute", "load", "run", "cmd"},
	"planner":    {"project", "jinja", "extract", "compute", "load", "run", "cmd"},
	"compute":    {"project", "jinja", "extract", "load", "run", "cmd"},
	"load":       {"project", "planner", "jinja", "extract", "compute", "run", "cmd"},
	"extract":    {"project", "jinja", "load", "run", "cmd"},
	"index":      {"project", "planner", "jinja", "load", "run", "cmd"},
	"run":        {"cmd"},
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		from := strings.TrimPrefix(fields[0], module)
		for _, to := range fields[1:] {
			to, ours := strings.CutPrefix(to, module)
			if !ours {
				continue
			}
			for _, no := range mayNot[room(from)] {
				if room(to) == no {
					t.Errorf("%s imports %s", from, to)
				}
			}
			if isEngine(to) && from != "connectors/all" && !strings.HasPrefix(from, to+"/") {
				t.Errorf("%s imports the engine %s: only connectors/all may", from, to)
			}
		}
	}
}

func room(path string) string {
	if path == "connectors/conformance" { // a suite for tests: it may see both sides of a connector
		return "conformance"
	}
	return strings.SplitN(path, "/", 2)[0]
}

// isEngine holds for an engine's folder: a folder of connectors with a register.go.
func isEngine(path string) bool {
	if !strings.HasPrefix(path, "connectors/") {
		return false
	}
	_, err := os.Stat(filepath.Join(path, "register.go"))
	return err == nil
}

// TestFileLength keeps files readable: a type that owns everything shows as a file that
// grows without end.
func TestFileLength(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			if d != nil && d.IsDir() && err == nil {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(data, []byte("\n")); n > 600 {
			t.Errorf("%s has %d lines", path, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
