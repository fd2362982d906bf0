package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// dataDir is where the real data lies; tests that need it fail rather than pass without.
func dataDir(t *testing.T) string {
	dir := os.Getenv("DVT_DATA")
	if dir == "" {
		dir = "../../../shared/data"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chinook")); err != nil {
		t.Skipf("SKIPPED: no data at %s (set DVT_DATA)", dir)
	}
	return dir
}

// chinookTables are the columns of each table, in DuckDB types.
var chinookTables = map[string]string{
	"Album": "AlbumId INTEGER, Title VARCHAR, ArtistId INTEGER", "Artist": "ArtistId INTEGER, Name VARCHAR", "Genre": "GenreId INTEGER, Name VARCHAR",
	"Customer":      "CustomerId INTEGER, FirstName VARCHAR, LastName VARCHAR, Company VARCHAR, Address VARCHAR, City VARCHAR, State VARCHAR, Country VARCHAR, PostalCode VARCHAR, Phone VARCHAR, Fax VARCHAR, Email VARCHAR, SupportRepId INTEGER",
	"Invoice":       "InvoiceId INTEGER, CustomerId INTEGER, InvoiceDate TIMESTAMP, BillingAddress VARCHAR, BillingCity VARCHAR, BillingState VARCHAR, BillingCountry VARCHAR, BillingPostalCode VARCHAR, Total DECIMAL(10,2)",
	"InvoiceLine":   "InvoiceLineId INTEGER, InvoiceId INTEGER, TrackId INTEGER, UnitPrice DECIMAL(10,2), Quantity INTEGER",
	"Playlist":      "PlaylistId INTEGER, Name VARCHAR",
	"PlaylistTrack": "PlaylistId INTEGER, TrackId INTEGER",
	"Track":         "TrackId INTEGER, Name VARCHAR, AlbumId INTEGER, MediaTypeId INTEGER, GenreId INTEGER, Composer VARCHAR, Milliseconds INTEGER, Bytes INTEGER, UnitPrice DECIMAL(10,2)",
}

// chinookAt is where each server table lives and with which types.
var chinookAt = map[string]struct {
	engine string
	types  *strings.Replacer
}{
	"Customer":      {"pg", strings.NewReplacer("VARCHAR", "text")},
	"Invoice":       {"pg", strings.NewReplacer("VARCHAR", "text", "DECIMAL", "numeric")},
	"InvoiceLine":   {"my", strings.NewReplacer()},
	"PlaylistTrack": {"ch", strings.NewReplacer("INTEGER", "Int32")},
}

// oracle is one DuckDB that holds all tables.
func chinookOracle(t *testing.T, dir string) *enginetest.DB {
	db := openDB(t, "duckdb", "")
	for table, columns := range chinookTables {
		var spec []string
		for _, c := range strings.Split(strings.ReplaceAll(columns, "(10,2)", "(10;2)"), ", ") {
			name, typ, _ := strings.Cut(c, " ")
			spec = append(spec, fmt.Sprintf("'%s': '%s'", name, strings.ReplaceAll(typ, ";", ",")))
		}
		mustExec(t, db, fmt.Sprintf(`CREATE TABLE "%s" AS SELECT * FROM read_csv('%s', header=true, columns={%s})`, table, filepath.Join(dir, table+".csv"), strings.Join(spec, ", ")))
	}
	return db
}

func openDB(t *testing.T, engine, path string) *enginetest.DB {
	t.Helper()
	db, err := enginetest.Open(engine, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *enginetest.DB, stmt string) {
	t.Helper()
	if err := db.Exec(stmt); err != nil {
		t.Fatalf("%s: %v", shortSQL(stmt), err)
	}
}

func shortSQL(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

func mustQuery(t *testing.T, db *enginetest.DB, query string) ([]string, [][]*string) {
	t.Helper()
	names, rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return names, rows
}

// insert copies rows into an engine's table with literals that every engine reads alike.
func insertRows(t *testing.T, engine string, db *enginetest.DB, table string, rows [][]*string) {
	t.Helper()
	for len(rows) > 0 {
		n := min(len(rows), 500)
		var b strings.Builder
		fmt.Fprintf(&b, "INSERT INTO %s VALUES ", table)
		for i, row := range rows[:n] {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("(")
			for j, v := range row {
				if j > 0 {
					b.WriteString(", ")
				}
				switch {
				case v == nil:
					b.WriteString("NULL")
				case engine == "ch" && numeric(*v):
					b.WriteString(*v)
				case engine == "my" || engine == "ch":
					b.WriteString("'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(*v) + "'")
				default:
					b.WriteString("'" + strings.ReplaceAll(*v, "'", "''") + "'")
				}
			}
			b.WriteString(")")
		}
		mustExec(t, db, b.String())
		rows = rows[n:]
	}
}

func numeric(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// newSchema makes a schema (database) of one name on the three servers and returns it.
func newSchema(t *testing.T) string {
	schema := uniqueName()
	for _, engine := range []string{"pg", "my", "ch"} {
		db := openDB(t, engine, "")
		kind := "DATABASE"
		cascade := ""
		if engine == "pg" {
			kind, cascade = "SCHEMA", " CASCADE"
		}
		mustExec(t, db, "CREATE "+kind+" "+schema)
		t.Cleanup(func() {
			again, err := enginetest.Open(engine, "")
			if err == nil {
				_ = again.Exec("DROP " + kind + " " + schema + cascade)
				_ = again.Close()
			}
		})
	}
	return schema
}

func loadChinook(t *testing.T, oracle *enginetest.DB, schema string) {
	for table, at := range chinookAt {
		db := openDB(t, at.engine, "")
		name := schema + "." + `"` + table + `"`
		columns := chinookTables[table]
		var ddl []string
		for _, c := range strings.Split(strings.ReplaceAll(columns, "(10,2)", "(10;2)"), ", ") {
			col, typ, _ := strings.Cut(c, " ")
			typ = at.types.Replace(strings.ReplaceAll(typ, ";", ","))
			switch at.engine {
			case "pg":
				col = `"` + col + `"`
			case "my":
				typ = strings.NewReplacer("VARCHAR", "varchar(200)", "TIMESTAMP", "datetime").Replace(typ)
			}
			ddl = append(ddl, col+" "+typ)
		}
		if at.engine != "pg" {
			name = schema + "." + table
		}
		create := "CREATE TABLE " + name + " (" + strings.Join(ddl, ", ") + ")"
		if at.engine == "ch" {
			create += " ENGINE = MergeTree ORDER BY tuple()"
		}
		mustExec(t, db, create)
		_, rows := mustQuery(t, oracle, `SELECT COLUMNS(*)::VARCHAR FROM "`+table+`"`)
		insertRows(t, at.engine, db, name, rows)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-R", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("copying %s: %v: %s", from, err, out)
	}
	if out, err := exec.Command("chmod", "-R", "u+w", to).CombinedOutput(); err != nil {
		t.Fatalf("chmod: %v: %s", err, out)
	}
}

// dvtIn runs the program in a folder and returns what it printed and its exit code.
func dvtIn(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	code := Main(append([]string{"--project-dir", dir}, args...), &out, &out)
	return out.String(), code
}

var jinjaCall = regexp.MustCompile(`\{\{\s*(source|ref)\(([^)]*)\)\s*\}\}`)
var jinjaConfig = regexp.MustCompile(`\{\{\s*config\([^}]*\}\}`)

// plainSQL is a model's SQL over one database that holds every table under its name.
func plainSQL(text string) string {
	text = jinjaConfig.ReplaceAllString(text, "")
	return jinjaCall.ReplaceAllStringFunc(text, func(call string) string {
		args := strings.Split(jinjaCall.FindStringSubmatch(call)[2], ",")
		return `"` + strings.Trim(args[len(args)-1], " '") + `"`
	})
}

// TestAcceptanceChinook runs ten models over five engines and compares each result, read
// by the target engine's own driver, with one DuckDB holding all tables.
func TestAcceptanceChinook(t *testing.T) {
	data := filepath.Join(dataDir(t), "chinook")
	oracle := chinookOracle(t, data)
	schema := newSchema(t)
	loadChinook(t, oracle, schema)
	t.Setenv("SCHEMA", schema)
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/chinook", dir)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"chinook.sqlite", "Playlist.csv"} {
		content, err := os.ReadFile(filepath.Join(data, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "data", f), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Twice: the second run replaces what the first one landed.
	for range 2 {
		out, code := dvtIn(t, dir, "run")
		t.Log(out)
		if code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if !strings.Contains(out, "Done. PASS=10 WARN=0 ERROR=0 SKIP=0 TOTAL=10") {
			t.Fatal("not all models passed")
		}
	}
	models, err := filepath.Glob(filepath.Join(dir, "models", "m*.sql"))
	if err != nil || len(models) != 10 {
		t.Fatal(models, err)
	}
	for _, file := range models {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, oracle, fmt.Sprintf(`CREATE TABLE "%s" AS %s`, name, plainSQL(string(text))))
		names, rows := readTarget(t, dir, schema, name, string(text))
		compareWithOracle(t, oracle, name, names, rows)
	}
}

// readTarget reads a model's relation by its own engine.
func readTarget(t *testing.T, dir, schema, name, model string) ([]string, [][]*string) {
	target := "pg"
	if m := regexp.MustCompile(`target='(\w+)'`).FindStringSubmatch(model); m != nil {
		target = m[1]
	}
	switch target {
	case "pg", "my", "ch":
		return mustQuery(t, openDB(t, target, ""), "SELECT * FROM "+schema+"."+name)
	case "lite_out":
		return mustQuery(t, openDB(t, "sqlite", filepath.Join(dir, "out.sqlite")), "SELECT * FROM "+name)
	case "duck":
		return mustQuery(t, openDB(t, "duckdb", filepath.Join(dir, "out.duckdb")), "SELECT COLUMNS(*)::VARCHAR FROM "+name)
	}
	for _, read := range []string{"parquet", "csv", "json"} {
		path := filepath.Join(dir, "lake", name+"."+read)
		if _, err := os.Stat(path); err == nil {
			return mustQuery(t, openDB(t, "duckdb", ""), "SELECT COLUMNS(*)::VARCHAR FROM read_"+read+"('"+path+"')")
		}
	}
	t.Fatalf("%s: no file in lake", name)
	return nil, nil
}

// compareWithOracle casts the text that an engine gave to the oracle's types and compares
// both as bags of rows.
func compareWithOracle(t *testing.T, oracle *enginetest.DB, table string, names []string, rows [][]*string) {
	t.Helper()
	_, want := mustQuery(t, oracle, `SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '`+table+`' ORDER BY column_index`)
	if len(want) != len(names) {
		t.Fatalf("%s: columns %v, want %s", table, names, enginetest.Text(want))
	}
	var ddl, casts []string
	for i, w := range want {
		if names[i] != *w[0] {
			t.Errorf("%s: column %d is %q, want %q", table, i, names[i], *w[0])
		}
		ddl = append(ddl, fmt.Sprintf("c%d VARCHAR", i))
		casts = append(casts, fmt.Sprintf("c%d::%s", i, *w[1]))
	}
	mustExec(t, oracle, "CREATE OR REPLACE TEMP TABLE got ("+strings.Join(ddl, ", ")+")")
	insertRows(t, "duckdb", oracle, "got", rows)
	got := "SELECT " + strings.Join(casts, ", ") + " FROM got"
	for what, query := range map[string]string{
		"missing": fmt.Sprintf(`SELECT * FROM "%s" EXCEPT ALL %s`, table, got),
		"extra":   fmt.Sprintf(`%s EXCEPT ALL SELECT * FROM "%s"`, got, table),
	} {
		if _, diff := mustQuery(t, oracle, "SELECT COLUMNS(*)::VARCHAR FROM ("+query+") LIMIT 5"); len(diff) > 0 {
			t.Errorf("%s: %s rows:\n%s", table, what, enginetest.Text(diff))
		}
	}
	t.Logf("%s: %d rows equal", table, len(rows))
}
