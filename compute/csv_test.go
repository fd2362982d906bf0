package compute

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// row is the first row of a query as text.
func csvRow(t *testing.T, m *Model, query string) (out []*string) {
	t.Helper()
	cols, err := m.Columns(context.Background(), query)
	if err == nil {
		err = m.Query(context.Background(), TextQuery(query, cols), false, func(rec arrow.RecordBatch) error {
			for i := range int(rec.NumCols()) {
				c := rec.Column(i).(*array.String)
				if c.IsNull(0) {
					out = append(out, nil)
					continue
				}
				v := strings.Clone(c.Value(0))
				out = append(out, &v)
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func csvModel(t *testing.T, text string, names ...string) *Model {
	t.Helper()
	e, err := Open(Config{TempDirectory: t.TempDir(), RunID: "csv"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Model("seed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(t.TempDir(), "it's.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Keep(context.Background(), "seed", (CSV{Path: path, Delimiter: ",", Names: names}).Text()); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCSVTypes(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"1|-2|0", "INTEGER"},
		{"1| 2 |", "INTEGER"},
		{"1|3000000000", "BIGINT"},
		{"1|30000000000000000000", "DECIMAL(38,0)"},
		{"1|1" + strings.Repeat("0", 40), "VARCHAR"},
		{"007|1", "VARCHAR"},
		{"+1|1", "VARCHAR"},
		{"_4|1", "VARCHAR"},
		{"1_000|1", "VARCHAR"},
		{"1.25%|2", "VARCHAR"},
		{"$5|2", "VARCHAR"},
		{"1.5|-.25|3", "DOUBLE"},
		{"1e5|2", "DOUBLE"},
		{"1.5|1234567890123456.25", "DECIMAL(38,2)"},
		{"1.5e300|1234567890123456.25", "VARCHAR"},
		{"2024-01-31|2024-02-29", "DATE"},
		{"2024-02-30|2024-02-29", "VARCHAR"},
		{"1-Mar-15|2-Mar-15", "VARCHAR"},
		{"01/02/2024|03/04/2024", "VARCHAR"},
		{"2024-01-31 10:00:00|2024-01-31T10:00:00.123456", "TIMESTAMP"},
		{"2024-01-31 10:00:00Z|2024-01-31T10:00:00+02:00", "TIMESTAMP WITH TIME ZONE"},
		{"2024-01-31 10:00:00.1234567|2024-01-31 10:00:00", "VARCHAR"},
		{"true|False", "BOOLEAN"},
		{"true|t", "VARCHAR"},
		{"NaN|1", "VARCHAR"},
		{"null||NULL", "VARCHAR"},
		{"a|", "VARCHAR"},
	} {
		m := csvModel(t, "k,v\nk,"+strings.ReplaceAll(c.values, "|", "\nk,")+"\n", "k", "v")
		types, err := CSVTypes(csvRow(t, m, CSVFacts(Kept("seed"), []string{"k", "v"})))
		if err != nil {
			t.Fatal(err)
		}
		if got := types[1].String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.values, got, c.want)
		}
	}
}

// TestCSVText reads what files in the wild look like.
func TestCSVText(t *testing.T) {
	m := csvModel(t, "\ufeffa,\"b\"\"c\"\r\n1,\"x, \"\"y\"\"\nz\"\r\n # 2,\" s \"\r\n,null\r\n\r\n", "a", `b"c`)
	got := csvRow(t, m, "SELECT string_agg(concat_ws('|', coalesce(a, '-'), coalesce(\"b\"\"c\", '-')), ';' ORDER BY a NULLS LAST) FROM "+Kept("seed"))
	if want := " # 2| s ;1|x, \"y\"\nz;-|-"; *got[0] != want {
		t.Errorf("%q, want %q", *got[0], want)
	}
	if n, err := m.Int(context.Background(), "SELECT count(*) FROM "+Kept("seed")); err != nil || n != 3 {
		t.Error("rows:", n, err)
	}
}

func TestCSVRagged(t *testing.T) {
	m := csvModel(t, "a,b\n1,2\n", "a", "b")
	for _, text := range []string{"a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", "a,b\n1,\"2\n", "a,b\n1,\"2\"x\n"} {
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := m.Keep(context.Background(), "x", (CSV{Path: path, Delimiter: ",", Names: []string{"a", "b"}}).Text()); err == nil {
			t.Errorf("%q was read as %d rows", text, n)
		}
	}
}

func TestCSVMisfit(t *testing.T) {
	for _, c := range []struct {
		value, typ string
		fits       bool
	}{
		{"1.25", "DECIMAL(10,2)", true}, {"1.5", "DECIMAL(10,2)", true}, {"1.255", "DECIMAL(10,2)", false},
		{"1.5", "INTEGER", false}, {"12", "INTEGER", true}, {"007", "INTEGER", true}, {"9999999999", "INTEGER", false},
		{"2024-01-31", "DATE", true}, {"2024-01-31 10:00:00", "DATE", false}, {"x", "DATE", false},
		{"yes", "BOOLEAN", true}, {"2", "BOOLEAN", false}, {"1e3", "DOUBLE", true}, {"x", "DOUBLE", false},
	} {
		m := csvModel(t, "k,v\n1,"+c.value+"\n", "k", "v")
		typ, err := connectors.ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		if row := csvRow(t, m, CSVMisfit(Kept("seed"), "v", typ, nil)); (row == nil) != c.fits {
			t.Errorf("%s as %s: fits = %v", c.value, c.typ, row == nil)
		}
	}
}
