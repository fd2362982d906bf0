package load

import (
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func native(name, typ string, t connectors.Type) connectors.Column {
	return connectors.Column{Name: name, Native: typ, Type: t}
}

func TestFitNative(t *testing.T) {
	table := &connectors.Table{Columns: []connectors.Column{
		native("id", "bigint", connectors.T(connectors.BigInt)), native("shape", "geometry", connectors.Type{}), native("price", "numeric(10,2)", connectors.Dec(10, 2)),
	}}
	f, err := FitNative(IgnoreChanges, table, []connectors.Column{native("id", "integer", connectors.T(connectors.Integer)), native("shape", "geometry", connectors.Type{})})
	if err != nil || len(f.Columns) != 2 {
		t.Fatal("a narrower type fits, and so does the same type that dvt does not know:", f, err)
	}
	_, err = FitNative(IgnoreChanges, table, []connectors.Column{native("price", "numeric(20,4)", connectors.Dec(20, 4))})
	if err == nil || !strings.Contains(err.Error(), `column "price" is DECIMAL(20,4) in the model but DECIMAL(10,2) in the table, which may not hold its values`) {
		t.Fatal("the engine would round in silence:", err)
	}
	f, err = FitNative(AppendColumns, table, []connectors.Column{native("price", "numeric(20,4)", connectors.Dec(20, 4))})
	if err != nil || len(f.Alter) != 1 || f.Alter[0].Kind != connectors.WidenColumn {
		t.Fatal(f, err)
	}
	if _, err = CanBuild("lake", nil, "view"); err == nil || err.Error() != `connection "lake" cannot be the target of view: it runs no SQL of its own; use materialized='f_table'` {
		t.Fatal(err)
	}
}
