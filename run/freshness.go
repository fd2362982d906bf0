package run

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/watermark"
)

// Fresh is how old a source's rows are.
type Fresh struct {
	Source  *project.Source
	Newest  *time.Time // nil: it has no rows
	Checked time.Time
	Age     time.Duration
	Result  *Result
}

// Freshness checks sources that say when they are stale.
func (r *Runner) Freshness(ctx context.Context, sources []*project.Source) ([]*Fresh, []*Result) {
	byID := map[string]*Fresh{}
	var nodes []*project.Node
	for _, s := range sources {
		byID[s.UniqueID] = &Fresh{Source: s}
		nodes = append(nodes, &project.Node{UniqueID: s.UniqueID, Name: s.Label(), ResourceType: project.TypeSource, Path: s.Path,
			Connection: s.Connection, Schema: s.Schema, Alias: s.Identifier})
	}
	results := r.Run(ctx, nodes, func(ctx context.Context, n *project.Node, res *Result) {
		f := byID[n.UniqueID]
		if err := r.age(ctx, f); err != nil {
			res.Status, res.Err = Error, r.explainError(n, err)
			res.Message = r.Redact.String(res.Err.Error())
			return
		}
		res.Status = f.status()
		if res.Status == Error {
			res.Message = "stale: " + f.text()
		}
	})
	var all []*Fresh
	for _, res := range results {
		f := byID[res.Node.UniqueID]
		f.Result = res
		all = append(all, f)
	}
	return all, results
}

func (f *Fresh) text() string {
	if f.Newest == nil {
		return f.Source.Label() + " has no rows"
	}
	return fmt.Sprintf("the newest row of %s is %s old", f.Source.Label(), f.Age.Round(time.Second))
}

// HasFreshness reports whether a source can be checked.
func HasFreshness(s *project.Source) bool {
	return s.Freshness != nil && (s.Freshness.WarnAfter != nil || s.Freshness.ErrorAfter != nil) && (s.LoadedAtField != "" || s.LoadedAtQuery != "")
}

// age asks for the newest row. The field is SQL over the source, federated like a model:
// its maximum is asked of the engine where that answers like DuckDB.
func (r *Runner) age(ctx context.Context, f *Fresh) error {
	s := f.Source
	if s.Err != nil {
		return s.Err
	}
	for _, a := range []*project.Age{s.Freshness.WarnAfter, s.Freshness.ErrorAfter} {
		if a != nil && period(a) <= 0 {
			return fmt.Errorf("freshness: %d %s is no age: expected a count above 0 and the period minute, hour or day", a.Count, a.Period)
		}
	}
	text := s.LoadedAtQuery
	if text == "" {
		text = fmt.Sprintf("SELECT * FROM {{ source('%s', '%s') }}", escaped(s.SourceName), escaped(s.Name))
		if s.Freshness.Filter != "" {
			text = compute.Filtered(text, s.Freshness.Filter)
		}
		text = compute.Newest(text, s.LoadedAtField)
	}
	n, err := r.Project.Inline(text)
	if err != nil {
		return err
	}
	n.Connection = s.Connection
	compiled, err := r.Project.Compile(ctx, n, r.render(n))
	if err != nil {
		return err
	}
	value, err := r.scalar(ctx, n, compiled, compiled.SQL, planMode{})
	if err != nil {
		return err
	}
	f.Checked = time.Now().UTC()
	switch value.typ.Kind {
	case connectors.Date, connectors.Timestamp, connectors.TimestampNS, connectors.TimestampTZ:
	default:
		return fmt.Errorf("loaded_at_field gives %s: expected a date or a time stamp, such as a cast of it", value.typ)
	}
	if value.text == nil {
		return nil
	}
	v, err := watermark.Parse(value.typ, *value.text)
	if err != nil {
		return err
	}
	newest := v.Time
	f.Newest, f.Age = &newest, f.Checked.Sub(newest)
	return nil
}

func escaped(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) }

// status compares the age with the limits; no rows at all are stale.
func (f *Fresh) status() Status {
	past := func(limit *project.Age) bool { return limit != nil && (f.Newest == nil || f.Age > period(limit)) }
	switch {
	case past(f.Source.Freshness.ErrorAfter):
		return Error
	case past(f.Source.Freshness.WarnAfter):
		return Warned
	}
	return Pass
}

func period(a *project.Age) time.Duration {
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[a.Period]
	if unit > 0 && a.Count > int64(math.MaxInt64/unit) {
		return math.MaxInt64 // older than anything
	}
	return time.Duration(a.Count) * unit
}

// sourceResults is target/sources.json in dbt's published shape (version 3).
type sourceResults struct {
	Metadata artifactMetadata `json:"metadata"`
	Results  []any            `json:"results"`
	Elapsed  float64          `json:"elapsed_time"`
}

type sourceResult struct {
	UniqueID string         `json:"unique_id"`
	Newest   string         `json:"max_loaded_at"`
	Checked  string         `json:"snapshotted_at"`
	Ago      float64        `json:"max_loaded_at_time_ago_in_s"`
	Status   Status         `json:"status"`
	Criteria criteria       `json:"criteria"`
	Adapter  map[string]any `json:"adapter_response"`
	Timing   []timingEntry  `json:"timing"`
	Thread   string         `json:"thread_id"`
	Elapsed  float64        `json:"execution_time"`
}

type sourceError struct {
	UniqueID string `json:"unique_id"`
	Error    string `json:"error"`
	Status   string `json:"status"`
}

type criteria struct {
	WarnAfter  limit   `json:"warn_after"`
	ErrorAfter limit   `json:"error_after"`
	Filter     *string `json:"filter"`
}

type limit struct {
	Count  *int64  `json:"count"`
	Period *string `json:"period"`
}

func limitOf(a *project.Age) limit {
	if a == nil {
		return limit{}
	}
	return limit{&a.Count, &a.Period}
}

// WriteSources writes target/sources.json.
func (r *Runner) WriteSources(all []*Fresh, version string, elapsed time.Duration) error {
	doc := sourceResults{
		Metadata: artifactMetadata{
			Schema: "https://schemas.getdbt.com/dbt/sources/v3.json", Version: dbt.DbtVersion,
			Generated: stamp(time.Now()), InvocationID: r.RunID, Env: map[string]string{"dvt_version": version},
		},
		Results: []any{}, Elapsed: elapsed.Seconds(),
	}
	for _, f := range all {
		doc.Results = append(doc.Results, f.entry())
	}
	return r.WriteJSON("sources.json", doc)
}

func (f *Fresh) entry() any {
	res := f.Result
	if res.Status == Skipped || res.Err != nil {
		return sourceError{f.Source.UniqueID, res.Message, "runtime error"}
	}
	newest := f.Newest
	if newest == nil {
		newest = &time.Time{} // dbt's own answer for a table without rows
	}
	e := sourceResult{
		UniqueID: f.Source.UniqueID, Newest: instant(*newest), Checked: instant(f.Checked), Ago: f.Checked.Sub(*newest).Seconds(), Status: res.Status,
		Criteria: criteria{WarnAfter: limitOf(f.Source.Freshness.WarnAfter), ErrorAfter: limitOf(f.Source.Freshness.ErrorAfter)},
		Adapter:  map[string]any{}, Timing: []timingEntry{}, Thread: res.Thread, Elapsed: res.Elapsed.Seconds(),
	}
	if text := f.Source.Freshness.Filter; text != "" {
		e.Criteria.Filter = &text
	}
	return e
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999+00:00") }
