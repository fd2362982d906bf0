package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// caseProject is a project over all engines for the test of one reported fault.
type caseProject struct {
	t           *testing.T
	dir, schema string
	tables      map[string][]string // sources, by output
}

// Outputs that take merges, and all that take f_table.
var (
	mergeOutputs = []string{"pg", "my", "ch", "lite", "duck"}
	tableOutputs = []string{"pg", "my", "ch", "lite", "duck", "lake"}
)

func newCase(t *testing.T) *caseProject {
	t.Helper()
	p := &caseProject{t: t, dir: t.TempDir(), schema: newSchema(t), tables: map[string][]string{}}
	p.write("dbt_project.yml", "name: cases\nversion: '1.0'\nprofile: cases\nmodels: {+materialized: f_table}\n")
	p.write("dvt_project.yml", "federation_memory_limit: 512MB\nlock_wait: 60s\n")
	text := "cases:\n  target: pg\n  outputs:\n"
	for name, typ := range map[string]string{"pg": "postgres", "my": "mysql", "ch": "clickhouse"} {
		text += p.output(name, typ, "")
	}
	text += "    lite: {type: sqlite, path: out.sqlite}\n    duck: {type: duckdb, path: out.duckdb}\n    lake: {type: file, path: lake, format: parquet}\n"
	p.write("profiles.yml", text)
	return p
}

// output is a server's line of profiles.yml; more are further keys.
func (p *caseProject) output(name, typ, more string) string {
	e := "DVT_TEST_" + strings.ToUpper(name) + "_"
	db := ""
	if name == "pg" {
		db = ", dbname: " + os.Getenv(e+"DATABASE")
	}
	return fmt.Sprintf("    %s: {type: %s, host: %s, port: %s, user: %s, password: '%s', schema: %s%s%s}\n",
		name, typ, os.Getenv(e+"HOST"), os.Getenv(e+"PORT"), os.Getenv(e+"USER"), os.Getenv(e+"PASSWORD"), p.schema, db, more)
}

func (p *caseProject) write(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.dir, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// model writes a model; $SRC.name in its SQL is a table of output pg.
func (p *caseProject) model(name, config, sql string) {
	p.t.Helper()
	p.write("models/"+name+".sql", "{{ config("+config+") }}\n"+sql+"\n")
}

// source declares tables of an output as source(output, table).
func (p *caseProject) source(output string, tables ...string) {
	p.t.Helper()
	p.tables[output] = append(p.tables[output], tables...)
	text := "version: 2\nsources:\n"
	for out, names := range p.tables {
		schema := p.schema
		if out == "lite" || out == "duck" {
			schema = "main"
		}
		text += "  - name: " + out + "\n    meta: {connection: " + out + "}\n    schema: " + schema + "\n    tables:\n"
		for _, n := range names {
			text += "      - name: '" + n + "'\n"
		}
	}
	p.write("models/sources.yml", text)
}

// open connects to an output's engine with its own driver.
func (p *caseProject) open(output string) *enginetest.DB {
	p.t.Helper()
	db, err := enginetest.Open(map[string]string{"lite": "sqlite", "duck": "duckdb", "lake": "duckdb"}[output]+map[string]string{"pg": "pg", "my": "my", "ch": "ch"}[output],
		map[string]string{"lite": filepath.Join(p.dir, "out.sqlite"), "duck": filepath.Join(p.dir, "out.duckdb")}[output])
	if err != nil {
		p.t.Fatal(err)
	}
	return db
}

// sql replaces $S. by the prefix of tables on the output.
func (p *caseProject) sql(output, stmt string) string {
	prefix := ""
	if output == "pg" || output == "my" || output == "ch" {
		prefix = p.schema + "."
	}
	return strings.ReplaceAll(stmt, "$S.", prefix)
}

// exec runs statements on an output's engine; $S. stands before names of tables.
func (p *caseProject) exec(output string, stmts ...string) {
	p.t.Helper()
	db := p.open(output)
	defer func() { _ = db.Close() }()
	for _, s := range stmts {
		mustExec(p.t, db, p.sql(output, s))
	}
}

// rows is the result of a query on an output's engine: cells by tabs, rows by lines.
func (p *caseProject) rows(output, query string) string {
	p.t.Helper()
	db := p.open(output)
	defer func() { _ = db.Close() }()
	_, rows := mustQuery(p.t, db, p.sql(output, query))
	return strings.TrimSuffix(enginetest.Text(rows), "\n")
}

// parquet is a FROM item over a file of output lake.
func (p *caseProject) parquet(name string) string {
	return "read_parquet('" + filepath.Join(p.dir, "lake", name) + "')"
}

// run must succeed and returns what was printed.
func (p *caseProject) run(args ...string) string {
	p.t.Helper()
	out, code := dvtIn(p.t, p.dir, append([]string{"run"}, args...)...)
	if code != 0 {
		p.t.Fatalf("dvt run %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// fails must fail and say each of texts.
func (p *caseProject) fails(texts []string, args ...string) string {
	p.t.Helper()
	out, code := dvtIn(p.t, p.dir, append([]string{"run"}, args...)...)
	if code != 1 && code != 2 {
		p.t.Fatalf("dvt run %s: exit code %d, it must fail\n%s", strings.Join(args, " "), code, out)
	}
	for _, s := range texts {
		if !strings.Contains(out, s) {
			p.t.Errorf("dvt run %s: the error does not say %q:\n%s", strings.Join(args, " "), s, out)
		}
	}
	return out
}

func (p *caseProject) is(output, query, want string) {
	p.t.Helper()
	if got := p.rows(output, query); got != want {
		p.t.Errorf("%s: %s\n gives %q\n want  %q", output, query, got, want)
	}
}

// each runs f for each output as a subtest.
func each(t *testing.T, outputs []string, f func(t *testing.T, output string)) {
	for _, o := range outputs {
		t.Run(o, func(t *testing.T) { f(t, o) })
	}
}
