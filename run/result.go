package run

import (
	"time"

	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// Status is how a node ended, in dbt's words.
type Status string

// The states.
const (
	Success Status = "success"
	Error   Status = "error"
	Skipped Status = "skipped"
	Pass    Status = "pass" // of tests and source freshness, as the two below
	Warned  Status = "warn"
	Fail    Status = "fail"
)

// stops says that what is downstream cannot run.
func (s Status) stops() bool { return s == Error || s == Fail || s == Skipped }

// Result is how one node ended.
type Result struct {
	Node     *project.Node
	Status   Status
	Err      error
	Message  string // one line for artifacts
	Start    time.Time
	Elapsed  time.Duration
	Thread   string
	Compiled string // what the user sees of the rendered SQL
	Plan     *planner.Plan
	Extracts []extract.Stat
	Loaded   load.Result
	RowsOut  int64
	Timings  Timings
	// Response is what an engine did by itself: "CREATE VIEW", "SELECT 12".
	Response string
	Failures *int64 // of tests
	// PeakMemory is the process's peak resident memory up to the node's end and
	// Spilled what the compute engine had written to its temporary files, in bytes.
	PeakMemory, Spilled int64

	final bool // something may have been applied: the node is not run again
}

// Timings are the parts of a node's time. Compute and load overlap: compute is the
// time until the last batch less the time spent handing batches over.
type Timings struct{ Plan, Extract, Compute, Load time.Duration }

// carriedOut records the plan as it was run, with what join keys added to extracts.
func (r *Result) carriedOut(ran *planner.Plan) {
	if ran != nil && r.Plan != nil && len(r.Plan.Extracts) == len(ran.Extracts) {
		r.Plan = ran
	}
}

// NotRun are the results of nodes that did not start, and why.
func NotRun(nodes []*project.Node, why string) []*Result {
	var out []*Result
	for _, n := range nodes {
		out = append(out, &Result{Node: n, Status: Skipped, Start: time.Now().UTC(), Message: why})
	}
	return out
}

// addExtracts adds what one load of several moved.
func (r *Result) addExtracts(stats []extract.Stat) {
	if len(r.Extracts) != len(stats) {
		r.Extracts = append(r.Extracts, stats...)
		return
	}
	for i, s := range stats {
		r.Extracts[i].Rows += s.Rows
		r.Extracts[i].Bytes += s.Bytes
		r.Extracts[i].Elapsed += s.Elapsed
		r.Extracts[i].Streamed += s.Streamed
	}
}

// RowsIn is what left all sources.
func (r *Result) RowsIn() int64 {
	var n int64
	for _, s := range r.Extracts {
		n += s.Rows
	}
	return n
}

// Summary counts results.
type Summary struct{ Pass, Warn, Error, Skip int }

// Total is the number of nodes.
func (s Summary) Total() int { return s.Pass + s.Warn + s.Error + s.Skip }

// Summarize counts what results came to.
func Summarize(results []*Result) Summary {
	var s Summary
	for _, r := range results {
		switch r.Status {
		case Success, Pass:
			s.Pass++
		case Warned:
			s.Warn++
		case Error, Fail:
			s.Error++
		case Skipped:
			s.Skip++
		}
	}
	return s
}
