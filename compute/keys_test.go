package compute

import (
	"fmt"
	"slices"
	"testing"
)

// TestKeys: many keys are seen in the first rows, few in all of them.
func TestKeys(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1::DECIMAL(12,2), i FROM range(3) r(i)":                                                         "[0 1 2]",
		"SELECT 1::DECIMAL(12,2), CASE WHEN i > 4 THEN NULL ELSE i END FROM range(40000) r(i)":                  "more",
		"SELECT 1::DECIMAL(12,2), i FROM range(40000) r(i)":                                                     "more",
		fmt.Sprintf("SELECT 1::DECIMAL(12,2), greatest(i - %d, 0) FROM range(%d) r(i)", keySample, keySample+3): "[0 1 2]",
		fmt.Sprintf("SELECT 1::DECIMAL(12,2), greatest(i - %d, 0) FROM range(%d) r(i)", keySample, keySample+9): "more",
		"SELECT 1::DECIMAL(12,2), NULL::BIGINT FROM range(3) r(i)":                                              "[]",
	} {
		m := model(t, open(t, Config{}))
		if _, err := m.StageSQL(bg, "lake", "main", "t", columns, []int{2, 0}, sql); err != nil {
			t.Fatal(err)
		}
		const most = 4
		keys, err := m.Keys(bg, "lake", "main", "t", "id", most)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(keys)
		got := fmt.Sprint(keys)
		if len(keys) > most {
			got = "more"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
