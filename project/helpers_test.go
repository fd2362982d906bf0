package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// The engines' own folders are not linked here: what a project needs of them are
// names and default schemas.
func TestMain(m *testing.M) {
	connectors.Register(connectors.Kindred{Types: []string{"postgres"}, Secrets: []string{"password"},
		DefaultSchema: func(connectors.Output) string { return "public" }, CanMerge: true})
	connectors.Register(connectors.Kindred{Types: []string{"mysql", "mariadb"}, DefaultSchema: func(connectors.Output) string { return "" }})
	connectors.Register(connectors.Kindred{Types: []string{"duckdb"}, DefaultSchema: func(connectors.Output) string { return "main" }})
	os.Exit(m.Run())
}

// profilesYML has three connections: two servers of one engine and one of another.
const profilesYML = `
shop:
  target: pg
  outputs:
    pg:
      type: postgres
      host: localhost
      user: me
      password: s3cret
      dbname: shop
      schema: analytics
      threads: 3
    pg2: {type: postgres, host: other, dbname: shop, password: "{{ env_var('PG2_PASSWORD') }}"}
    crm_mysql: {type: mysql, server: localhost, schema: crm}
`

// files writes a project: the files given and, where they are not, a dbt_project.yml
// and a profiles.yml.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n", "profiles.yml": profilesYML}
	for k, v := range content {
		all[k] = v
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var testNow = time.Date(2026, 3, 4, 5, 6, 7, 123456000, time.UTC)

// env makes a lookup of the variables given and nothing else.
func env(kv ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1], true
			}
		}
		return "", false
	}
}

func load(t *testing.T, content map[string]string) *Project {
	t.Helper()
	p, err := tryLoad(t, content, Options{})
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return p
}

func tryLoad(t *testing.T, content map[string]string, o Options) (*Project, error) {
	t.Helper()
	o.Dir = files(t, content)
	if o.Env == nil {
		o.Env = env()
	}
	o.StartedAt, o.InvocationID = testNow, "00000000-0000-4000-8000-000000000000"
	return Load(context.Background(), o)
}

// loadError loads a project that must be refused and gives the text.
func loadError(t *testing.T, content map[string]string) string {
	t.Helper()
	_, err := tryLoad(t, content, Options{})
	if err == nil {
		t.Fatal("Load: no error")
	}
	return err.Error()
}

func compile(t *testing.T, p *Project, id string, rc Render) *Compiled {
	t.Helper()
	n := p.Nodes[id]
	if n == nil {
		t.Fatalf("no node %s: there are %s", id, strings.Join(p.ids(), ", "))
	}
	c, err := p.Compile(context.Background(), n, rc)
	if err != nil {
		t.Fatalf("Compile(%s): %v", id, err)
	}
	return c
}

var run = Render{Execute: true, Now: testNow}

const sourcesYML = `
sources:
  - name: crm
    connection: crm_mysql
    tables: [{name: customers}, {name: orders, identifier: ORDERS}]
  - name: raw
    meta: {connection: pg}
    schema: raw_data
    tables: [{name: events}]
`
