package run

import (
	"path/filepath"

	"github.com/dvt-dev/dvt/internal/buildid"
	"github.com/dvt-dev/dvt/internal/memo"
)

// plansFile, in the target folder, keeps what DuckDB's analysis of each model gave.
const plansFile = "partial_plan.bin"

// remember lets the planner use what earlier runs of this very program found out. Nothing
// that holds a secret of the profile is written down.
func (r *Runner) remember() {
	build, err := buildid.Get()
	if err != nil {
		r.Log.Debug("plans are not kept", "error", err)
		return
	}
	r.plans = memo.New(memo.Options{
		Path: filepath.Join(r.targetDir(), plansFile), Stamp: build, Fresh: r.Options.PlanAnew,
		Keep: func(value []byte) bool { return r.Redact.String(string(value)) == string(value) },
	})
	r.planner.Remember(r.plans)
}

// savePlans writes what was found out. A folder that cannot be written to costs the
// next run time, and this one nothing.
func (r *Runner) savePlans() {
	if r.plans == nil {
		return
	}
	r.Log.Debug("kept analyses", "used", r.plans.Found())
	if err := r.plans.Save(); err != nil {
		r.Log.Debug("plans are not kept", "error", err)
	}
}
