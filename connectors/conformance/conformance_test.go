package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write docs/types.md anew")

// TestMatrix moves the edge values of every type of every engine into every engine.
func TestMatrix(t *testing.T) {
	t.Parallel()
	if pair := os.Getenv("DVT_CONFORMANCE_PAIR"); pair != "" { // "postgres,mysql+sqlite", for work on a connector
		from, to, _ := strings.Cut(pair, ",")
		s := NewBench(t).Source(from, nil)
		for _, to := range strings.Split(to, "+") {
			s.Pair(to)
		}
		return
	}
	m := NewBench(t).Run(Engines)
	exact, documented, refused, notRun := m.Count()
	t.Logf("cells: %d exact, %d documented, %d refused, %d not run", exact, documented, refused, notRun)
	path := filepath.Join("..", "..", "docs", "types.md")
	if *update {
		if t.Failed() {
			t.Fatal("docs/types.md is not written, for values changed that no rule names")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(m.Text()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Text(); got != string(old) {
		t.Errorf("docs/types.md is not what this run gave: %s\nrun go test ./connectors/conformance -run TestMatrix -update and look at the difference", firstDifference(string(old), got))
	}
}

func firstDifference(old, got string) string {
	a, b := strings.Split(old, "\n"), strings.Split(got, "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			was := "(end)"
			if i < len(a) {
				was = a[i]
			}
			return "it has\n" + was + "\nand the run gave\n" + b[i]
		}
	}
	return "it is longer"
}
