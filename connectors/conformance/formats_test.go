package conformance

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// CSV has no types and JSON few: what is written to them reads back the same, from CSV
// where the project declares the columns.
func TestFormats(t *testing.T) {
	t.Parallel()
	n := seed(t)
	for _, format := range []string{"csv", "json"} {
		t.Run(format, func(t *testing.T) {
			b := NewBench(t)
			m := func(i uint64) maker { return maker{Rand: rand.New(rand.NewPCG(n, i)), doubles: format == "json"} }
			to := b.OpenSite("file", map[string]any{"format": format})
			to.untyped = format == "csv" // JSON comes in types of its own, which are cast
			from := b.Site("duckdb")
			edges := []*Column{{Name: "edges", Native: "VARCHAR", Want: "VARCHAR", Values: each(duckText, texts...)}}
			for _, cols := range [][]*Column{edges, m(7).columns("duckdb", 300), m(8).columns("duckdb", 300)} {
				st, err := from.Extract(from.Create(cols...), nil)
				if err != nil {
					t.Fatal(err)
				}
				target := to.Name()
				if err := st.Land(to, target, st.Result(), st.all(), connectors.TargetOptions{Format: format}, true); err != nil {
					t.Error(err)
				} else {
					st.compareBack(to, target, "back")
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Numbers of more digits than a double has do not come out of JSON with fewer.
func TestFormatsDigits(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	to := b.OpenSite("file", map[string]any{"format": "json"})
	from := b.Site("duckdb")
	for _, c := range []*Column{decimalColumn("duckdb", 38, 10, "1234567890123456789012345678.0123456789"), col("c", "DECIMAL(20,18)[]", "DECIMAL(20,18)[]", "[0.123456789012345678]")} {
		rel := from.Create(c)
		st, err := from.Extract(rel, nil)
		if err != nil {
			t.Fatal(err)
		}
		target := to.Name()
		if err := st.Land(to, target, st.Result(), st.all(), connectors.TargetOptions{Format: "json"}, true); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if st, err := to.Extract(target, nil); err == nil {
			t.Errorf("%s was read from JSON as %s", c.Want, st.Columns[1].Type)
			_ = st.Close()
		} else if !strings.Contains(err.Error(), "more digits than a double") {
			t.Error(err)
		}
	}
}
