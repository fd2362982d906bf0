package file

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// TestSignOfZero: a file's Bloom filter, which knows values by their bits, loses no row
// whose value is equal and has others.
func TestSignOfZero(t *testing.T) {
	e, root := newEngine(t), t.TempDir()
	c := at(t, e, root, "parquet")
	session, err := e.Session(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	count := func(sql string) int64 {
		n, err := session.Count(bg, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return n
	}
	for _, kind := range []connectors.Kind{connectors.Float, connectors.Double} {
		typ := connectors.Type{Kind: kind}
		for name, value := range map[string]string{"plus": "0.0", "minus": "'-0'", "nan": "'nan'", "half": "0.5"} {
			path := filepath.Join(root, name+".parquet")
			sql := fmt.Sprintf("SELECT CAST(%s AS %s) AS f FROM range(1000) UNION ALL SELECT 7", value, typ)
			if err := session.Exec(bg, "COPY ("+sql+") TO "+literal(path)+" (FORMAT parquet)"); err != nil {
				t.Fatal(err)
			}
			tab, err := c.Describe(bg, connectors.Relation{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			val := func(f float64) connectors.Value { return connectors.Value{Type: typ, Float: f} }
			zero, below, nan, half := val(0), val(math.Copysign(0, -1)), val(math.NaN()), val(0.5)
			for _, p := range []*connectors.Pred{
				{Kind: connectors.PCmp, Op: "=", Vals: []connectors.Value{zero}},
				{Kind: connectors.PCmp, Op: "=", Vals: []connectors.Value{below}},
				{Kind: connectors.PCmp, Op: "=", Vals: []connectors.Value{nan}},
				{Kind: connectors.PCmp, Op: "<>", Vals: []connectors.Value{below}},
				{Kind: connectors.PCmp, Op: "<=", Vals: []connectors.Value{below}},
				{Kind: connectors.PIn, Vals: []connectors.Value{zero}},
				{Kind: connectors.PIn, Vals: []connectors.Value{below, half}},
				{Kind: connectors.PIn, Vals: []connectors.Value{nan, zero, below}},
				{Kind: connectors.PIn, Neg: true, Vals: []connectors.Value{below}},
			} {
				a := c.dialect.Leaf(p, tab)
				if a.Verdict != connectors.Exact {
					t.Fatalf("%+v: %s", p, a.Reason)
				}
				got := count("SELECT count(*) FROM read_parquet(" + literal(path) + ") WHERE " + a.SQL)
				want := count("WITH t AS MATERIALIZED (SELECT * FROM (" + sql + ")) SELECT count(*) FROM t WHERE " + a.SQL)
				if got != want {
					t.Errorf("%s, %s: %d rows of the file, %d of the same rows", typ, a.SQL, got, want)
				}
			}
		}
	}
}
