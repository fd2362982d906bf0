package clickhouse

import (
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// TestExtremeOfLowCardinality: an old server's min of such a column is not its least
// value, so it is not asked for.
func TestExtremeOfLowCardinality(t *testing.T) {
	table := &connectors.Table{Columns: []connectors.Column{
		{Name: "plain", Type: connectors.T(connectors.Varchar), Native: "Nullable(String)", Nullable: true},
		{Name: "low", Type: connectors.T(connectors.Varchar), Native: "LowCardinality(Nullable(String))", Nullable: true},
	}}
	d := &dialect{conn: &conn{}}
	if sql, ok := d.Extreme(table, 0, false); !ok || sql != "min(`plain`)" {
		t.Error(sql, ok)
	}
	if sql, ok := d.Extreme(table, 1, false); ok {
		t.Errorf("%s is asked for", sql)
	}
}
