package blob

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/connectors"
)

// errEnough ends a read that has all the rows it wants.
var errEnough = errors.New("enough rows")

// Read streams an extract that this connection's dialect made. It brings the bytes it
// needs piece by piece, so that few pieces are on disk at a time.
func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	x := c.dialect.extractOf(q.SQL)
	if x == nil {
		return fmt.Errorf("%s reads whole relations only, not %s", c.service.name, connectors.Shorten(q.SQL))
	}
	l, err := c.lookOf(ctx, x.Table)
	if err != nil {
		return err
	}
	r := &reading{c: c, x: x, l: l, q: q, emit: emit, left: x.Limit}
	err = r.run(ctx)
	if errors.Is(err, errChanged) && !r.emitted {
		// Another run replaced the relation since it was described: its new content is
		// as good, if it still has the columns.
		if r.l, err = c.look(ctx, x.Table.Relation); err != nil {
			return err
		}
		r.left = x.Limit
		err = r.run(ctx)
	}
	return err
}

// lookOf is the look that a table was described by, or a new one where the project has
// declared the columns.
func (c *conn) lookOf(ctx context.Context, t *connectors.Table) (*look, error) {
	if len(t.Columns) > 0 {
		c.mu.Lock()
		l := c.seen[t.Columns[0].Attrs[lookAttr]]
		c.mu.Unlock()
		if l != nil {
			return l, nil
		}
	}
	return c.look(ctx, t.Relation)
}

// reading is one Read.
type reading struct {
	c       *conn
	x       *extract
	l       *look
	q       connectors.Query
	emit    func(arrow.RecordBatch) error
	left    int64 // rows that are still wanted, -1 for all
	emitted bool
}

// run brings the next piece while one is read.
func (r *reading) run(ctx context.Context) (err error) {
	s, err := r.c.session(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	group, ctx := errgroup.WithContext(ctx)
	pieces := make(chan piece)
	group.Go(func() error {
		defer close(pieces)
		return r.each(ctx, func(p piece) error {
			select {
			case pieces <- p:
				return nil
			case <-ctx.Done():
				return errors.Join(context.Cause(ctx), p.remove())
			}
		})
	})
	group.Go(func() error {
		for p := range pieces {
			if err := errors.Join(r.query(ctx, s, p), p.remove()); err != nil {
				return err
			}
		}
		return nil
	})
	if err = group.Wait(); errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// piece is files that are here, all from folders with the same values.
type piece struct {
	files []string
	parts []part
	drop  []string // removed after the read
}

func (p piece) remove() (err error) {
	for _, path := range p.drop {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// query reads one piece.
func (r *reading) query(ctx context.Context, s connectors.Session, p piece) error {
	from := r.l.scan.From(r.fileColumns(), append(p.files, r.l.stubs...))
	sql := render(r.x, withParts(from, r.l.parts, p.parts), r.left)
	if err := r.check(ctx, s, sql); err != nil {
		return err
	}
	err := s.Query(ctx, sql, func(rec arrow.RecordBatch) error {
		if rec.NumRows() == 0 {
			return nil
		}
		r.emitted = true
		if r.left >= 0 {
			r.left -= rec.NumRows()
		}
		return r.emit(rec)
	})
	if err == nil && r.left == 0 {
		return errEnough
	}
	return err
}

// check compares the types that a piece gives with those that were planned.
func (r *reading) check(ctx context.Context, s connectors.Session, sql string) error {
	if len(r.q.Columns) == 0 {
		return nil
	}
	cols, err := s.Columns(ctx, sql)
	if err != nil {
		return err
	}
	if len(cols) != len(r.q.Columns) {
		return fmt.Errorf("the objects give %d columns, not %d", len(cols), len(r.q.Columns))
	}
	for i, col := range cols {
		if want := r.q.Columns[i]; !col.Type.Equal(want.Type) {
			return &connectors.TypeError{Column: want.Name, Native: col.Type.String(), Reason: "the objects have this type, not " + want.Type.String()}
		}
	}
	return nil
}

// fileColumns are the files' own columns with the types that the table has, which are
// the project's where it declares them.
func (r *reading) fileColumns() []connectors.Column {
	cols := append([]connectors.Column(nil), r.l.scan.Columns...)
	for i := range cols {
		if at := r.x.Table.Index(cols[i].Name); at >= 0 {
			cols[i].Type = r.x.Table.Columns[at].Type
		}
	}
	return cols
}
