package compute

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// figures are what the child process of TestMemory reports.
type figures struct {
	Stats Stats
	Rows  int64
	Limit int64
}

// Staging and a join of more than the limit run within it, spilling, in a process of
// their own whose resident memory is measured.
func TestMemory(t *testing.T) {
	if os.Getenv("DVT_TEST_MEMORY_CHILD") != "" {
		memoryChild(t)
		return
	}
	out := t.TempDir() + "/figures"
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
	cmd.Env = append(os.Environ(), "DVT_TEST_MEMORY_CHILD="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	t.Logf("limit %d MB: peak resident %d MB, duckdb %d MB, spilled %d MB", f.Limit>>20, f.Stats.PeakMemory>>20, f.Stats.EngineMemory>>20, f.Stats.Spilled>>20)
	if f.Rows != 1_000_000 {
		t.Errorf("%d rows", f.Rows)
	}
	if f.Stats.Spilled < 100<<20 {
		t.Error("nothing much was spilled: the in-memory catalogs do not take part in the limit")
	}
	if f.Stats.PeakMemory > f.Limit+300<<20 {
		t.Errorf("peak resident memory is %d MB above the limit", (f.Stats.PeakMemory-f.Limit)>>20)
	}
}

func memoryChild(t *testing.T) {
	f := figures{Limit: 256 << 20}
	e := open(t, Config{MemoryLimit: f.Limit, Threads: 2})
	m := model(t, e)
	wide := []connectors.Column{{Name: "id", Type: connectors.T(connectors.BigInt)}}
	for i := range 4 {
		wide = append(wide, connectors.Column{Name: fmt.Sprintf("t%d", i), Type: connectors.T(connectors.Varchar)})
	}
	// Through the appender, as extracts come.
	a, err := m.Stage(bg, "src", "main", "wide", wide, []int{0, 1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	gen, err := e.db.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	err = gen.Query(bg, "SELECT i, md5(i::VARCHAR) || md5((i+1)::VARCHAR), md5((i+2)::VARCHAR) || md5((i+3)::VARCHAR), md5((i+4)::VARCHAR), md5((i+5)::VARCHAR) FROM range(1000000) r(i)", a.Append)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gen.Close(); err != nil {
		t.Fatal(err)
	}
	err = m.Query(bg, `SELECT w.*, v.t2 FROM "src__dvtcat"."main"."wide" w JOIN "src__dvtcat"."main"."wide" v ON w.t0 = v.t0`, false, func(rec arrow.RecordBatch) error {
		f.Rows += rec.NumRows()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Stats = e.Stats()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("DVT_TEST_MEMORY_CHILD"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
