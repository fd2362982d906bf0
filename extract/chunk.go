package extract

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/chunker"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// Chunks has one extract read in pieces, each of which is a file below Dir when it is
// there, so that a later run may go on after them.
type Chunks struct {
	Extract, Column int // which extract, and which column of its relation cuts it
	Size            int64
	Dir             string // owned by the caller, who holds a lock
	Resume          bool   // take the pieces that a failed run left in Dir
	// Cut tells how the rows are cut; kept is how many pieces are taken from Dir.
	Cut func(rows int64, ranges []chunker.Range, kept int)
	// Done tells of each piece that is there; rows counts its rows.
	Done func(at int, r chunker.Range, rows int64, kept bool)
	// Changed tells that the pieces hold another number of rows than were counted.
	Changed func(counted, rows int64)
	// Failed is the number, from 1, of the piece that was being read when the load
	// failed, and how many there are; 0 if it did not come to that.
	Failed, Of int
}

// cuts reports whether extract i is read in pieces. One that needs no row, one row or the
// first rows is not.
func (c *Chunks) cuts(i int, x *planner.Extract) bool {
	return c != nil && c.Extract == i && !x.Pruned && x.Reduced == "" && x.Limit < 0
}

// chunked reads extract x piece by piece. The pieces are staged as files.
func (j *job) chunked(ctx context.Context, i int, x *planner.Extract, source reader) error {
	c := j.chunks
	e := withColumn(*x, c.Column)
	j.plan.Extracts[i] = e
	rel := e.Relation
	if err := checkRanges(&e, c.Column); err != nil {
		return err
	}
	release, err := j.limits.Acquire(ctx, j.connection)
	if err != nil {
		return err
	}
	defer release()
	w, err := openParts(ctx, j.model, c, &e, func() (chunker.Span, error) { return j.span(ctx, &e, source) })
	if err != nil {
		return err
	}
	ranges, err := chunker.Cut(w.span, c.Size)
	if err != nil {
		return err
	}
	have, kept := w.have(ctx, len(ranges))
	c.Cut(w.span.Rows, ranges, kept)
	c.Of = len(ranges)
	var total int64
	var parts []string
	for at, r := range ranges {
		c.Failed = at + 1
		rows := have[at]
		if rows < 0 {
			if rows, err = j.piece(ctx, &e, source, r, w.path(at), i); err != nil {
				return err
			}
		}
		total += rows
		parts = append(parts, w.path(at))
		c.Done(at, r, rows, have[at] >= 0)
	}
	j.stats[i].Rows = total
	if total != w.span.Rows {
		if _, snapshot := source.(connectors.Snapshot); snapshot && kept == 0 && total < w.span.Rows {
			return fmt.Errorf("%d rows were counted but the chunks hold %d of the same snapshot; the target is unchanged", w.span.Rows, total)
		}
		c.Changed(w.span.Rows, total)
	}
	c.Failed = 0
	if len(parts) == 0 {
		staged, err := j.model.Stage(ctx, rel.Catalog, rel.Schema, rel.Name, rel.Table.Columns, e.Columns)
		if err != nil {
			return err
		}
		return staged.Close()
	}
	return j.model.StageParts(ctx, rel.Catalog, rel.Schema, rel.Name, rel.Table.Columns, e.Columns, parts)
}

// withColumn is x with one column more, if it does not read it anyway: the pieces are
// told apart by it.
func withColumn(x planner.Extract, col int) planner.Extract {
	if slices.Contains(x.Columns, col) {
		return x
	}
	x.Columns = append(slices.Clone(x.Columns), col)
	x.Query.Columns = append(slices.Clone(x.Query.Columns), x.Relation.Table.Columns[col])
	return x
}

// checkRanges refuses a column by which the source finds no range of values.
func checkRanges(x *planner.Extract, col int) error {
	c := x.Relation.Table.Columns[col]
	for _, p := range []*connectors.Pred{{Kind: connectors.PNull, Col: col}, {Kind: connectors.PNull, Col: col, Neg: true}} {
		if r := connectors.RenderPred(x.Relation.Dialect, p, x.Relation.Table); r.SQL == "" {
			return refusal(c, r)
		}
	}
	return nil
}

func refusal(c connectors.Column, r connectors.Rendered) error {
	reason := "its source finds no range of it"
	if len(r.Reasons) > 0 {
		reason += ": " + r.Reasons[0]
	}
	native := c.Native
	if native == "" {
		native = c.Type.String()
	}
	return &connectors.TypeError{Column: c.Name, Native: native, Reason: reason}
}

// piece reads one range into a file and returns its rows.
func (j *job) piece(ctx context.Context, x *planner.Extract, source reader, r chunker.Range, path string, i int) (rows int64, err error) {
	col := j.chunks.Column
	pred := r.Pred(col)
	text := connectors.RenderPred(x.Relation.Dialect, pred, x.Relation.Table)
	if text.SQL == "" {
		return 0, refusal(x.Relation.Table.Columns[col], text)
	}
	part, err := j.model.NewPart(ctx, path, x.Query.Columns)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, part.Drop()) }()
	q := connectors.Query{SQL: j.selectWhere(x, text.SQL), Columns: x.Query.Columns}
	if in, ok := j.conn.(connectors.Inliner); ok {
		sql, release, err := in.Inline(ctx, q)
		if err != nil {
			return 0, err
		}
		defer release()
		if _, err := part.Insert(ctx, sql); err != nil {
			return 0, err
		}
	} else {
		err = begin(ctx, source, q, func(rec arrow.RecordBatch) error {
			size := RecordBytes(rec)
			j.stats[i].Bytes += size
			j.progress.Rows.Add(rec.NumRows())
			j.progress.Bytes.Add(size)
			return part.Append(rec)
		})
		if err != nil {
			return 0, err
		}
	}
	// What the source let through beyond the range belongs to another piece.
	return part.Finish(ctx, r.Pred(slices.Index(x.Columns, col)))
}

// selectWhere is the extract's SQL with one more predicate.
func (j *job) selectWhere(x *planner.Extract, where string) string {
	if x.Where != "" {
		where = x.Where + " AND " + where
	}
	return x.Relation.Dialect.Select(connectors.Extract{Table: x.Relation.Table, Columns: x.Columns, Where: where, Limit: -1})
}
