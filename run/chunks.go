package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/chunker"
	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// chunking is how a first load is cut: which extract, by which column of its relation.
type chunking struct {
	extract, column int
	name            string
	size            int64
}

// cut finds the extract that chunk_column cuts, if p loads a table for the first time or
// anew. Pieces are kept for --resume, which needs the compute lane.
func (r *Runner) cut(p *Prepared) error {
	c := p.Node.Config
	if c.ChunkColumn == "" || p.Delta != nil || r.Options.Range != "" || p.Plan.Lane == nativeLane {
		return nil
	}
	at, col, err := chunkColumn(c.ChunkColumn, p.Plan)
	if err != nil {
		return fmt.Errorf("model '%s': %w", p.Node.Name, err)
	}
	column := p.Plan.Extracts[at].Relation.Table.Columns[col]
	if err := chunker.Check(column); err != nil {
		return fmt.Errorf("model '%s': %w", p.Node.Name, err)
	}
	p.chunks = &chunking{at, col, column.Name, c.ChunkSize}
	if p.Plan.Streamed != nil {
		plan := *p.Plan
		plan.Streamed, plan.Lane, plan.LaneReason = nil, planner.LaneCompute, "chunk_column: finished chunks are kept until the load is done"
		p.Plan = &plan
	}
	return nil
}

// chunkColumn finds a column by its name, or relation.name, among the relations that a
// plan reads.
func chunkColumn(name string, plan *planner.Plan) (at, col int, err error) {
	var found, all []string
	for i, x := range plan.Extracts {
		table := x.Relation.Table
		for j, c := range table.Columns {
			qualified := table.Name + "." + c.Name
			if compute.SameName(c.Name, name) || compute.SameName(qualified, name) || compute.SameName(x.Relation.Label+"."+c.Name, name) {
				found = append(found, qualified)
				at, col = i, j
			}
		}
		all = append(all, x.Relation.Label)
	}
	switch len(found) {
	case 1:
		return at, col, nil
	case 0:
		return 0, 0, fmt.Errorf("chunk_column '%s' is no column of what the model reads: %s", name, strings.Join(all, ", "))
	}
	return 0, 0, fmt.Errorf("chunk_column '%s' is a column of more than one relation: write %s", name, strings.Join(found, " or "))
}

// resumeDir is where the pieces of a model's first load are kept.
func (r *Runner) resumeDir(n *project.Node) string {
	return filepath.Join(r.Project.Dir, ".dvt", "resume", n.Name)
}

// forgetChunks removes what a failed load left, unless this run goes on after it. The caller
// holds the target's lock.
func (r *Runner) forgetChunks(n *project.Node) error {
	if r.Options.Resume {
		return nil
	}
	return os.RemoveAll(r.resumeDir(n))
}

// pieces is the order to extract in chunks; nil for a load in one piece. When the load
// has ended, done must be called with how.
func (r *Runner) pieces(ctx context.Context, p *Prepared, res *Result) (c *extract.Chunks, done func(error) error, err error) {
	n := p.Node
	if p.chunks == nil {
		return nil, func(err error) error { return err }, nil
	}
	k := p.chunks
	if err := r.settleType(ctx, p); err != nil {
		return nil, nil, err
	}
	c = &extract.Chunks{Extract: k.extract, Column: k.column, Size: k.size, Dir: r.resumeDir(n), Resume: r.Options.Resume}
	of := 0
	c.Cut = func(rows int64, ranges []chunker.Range, kept int) {
		of = len(ranges)
		text := fmt.Sprintf("grn_plan_details: %d rows → %s (%s rows each, by value range) on %s", rows, plural(int64(of), "chunk"), Thousands(k.size), k.name)
		fields := map[string]any{"rows": rows, "chunks": of, "chunk_size": k.size, "column": k.name, "kept": kept}
		if kept > 0 {
			text += fmt.Sprintf(", %s kept from the run that failed", plural(int64(kept), "chunk"))
		}
		r.emit(Info, "chunks", n, "", fields, text)
	}
	c.Done = func(at int, rng chunker.Range, rows int64, kept bool) {
		text := fmt.Sprintf("chunk %d/%d %s %s: %s", at+1, of, k.name, rng, plural(rows, "row"))
		if kept {
			text += ", kept"
		}
		r.emit(Debug, "chunk", n, "", map[string]any{"chunk": at + 1, "of": of, "rows": rows, "kept": kept}, text)
	}
	c.Changed = func(counted, rows int64) {
		r.emit(Warn, "warning", n, "", map[string]any{"counted": counted, "rows": rows},
			fmt.Sprintf("model '%s': the source changed while it was read in chunks: %s were counted, the chunks hold %s", n.Name, plural(counted, "row"), Thousands(rows)))
	}
	return c, func(err error) error {
		res.final = res.final || c.Of > 0 // --resume goes on after the chunks that are there
		return r.chunksEnd(n, c, err)
	}, nil
}

// chunksEnd removes the pieces of a load that is done, and says how to go on with one
// that failed.
func (r *Runner) chunksEnd(n *project.Node, c *extract.Chunks, err error) error {
	if err == nil {
		return os.RemoveAll(c.Dir)
	}
	if c.Of > 0 {
		what := fmt.Sprintf("chunk %d/%d failed", c.Failed, c.Of)
		if c.Failed == 0 {
			what = fmt.Sprintf("failed after %s were read", plural(int64(c.Of), "chunk"))
		}
		r.emit(Fault, "resume_hint", n, Error, nil, fmt.Sprintf("▶ %s — resume with: dvt run --resume -s %s", what, n.Name))
	}
	return err
}

// settleType probes a chunk column whose type the catalog leaves open and that the model
// itself does not read.
func (r *Runner) settleType(ctx context.Context, p *Prepared) error {
	k := p.chunks
	x := p.Plan.Extracts[k.extract]
	if slices.Contains(x.Columns, k.column) {
		return nil
	}
	relations := []planner.Relation{x.Relation}
	x.Columns = []int{k.column}
	probed, err := r.probe(ctx, relations, x)
	if err != nil || !probed {
		return err
	}
	plan := *p.Plan
	plan.Extracts = slices.Clone(plan.Extracts)
	plan.Extracts[k.extract].Relation = relations[0]
	p.Plan = &plan
	return nil
}

// ExplainedChunks says how an extract will be cut.
type ExplainedChunks struct {
	Column string `json:"column"`
	Size   int64  `json:"size"`
}

// explainChunks puts p's cut into the explanation of its extracts.
func explainChunks(p *Prepared, extracts []ExplainedExtract) {
	if k := p.chunks; k != nil {
		extracts[k.extract].Chunks = []ExplainedChunks{{k.name, k.size}}
	}
}

// chunkText is how the first line of an extract names its cut.
func (x ExplainedExtract) chunkText() string {
	if len(x.Chunks) == 0 {
		return ""
	}
	c := x.Chunks[0]
	return fmt.Sprintf("   chunks of %s on %s", plural(c.Size, "row"), c.Column)
}
