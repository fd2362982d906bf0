package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfileAndTarget(t *testing.T) {
	model := map[string]string{"models/m.sql": "select 1", "models/n.sql": "{{ config(target='crm_mysql') }}select 1"}
	p := load(t, model)
	if p.ProfileName != "shop" || p.TargetName != "pg" || p.Threads != 3 || !cmp.Equal(p.OutputNames, []string{"pg", "pg2", "crm_mysql"}) {
		t.Errorf("profile %s, target %s, threads %d, outputs %v", p.ProfileName, p.TargetName, p.Threads, p.OutputNames)
	}
	p, err := tryLoad(t, model, Options{Target: "pg2", Threads: 9})
	if err != nil {
		t.Fatal(err)
	}
	m, n := p.Nodes["model.shop.m"], p.Nodes["model.shop.n"]
	if p.TargetName != "pg2" || p.Threads != 9 || m.Connection != "pg2" || m.Schema != "public" || n.Connection != "crm_mysql" || n.Schema != "crm" {
		t.Errorf("target %s, threads %d: m on %s.%s, n on %s.%s", p.TargetName, p.Threads, m.Connection, m.Schema, n.Connection, n.Schema)
	}
	if _, err = tryLoad(t, model, Options{Target: "pgg"}); err == nil || !strings.HasSuffix(err.Error(), "profile 'shop' has no target named 'pgg': there are pg, pg2, crm_mysql. Did you mean: pg, pg2?") {
		t.Errorf("unknown target: %v", err)
	}
	if _, err = tryLoad(t, model, Options{Profile: "shoop"}); err == nil || !strings.HasSuffix(err.Error(), "no profile named 'shoop': there are shop") {
		t.Errorf("unknown profile: %v", err)
	}
}

func TestProfilesDirOrder(t *testing.T) {
	dir := files(t, map[string]string{"models/m.sql": "select 1"})
	profile := func(target string) string {
		d := t.TempDir()
		text := strings.Replace(profilesYML, "target: pg\n", "target: "+target+"\n", 1)
		if err := os.WriteFile(filepath.Join(d, "profiles.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return d
	}
	home := t.TempDir()
	for name, target := range map[string]string{".dvt": "pg2", ".dbt": "crm_mysql"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(profile(target), "profiles.yml"), filepath.Join(home, name, "profiles.yml")); err != nil {
			t.Fatal(err)
		}
	}
	named, dvtDir, dbtDir := profile("pg2"), profile("crm_mysql"), profile("pg2")
	check := func(want string, o Options) {
		t.Helper()
		o.Dir = dir
		p, err := Load(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if p.TargetName != want {
			t.Errorf("target %s from %s, want %s", p.TargetName, p.ProfilesDir, want)
		}
	}
	all := []string{"DVT_PROFILES_DIR", dvtDir, "DBT_PROFILES_DIR", dbtDir, "HOME", home}
	check("pg2", Options{ProfilesDir: named, Env: env(all...)})
	check("pg", Options{Env: env(all...)})
	if err := os.Remove(filepath.Join(dir, "profiles.yml")); err != nil {
		t.Fatal(err)
	}
	check("crm_mysql", Options{Env: env(all...)})
	check("pg2", Options{Env: env(all[2:]...)})
	check("pg2", Options{Env: env(all[4:]...)})
	if err := os.RemoveAll(filepath.Join(home, ".dvt")); err != nil {
		t.Fatal(err)
	}
	check("crm_mysql", Options{Env: env(all[4:]...)})
	_, err := Load(context.Background(), Options{Dir: dir, Env: env("HOME", dir)})
	if err == nil || !strings.Contains(err.Error(), "no profiles.yml found in "+dir) {
		t.Errorf("no profile anywhere: %v", err)
	}
}

func TestEnvVarsAreLazy(t *testing.T) {
	content := map[string]string{
		"profiles.yml": `
shop:
  target: "{{ env_var('TGT', 'pg') }}"
  outputs:
    pg:
      type: postgres
      port: "{{ env_var('PORT', '5432') | int }}"
      host: "{{ env_var('PGHOST') }}"
      password: "{{ env_var('DBT_ENV_SECRET_PW') }}"
      schema: s
    lost: {type: postgres, password: "{{ env_var('LOST_PW') }}"}
    odd: {type: nosuch}
`,
		"models/a.sql": "select 1",
		"models/b.sql": "{{ config(target='lost') }}select 1",
		"models/c.sql": "select * from {{ source('s', 't') }}",
		"models/s.yml": "sources:\n  - name: s\n    schema: \"{{ env_var('SRC_SCHEMA') }}\"\n    tables: [{name: t}]\n",
	}
	vars := env("PGHOST", "h", "DBT_ENV_SECRET_PW", "pw")
	p, err := tryLoad(t, content, Options{Env: vars})
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Output("pg")
	if err != nil || o.Keys["port"] != int64(5432) || o.Keys["host"] != "h" || o.Keys["password"] != "pw" {
		t.Errorf("pg: %v, %v", o, err)
	}
	check := func(id, want string) {
		t.Helper()
		err := p.Check([]*Node{p.Nodes[id]})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check(%s): %v, want %q", id, err, want)
		}
	}
	check("model.shop.a", "")
	check("model.shop.b", "profiles.yml:11:38: Env var required but not provided: 'LOST_PW'")
	check("model.shop.c", "models/s.yml:3:13: Env var required but not provided: 'SRC_SCHEMA'")
	if _, err := p.Compile(context.Background(), p.Nodes["model.shop.c"], run); err == nil || !strings.Contains(err.Error(), "'SRC_SCHEMA'") {
		t.Errorf("Compile(c): %v", err)
	}
	if _, err := p.Output("odd"); err == nil || !strings.Contains(err.Error(), `profiles.yml:12:5: output 'odd': unknown connection type "nosuch": known are `) {
		t.Errorf("odd: %v", err)
	}
	if _, err = tryLoad(t, content, Options{Env: env("TGT", "none")}); err == nil || !strings.Contains(err.Error(), "no target named 'none'") {
		t.Errorf("target from the environment: %v", err)
	}
}

func TestUnknownTypeOnlyWhenUsed(t *testing.T) {
	content := map[string]string{
		"profiles.yml":   "shop:\n  target: pg\n  outputs:\n    pg: {type: postgres, schema: s}\n    odd: {type: nosuch}\n",
		"models/ok.sql":  "select 1",
		"models/bad.sql": "{{ config(target='odd') }}select 1",
	}
	p := load(t, content)
	if err := p.Check([]*Node{p.Nodes["model.shop.ok"]}); err != nil {
		t.Error(err)
	}
	if err := p.Check([]*Node{p.Nodes["model.shop.bad"]}); err == nil || !strings.Contains(err.Error(), `unknown connection type "nosuch"`) {
		t.Errorf("Check(bad): %v", err)
	}
}

func TestSecretsStayInProfiles(t *testing.T) {
	content := map[string]string{"models/m.sql": "select '{{ env_var(\"DBT_ENV_SECRET_X\") }}'"}
	p, err := tryLoad(t, content, Options{Env: env("DBT_ENV_SECRET_X", "hidden")})
	if err == nil {
		_, err = p.Compile(context.Background(), p.Nodes["model.shop.m"], run)
	}
	if err == nil || !strings.Contains(err.Error(), "secret env vars are allowed only in profiles.yml") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error %v", err)
	}
	content["models/m.sql"] = "select '{{ target }} {{ target.password }}'"
	p, err = tryLoad(t, content, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if sql := compile(t, p, "model.shop.m", run).SQL; strings.Contains(sql, "s3cret") || !strings.Contains(sql, "analytics") {
		t.Errorf("target prints %s", sql)
	}
}

func TestSourceConnections(t *testing.T) {
	p := load(t, map[string]string{"models/s.yml": `
sources:
  - {name: plain, tables: [{name: t}]}
  - {name: key, connection: crm_mysql, schema: other, tables: [{name: t, identifier: T1}]}
  - {name: meta, meta: {connection: pg2}, tables: [{name: t}, {name: own, connection: crm_mysql}]}
  - {name: cfg, config: {meta: {connection: pg2}}, tables: [{name: t, columns: [{name: id, data_type: bigint, description: key}]}]}
  - {name: all, connection: crm_mysql, meta: {connection: pg2}, tables: [{name: t}]}
  - name: tpl
    connection: "{{ env_var('C', 'pg2') }}"
    loaded_at_field: at
    freshness: {warn_after: {count: 6, period: hour}}
    loader: airbyte
    tables: [{name: t}, {name: off, config: {enabled: false}}]
`})
	for id, want := range map[string][3]string{
		"plain.t": {"pg", "plain", "t"}, "key.t": {"crm_mysql", "other", "T1"}, "meta.t": {"pg2", "meta", "t"}, "meta.own": {"crm_mysql", "meta", "own"},
		"cfg.t": {"pg2", "cfg", "t"}, "all.t": {"crm_mysql", "all", "t"}, "tpl.t": {"pg2", "tpl", "t"},
	} {
		s := p.Sources["source.shop."+id]
		if s == nil || s.Connection != want[0] || s.Schema != want[1] || s.Identifier != want[2] {
			t.Errorf("%s: %+v, want %v", id, s, want)
		}
	}
	if len(p.Sources) != 7 {
		t.Errorf("%d sources", len(p.Sources))
	}
	if c := p.Sources["source.shop.cfg.t"].Columns; len(c) != 1 || c[0].DataType != "bigint" {
		t.Errorf("columns: %+v", c)
	}
	if s := p.Sources["source.shop.tpl.t"]; s.Loader != "airbyte" || s.LoadedAtField != "at" || *s.Freshness.WarnAfter != (Age{6, "hour"}) || s.Freshness.ErrorAfter != nil {
		t.Errorf("tpl.t: %+v", s)
	}
	got := loadError(t, map[string]string{"models/s.yml": "sources:\n  - name: crm\n    connection: crm_mysqll\n    tables: [{name: t}]\n"})
	if want := "models/s.yml:3:17: source 'crm': connection 'crm_mysqll' is not an output of profile 'shop': there are pg, pg2, crm_mysql. Did you mean: crm_mysql?"; got != want {
		t.Errorf("error %q\nwant  %q", got, want)
	}
}

func TestSettings(t *testing.T) {
	p := load(t, map[string]string{"dvt_project.yml": `
federation_memory_limit: '512MB'
federation_threads: 2
temp_directory: spill/here
max_temp_directory_size: 20GB
extract_parallelism: 7
state: pg/meta
lock_wait: 90s
something_new: 1
`})
	want := Settings{MemoryLimit: 512_000_000, Threads: 2, TempDirectory: filepath.Join(p.Dir, "spill/here"), MaxTempDirectorySize: "20GB",
		ExtractParallelism: 7, State: "pg/meta", LockWait: 90e9}
	if p.Settings != want {
		t.Errorf("settings %+v", p.Settings)
	}
	p = load(t, nil)
	s := p.Settings
	if s.MemoryLimit < 64<<20 || s.Threads < 1 || s.TempDirectory != filepath.Join(p.Dir, ".dvt/tmp") || s.ExtractParallelism != 4 || s.LockWait != 600e9 || s.State != "" {
		t.Errorf("defaults %+v", s)
	}
	p, err := tryLoad(t, map[string]string{"dvt_project.yml": "state: a"}, Options{Env: env("DVT_STATE", "b", "SLING_STATE", "c")})
	if err != nil || p.Settings.State != "c" {
		t.Errorf("state %v, %v", p.Settings.State, err)
	}
	for text, want := range map[string]string{
		"federation_memory_limit: lots": "dvt_project.yml:1:26: federation_memory_limit: 'lots' is not a size",
		"federation_threads: 0":         "federation_threads: '0' is not a number above 0",
		"lock_wait: -1s":                "lock_wait: '-1s' is not a duration",
		"extract_parallelism: many":     "extract_parallelism: 'many' is not a number above 0",
	} {
		if got := loadError(t, map[string]string{"dvt_project.yml": text}); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]int64{"512MB": 512e6, "4GB": 4e9, "1GiB": 1 << 30, "1.5 gb": 15e8, "100": 100, "2k": 2000, "7B": 7} {
		if n, ok := parseBytes(in); !ok || n != want {
			t.Errorf("%s = %d, %v", in, n, ok)
		}
	}
	for _, in := range []string{"", "GB", "-1GB", "1XB", "9999999999TB", "1 2MB"} {
		if _, ok := parseBytes(in); ok {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("self2", "0::/a/b\n")
	write("fs/memory.max", "max\n")
	write("fs/a/memory.max", "1000000\n")
	write("fs/a/b/memory.max", "2000000\n")
	if n, ok := cgroupLimit(filepath.Join(root, "self2"), filepath.Join(root, "fs")); !ok || n != 1000000 {
		t.Errorf("version 2: %d, %v", n, ok)
	}
	write("self1", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n")
	write("fs1/memory/docker/1/memory.limit_in_bytes", "3000000\n")
	if n, ok := cgroupLimit(filepath.Join(root, "self1"), filepath.Join(root, "fs1")); !ok || n != 3000000 {
		t.Errorf("version 1: %d, %v", n, ok)
	}
	if _, ok := cgroupLimit(filepath.Join(root, "none"), root); ok {
		t.Error("a limit out of nothing")
	}
	if n := machineMemory(); n < 64<<20 {
		t.Errorf("machine memory %d", n)
	}
}

func TestBrokenFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"yaml":         {"models/s.yml", "models:\n  - name: a\n   bad: [\n", "models/s.yml:3:4: invalid YAML: "},
		"bomb":         {"models/s.yml", bomb, "invalid YAML: its aliases unfold to more than"},
		"own alias":    {"models/s.yml", "a: &a [*a]\n", "invalid YAML: "},
		"deep":         {"models/s.yml", "a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "invalid YAML: nested deeper than"},
		"list":         {"models/s.yml", "- a\n", "models/s.yml:1:1: a properties file must be a mapping"},
		"no name":      {"models/s.yml", "models:\n  - description: x\n", "models/s.yml:2:5: an entry of 'models' has no name"},
		"project yaml": {"dbt_project.yml", "name: [\n", "dbt_project.yml:"},
		"project name": {"dbt_project.yml", "profile: shop\n", "dbt_project.yml:1:1: 'name' is missing"},
		"no profile":   {"dbt_project.yml", "name: shop\n", "dbt_project.yml: no profile: set 'profile'"},
		"template":     {"models/m.sql", "select 1\n{% if %}", "models/m.sql:2:"},
		"macro":        {"macros/m.sql", "{% macro a() %}\n{% endmacro", "macros/m.sql:"},
		"macros":       {"macros/m.sql", "{% macro a() %}{% endmacro %}\n{% macro a() %}{% endmacro %}", "macros/m.sql:2: macro 'a' is defined twice in package 'shop': macros/m.sql:1 and macros/m.sql:2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := loadError(t, map[string]string{c.file: c.text})
			if !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) {
				t.Errorf("error %q\nwants %q", got, c.want)
			}
		})
	}
}

func TestNoProject(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(context.Background(), Options{Dir: dir})
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "no dbt_project.yml in "+dir) {
		t.Errorf("error %v", err)
	}
}

func TestSeveralErrorsAreJoined(t *testing.T) {
	got := loadError(t, map[string]string{"models/a.sql": "{{ config(materialized='x_1') }}", "models/b.sql": "{{ config(materialized='x_2') }}"})
	if !strings.Contains(got, "'x_1'") || !strings.Contains(got, "'x_2'") || strings.Index(got, "x_1") > strings.Index(got, "x_2") {
		t.Error(got)
	}
}
