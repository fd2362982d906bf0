package all

import (
	"path/filepath"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// What dvt debug says of merging is what a run finds. No connection is opened.
func TestCanMerge(t *testing.T) {
	server := map[string]any{"host": "127.0.0.1", "port": 1, "user": "u", "dbname": "d", "schema": "s"}
	path := map[string]any{"path": filepath.Join(t.TempDir(), "at")}
	keys := map[string]map[string]any{
		"postgres": server, "postgresql": server, "mysql": server, "mariadb": server, "clickhouse": server,
		"sqlite": path, "duckdb": path, "file": path, "s3": {"bucket": "b", "region": "r"}, "gcs": {"bucket": "b"}, "azure": {"container": "b", "account": "a"},
	}
	types := connectors.Types()
	if len(types) != len(keys) {
		t.Errorf("registered are %v", types)
	}
	for _, typ := range types {
		kind, err := connectors.Lookup(typ)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := kind.Open(connectors.Output{Name: "o", Type: typ, Keys: keys[typ]}, connectors.Env{ProjectDir: t.TempDir()})
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if _, merges := conn.(connectors.Merger); merges != kind.CanMerge {
			t.Errorf("%s: CanMerge is %v, but that it is a Merger is %v", typ, kind.CanMerge, merges)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
