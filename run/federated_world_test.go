package run

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
	"github.com/dvt-dev/dvt/project"
)

// fedTable is one table, on its engine and in the oracle.
type fedTable struct {
	engine, name string
	rows         int
	twice        bool // has rows that are equal in all columns
	view         bool // over the table of the name with _t
	tail         string
	after        []string
	cols         []fedColumn
}

// fedTables are the tables of all engines. Columns of one meaning have other types on
// other engines; texts have other collations.
func fedTables() []*fedTable {
	id := func(native, logical string) fedColumn {
		return fedColumn{name: "id", native: native, logical: logical, pool: "id"}
	}
	c := func(name, native, logical, pool string) fedColumn {
		return fedColumn{name: name, native: native, logical: logical, pool: pool}
	}
	const tz = tzType
	const myText = " character set utf8mb4 collate "
	return []*fedTable{
		{engine: "pg", name: "a", rows: 120, cols: []fedColumn{
			id("bigint", "BIGINT"), c("k", "integer", "INTEGER", "small"), c("n", "bigint", "BIGINT", "big"), c("u", "numeric(20,0)", "DECIMAL(20,0)", "ubig"), c("s", "text", "VARCHAR", "text"),
			c("ci", "text collate {schema}.ci", "VARCHAR", "text"), c("c", "char(5)", "VARCHAR", "word"), c("e", "{schema}.mood", "VARCHAR", "enum"), c("dec", "numeric(9,2)", "DECIMAL(9,2)", "dec"),
			c("f", "double precision", "DOUBLE", "float"), c("ts", "timestamp", "TIMESTAMP", "ts"), c("tz", "timestamptz", tz, "ts"), c("d", "date", "DATE", "date"), c("b", "boolean", "BOOLEAN", "bool"),
			c("g", "uuid", "UUID", "uuid"), c("bin", "bytea", "BLOB", "blob"), c("xs", "integer[]", "INTEGER[]", "list"), c("t", "time", "TIME", "time"), c(`Odd "Näme`, "varchar(50)", "VARCHAR", "text")}},
		{engine: "pg", name: "b", rows: 500, cols: []fedColumn{
			id("integer", "INTEGER"), c("k", "smallint", "SMALLINT", "small"), c("n", "integer", "INTEGER", "int"), c("s", `varchar(60) collate "und-x-icu"`, "VARCHAR", "text"), c("w", `text collate "C"`, "VARCHAR", "text"),
			c("dec", "numeric(30,10)", "DECIMAL(30,10)", "big dec"), c("f", "real", "FLOAT", "real"), c("ts", "timestamp(0)", "TIMESTAMP", "ts"), c("d", "date", "DATE", "date"), c("b", "boolean", "BOOLEAN", "bool")}},
		{engine: "my", name: "a", rows: 120, cols: []fedColumn{
			id("bigint unsigned", "UBIGINT"), c("k", "int unsigned", "UINTEGER", "small"), c("n", "int", "INTEGER", "int"), c("u", "bigint unsigned", "UBIGINT", "ubig"), c("s", "varchar(60)"+myText+"utf8mb4_general_ci", "VARCHAR", "text"),
			c("ci", "varchar(60)"+myText+"utf8mb4_unicode_ci", "VARCHAR", "text"), c("c", "char(5)", "VARCHAR", "word"), c("e", "enum('a','A ','b','B','it''s','ñ')"+myText+"utf8mb4_bin", "VARCHAR", "enum"), c("dec", "decimal(9,2)", "DECIMAL(9,2)", "dec"),
			c("f", "double", "DOUBLE", "float"), c("ts", "datetime(6)", "TIMESTAMP", "ts"), c("tz", "timestamp(6) null", tz, "ts"), c("d", "date", "DATE", "date"), c("b", "tinyint(1)", "BOOLEAN", "bool"),
			c("g", "uuid", "UUID", "uuid"), c("bin", "varbinary(20)", "BLOB", "blob"), c("t", "time(6)", "TIME", "time"), c(`Odd "Näme`, "varchar(60)"+myText+"utf8mb4_nopad_bin", "VARCHAR", "text")}},
		{engine: "my", name: "b", rows: 300, twice: true, cols: []fedColumn{
			c("k", "tinyint", "TINYINT", "small"), c("n", "bigint", "BIGINT", "big"), c("s", "varchar(60)"+myText+"utf8mb4_bin", "VARCHAR", "text"), c("w", "varchar(60) character set latin1", "VARCHAR", "latin"),
			c("ts", "datetime", "TIMESTAMP", "ts"), c("d", "date", "DATE", "date"), c("b", "bit(1)", "BOOLEAN", "bool")}},
		{engine: "ch", name: "a", rows: 150, tail: " ENGINE = MergeTree ORDER BY id", cols: []fedColumn{
			id("UInt64", "UBIGINT"), c("k", "Nullable(UInt8)", "UTINYINT", "small"), c("n", "Nullable(Int64)", "BIGINT", "big"), c("u", "Nullable(UInt64)", "UBIGINT", "ubig"), c("s", "Nullable(String)", "VARCHAR", "text"),
			c("w", "LowCardinality(Nullable(String))", "VARCHAR", "text"), c("e", `Nullable(Enum8('a' = 1, 'A ' = 2, 'b' = -3, 'B' = 4, 'it\'s' = 5, 'ñ' = 6))`, "VARCHAR", "enum"), c("dec", "Nullable(Decimal(9, 2))", "DECIMAL(9,2)", "dec"),
			c("f", "Nullable(Float64)", "DOUBLE", "float"), c("tz", "Nullable(DateTime('UTC'))", tz, "ts"), c("d", "Nullable(Date)", "DATE", "date"), c("g", "Nullable(UUID)", "UUID", "uuid"), c("xs", "Array(Nullable(Int32))", "INTEGER[]", "list")}},
		{engine: "ch", name: "b", rows: 400, tail: " ENGINE = MergeTree ORDER BY (k, id)", cols: []fedColumn{
			id("Int32", "INTEGER"), c("k", "Int32", "INTEGER", "small"), c("n", "Nullable(Int32)", "INTEGER", "int"), c("s", "Nullable(String)", "VARCHAR", "text"),
			c("dec", "Nullable(Decimal(38, 10))", "DECIMAL(38,10)", "big dec"), c("f", "Nullable(Float32)", "FLOAT", "real"), c("tz", "Nullable(DateTime('America/New_York'))", tz, "ts"), c("d", "Nullable(Date)", "DATE", "date")}},
		{engine: "lite", name: "a", rows: 120, cols: []fedColumn{
			id("INTEGER PRIMARY KEY", "BIGINT"), c("k", "INTEGER", "BIGINT", "small"), c("n", "INTEGER", "BIGINT", "big"), c("u", "INTEGER", "BIGINT", "ubig"), c("s", "TEXT", "VARCHAR", "text"), c("ci", "TEXT COLLATE NOCASE", "VARCHAR", "text"),
			c("c", "TEXT COLLATE RTRIM", "VARCHAR", "text"), c("dec", "DECIMAL(9,2)", "DECIMAL(9,2)", "dec"), c("f", "REAL", "DOUBLE", "float"), c("ts", "DATETIME", "TIMESTAMP", "ts"), c("tz", "TIMESTAMPTZ", tz, "ts"),
			c("d", "DATE", "DATE", "date"), c("b", "BOOLEAN", "BOOLEAN", "bool"), c("g", "UUID_TEXT", "UUID", "uuid"), c("bin", "BLOB", "BLOB", "blob"), c("t", "TIME", "TIME", "time"), c(`Odd "Näme`, "VARCHAR(60)", "VARCHAR", "text")}},
		{engine: "lite", name: "b", rows: 60, cols: []fedColumn{
			id("INTEGER", "BIGINT"), c("k", "INTEGER", "BIGINT", "small"), c("s", "TEXT", "VARCHAR", "text"), c("dec", "DECIMAL_TEXT(30,10)", "DECIMAL(30,10)", "big dec"), c("ts", "TIMESTAMP", "TIMESTAMP", "ts"), c("d", "DATE", "DATE", "date")}},
		{engine: "duck", name: "a", rows: 150, cols: []fedColumn{
			id("INTEGER", "INTEGER"), c("k", "UTINYINT", "UTINYINT", "small"), c("n", "BIGINT", "BIGINT", "big"), c("u", "UBIGINT", "UBIGINT", "ubig"), c("s", "VARCHAR", "VARCHAR", "text"), c("dec", "DECIMAL(30,10)", "DECIMAL(30,10)", "big dec"),
			c("f", "DOUBLE", "DOUBLE", "float"), c("ts", "TIMESTAMP", "TIMESTAMP", "ts"), c("tz", "TIMESTAMPTZ", tz, "ts"), c("d", "DATE", "DATE", "date"), c("b", "BOOLEAN", "BOOLEAN", "bool"), c("g", "UUID", "UUID", "uuid"),
			c("bin", "BLOB", "BLOB", "blob"), c("xs", "INTEGER[]", "INTEGER[]", "list"), c("t", "TIME", "TIME", "time")}},
		{engine: "lake", name: "a", rows: 200, cols: []fedColumn{
			id("BIGINT", "BIGINT"), c("k", "INTEGER", "INTEGER", "small"), c("n", "INTEGER", "INTEGER", "int"), c("u", "UBIGINT", "UBIGINT", "ubig"), c("s", "VARCHAR", "VARCHAR", "text"), c("dec", "DECIMAL(9,2)", "DECIMAL(9,2)", "dec"),
			c("f", "FLOAT", "FLOAT", "real"), c("ts", "TIMESTAMP", "TIMESTAMP", "ts"), c("tz", "TIMESTAMPTZ", tz, "ts"), c("d", "DATE", "DATE", "date"), c("b", "BOOLEAN", "BOOLEAN", "bool"), c("g", "UUID", "UUID", "uuid"), c("bin", "BLOB", "BLOB", "blob")}},
		{engine: "pg", name: "c", rows: 60, view: true, cols: []fedColumn{
			id("bigint", "BIGINT"), c("k", "{schema}.few", "INTEGER", "small"), c("s", "varchar(5)", "VARCHAR", "short"), c("w", "name", "VARCHAR", "short"), c("ip", "inet", "VARCHAR", "address"), c("h", "numeric(39,0)", "HUGEINT", "huge"),
			c("iv", "interval", "INTERVAL", "interval"), c("tt", "timetz", "TIME WITH TIME ZONE", "timetz"), c("j", "json", "JSON", "json"), c("bits", "bit(8)", "BIT", "bits"), c("ts", "timestamp(3)", "TIMESTAMP", "ms")}},
		{engine: "pg", name: "d", rows: 80, tail: " PARTITION BY HASH (id)", after: []string{"CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0)", "CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"}, cols: []fedColumn{
			id("integer", "INTEGER"), c("k", "bigint", "BIGINT", "small"), c("s", "{schema}.label", "VARCHAR", "short"), c("dec", "numeric(9,2)", "DECIMAL(9,2)", "money"), c("d", "date", "DATE", "date")}},
		{engine: "my", name: "c", rows: 80, cols: []fedColumn{
			id("mediumint unsigned", "UINTEGER"), c("k", "smallint", "SMALLINT", "small"), c("y", "year", "SMALLINT", "year"), c("e", "set('a','b','c') character set utf8mb4", "VARCHAR", "set"), c("bits", "bit(8)", "UBIGINT", "bits"), c("ts", "datetime(3)", "TIMESTAMP", "ms"),
			c("d", "date", "DATE", "zero"), c("f", "float", "FLOAT", "real"), c("dec", "decimal(10,2) unsigned", "DECIMAL(10,2)", "money"), c("s", "text"+myText+"utf8mb4_general_ci", "VARCHAR", "text"), c("w", "varchar(40) character set utf16", "VARCHAR", "short"), c("n", "tinyint unsigned", "UTINYINT", "small")}},
		{engine: "my", name: "d", rows: 50, view: true, cols: []fedColumn{
			id("int", "INTEGER"), c("k", "int", "INTEGER", "small"), c("s", "varchar(40) character set latin1 collate latin1_bin", "VARCHAR", "latin"), c("u", "decimal(20,0)", "DECIMAL(20,0)", "ubig"), c("tz", "timestamp null", tz, "ts")}},
		{engine: "ch", name: "c", rows: 80, tail: " ENGINE = MergeTree PARTITION BY k % 3 ORDER BY (s, id)", cols: []fedColumn{
			id("UInt32", "UINTEGER"), c("k", "UInt16", "USMALLINT", "small"), c("s", "String", "VARCHAR", "text"), c("n", "Nullable(Int8)", "TINYINT", "tiny"), c("u", "UInt16", "USMALLINT", "word16"), c("w", "Nullable(FixedString(4))", "VARCHAR", "short"),
			c("dec", "Decimal(18, 2)", "DECIMAL(18,2)", "money"), c("e", "Enum16('z' = 1, 'a' = 1000, '' = -5)", "VARCHAR", "choice"), c("f", "Float64", "DOUBLE", "float"), c("d", "Date", "DATE", "date")}},
		{engine: "ch", name: "d", rows: 40, view: true, tail: " ENGINE = Memory", cols: []fedColumn{
			id("Int64", "BIGINT"), c("k", "Nullable(Int16)", "SMALLINT", "small"), c("s", "String", "VARCHAR", "short"), c("tz", "DateTime", tz, "ts"), c("g", "UUID", "UUID", "uuid")}},
		{engine: "lite", name: "c", rows: 80, view: true, cols: []fedColumn{
			id("BIGINT", "BIGINT"), c("k", "SMALLINT", "BIGINT", "small"), c("h", "DECIMAL_TEXT(39,0)", "HUGEINT", "huge"), c("tn", "TIMESTAMP_NS", "TIMESTAMP_NS", "ns"), c("j", "JSON_TEXT", "JSON", "json"), c("dec", "NUMERIC(15,5)", "DECIMAL(15,5)", "dec5"), c("s", "NVARCHAR(60)", "VARCHAR", "text")}},
		{engine: "lite", name: "d", rows: 60, tail: " WITHOUT ROWID", cols: []fedColumn{
			{name: "s", native: "TEXT COLLATE NOCASE", logical: "VARCHAR", pool: "text"}, id("INTEGER PRIMARY KEY", "BIGINT"), c("k", "INT", "BIGINT", "small"), c("f", "FLOAT", "DOUBLE", "float"), c("d", "DATE", "DATE", "date")}},
		{engine: "duck", name: "b", rows: 80, view: true, cols: []fedColumn{
			id("HUGEINT", "HUGEINT"), c("k", "BIGINT", "BIGINT", "small"), c("h", "HUGEINT", "HUGEINT", "huge"), c("tn", "TIMESTAMP_NS", "TIMESTAMP_NS", "ns"), c("tt", "TIMETZ", "TIME WITH TIME ZONE", "timetz"), c("iv", "INTERVAL", "INTERVAL", "interval"),
			c("j", "JSON", "JSON", "json"), c("bits", "BIT", "BIT", "bits"), c("e", "ENUM('ñ', 'b', 'B', 'a', 'A ', 'it''s')", "VARCHAR", "enum"), c("s", "VARCHAR", "VARCHAR", "short")}},
		{engine: "lake", name: "b", rows: 90, cols: []fedColumn{
			id("UINTEGER", "UINTEGER"), c("k", "UTINYINT", "UTINYINT", "small"), c("tn", "TIMESTAMP_NS", "TIMESTAMP_NS", "ns"), c("dec", "DECIMAL(38,10)", "DECIMAL(38,10)", "big dec"), c("xs", "INTEGER[]", "INTEGER[]", "list"), c("t", "TIME", "TIME", "time"), c("j", "JSON", "JSON", "json"), c("s", "VARCHAR", "VARCHAR", "text")}},
		// More keys than are listed reduce the other side by their range.
		{engine: "pg", name: "many", rows: 6000, cols: []fedColumn{id("bigint", "BIGINT"), c("key", "integer", "INTEGER", "row int"), c("s", "text", "VARCHAR", "row text"), c("dec", "numeric(9,2)", "DECIMAL(9,2)", "row decimal"), c("d", "date", "DATE", "row date")}},
		{engine: "my", name: "many", rows: 1400, cols: []fedColumn{id("bigint unsigned", "UBIGINT"), c("key", "int", "INTEGER", "row int"), c("s", "varchar(20)"+myText+"utf8mb4_general_ci", "VARCHAR", "row text"), c("d", "date", "DATE", "row date")}},
		{engine: "ch", name: "many", rows: 6000, tail: " ENGINE = MergeTree ORDER BY key", cols: []fedColumn{id("UInt32", "UINTEGER"), c("key", "Int32", "INTEGER", "row int"), c("s", "String", "VARCHAR", "row text"), c("dec", "Decimal(9, 2)", "DECIMAL(9,2)", "row decimal"), c("d", "Date", "DATE", "row date")}},
		{engine: "lite", name: "many", rows: 5000, cols: []fedColumn{id("INTEGER PRIMARY KEY", "BIGINT"), c("key", "INTEGER", "BIGINT", "row int"), c("s", "TEXT COLLATE NOCASE", "VARCHAR", "row text"), c("dec", "DECIMAL(9,2)", "DECIMAL(9,2)", "row decimal"), c("d", "DATE", "DATE", "row date")}},
		{engine: "duck", name: "many", rows: 1200, cols: []fedColumn{id("INTEGER", "INTEGER"), c("key", "BIGINT", "BIGINT", "row int"), c("s", "VARCHAR", "VARCHAR", "row text"), c("dec", "DECIMAL(9,2)", "DECIMAL(9,2)", "row decimal"), c("d", "DATE", "DATE", "row date")}},
	}
}

// fedWorld is the tables, everywhere.
type fedWorld struct {
	tables []*fedTable
	schema string
	files  string  // folder of the SQLite, DuckDB and Parquet files, and of the oracle's
	oracle *sql.DB // while it is filled
	// threads of the next runner's DuckDB: with more than one, statements this small
	// spend their time on switching.
	threads int
}

func newFedWorld(t *testing.T, seed int64) *fedWorld {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	w := &fedWorld{tables: fedTables(), schema: fmt.Sprintf("fed_%d_%d", os.Getpid(), time.Now().UnixNano()%1_000_000_000), files: t.TempDir(), threads: 2}
	dbs := w.open(t)
	for _, x := range w.tables {
		w.fill(t, dbs[x.engine], x, r)
	}
	for _, x := range w.tables {
		x.learn(t, w.oracle)
	}
	if err := w.oracle.Close(); err != nil {
		t.Fatal(err)
	}
	for engine, db := range dbs {
		if engine == "lake" {
			for _, name := range []string{"a", "b"} {
				fedExec(t, db, "COPY "+name+" TO "+fedQuote(filepath.Join(w.files, name+".parquet"))+" (FORMAT parquet)")
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// open makes an empty place for the tables on each engine.
func (w *fedWorld) open(t *testing.T) map[string]*enginetest.DB {
	t.Helper()
	dbs := map[string]*enginetest.DB{}
	for _, e := range [][2]string{{"pg", ""}, {"my", ""}, {"ch", ""}, {"sqlite", filepath.Join(w.files, "lite.db")}, {"duckdb", filepath.Join(w.files, "duck.db")}, {"duckdb", ""}} {
		db, err := enginetest.Open(e[0], e[1])
		if err != nil {
			t.Fatal(err)
		}
		name := e[0]
		switch {
		case name == "sqlite":
			name = "lite"
		case name == "duckdb" && e[1] == "":
			name = "lake"
		case name == "duckdb":
			name = "duck"
		}
		dbs[name] = db
		kind, cascade := "DATABASE ", ""
		if name == "pg" {
			kind, cascade = "SCHEMA ", " CASCADE"
		}
		if e[1] != "" || name == "lake" {
			continue
		}
		fedExec(t, db, "CREATE "+kind+w.schema)
		t.Cleanup(func() {
			again, err := enginetest.Open(name, "")
			if err == nil {
				_ = again.Exec("DROP " + kind + w.schema + cascade)
				_ = again.Close()
			}
		})
	}
	fedExec(t, dbs["pg"], "CREATE COLLATION "+w.schema+".ci (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
	fedExec(t, dbs["pg"], "CREATE DOMAIN "+w.schema+".few AS integer CHECK (VALUE >= 0)")
	fedExec(t, dbs["pg"], "CREATE DOMAIN "+w.schema+".label AS varchar(30)")
	fedExec(t, dbs["pg"], "CREATE TYPE "+w.schema+".mood AS ENUM ('ñ', 'b', 'B', 'a', 'A ', 'it''s')")
	var err error
	if w.oracle, err = sql.Open("duckdb", filepath.Join(w.files, "oracle.db")); err != nil {
		t.Fatal(err)
	}
	return dbs
}

func fedExec(t *testing.T, db *enginetest.DB, stmt string) {
	t.Helper()
	if err := db.Exec(stmt); err != nil {
		t.Fatalf("%.600s: %v", stmt, err)
	}
}

// fill makes a table with random rows, on its engine and in the oracle.
func (w *fedWorld) fill(t *testing.T, db *enginetest.DB, x *fedTable, r *rand.Rand) {
	t.Helper()
	name := map[string]string{"pg": w.schema + "." + x.name, "my": w.schema + "." + x.name, "ch": w.schema + "." + x.name}[x.engine]
	if name == "" {
		name = x.name
	}
	as := name
	if x.view {
		name += "_t"
	}
	var here, there, indexes []string
	for i := range x.cols {
		c := &x.cols[i]
		q := fedIdent(c.name)
		if x.engine == "my" || x.engine == "ch" {
			q = "`" + c.name + "`"
		}
		here = append(here, q+" "+strings.ReplaceAll(c.native, "{schema}", w.schema))
		there = append(there, fedIdent(c.name)+" "+c.logical)
		if strings.Contains("k key n s ci dec ts tz d f", c.name) && (x.engine == "pg" || x.engine == "my" || x.engine == "lite") {
			indexes = append(indexes, fmt.Sprintf("CREATE INDEX %s_%s ON %s (%s)", x.name, c.name, name, q))
		}
	}
	create := "CREATE TABLE " + name + " (" + strings.Join(here, ", ") + ")" + x.tail
	if x.engine == "ch" {
		fedExecCH(t, create)
	} else {
		fedExec(t, db, create)
	}
	for _, q := range append(x.after, indexes...) {
		fedExec(t, db, strings.ReplaceAll(q, "{name}", name))
	}
	if x.view {
		fedExec(t, db, "CREATE VIEW "+as+" AS SELECT * FROM "+name)
	}
	if _, err := w.oracle.Exec("CREATE SCHEMA IF NOT EXISTS " + x.engine + "; CREATE TABLE " + x.engine + "." + x.name + " (" + strings.Join(there, ", ") + ")"); err != nil {
		t.Fatal(err)
	}
	var in, out []string
	for row := range x.rows {
		var a, b []string
		for i := range x.cols {
			c := &x.cols[i]
			v := c.value(r, x.engine, row)
			if v == nil {
				a, b = append(a, "NULL"), append(b, "NULL")
				continue
			}
			a = append(a, fedLiteral(x.engine, c.logical, *v))
			if read := fedReads(x.engine, c.native, *v); read == fedNone {
				b = append(b, "NULL")
			} else {
				b = append(b, fedLiteral("duck", c.logical, read))
			}
		}
		in, out = append(in, "("+strings.Join(a, ", ")+")"), append(out, "("+strings.Join(b, ", ")+")")
		if x.twice && r.Intn(4) == 0 {
			in, out = append(in, in[len(in)-1]), append(out, out[len(out)-1])
		}
	}
	x.rows = len(in)
	fedExec(t, db, "INSERT INTO "+name+" VALUES "+strings.Join(in, ", "))
	if _, err := w.oracle.Exec("INSERT INTO " + x.engine + "." + x.name + " VALUES " + strings.Join(out, ", ")); err != nil {
		t.Fatal(x.engine, err)
	}
	if x.engine == "pg" {
		fedExec(t, db, "ANALYZE "+name)
	}
}

// fedExecCH allows what this version calls experimental.
func fedExecCH(t *testing.T, stmt string) {
	t.Helper()
	v := func(n string) string { return os.Getenv("DVT_TEST_CH_" + n) }
	q := url.Values{"user": {v("USER")}, "password": {v("PASSWORD")}, "allow_experimental_low_cardinality_type": {"1"}}
	res, err := http.Post("http://"+v("HOST")+":"+v("HTTP_PORT")+"/?"+q.Encode(), "text/plain", strings.NewReader(stmt))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if out, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(stmt, string(out), err)
	}
}

// learn keeps what each column holds, in order, for literals.
func (x *fedTable) learn(t *testing.T, oracle *sql.DB) {
	t.Helper()
	for i := range x.cols {
		c := &x.cols[i]
		q := fedIdent(c.name)
		rows, err := fedStrings(context.Background(), oracle, fmt.Sprintf("SELECT %s::VARCHAR FROM (SELECT DISTINCT %s FROM %s.%s WHERE %s IS NOT NULL) ORDER BY %s", q, q, x.engine, x.name, q, q))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rows {
			c.lits = append(c.lits, fedConstant(c.logical, *v[0]))
		}
	}
}

func fedIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

const fedProfile = `fed:
  target: duck
  outputs:
    pg: {type: postgres, host: "{{ env_var('DVT_TEST_PG_HOST') }}", port: "{{ env_var('DVT_TEST_PG_PORT') }}", user: "{{ env_var('DVT_TEST_PG_USER') }}", password: "{{ env_var('DVT_TEST_PG_PASSWORD') }}", dbname: "{{ env_var('DVT_TEST_PG_DATABASE') }}", schema: public}
    my: {type: mysql, server: "{{ env_var('DVT_TEST_MY_HOST') }}", port: "{{ env_var('DVT_TEST_MY_PORT') }}", username: "{{ env_var('DVT_TEST_MY_USER') }}", password: "{{ env_var('DVT_TEST_MY_PASSWORD') }}", schema: dvt, tinyint1_is_bool: true}
    ch: {type: clickhouse, host: "{{ env_var('DVT_TEST_CH_HOST') }}", port: "{{ env_var('DVT_TEST_CH_PORT') }}", user: "{{ env_var('DVT_TEST_CH_USER') }}", password: "{{ env_var('DVT_TEST_CH_PASSWORD') }}", schema: default}
    lite: {type: sqlite, path: lite.db}
    duck: {type: duckdb, path: duck.db}
    lake: {type: file, path: ., format: parquet}
`

// runner opens a project over the tables, with copies of the files.
func (w *fedWorld) runner(t *testing.T) *Runner {
	t.Helper()
	dir := t.TempDir()
	sources := "version: 2\nsources:\n"
	at := map[string]string{"lite": "main", "duck": "main", "lake": "''"}
	seen := map[string]bool{}
	tables := slices.Clone(w.tables)
	slices.SortFunc(tables, func(a, b *fedTable) int { return strings.Compare(a.engine+a.name, b.engine+b.name) })
	for _, x := range tables {
		if !seen[x.engine] {
			schema := at[x.engine]
			if schema == "" {
				schema = w.schema
			}
			sources += fmt.Sprintf("  - name: %s\n    meta: {connection: %s}\n    schema: %s\n    tables:\n", x.engine, x.engine, schema)
			seen[x.engine] = true
		}
		sources += "      - name: " + x.name + "\n"
	}
	files := map[string]string{"dbt_project.yml": "name: fed\nprofile: fed\n", "dvt_project.yml": fmt.Sprintf("federation_memory_limit: 1GB\nfederation_threads: %d\n", w.threads), "profiles.yml": fedProfile, "models/sources.yml": sources}
	for _, f := range []string{"lite.db", "duck.db", "a.parquet", "b.parquet"} {
		b, err := os.ReadFile(filepath.Join(w.files, f))
		if err != nil {
			t.Fatal(err)
		}
		files[f] = string(b)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "run"})
	if err != nil {
		t.Fatal(err)
	}
	r := New(p, Options{Stream: new(int64)}, nowhere{}, slog.New(slog.DiscardHandler)) // however few the rows
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
