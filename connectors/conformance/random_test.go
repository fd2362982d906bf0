package conformance

import "testing"

// TestRandom moves random rows of random schemas from every engine to every engine and
// back into the compute engine, where both ends must be equal.
func TestRandom(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	b.Random(Engines, Engines)
}

// A value that changed is seen: a comparison that finds nothing would pass everything.
func TestDifferencesShow(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	s := b.Site("duckdb")
	c := &Column{Name: "c", Native: "VARCHAR", Want: "VARCHAR", Values: []string{"'a'", "''", "NULL"}, Full: true}
	st, err := s.Extract(s.Create(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, values := range [][]string{{"'a'", "''", "NULL"}, {"'a '", "''", "NULL"}, {"'a'", "NULL", "NULL"}, {"'a'", "''", "''"}, {"'a'", "''"}} {
		catalog := "other" + string(rune('a'+i))
		back, err := s.extractTo(st.model, catalog, s.Create(&Column{Name: "c", Native: "VARCHAR", Want: "VARCHAR", Values: values, Full: true}), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bad := st.differences(back, 1); (bad != "") != (i > 0) {
			t.Errorf("%v: %q", values, bad)
		}
	}
}

// recorder takes what the suite reports.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

// A difference that no rule names fails the suite.
func TestMatrixCanFail(t *testing.T) {
	r := &recorder{TB: t}
	b := NewBench(r)
	keep := func(c *Column) bool { return c.Name == "double" }
	b.Source("duckdb", keep).Pair("sqlite")
	if r.errors > 0 {
		t.Fatal("a rule is missing")
	}
	rules := Rules
	defer func() { Rules = rules }()
	Rules = nil
	if b.Source("duckdb", keep).Pair("sqlite"); r.errors == 0 {
		t.Error("NaN and -0 in SQLite went unseen")
	}
}
