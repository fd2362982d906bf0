package run

import (
	"fmt"
	"io"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// Explanation is a prepared model as `dvt explain --output json` prints it; its keys
// are stable.
type Explanation struct {
	Model      string             `json:"model"`
	Lane       string             `json:"lane"`
	LaneReason string             `json:"lane_reason"`
	Target     ExplainTarget      `json:"target"`
	Strategy   string             `json:"strategy"`
	Scalars    []Scalar           `json:"scalars"`
	Watermark  string             `json:"watermark"`
	Extracts   []ExplainedExtract `json:"extracts"`
	ComputeSQL string             `json:"compute_sql"`
	Load       string             `json:"load"`
	Notes      []string           `json:"notes"`
	// KeyReductions are possible: the run adds the keys it finds to the extracts.
	KeyReductions []string `json:"key_reductions"`
}

// ExplainTarget is where the result lands.
type ExplainTarget struct {
	Connection string `json:"connection"`
	Relation   string `json:"relation"`
}

// ExplainedExtract is one read.
type ExplainedExtract struct {
	Relation   string            `json:"relation"`
	Connection string            `json:"connection"`
	SQL        string            `json:"sql"`
	Columns    []string          `json:"columns"`
	Of         int               `json:"columns_of"`
	Pushed     []ExplainedPushed `json:"pushed"`
	Kept       []ExplainedKept   `json:"kept"`
	Limit      *int64            `json:"limit"`
	Chunks     []ExplainedChunks `json:"chunks"`
	Pruned     bool              `json:"pruned"`
	Streamed   bool              `json:"streamed"` // the query may read the rows as they come
	Reduced    string            `json:"reduced"`  // "max(updated_at)": one row is read in place of all, or two
	Estimate   *int64            `json:"row_estimate"`
	// Use numbers the extracts of a relation that is read by several, 0 where it is read
	// by one; Uses are the places of the model's SQL that read this one, Why the reason of
	// one or several where the SQL names the relation more than once.
	Use  int    `json:"use"`
	Uses int    `json:"uses"`
	Why  string `json:"uses_reason"`
	// Index says that the rows are those of the index of {{ this }}.
	Index *ExplainedIndex `json:"index"`

	reducedRows int
	title       string
}

// ExplainedIndex is the kept copy of columns of {{ this }}.
type ExplainedIndex struct {
	Path    string   `json:"path"`
	Columns []string `json:"columns"`
}

// ExplainedPushed is a predicate that the source applies.
type ExplainedPushed struct {
	SQL    string `json:"sql"`
	Exact  bool   `json:"exact"`
	Reason string `json:"reason"`
}

// ExplainedKept is a predicate that only DuckDB applies.
type ExplainedKept struct {
	SQL    string `json:"sql"`
	Reason string `json:"reason"`
}

// Explanation gathers the facts of p.
func (p *Prepared) Explanation() Explanation {
	plan := p.Plan
	e := Explanation{
		Model: modelTitle(p.Node), Lane: plan.Lane, LaneReason: plan.LaneReason, Strategy: p.Strategy, Watermark: p.Mark,
		Target:  ExplainTarget{p.Node.Connection, p.Target.String()},
		Scalars: append([]Scalar{}, p.Scalars...), Extracts: []ExplainedExtract{}, ComputeSQL: project.Display(plan.SQL), Load: "staging → swap", Notes: append([]string{}, plan.Notes...), KeyReductions: []string{},
	}
	switch {
	case p.Node.Config.Materialized == project.View && plan.Lane == nativeLane:
		e.Load = "a view in its place"
	case p.Delta != nil:
		e.Load = "staging → " + p.Strategy + " in one transaction"
	}
	for _, k := range plan.KeyReductions {
		e.KeyReductions = append(e.KeyReductions, plan.KeyText(k))
	}
	for _, x := range plan.Extracts {
		out := explainExtract(x)
		if x.Index != "" {
			out.SQL, out.Index = "", &ExplainedIndex{x.Index, indexNames(p.Node, &x)} // nothing is sent
		}
		e.Extracts = append(e.Extracts, out)
	}
	explainChunks(p, e.Extracts)
	if q := plan.Streamed; q != nil {
		e.Extracts[0].SQL, e.Extracts[0].Columns = q.SQL, []string{}
		for _, i := range plan.Plain {
			e.Extracts[0].Columns = append(e.Extracts[0].Columns, plan.Extracts[0].Relation.Table.Columns[i].Name)
		}
	}
	return e
}

func explainExtract(x planner.Extract) ExplainedExtract {
	table := x.Relation.Table
	out := ExplainedExtract{
		Relation: x.Relation.Label, Connection: x.Relation.Connection, SQL: x.Query.SQL, Columns: []string{}, Of: len(table.Columns),
		Pushed: []ExplainedPushed{}, Kept: []ExplainedKept{}, Chunks: []ExplainedChunks{}, Pruned: x.Pruned, Streamed: x.Streams, Reduced: x.Reduced, reducedRows: x.ReducedRows,
		Use: x.Relation.Use, Uses: x.Uses, Why: x.Why, title: x.Relation.Title(),
	}
	for _, i := range x.Columns {
		out.Columns = append(out.Columns, table.Columns[i].Name)
	}
	for _, c := range x.Pushed {
		out.Pushed = append(out.Pushed, ExplainedPushed{c.SQL, c.Verdict == connectors.Exact, c.Reason})
	}
	for _, c := range x.Kept {
		out.Kept = append(out.Kept, ExplainedKept{project.Display(c.SQL), c.Reason})
	}
	if x.Limit >= 0 {
		out.Limit = &x.Limit
	}
	if table.RowEstimate >= 0 {
		out.Estimate = &table.RowEstimate
	}
	return out
}

// modelTitle is a model's name below its folder: marts.orders_by_country.
func modelTitle(n *project.Node) string {
	if len(n.FQN) > 2 {
		return strings.Join(n.FQN[1:], ".")
	}
	return n.Name
}

// Write prints e for people.
func (e Explanation) Write(w io.Writer, materialized string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s   %s → %s.%s   %s\n", e.Model, materialized, e.Target.Connection, e.Target.Relation, e.Strategy)
	fmt.Fprintf(&b, "lane %s: %s\n", e.Lane, e.LaneReason)
	if e.Watermark != "" {
		fmt.Fprintf(&b, "  new      %s\n", e.Watermark)
	}
	for _, s := range e.Scalars {
		fmt.Fprintf(&b, "  scalar   %s = %s\n", s.SQL, s.Literal)
	}
	for _, x := range e.Extracts {
		x.write(&b)
	}
	for _, k := range e.KeyReductions {
		fmt.Fprintf(&b, "  key reduction possible: %s\n", k)
	}
	for _, n := range e.Notes {
		fmt.Fprintf(&b, "  note     %s\n", n)
	}
	switch e.Lane {
	case planner.LaneCompute:
		b.WriteString("  compute\n")
		indent(&b, "    ", e.ComputeSQL)
	case nativeLane:
		b.WriteString("  build\n")
		indent(&b, "    ", e.ComputeSQL)
	}
	fmt.Fprintf(&b, "  load     %s\n", e.Load)
	_, err := io.WriteString(w, b.String())
	return err
}

func (x ExplainedExtract) write(b *strings.Builder) {
	rows := "? rows"
	if x.Estimate != nil {
		rows = "about " + plural(*x.Estimate, "row")
	}
	fmt.Fprintf(b, "  extract %s   %s   %d of %d columns   %s%s\n", x.title, x.Connection, len(x.Columns), x.Of, rows, x.chunkText())
	if x.Why != "" {
		fmt.Fprintf(b, "    uses     %d, %s\n", x.Uses, x.Why)
	}
	if x.Pruned {
		b.WriteString("    nothing is read: the plan needs no row of it\n")
		return
	}
	if x.Index != nil {
		fmt.Fprintf(b, "    index    %s (%s), built anew when it is not what the target holds\n", x.Index.Path, strings.Join(x.Index.Columns, ", "))
	} else {
		indent(b, "    ", x.SQL)
	}
	width := 0
	for _, c := range x.Pushed {
		width = max(width, len([]rune(c.SQL)))
	}
	for _, c := range x.Kept {
		width = max(width, len([]rune(c.SQL)))
	}
	width = min(width, 40)
	for _, c := range x.Pushed {
		verdict := "superset: " + c.Reason
		if c.Exact {
			verdict = "exact"
		}
		fmt.Fprintf(b, "    pushed   %-*s   %s\n", width, c.SQL, verdict)
	}
	for _, c := range x.Kept {
		fmt.Fprintf(b, "    kept     %-*s   %s\n", width, c.SQL, c.Reason)
	}
	if x.Reduced != "" {
		rows := "one row "
		if x.reducedRows > 1 {
			rows = "two rows"
		}
		fmt.Fprintf(b, "    %s %s\n", rows, x.Reduced)
	}
	if x.Streamed {
		b.WriteString("    streamed into the query as it comes, once the other extracts are staged\n")
	}
	if x.Limit != nil {
		fmt.Fprintf(b, "    limit    %d\n", *x.Limit)
	}
}

func indent(b *strings.Builder, by, text string) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		b.WriteString(by + line + "\n")
	}
}
