package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
)

// profile is the active profile: its outputs with their keys rendered.
type profile struct {
	name    string
	file    string
	target  string // the profile's default
	outputs map[string]*output
	order   []string
}

// output is one output. Its keys are rendered one by one, so that a missing variable
// in one of them is found only by who uses the output.
type output struct {
	connectors.Output
	at   pos
	errs map[string]error // by key
	keys []string         // in the order of the file
}

func isSecretEnv(name string) bool { return strings.HasPrefix(name, "DBT_ENV_SECRET") }

func secretEnvError(name string) error {
	return fmt.Errorf("secret env vars are allowed only in profiles.yml: '%s' is referenced elsewhere", name)
}

// profilesDir finds the folder of profiles.yml: the one named, else the first of the
// project, $DVT_PROFILES_DIR, $DBT_PROFILES_DIR, ~/.dvt and ~/.dbt that has the file.
func profilesDir(dir string, o Options, env func(string) (string, bool)) (string, error) {
	if o.ProfilesDir != "" {
		if !exists(filepath.Join(o.ProfilesDir, "profiles.yml")) {
			return "", &Error{Msg: fmt.Sprintf("no profiles.yml in %s", o.ProfilesDir)}
		}
		return o.ProfilesDir, nil
	}
	tried := []string{dir}
	for _, name := range []string{"DVT_PROFILES_DIR", "DBT_PROFILES_DIR"} {
		if v, ok := env(name); ok && v != "" {
			tried = append(tried, v)
		}
	}
	if home, ok := env("HOME"); ok && home != "" {
		tried = append(tried, filepath.Join(home, ".dvt"), filepath.Join(home, ".dbt"))
	} else if home, err := os.UserHomeDir(); err == nil {
		tried = append(tried, filepath.Join(home, ".dvt"), filepath.Join(home, ".dbt"))
	}
	for _, d := range tried {
		if exists(filepath.Join(d, "profiles.yml")) {
			return d, nil
		}
	}
	return "", &Error{Msg: "no profiles.yml found in " + strings.Join(tried, ", ")}
}

func exists(path string) bool {
	s, err := os.Stat(path)
	return err == nil && !s.IsDir()
}

// loadProfile reads the profile called name.
func loadProfile(dir, name string, r *yamlRenderer) (*profile, error) {
	path := filepath.Join(dir, "profiles.yml")
	d, err := readYAML(path, path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries(d.root) {
		if e.key != name {
			if e.key != "config" {
				names = append(names, e.key)
			}
			continue
		}
		return readProfile(d, e, r)
	}
	return nil, &Error{File: path, Msg: fmt.Sprintf("no profile named '%s': there are %s", name, orNone(names))}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func readProfile(d doc, e entry, r *yamlRenderer) (*profile, error) {
	p := &profile{name: e.key, file: d.file, target: "default", outputs: map[string]*output{}}
	outs := get(e.val, "outputs")
	if !isMap(outs) || len(entries(outs)) == 0 {
		return nil, d.at(e.node).errorf("profile '%s' has no outputs", p.name)
	}
	for _, o := range entries(outs) {
		if !isMap(o.val) {
			return nil, d.at(o.node).errorf("output '%s' of profile '%s' is not a mapping", o.key, p.name)
		}
		p.order = append(p.order, o.key)
		p.outputs[o.key] = readOutput(d, o, r)
	}
	if t := get(e.val, "target"); t != nil {
		name, err := r.text(d, t)
		if err != nil {
			return nil, err
		}
		p.target = name
	} else if p.outputs[p.target] == nil && len(p.order) == 1 {
		p.target = p.order[0]
	}
	return p, nil
}

func readOutput(d doc, e entry, r *yamlRenderer) *output {
	o := &output{Output: connectors.Output{Name: e.key, Keys: map[string]any{}}, at: d.at(e.node), errs: map[string]error{}}
	for _, k := range entries(e.val) {
		v, err := r.render(d, k.val)
		switch {
		case err != nil:
			o.errs[k.key] = err
		case k.key == "type":
			o.Type = strings.ToLower(jinja.Str(v))
			continue
		default:
			o.Keys[k.key] = toGo(v)
		}
		if k.key != "type" {
			o.keys = append(o.keys, k.key)
		}
	}
	return o
}

// output is what Project.Output gives.
func (p *profile) output(name string) (connectors.Output, error) {
	o := p.outputs[name]
	if o == nil {
		return connectors.Output{}, &Error{Msg: fmt.Sprintf("'%s' is not an output of profile '%s': there are %s", name, p.name, orNone(p.order))}
	}
	for _, k := range append([]string{"type"}, o.keys...) {
		if err := o.errs[k]; err != nil {
			return o.Output, err
		}
	}
	if o.Type == "" {
		return o.Output, o.at.errorf("output '%s' has no type", name)
	}
	if _, err := connectors.Lookup(o.Type); err != nil {
		e := o.at.errorf("output '%s': %s", name, err)
		e.Cause = err
		return o.Output, e
	}
	return o.Output, nil
}

// OutputFault is what is wrong with the keys of an output, with its place in profiles.yml.
func (p *Project) OutputFault(name string, err error) error {
	o := p.profile.outputs[name]
	if o == nil {
		return err
	}
	e := o.at.errorf("%s", err)
	e.Cause = err
	return e
}

// schema is the schema of relations on the output that name none: the output's own
// key, else the engine's default.
func (o *output) schema() (string, error) {
	if err := o.errs["schema"]; err != nil {
		return "", err
	}
	if s, ok := o.Keys["schema"]; ok && s != nil {
		return fmt.Sprint(s), nil
	}
	k, err := connectors.Lookup(o.Type)
	if err != nil {
		e := o.at.errorf("output '%s': %s", o.Name, err)
		e.Cause = err
		return "", e
	}
	if k.DefaultSchema == nil {
		return "", nil
	}
	return k.DefaultSchema(o.Output), nil
}
