package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// loader holds what only loading needs.
type loader struct {
	p    *Project
	ctx  context.Context
	yaml *yamlRenderer
	faults
	parsed  []*parsed
	patches patches
	docs    docs
}

// Load reads and checks a whole project. Its errors are *Error, several of them
// joined. No connection is opened, and an environment variable that is missing is no
// error before its value is needed.
func Load(ctx context.Context, o Options) (*Project, error) {
	o.StartedAt = runStart(o)
	env := o.Env
	if env == nil {
		env = os.LookupEnv
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, &Error{Msg: "finding the project: " + err.Error(), Cause: err}
	}
	p := &Project{Dir: dir, opts: o, env: env, Nodes: map[string]*Node{}, Sources: map[string]*Source{}}
	if p.packages, err = loadPackages(dir, cliRenderer(p)); err != nil {
		return nil, err
	}
	l := &loader{p: p, ctx: ctx}
	steps := []func() error{l.profile, l.settings, l.macros, l.files, l.properties, l.configure, l.resolve, l.finish}
	if o.Shallow {
		steps = steps[:2]
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(); err != nil {
			return nil, err
		}
		if err := l.faults.err(); err != nil {
			return nil, err
		}
	}
	p.Warnings = sorted(p.Warnings)
	return p, nil
}

func (l *loader) warn(f string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p.Warnings = append(l.p.Warnings, fmt.Sprintf(f, args...))
}

func (l *loader) note(f string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p.Notes = append(l.p.Notes, fmt.Sprintf(f, args...))
}

// cliRenderer renders what is read before the project's own variables are.
func cliRenderer(p *Project) *yamlRenderer {
	cli := func(name string) (jinja.Value, bool) {
		v, ok := p.opts.Vars[name]
		return jinja.FromGo(v), ok
	}
	return newYAMLRenderer(p.opts, p.env, cli, nil, true)
}

// profile finds and reads the profile and settles the target.
func (l *loader) profile() error {
	p, root := l.p, l.p.packages[0]
	p.Name, p.Version = root.name, root.version
	p.CleanTarget, p.SeedPaths, p.TargetPath = root.clean, root.seedPaths, root.targetPath
	p.OnRunStart, p.OnRunEnd = root.onStart, root.onEnd
	r := cliRenderer(p)
	p.ProfileName = p.opts.Profile
	if p.ProfileName == "" {
		name, err := r.text(root.doc, root.profile)
		if err != nil {
			return err
		}
		p.ProfileName = name
	}
	if p.ProfileName == "" {
		return &Error{File: root.doc.file, Msg: "no profile: set 'profile' in dbt_project.yml or give --profile"}
	}
	dir, err := profilesDir(p.Dir, p.opts, p.env)
	if err != nil {
		return err
	}
	p.ProfilesDir = dir
	if p.profile, err = loadProfile(dir, p.ProfileName, r); err != nil {
		return err
	}
	p.TargetName = p.profile.target
	if p.opts.Target != "" {
		p.TargetName = p.opts.Target
	}
	if p.profile.outputs[p.TargetName] == nil {
		return &Error{File: p.profile.file, Msg: fmt.Sprintf("profile '%s' has no target named '%s': there are %s%s",
			p.ProfileName, p.TargetName, orNone(p.profile.order), didYouMean(p.TargetName, p.profile.order))}
	}
	p.Outputs = map[string]connectors.Output{}
	for name, o := range p.profile.outputs {
		p.Outputs[name] = o.Output
	}
	p.OutputNames = p.profile.order
	return l.threads()
}

// threads: --threads wins over the target's key, which wins over 4.
func (l *loader) threads() error {
	p := l.p
	p.Threads = 4
	o := p.profile.outputs[p.TargetName]
	if v, ok := o.Keys["threads"]; ok && v != nil {
		n, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil || n < 1 {
			return o.at.errorf("output '%s': threads must be a number above 0, not %v", o.Name, v)
		}
		p.Threads = n
	}
	if p.opts.Threads > 0 {
		p.Threads = p.opts.Threads
	}
	return nil
}

func (l *loader) settings() error {
	p := l.p
	l.yaml = newYAMLRenderer(p.opts, p.env, func(name string) (jinja.Value, bool) { return p.variable(name, p.Name) },
		p.targetVar(p.TargetName, nil), false)
	var err error
	l.misplaced()
	p.Settings, err = loadSettings(p.Dir, l.yaml, p.env)
	return err
}

// macros parses all macro files at the same time and registers them in order.
func (l *loader) macros() error {
	reg, err := dbt.NewRegistry(dbt.NewEnv(), l.p.Name)
	if err != nil {
		return err
	}
	l.p.registry = reg
	reg.SearchOrder = l.p.packages[0].dispatch
	type macroFile struct {
		p *pkg
		f found
		t *jinja.Template
	}
	var files []*macroFile
	for _, q := range l.p.packages {
		reg.AddPackage(q.name)
		paths := append([]string(nil), q.macroPaths...)
		for _, t := range q.testPaths {
			paths = append(paths, t+"/generic")
		}
		for _, f := range l.walk(q, paths, ".sql") {
			files = append(files, &macroFile{p: q, f: f})
		}
	}
	l.each(len(files), func(i int) error {
		m := files[i]
		rel := m.p.file(m.f.rel)
		b, err := readFile(m.f.abs, rel, maxFile)
		if err != nil {
			return err
		}
		m.t, err = reg.Env.Parse(string(b), rel, 1)
		return fromJinja(err, pos{file: rel})
	})
	for _, m := range files {
		if m.t == nil {
			continue // its error is recorded
		}
		var dup *dbt.DuplicateError
		if err := reg.AddTemplate(m.p.name, m.t); errors.As(err, &dup) {
			l.add((pos{file: dup.New.File, line: dup.New.Line}).errorf("macro '%s' is defined twice in package '%s': %s:%d and %s:%d",
				dup.New.Name, dup.New.Package, dup.Old.File, dup.Old.Line, dup.New.File, dup.New.Line))
		} else if err != nil {
			l.add(fromJinja(err, pos{file: m.t.File}))
		}
	}
	return nil
}

// each runs f for 0..n-1 on all cores and collects the errors.
func (l *loader) each(n int, f func(i int) error) {
	var g errgroup.Group
	workers := min(runtime.GOMAXPROCS(0), n)
	for w := range workers {
		g.Go(func() error {
			for i := w; i < n; i += workers {
				if l.ctx.Err() == nil {
					l.add(f(i))
				}
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in l
	if err := l.ctx.Err(); err != nil {
		l.add(err)
	}
}

// files parses models, snapshots, singular tests and seeds.
func (l *loader) files() error {
	type job struct {
		p    *pkg
		f    found
		kind string
	}
	var jobs []job
	for _, q := range l.p.packages {
		for _, f := range l.walk(q, q.modelPaths, ".sql") {
			jobs = append(jobs, job{q, f, TypeModel})
		}
		for _, f := range l.walk(q, q.snapshotPaths, ".sql") {
			jobs = append(jobs, job{q, f, TypeSnapshot})
		}
		for _, f := range l.walk(q, q.seedPaths, ".csv") {
			jobs = append(jobs, job{q, f, TypeSeed})
		}
		for _, f := range l.walk(q, q.testPaths, ".sql") {
			if !isGenericTest(q, f) {
				jobs = append(jobs, job{q, f, TypeTest})
			}
		}
	}
	out := make([][]*parsed, len(jobs))
	l.each(len(jobs), func(i int) error {
		j := jobs[i]
		var one *parsed
		var err error
		switch j.kind {
		case TypeSnapshot:
			out[i], err = l.readSnapshots(j.p, j.f)
			return err
		case TypeSeed:
			one = l.readSeed(j.p, j.f)
		default:
			one, err = l.readModel(j.p, j.f, j.kind)
		}
		if err == nil {
			out[i] = []*parsed{one}
		}
		return err
	})
	for _, o := range out {
		l.parsed = append(l.parsed, o...)
	}
	l.pythonModels()
	return nil
}

// isGenericTest reports whether a file below the test paths holds macros, not a test.
func isGenericTest(q *pkg, f found) bool {
	for _, t := range q.testPaths {
		if len(f.rel) > len(t)+9 && f.rel[:len(t)+9] == t+"/generic/" {
			return true
		}
	}
	return false
}
