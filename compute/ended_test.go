package compute

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// endsDuckDB is a statement at which DuckDB 1.5 fails in itself.
const endsDuckDB = `SELECT * FROM (SELECT i AS a, i AS b FROM range(9) r(i) INTERSECT ALL SELECT i, i FROM range(5) r(i)) x
	ASOF LEFT JOIN (SELECT i AS n FROM range(3) r(i)) y ON x.b >= y.n`

func none(arrow.RecordBatch) error { return nil }

// TestNewInstance: a failure of DuckDB in itself ends the instance. Those who use it fail;
// who comes after them gets a new one, with the same clock, settings and figures.
func TestNewInstance(t *testing.T) {
	e := open(t, Config{Threads: 2, MemoryLimit: 256 << 20})
	m, err := e.Model("broken")
	if err != nil {
		t.Fatal(err)
	}
	beside, err := e.Model("beside")
	if err != nil {
		t.Fatal(err)
	}
	clock := text(t, beside, "SELECT now()::VARCHAR || current_setting('memory_limit')")
	err = m.Query(bg, endsDuckDB, false, none)
	if err == nil {
		t.Skip("this DuckDB runs the statement")
	}
	if msg := err.Error(); !strings.Contains(msg, "DuckDB failed in itself") || strings.Contains(msg, "\n") {
		t.Errorf("not one clear sentence: %s", msg)
	}
	if err := beside.Query(bg, "SELECT 1", false, none); err == nil || !strings.Contains(err.Error(), "after a failure of DuckDB in itself") {
		t.Errorf("the model beside it: %v", err)
	}
	for _, m := range []*Model{m, beside} {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := text(t, model(t, e), "SELECT now()::VARCHAR || current_setting('memory_limit')"); got != clock {
		t.Errorf("the next model has %s, the first had %s", got, clock)
	}
	if e.Stats().EngineMemory < 0 {
		t.Error("no figures")
	}
}

// TestNewInstanceWaits: as long as the ended instance is used, there is no other.
func TestNewInstanceWaits(t *testing.T) {
	e := open(t, Config{})
	m, err := e.Model("broken")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Query(bg, endsDuckDB, false, none); err == nil {
		t.Skip("this DuckDB runs the statement")
	}
	if _, err := e.Model("next"); err == nil || !strings.Contains(err.Error(), "still in use") {
		t.Errorf("beside the ended instance: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if text(t, model(t, e), "SELECT 'there'") != "there" {
		t.Error("no new instance")
	}
}

// text runs a query of one text.
func text(t *testing.T, m *Model, sql string) string {
	t.Helper()
	rows, err := m.texts(bg, sql)
	if err != nil {
		t.Fatal(err)
	}
	return *rows[0][0]
}
