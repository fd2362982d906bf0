package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/project"
)

// failing is the name under which a test's failing rows are kept.
const failing = "failures"

// test runs one test: its query for the rows that fail, over whatever engines it reads,
// and its verdict on them.
func (r *Runner) test(ctx context.Context, n *project.Node, res *Result) error {
	start := time.Now()
	rc := r.render(n)
	var engine load.Native
	var err error
	if n.Config.Lane != "compute" {
		engine, err = r.testEngine(n)
	}
	if err != nil {
		return err
	}
	if engine != nil {
		rc = r.nativeRender(n, engine)
		rc.OwnQuery = nativeQuery(engine)
	}
	compiled, err := r.Project.Compile(ctx, n, rc)
	if err != nil {
		return err
	}
	t := *n.Test
	for key, to := range map[string]*string{"fail_calc": &t.FailCalc, "warn_if": &t.WarnIf, "error_if": &t.ErrorIf} {
		if v := compiled.Set[key]; v != "" {
			*to = v
		}
	}
	check := compute.Check{FailCalc: t.FailCalc, WarnIf: t.WarnIf, ErrorIf: t.ErrorIf, Limit: t.Limit}
	res.Compiled = project.Display(compiled.SQL)
	if err := r.WriteCompiled(path.Join(r.Project.Name, testPath(n)), res.Compiled); err != nil {
		return err
	}
	res.Timings.Plan = time.Since(start)
	v := &verdict{}
	switch {
	case engine != nil:
		err = r.nativeTest(ctx, n, engine, check, v, res)
	case r.stores(n):
		err = r.storedTest(ctx, n, compiled, check, v, res)
	default:
		err = r.plainTest(ctx, n, compiled, check, v, res)
	}
	if err != nil {
		return err
	}
	return v.decide(&t, res)
}

func (r *Runner) stores(n *project.Node) bool {
	return n.Test.Store || r.Options.Store && n.Test.StoreAs == ""
}

// testPath is where a test's compiled SQL goes: below its file, as in dbt.
func testPath(n *project.Node) string {
	if n.Test.Generic == "" {
		return n.Path
	}
	return path.Join(n.Path, n.Name+".sql")
}

// plainTest lets the planner see the verdict's query whole: not_null of a source then
// asks the engine for the NULLs alone.
func (r *Runner) plainTest(ctx context.Context, n *project.Node, compiled *project.Compiled, check compute.Check, v *verdict, res *Result) error {
	p, err := r.prepareSQL(ctx, n, compiled, check.Verdict(compiled.SQL), planMode{live: true}, nil)
	if err != nil {
		return err
	}
	res.Plan = p.Plan
	return r.show(ctx, p, v)
}

// storedTest keeps the failing rows as a table beside the target's schema.
func (r *Runner) storedTest(ctx context.Context, n *project.Node, compiled *project.Compiled, check compute.Check, v *verdict, res *Result) error {
	if n.Test.StoreAs == "view" {
		r.emit(Warn, "warning", n, "", nil, fmt.Sprintf("test '%s': store_failures_as is 'view', but no view of %s could read what the test reads: its failing rows are kept as a table", n.Name, n.Connection))
	}
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return err
	}
	if err := load.CanReplace(n.Connection, target); err != nil {
		return err
	}
	p, err := r.prepareSQL(ctx, n, compiled, check.Rows(compiled.SQL), planMode{live: true}, nil)
	if err != nil {
		return err
	}
	res.Plan = p.Plan
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(n.Name)
	if err != nil {
		return err
	}
	defer r.closeModel(m, n.Name)
	ran, stats, err := extract.Run(ctx, p.Plan, m, r.Conns.Get, r.limits, &extract.Progress{})
	res.carriedOut(ran)
	res.addExtracts(stats)
	if err != nil {
		return err
	}
	if _, err := m.Keep(ctx, failing, p.Plan.SQL); err != nil {
		return err
	}
	check.Limit = 0 // applied already
	row, err := textRow(ctx, m, check.Verdict(compute.Selected(compute.Kept(failing))))
	if err != nil {
		return err
	}
	if err := v.Row(row); err != nil {
		return err
	}
	cols, err := m.Columns(ctx, compute.Selected(compute.Kept(failing)))
	if err != nil {
		return err
	}
	release, err := r.lock(ctx, n, target, n.Relation())
	if err != nil {
		return err
	}
	defer release()
	src := &computed{model: m, sql: compute.Selected(compute.Kept(failing)), res: res}
	spec := connectors.StageSpec{RunID: r.RunID, Target: n.Relation(), Columns: cols, Options: targetOptions(n, p.Plan)}
	if _, err = load.Replace(ctx, target, spec, src); err != nil {
		return fmt.Errorf("storing the failing rows in %s: %w", n.Relation(), err)
	}
	r.Conns.Forget(n.Connection, n.Relation())
	return nil
}

// verdict receives the one row of a verdict's query.
type verdict struct {
	failures     *int64
	warns, fails bool
}

func (v *verdict) Columns([]connectors.Column) error { return nil }

func (v *verdict) Row(values []*string) error {
	if len(values) != len(compute.VerdictColumns) || values[0] == nil {
		return errors.New("fail_calc gave NULL: give it a value for no rows, as in coalesce(…, 0)")
	}
	whole, fraction, _ := strings.Cut(*values[0], ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0") != "" {
		return fmt.Errorf("fail_calc gave %s: it must give a whole number", *values[0])
	}
	v.failures = &n
	v.warns, v.fails = values[1] != nil && *values[1] == "1", values[2] != nil && *values[2] == "1"
	return nil
}

// decide turns failures into a state, as dbt does.
func (v *verdict) decide(t *project.TestSpec, res *Result) error {
	if v.failures == nil {
		return errors.New("the test gave no verdict")
	}
	res.Failures = v.failures
	results := plural(*v.failures, "result")
	switch {
	case t.Severity != "warn" && v.fails:
		res.Status, res.Message = Fail, fmt.Sprintf("Got %s, configured to fail if %s", results, t.ErrorIf)
	case v.warns:
		res.Status, res.Message = Warned, fmt.Sprintf("Got %s, configured to warn if %s", results, t.WarnIf)
	default:
		res.Status = Pass
	}
	return nil
}

// TestFailure is what the end of a run says of a test that failed or warned.
func (r *Runner) TestFailure(res *Result) string {
	n := res.Node
	what := "Failure"
	if res.Status == Warned {
		what = "Warning"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in test %s (%s)\n  %s\n  compiled code at %s", what, n.Name, n.Path, res.Message,
		path.Join(r.Project.TargetPath, "compiled", r.Project.Name, testPath(n)))
	if r.stores(n) {
		fmt.Fprintf(&b, "\n  see the failing rows in %s on %s", n.Relation(), n.Connection)
	}
	return r.Redact.String(b.String())
}
