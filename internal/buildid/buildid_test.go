package buildid

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	got, err := Get()
	if err != nil || got == "" {
		t.Fatal(got, err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.Command("go", "tool", "buildid", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if id := strings.TrimSpace(string(want)); id != "" && id != got {
		t.Errorf("got %q, want %q", got, id)
	}
}

// TestBuildsDiffer builds two programs that differ in one constant, with an id and without.
func TestBuildsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, flags := range []string{"-s -w", "-buildid="} {
		for _, text := range []string{"one", "two"} {
			dir := t.TempDir()
			main := "package main\nfunc main() { println(\"" + text + "\") }\n"
			if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\ngo 1.24\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("go", "build", "-ldflags", flags, "-o", "x", ".")
			build.Dir = dir
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			b, err := os.ReadFile(filepath.Join(dir, "x"))
			if err != nil {
				t.Fatal(err)
			}
			id := find(b[:min(len(b), head)])
			if (id == "") != (flags == "-buildid=") {
				t.Errorf("%s: id %q", flags, id)
			}
			if id != "" && seen[id] != "" {
				t.Errorf("%s and %s are both %q", seen[id], text, id)
			}
			seen[id] = text
		}
	}
}
