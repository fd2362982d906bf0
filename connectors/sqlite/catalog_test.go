package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func TestDescribe(t *testing.T) {
	c := newConn(t)
	run(t, c, `CREATE TABLE "or`+"`"+`ders" (id INTEGER PRIMARY KEY, a INT NOT NULL, n VARCHAR(20) COLLATE NOCASE, d DECIMAL(10,2),
		big NUMERIC(30,4), nop NUMERIC, x, m MONEY, r REAL, dt DATETIME, dd DATE, b BOOLEAN, bl BLOB, u UUID, j JSON,
		dx DECIMAL_TEXT(20,0), h DECIMAL_TEXT(39,0), ux TIMESTAMP_UNIX_MS, g AS (a + 1) STORED)`,
		"CREATE TABLE k (b TEXT, a INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID",
		"CREATE TABLE s (rowid TEXT, i INT, y ANY) STRICT",
		"CREATE TABLE pd (i INTEGER PRIMARY KEY DESC)",
		"CREATE VIEW v AS SELECT id, n, count(*) AS c, a + 1 AS e, upper(n) AS up, CAST(a AS TEXT) AS ca FROM [or`ders]",
		"CREATE INDEX ix ON k (b); INSERT INTO k VALUES ('x', 1), ('y', 2); ANALYZE")
	var got []string
	for _, name := range []string{"OR`DERS", "k", "s", "pd", "v"} {
		table := describe(t, c, name)
		got = append(got, fmt.Sprintf("%s view=%v key=%v rows=%d", table.Relation, table.View, table.PrimaryKey, table.RowEstimate))
		for _, col := range table.Columns {
			got = append(got, fmt.Sprintf("  %s %q %s null=%v %s fixed=%q key=%q", col.Name, col.Native, col.Type, col.Nullable, col.Collation, col.Attrs[attrFixed], col.Attrs[attrRowKey]))
		}
	}
	want := strings.Split(strings.TrimSpace(`
main.or`+"`"+`ders view=false key=[id] rows=0
  id "INTEGER" BIGINT null=true BINARY fixed="1" key="rowid"
  a "INT" BIGINT null=false BINARY fixed="" key="rowid"
  n "VARCHAR(20)" VARCHAR null=true NOCASE fixed="" key="rowid"
  d "DECIMAL(10,2)" DECIMAL(10,2) null=true BINARY fixed="" key="rowid"
  big "NUMERIC(30,4)" DECIMAL(30,4) null=true BINARY fixed="" key="rowid"
  nop "NUMERIC" DECIMAL(0,0) null=true BINARY fixed="" key="rowid"
  x "" VARCHAR null=true BINARY fixed="" key="rowid"
  m "MONEY" VARCHAR null=true BINARY fixed="" key="rowid"
  r "REAL" DOUBLE null=true BINARY fixed="" key="rowid"
  dt "DATETIME" TIMESTAMP null=true BINARY fixed="" key="rowid"
  dd "DATE" DATE null=true BINARY fixed="" key="rowid"
  b "BOOLEAN" BOOLEAN null=true BINARY fixed="" key="rowid"
  bl "BLOB" BLOB null=true BINARY fixed="" key="rowid"
  u "UUID" UUID null=true BINARY fixed="" key="rowid"
  j "JSON" JSON null=true BINARY fixed="" key="rowid"
  dx "DECIMAL_TEXT(20,0)" DECIMAL(20,0) null=true BINARY fixed="" key="rowid"
  h "DECIMAL_TEXT(39,0)" HUGEINT null=true BINARY fixed="" key="rowid"
  ux "TIMESTAMP_UNIX_MS" TIMESTAMP null=true BINARY fixed="" key="rowid"
  g "" VARCHAR null=true BINARY fixed="" key="rowid"
main.k view=false key=[a b] rows=2
  b "TEXT" VARCHAR null=false BINARY fixed="" key=""
  a "INTEGER" BIGINT null=false BINARY fixed="" key=""
main.s view=false key=[] rows=0
  rowid "TEXT" VARCHAR null=true BINARY fixed="1" key="_rowid_"
  i "INT" BIGINT null=true BINARY fixed="1" key="_rowid_"
  y "ANY" VARCHAR null=true BINARY fixed="" key="_rowid_"
main.pd view=false key=[i] rows=0
  i "INTEGER" BIGINT null=true BINARY fixed="" key="rowid"
main.v view=true key=[] rows=-1
  id "INTEGER" BIGINT null=true  fixed="" key=""
  n "VARCHAR(20)" VARCHAR null=true  fixed="" key=""
  c "" VARCHAR null=true  fixed="" key=""
  e "" VARCHAR null=true  fixed="" key=""
  up "" VARCHAR null=true  fixed="" key=""
  ca "TEXT" VARCHAR null=true  fixed="" key=""`), "\n")
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d\n got %s\nwant %s", i, g, w)
		}
	}
	if n := describe(t, c, "or`ders").Columns[2].Type.Length; n != 20 {
		t.Errorf("length %d, want 20", n)
	}
}

func TestNotFound(t *testing.T) {
	c := newConn(t)
	if _, err := c.Describe(t.Context(), connectors.Relation{Name: "t"}); !errors.Is(err, connectors.ErrNotFound) || !strings.Contains(err.Error(), "database file "+c.path) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := os.Stat(c.path); err == nil {
		t.Error("describing created the file")
	}
	if err := c.Read(t.Context(), connectors.Query{SQL: "SELECT 1"}, nil); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("reading a missing file: %v", err)
	}
	if info, err := c.Ping(t.Context()); err != nil || !strings.Contains(info.Version, "does not exist yet") {
		t.Errorf("ping: %v, %v", info, err)
	}
	run(t, c, "CREATE TABLE t (a)")
	if _, err := c.Describe(t.Context(), connectors.Relation{Name: "no'ne"}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("missing table: %v", err)
	}
	if _, err := c.Describe(t.Context(), connectors.Relation{Schema: "elsewhere", Name: "t"}); !errors.Is(err, connectors.ErrNotFound) || !strings.Contains(err.Error(), "schemas_and_paths") {
		t.Errorf("missing schema: %v", err)
	}
	noFolder := connAt(t, filepath.Join(t.TempDir(), "absent", "x.db"))
	if _, err := noFolder.Ping(t.Context()); err == nil {
		t.Error("ping without the folder: no error")
	}
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	var ce *connectors.ConnectError
	if _, err := connAt(t, text).Ping(t.Context()); !errors.As(err, &ce) || !hasCode(err, codeNotADB) {
		t.Errorf("a text file: %v", err)
	}
}

func TestSchemasAndPaths(t *testing.T) {
	dir := t.TempDir()
	out := connectors.Output{Name: "two", Type: engine, Keys: map[string]any{
		"schema": "side", "schemas_and_paths": map[string]any{"main": filepath.Join(dir, "a.db"), "side": "b.db"},
	}}
	c, err := open(out, connectors.Env{ProjectDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	run(t, c, "CREATE TABLE side.t (a INTEGER PRIMARY KEY); INSERT INTO side.t VALUES (7); CREATE TABLE main.u (b TEXT)")
	if got := describe(t, c, "t"); got.Relation.String() != "side.t" {
		t.Errorf("default schema: %s", got.Relation)
	}
	if _, err := c.Describe(t.Context(), connectors.Relation{Schema: "main", Name: "u"}); err != nil {
		t.Error(err)
	}
	if got, err := rows(t, c, describe(t, c, "t")); err != nil || len(got) != 1 || got[0] != "7" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := open(connectors.Output{Keys: map[string]any{"path": ":memory:"}}, connectors.Env{}); err == nil {
		t.Error(":memory: was accepted")
	}
	if _, err := open(connectors.Output{Keys: map[string]any{}}, connectors.Env{}); err == nil {
		t.Error("a missing path was accepted")
	}
	if _, err := open(connectors.Output{Keys: map[string]any{"path": "x", "sqlite_type_mismatch": "guess"}}, connectors.Env{}); err == nil {
		t.Error("an unknown policy was accepted")
	}
}

// TestEstimate: without ANALYZE the rowids say how many rows there are at most.
func TestEstimate(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE a (x TEXT)", "INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT 'x' FROM n", "DELETE FROM a WHERE rowid <= 10",
		"CREATE TABLE far (id INTEGER PRIMARY KEY)", "INSERT INTO far VALUES (-9223372036854775808), (9223372036854775807)",
		"CREATE TABLE around (id INTEGER PRIMARY KEY)", "INSERT INTO around VALUES (-3), (3)", "CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE VIEW v AS SELECT x FROM a")
	for name, want := range map[string]int64{"a": 40, "far": -1, "around": 7, "w": -1, "v": -1} {
		if got := describe(t, c, name).RowEstimate; got != want {
			t.Errorf("%s: about %d rows, want %d", name, got, want)
		}
	}
}

// TestStatistics: ANALYZE tells how many values the first columns of indexes have.
func TestStatistics(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT, c TEXT, d TEXT); CREATE INDEX by_c ON t (c, b); CREATE INDEX some_d ON t (d) WHERE a < 10; CREATE VIEW v AS SELECT * FROM t",
		"INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, i % 3, 'c' || (i % 50), 'd' || i FROM n")
	table := describe(t, c, "t")
	if !table.Stable || table.Stat(2).Distinct != 0 {
		t.Errorf("stable %v, statistics before ANALYZE %v", table.Stable, table.Stats)
	}
	run(t, c, "ANALYZE")
	table = describe(t, c, "t")
	want := []connectors.Stat{{}, {}, {Distinct: 50}, {}}
	if !slices.Equal(table.Stats, want) || table.RowEstimate != 1000 {
		t.Errorf("%d rows, statistics %v, want %v", table.RowEstimate, table.Stats, want)
	}
	if v := describe(t, c, "v"); v.Stable {
		t.Error("a view is stable")
	}
}
