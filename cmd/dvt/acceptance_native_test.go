package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// TestAcceptanceJaffleNative builds the jaffle-shop project, seeds, staging views, marts,
// tests and a package's macros, in PostgreSQL's own SQL; then the same files with the
// payments on MariaDB, which makes what reads them federated. The marts are equal, to
// each other and to what one DuckDB computes.
func TestAcceptanceJaffleNative(t *testing.T) {
	oracle := openDB(t, "duckdb", "")
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/jaffle_native", dir)
	if err := os.MkdirAll(filepath.Join(dir, "seeds"), 0o755); err != nil {
		t.Fatal(err)
	}
	for table, query := range jaffleTables {
		mustExec(t, oracle, "CREATE TABLE "+table+" AS "+query)
		mustExec(t, oracle, fmt.Sprintf("COPY %s TO '%s' (HEADER, DELIMITER ',')", table, filepath.Join(dir, "seeds", table+".csv")))
	}
	jaffleOracle(t, oracle)
	pg := openDB(t, "pg", "")
	marts := []string{"customers", "orders"}

	native := newSchema(t)
	jaffleBuild(t, oracle, pg, dir, native, "{payments_on: pg}", []string{
		"OK view model " + native + ".stg_payments", "OK table model " + native + ".orders", "PASS relationships_orders_customer_id",
	})
	if _, kind := mustQuery(t, pg, "select table_type from information_schema.tables where table_schema = '"+native+"' and table_name = 'stg_payments'"); enginetest.Text(kind) != "VIEW\n" {
		t.Error("stg_payments is", enginetest.Text(kind))
	}

	split := newSchema(t)
	jaffleBuild(t, oracle, pg, dir, split, "{payments_on: my}", []string{
		"Model 'stg_payments' is materialized as 'view' but reads federated sources — running it as 'f_table'.",
		"OK f_table model " + split + ".stg_payments", "OK table model " + split + ".orders",
	})
	for _, mart := range marts {
		for _, pair := range [][2]string{{native, split}, {split, native}} {
			if _, diff := mustQuery(t, pg, fmt.Sprintf("select * from %s.%s except all select * from %s.%s", pair[0], mart, pair[1], mart)); len(diff) > 0 {
				t.Errorf("%s: only in %s:\n%s", mart, pair[0], enginetest.Text(diff))
			}
		}
	}
}

// jaffleBuild builds the project twice, for the second build replaces what the first one
// made, and compares the marts with the oracle.
func jaffleBuild(t *testing.T, oracle, pg *enginetest.DB, dir, schema, vars string, lines []string) {
	t.Helper()
	t.Setenv("SCHEMA", schema)
	for range 2 {
		out, code := dvtIn(t, dir, "build", "--vars", vars)
		t.Log(out)
		if code != 0 || !strings.Contains(out, "WARN=0 ERROR=0 SKIP=0 TOTAL=25") {
			t.Fatalf("exit code %d", code)
		}
		for _, line := range lines {
			if !strings.Contains(out, line) {
				t.Errorf("no line %q", line)
			}
		}
	}
	for _, mart := range []string{"customers", "orders"} {
		names, rows := mustQuery(t, pg, "SELECT * FROM "+schema+"."+mart)
		compareWithOracle(t, oracle, "want_"+mart, names, rows)
	}
}
