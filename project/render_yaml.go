package project

import (
	"errors"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// yamlRenderer renders the Jinja of YAML values: env_var, var, target. Values are
// rendered when they are needed, so that a missing variable that nobody asks for is
// no fault.
type yamlRenderer struct {
	mu  sync.Mutex
	env *jinja.Env
	ctx *dbt.Context
}

// newYAMLRenderer makes a renderer. secrets allows environment variables whose name
// says that they are secret, which dbt keeps out of everything but profiles.
func newYAMLRenderer(o Options, env func(string) (string, bool), vars func(string) (jinja.Value, bool), target jinja.Value, secrets bool) *yamlRenderer {
	native := dbt.NewNativeEnv()
	h := &dbt.Host{
		Execute: true, Now: o.StartedAt, Started: o.StartedAt, RunID: o.InvocationID, Target: target, Var: vars,
		Env: func(name string) (string, bool, error) { return lookupEnv(env, name, secrets) },
	}
	return &yamlRenderer{env: native, ctx: dbt.NewBase(&dbt.Registry{Env: native}, h)}
}

// render gives a node's value with all its Jinja rendered.
func (r *yamlRenderer) render(d doc, n *yaml.Node) (jinja.Value, error) {
	v, err := dbt.FromYAML(n)
	if err != nil {
		return nil, d.at(n).errorf("%s", err)
	}
	return r.value(v, d.at(n))
}

// value renders the strings inside v.
func (r *yamlRenderer) value(v jinja.Value, at pos) (jinja.Value, error) {
	switch x := v.(type) {
	case string:
		if !dbt.HasJinja(x) {
			return x, nil
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		out, err := dbt.Native(r.env, x, at.file, 1, r.ctx.State(false))
		if err != nil {
			return nil, placeAt(err, at)
		}
		return out, nil
	case *jinja.List:
		out := jinja.NewList()
		for _, e := range x.Items {
			v, err := r.value(e, at)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, v)
		}
		return out, nil
	case *jinja.Dict:
		out := jinja.NewDict()
		var bad error
		x.Each(func(k, e jinja.Value) {
			v, err := r.value(e, at)
			if err != nil && bad == nil {
				bad = err
			}
			_ = out.Set(k, v) // the key was in a dict before
		})
		return out, bad
	}
	return v, nil
}

// text renders a scalar to text.
func (r *yamlRenderer) text(d doc, n *yaml.Node) (string, error) {
	if isNull(n) {
		return "", nil
	}
	v, err := r.render(d, n)
	if err != nil || v == nil {
		return "", err
	}
	return jinja.Str(v), nil
}

// placeAt is fromJinja for templates inside YAML, where the template's own line says
// nothing: the place is the value's.
func placeAt(err error, at pos) error {
	var e *Error
	if !errors.As(translate(err, at, false), &e) {
		return err
	}
	c := *e
	c.File, c.Line, c.Column = at.file, at.line, at.col
	return &c
}

// lookupEnv applies dbt's rule that secret variables are for profiles only.
func lookupEnv(env func(string) (string, bool), name string, secrets bool) (string, bool, error) {
	if !secrets && isSecretEnv(name) {
		return "", false, secretEnvError(name)
	}
	v, ok := env(name)
	return v, ok, nil
}

func runStart(o Options) time.Time {
	if o.StartedAt.IsZero() {
		return time.Now()
	}
	return o.StartedAt
}
