package load

import (
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func col(name string, t connectors.Type) connectors.Column {
	return connectors.Column{Name: name, Type: t}
}

func ddl(c connectors.Column) (string, error) { return c.Type.String(), nil }

func TestFitColumns(t *testing.T) {
	table := &connectors.Table{Columns: []connectors.Column{
		col("ID", connectors.T(connectors.Integer)), col("name", connectors.Type{Kind: connectors.Varchar, Length: 10}), col("old", connectors.T(connectors.Date)),
	}}
	delta := []connectors.Column{col("id", connectors.T(connectors.BigInt)), col("name", connectors.T(connectors.Varchar)), col("extra", connectors.T(connectors.Double))}

	f, err := FitColumns(IgnoreChanges, table, delta, ddl)
	if err != nil || strings.Join(f.Dropped, ",") != "extra" || len(f.Alter) != 0 {
		t.Fatal(f, err)
	}
	if len(f.Columns) != 2 || f.Columns[0].Name != "ID" || f.Columns[0].Type.Kind != connectors.Integer || !f.Cast[0] {
		t.Fatal("a wider delta column is cast to the table's type, value by value:", f)
	}
	if _, err = FitColumns(FailOnChange, table, delta, ddl); err == nil || !strings.Contains(err.Error(), "new extra; missing old") {
		t.Fatal(err)
	}
	f, err = FitColumns(AppendColumns, table, delta, ddl)
	if err != nil || len(f.Alter) != 3 || f.Alter[0].Kind != connectors.WidenColumn || f.Alter[1].Kind != connectors.WidenColumn || f.Alter[2].Kind != connectors.AddColumn || f.Cast[0] {
		t.Fatal(f, err)
	}
	f, err = FitColumns(SyncColumns, table, delta, ddl)
	if err != nil || len(f.Alter) != 4 || f.Alter[3].Kind != connectors.DropColumn || f.Alter[3].Column.Name != "old" {
		t.Fatal(f, err)
	}
	if _, err = FitColumns(IgnoreChanges, table, []connectors.Column{col("id", connectors.T(connectors.Blob))}, ddl); err == nil || !strings.Contains(err.Error(), `column "ID" is BLOB in the model but INTEGER in the table`) {
		t.Fatal(err)
	}
	if _, err = FitColumns(IgnoreChanges, table, delta[2:], ddl); err == nil {
		t.Fatal("nothing to write is an error")
	}
}

// Names that differ in case alone are two columns on some engines.
func TestFitColumnsByCase(t *testing.T) {
	table := &connectors.Table{Columns: []connectors.Column{col("id", connectors.T(connectors.BigInt)), col("ID", connectors.T(connectors.BigInt)), col("Note", connectors.T(connectors.Varchar))}}
	for want, delta := range map[string][]connectors.Column{
		"id Note": {col("id", connectors.T(connectors.BigInt)), col("note", connectors.T(connectors.Varchar))},
		"ID":      {col("ID", connectors.T(connectors.BigInt))},
	} {
		f, err := FitColumns(IgnoreChanges, table, delta, ddl)
		if got := strings.Join(connectors.Names(f.Columns), " "); err != nil || got != want {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
	if _, err := FitColumns(IgnoreChanges, table, []connectors.Column{col("Id", connectors.T(connectors.BigInt))}, ddl); err == nil || !strings.Contains(err.Error(), `could be "id" or "ID"`) {
		t.Error(err)
	}
	_, err := FitColumns(FailOnChange, table, []connectors.Column{col("id", connectors.T(connectors.BigInt)), col("Note", connectors.T(connectors.Varchar))}, ddl)
	if err == nil || !strings.Contains(err.Error(), "missing ID") {
		t.Error(err)
	}
}
