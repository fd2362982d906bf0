package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/index"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// IndexFile is the index of one model on one output.
type IndexFile struct {
	Model      string    `json:"model"`
	Connection string    `json:"connection"`
	Path       string    `json:"path"` // in the project
	Bytes      int64     `json:"bytes"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// Indexes are the indexes of a model of the project, of all models for "".
func (r *Runner) Indexes(model string) []IndexFile {
	var found []IndexFile
	for _, n := range r.Project.Nodes {
		if n.Config.Materialized != project.FIncremental || model != "" && n.Name != model {
			continue
		}
		for _, output := range r.Project.OutputNames {
			path := index.Path(r.Project.Dir, output, n.Name)
			if info, err := os.Stat(path); err == nil {
				found = append(found, IndexFile{n.Name, output, r.inProject(path), info.Size(), info.ModTime().UTC().Truncate(time.Second)})
			}
		}
	}
	slices.SortFunc(found, func(a, b IndexFile) int { return strings.Compare(a.Path, b.Path) })
	return found
}

// RemoveIndex removes an index that Indexes found.
func (r *Runner) RemoveIndex(x IndexFile) error {
	return index.Discard(index.Path(r.Project.Dir, x.Connection, x.Model))
}

func (r *Runner) inProject(path string) string {
	if rel, err := filepath.Rel(r.Project.Dir, path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}

func (r *Runner) indexPath(n *project.Node) string {
	return index.Path(r.Project.Dir, n.Connection, n.Name)
}

// useIndex lets the extract of {{ this }} be served from the kept index, where the plan
// reads rows of it. What the target answers with one row stays there.
func (r *Runner) useIndex(p *Prepared) {
	for i := range p.Plan.Extracts {
		x := &p.Plan.Extracts[i]
		if !overThis(p.Node, x) || x.Pruned || x.Reduced != "" {
			continue
		}
		conn, err := r.Conns.Get(x.Relation.Connection)
		if err == nil && index.Can(conn, x.Relation.Table, indexColumns(p.Node, x)) {
			x.Index = r.inProject(r.indexPath(p.Node))
		}
	}
}

func overThis(n *project.Node, x *planner.Extract) bool {
	return x.Relation.Connection == n.Connection && x.Relation.Table.Relation == n.Relation()
}

// indexColumns are the columns of {{ this }} that a plan reads, and the unique_key, by
// which the index finds the rows that a load changes.
func indexColumns(n *project.Node, x *planner.Extract) []int {
	cols := slices.Clone(x.Columns)
	for _, k := range n.Config.UniqueKey {
		for i, c := range x.Relation.Table.Columns {
			if compute.SameName(c.Name, k) && !slices.Contains(cols, i) {
				cols = append(cols, i)
			}
		}
	}
	slices.Sort(cols)
	return cols
}

// openIndex opens the index that p's plan wants and stages it in m; nil when it wants
// none. One that another process holds is done without: the target is read.
func (r *Runner) openIndex(ctx context.Context, p *Prepared, m *compute.Model) (*index.Index, error) {
	at := slices.IndexFunc(p.Plan.Extracts, func(x planner.Extract) bool { return x.Index != "" })
	if at < 0 {
		return nil, nil
	}
	if !p.locked {
		p.readThis(at)
		return nil, nil
	}
	x := &p.Plan.Extracts[at]
	ix, err := r.freshIndex(ctx, p.Node, x)
	if errors.Is(err, compute.ErrIndexBusy) {
		r.Log.Warn("reading the target, for "+err.Error(), "model", p.Node.Name)
		p.readThis(at)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := ix.Stage(ctx, m, x.Relation.Catalog, x.Relation.Schema, x.Relation.Name); err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	return ix, nil
}

func (r *Runner) freshIndex(ctx context.Context, n *project.Node, x *planner.Extract) (*index.Index, error) {
	engine, err := r.Engine()
	if err != nil {
		return nil, err
	}
	conn, err := r.Conns.Get(n.Connection)
	if err != nil {
		return nil, err
	}
	ix, err := index.Open(ctx, engine, conn, r.indexSpec(n, x.Relation.Table, indexColumns(n, x)))
	if err != nil {
		return nil, err
	}
	if s := ix.Stat(); s.Rebuilt != "" {
		r.emit(Info, "index", n, "", map[string]any{"rows": s.Rows, "reason": s.Rebuilt},
			fmt.Sprintf("%s: index of {{ this }} built from %s (%s)", n.Name, plural(s.Rows, "row"), s.Rebuilt))
	}
	return ix, nil
}

func (r *Runner) indexSpec(n *project.Node, t *connectors.Table, cols []int) index.Spec {
	sum := sha256.Sum256([]byte(n.RawCode))
	return index.Spec{
		Path: r.indexPath(n), Version: r.Options.Version + ", " + compute.Version(), Model: hex.EncodeToString(sum[:8]),
		Connection: n.Connection, Load: r.RunID, Table: t, Columns: cols,
	}
}

// closeIndex ends m, then the index that its views read. A copy that could not be written
// out is one less.
func (r *Runner) closeIndex(p *Prepared, m *compute.Model, ix *index.Index) {
	r.closeModel(m, p.Node.Name)
	if err := ix.Close(); err != nil {
		r.Log.Warn("the index is not kept", "model", p.Node.Name, "error", err)
	}
}

// readThis has extract at read from the target after all.
func (p *Prepared) readThis(at int) {
	plan := *p.Plan
	plan.Extracts = slices.Clone(plan.Extracts)
	plan.Extracts[at].Index = ""
	p.Plan = &plan
}

// countIndex adds what an index moved to the statistics of its extract.
func countIndex(p *Prepared, ix *index.Index, stats []extract.Stat) {
	if ix == nil {
		return
	}
	for i := range stats {
		if p.Plan.Extracts[i].Index != "" {
			stats[i].Rows += ix.Stat().Rows
			stats[i].Bytes += ix.Stat().Bytes
		}
	}
}

// followLoad lets the index follow a committed delta. The load has succeeded whatever
// comes of it: an index that stays behind differs from the target and is made anew.
func (r *Runner) followLoad(ctx context.Context, p *Prepared, ix *index.Index, m *compute.Model, d connectors.Delta, sql string) {
	var err error
	if ix == nil && p.indexed { // only a scalar read it
		var engine *compute.Engine
		if engine, err = r.Engine(); err == nil {
			ix, err = index.Follow(ctx, engine, r.indexSpec(p.Node, p.Table, nil))
		}
		if ix != nil {
			defer func() { _ = ix.Close() }()
		}
	}
	if err == nil && ix != nil {
		err = ix.Apply(ctx, m, d, sql)
	}
	if err != nil {
		r.Log.Warn("the index is dropped", "model", p.Node.Name, "error", err)
	}
}

// indexLoad makes the index of a model that has been loaded as a whole, so that its next
// run need not. It is not part of the load and cannot fail it.
func (r *Runner) indexLoad(ctx context.Context, n *project.Node, target connectors.Conn) {
	if err := r.indexLoaded(ctx, n, target); err != nil {
		r.Log.Warn("no index is made", "model", n.Name, "error", err)
	}
}

func (r *Runner) indexLoaded(ctx context.Context, n *project.Node, target connectors.Conn) error {
	if !n.IsIncrementalStyle || r.Options.Empty {
		return nil
	}
	rc := r.render(n)
	rc.IsIncremental = true
	compiled, err := r.Project.Compile(ctx, n, rc)
	if err != nil || !slices.ContainsFunc(compiled.Relations, func(u project.RelationUse) bool { return u.IsThis }) {
		return err
	}
	table, err := r.standing(ctx, n, target, false)
	if err != nil || table == nil {
		return err
	}
	d, err := deltaOf(n)
	if err != nil {
		return err
	}
	i := &increment{runner: r, node: n, delta: d, table: table, mode: planMode{live: true, locked: true}, dialect: target.Dialect()}
	p, err := i.jinjaStyle(ctx)
	if err != nil {
		return err
	}
	for at := range p.Plan.Extracts {
		if x := &p.Plan.Extracts[at]; x.Index != "" {
			ix, err := r.freshIndex(ctx, n, x)
			if err != nil {
				return err
			}
			return ix.Close()
		}
	}
	return nil
}

// indexNames are the columns of the index that extract x wants.
func indexNames(n *project.Node, x *planner.Extract) []string {
	var names []string
	for _, c := range indexColumns(n, x) {
		names = append(names, x.Relation.Table.Columns[c].Name)
	}
	return names
}
