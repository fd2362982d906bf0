package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// runResults is target/run_results.json in dbt's published shape (version 6), each
// result with a dvt block beside dbt's keys.
type runResults struct {
	Metadata artifactMetadata `json:"metadata"`
	Results  []resultEntry    `json:"results"`
	Elapsed  float64          `json:"elapsed_time"`
	Args     map[string]any   `json:"args"`
}

type artifactMetadata struct {
	Schema       string            `json:"dbt_schema_version"`
	Version      string            `json:"dbt_version"`
	Generated    string            `json:"generated_at"`
	InvocationID string            `json:"invocation_id"`
	Env          map[string]string `json:"env"`
}

type resultEntry struct {
	Status    Status         `json:"status"`
	Timing    []timingEntry  `json:"timing"`
	Thread    string         `json:"thread_id"`
	Elapsed   float64        `json:"execution_time"`
	Adapter   map[string]any `json:"adapter_response"`
	Message   *string        `json:"message"`
	Failures  *int64         `json:"failures"`
	UniqueID  string         `json:"unique_id"`
	Compiled  *bool          `json:"compiled"`
	Code      *string        `json:"compiled_code"`
	Relation  *string        `json:"relation_name"`
	Federated *dvtBlock      `json:"dvt"`
}

type timingEntry struct {
	Name      string `json:"name"`
	Started   string `json:"started_at"`
	Completed string `json:"completed_at"`
}

type dvtBlock struct {
	Lane       string             `json:"lane"`
	LaneReason string             `json:"lane_reason"`
	Sources    []sourceEntry      `json:"sources"`
	Timings    map[string]float64 `json:"timings"`
	Inserted   int64              `json:"rows_inserted"`
	Updated    int64              `json:"rows_updated"`
	Deleted    int64              `json:"rows_deleted"`
	PeakMemory int64              `json:"peak_memory_bytes"`
	Spilled    int64              `json:"spilled_bytes"`
}

type sourceEntry struct {
	Relation   string `json:"relation"`
	Connection string `json:"connection"`
	Rows       int64  `json:"rows"`
	Bytes      int64  `json:"bytes"`
	SQL        string `json:"sql"`
	// Streamed is how many of Rows the query read as they came, without staging.
	Streamed int64 `json:"streamed_rows,omitempty"`
	// Use numbers the extracts of a relation that is read by several.
	Use int `json:"use,omitempty"`
	// Index is the copy of {{ this }} that the rows come from; Rows are those that it
	// took to build it.
	Index string `json:"index,omitempty"`
}

// WriteArtifacts writes run_results.json and manifest.json to the project's target
// folder. It is called on every way out of a run.
func (r *Runner) WriteArtifacts(results []*Result, version string, elapsed time.Duration, args map[string]any) error {
	doc := runResults{
		Metadata: artifactMetadata{
			Schema: "https://schemas.getdbt.com/dbt/run-results/v6.json", Version: dbt.DbtVersion,
			Generated: stamp(time.Now()), InvocationID: r.RunID, Env: map[string]string{"dvt_version": version},
		},
		Results: []resultEntry{}, Elapsed: elapsed.Seconds(), Args: args,
	}
	for _, res := range results {
		doc.Results = append(doc.Results, res.entry())
		sql := r.Project.CompiledSQL(res.Node)
		if sql == "" || res.Node.ResourceType != project.TypeModel {
			continue
		}
		if err := r.WriteCompiled(res.Node.CompiledPath(), sql); err != nil {
			return err
		}
	}
	if err := r.WriteJSON("run_results.json", doc); err != nil {
		return err
	}
	return r.WriteJSON("manifest.json", r.Project.Manifest())
}

// WriteJSON writes one artifact, without secrets, replacing an old one as a whole.
func (r *Runner) WriteJSON(name string, doc any) error {
	data, err := EncodeJSON(doc)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return writeFile(filepath.Join(r.targetDir(), name), []byte(r.Redact.String(data)))
}

// WriteCompiled writes compiled SQL at a path below target/compiled.
func (r *Runner) WriteCompiled(at, sql string) error {
	return writeFile(filepath.Join(r.targetDir(), "compiled", filepath.FromSlash(at)), []byte(r.Redact.String(sql)+"\n"))
}

// EncodeJSON writes a document indented, ending with a newline, with SQL's < and > as
// they are.
func EncodeJSON(doc any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc)
	return b.String(), err
}

// targetDir is where artifacts go.
func (r *Runner) targetDir() string {
	if filepath.IsAbs(r.Project.TargetPath) {
		return r.Project.TargetPath
	}
	return filepath.Join(r.Project.Dir, r.Project.TargetPath)
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".dvt-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644) // other tools read artifacts
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (r *Result) entry() resultEntry {
	e := resultEntry{
		Status: r.Status, Timing: []timingEntry{}, Thread: r.Thread, Elapsed: r.Elapsed.Seconds(),
		Adapter: map[string]any{}, UniqueID: r.Node.UniqueID, Failures: r.Failures,
	}
	if r.Message != "" {
		e.Message = &r.Message
	}
	if relation := r.Node.RelationName(); r.Node.ResourceType != project.TypeTest || r.Node.Test.Store {
		e.Relation = &relation
	}
	done := r.Compiled != ""
	e.Compiled = &done
	if done {
		e.Code = &r.Compiled
	}
	if kind := r.Node.ResourceType; r.Plan != nil || kind == project.TypeModel || kind == project.TypeSnapshot {
		e.Federated = r.block()
	}
	if r.Status == Skipped {
		return e
	}
	planned := r.Start.Add(r.Timings.Plan)
	e.Timing = []timingEntry{
		{"compile", stamp(r.Start), stamp(planned)},
		{"execute", stamp(planned), stamp(r.Start.Add(r.Elapsed))},
	}
	switch {
	case r.Response != "":
		code := strings.TrimRight(r.Response, "0123456789 ")
		e.Adapter = map[string]any{"_message": r.Response, "code": code, "rows_affected": r.RowsOut}
	case r.Status == Success:
		e.Adapter = map[string]any{"_message": fmt.Sprintf("INSERT %d", r.RowsOut), "code": "INSERT", "rows_affected": r.RowsOut}
	}
	return e
}

// block has all its keys whatever became of the node; lane is "" without a plan.
func (r *Result) block() *dvtBlock {
	plan := r.Plan
	switch {
	case plan != nil:
	case !r.Node.Federated && r.Status != Skipped:
		plan = &planner.Plan{Lane: nativeLane, LaneReason: nativeReason(r.Node)}
	default:
		plan = &planner.Plan{}
	}
	b := &dvtBlock{
		Lane: plan.Lane, LaneReason: plan.LaneReason, Sources: []sourceEntry{},
		Timings: map[string]float64{
			"plan": r.Timings.Plan.Seconds(), "extract": r.Timings.Extract.Seconds(),
			"compute": r.Timings.Compute.Seconds(), "load": r.Timings.Load.Seconds(),
		},
		Inserted: r.Loaded.Inserted, Updated: r.Loaded.Updated, Deleted: r.Loaded.Deleted,
		PeakMemory: r.PeakMemory, Spilled: r.Spilled,
	}
	for i, x := range plan.Extracts {
		s := sourceEntry{Relation: x.Relation.Label, Connection: x.Relation.Connection, SQL: x.Query.SQL, Use: x.Relation.Use, Index: x.Index}
		if x.Index != "" {
			s.SQL = "" // nothing was sent
		}
		if i < len(r.Extracts) {
			s.Rows, s.Bytes, s.Streamed = r.Extracts[i].Rows, r.Extracts[i].Bytes, r.Extracts[i].Streamed
		}
		if q := plan.Streamed; q != nil {
			s.SQL = q.SQL
		}
		b.Sources = append(b.Sources, s)
	}
	return b
}
