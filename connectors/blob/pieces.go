package blob

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

const (
	pieceBytes = 64 << 20 // of one piece, unless a single row group has more
	pieceFiles = 64
)

// chosen are the row groups of one object that may hold rows of the extract.
type chosen struct {
	at     int     // which object
	footer *footer // nil: it is here whole
	groups []int
	spans  []span
}

// each brings piece by piece and hands them to use, which then owns their files.
func (r *reading) each(ctx context.Context, use func(piece) error) error {
	var batch []chosen
	var size int64
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		p, err := r.fetch(ctx, batch)
		batch, size = nil, 0
		if err != nil {
			return err
		}
		return use(p)
	}
	for i := range r.l.found.objects {
		if r.x.pred != nil && !may(r.x.pred, r.x.Table, func(col int) bounds { return r.folderBounds(i, col) }) {
			continue
		}
		if len(batch) > 0 && (len(batch) >= pieceFiles || !slices.Equal(r.l.values(i), r.l.values(batch[0].at))) {
			if err := flush(); err != nil {
				return err
			}
		}
		f, err := r.footer(ctx, i)
		if err != nil {
			return err
		}
		if f == nil {
			batch = append(batch, chosen{at: i})
			continue
		}
		for g := range f.md.RowGroups {
			if !r.wants(f, i, g) {
				continue
			}
			spans := r.spans(f, g)
			n := int64(0)
			for _, s := range spans {
				n += s.to - s.from
			}
			// A read with a limit may well have enough after one row group.
			if len(batch) > 0 && (size+n > pieceBytes || r.x.Limit >= 0) {
				if err := flush(); err != nil {
					return err
				}
			}
			if k := len(batch) - 1; k < 0 || batch[k].at != i {
				batch = append(batch, chosen{at: i, footer: f})
			}
			b := &batch[len(batch)-1]
			b.groups, b.spans = append(b.groups, g), append(b.spans, spans...)
			size += n
		}
	}
	return flush()
}

// footer is an object's, nil if the object is here whole.
func (r *reading) footer(ctx context.Context, object int) (*footer, error) {
	f := r.l.footers[object]
	if f != nil || !r.l.brief[object] {
		return f, nil
	}
	f, err := r.c.footerOf(ctx, r.l.found.objects[object])
	if err == nil && f == nil {
		err = errChanged
	}
	return f, err
}

// wants reports whether a row group may hold rows of the extract.
func (r *reading) wants(f *footer, object, group int) bool {
	if f.md.RowGroups[group].NumRows == 0 {
		return false
	}
	return r.x.pred == nil || may(r.x.pred, r.x.Table, func(col int) bounds {
		if f.roots == nil {
			return bounds{}
		}
		if leaves := f.roots[strings.ToLower(r.x.Table.Columns[col].Name)]; len(leaves) == 1 {
			return chunkBounds(f.md, group, leaves[0])
		}
		return r.folderBounds(object, col)
	})
}

// folderBounds are those that the folders of an object give for a column.
func (r *reading) folderBounds(object, col int) bounds {
	c := r.x.Table.Columns[col]
	for i, p := range r.l.parts {
		if p.Name == c.Name && p.Type.Equal(c.Type) {
			return r.l.values(object)[i].bounds(p.Type)
		}
	}
	return bounds{}
}

// spans are the bytes of a row group that the extract needs.
func (r *reading) spans(f *footer, group int) (out []span) {
	leaves, ok := f.leavesOf(r.needed())
	if !ok {
		leaves = leaves[:0]
		for i := range f.md.Schema.NumColumns() {
			leaves = append(leaves, i)
		}
	}
	for _, leaf := range leaves {
		out = append(out, f.extent(group, leaf))
	}
	return out
}

// needed are the names of the columns that the extract reads, nil for all.
func (r *reading) needed() []string {
	if r.x.pred == nil {
		return nil
	}
	set := map[int]bool{}
	columnsOf(r.x.pred, set)
	for _, col := range r.x.Columns {
		set[col] = true
	}
	names := []string{}
	for i, c := range r.x.Table.Columns {
		if set[i] {
			names = append(names, c.Name)
		}
	}
	return names
}

// fetch brings what was chosen of several objects, all from folders with the same values.
func (r *reading) fetch(ctx context.Context, batch []chosen) (p piece, err error) {
	p.parts = r.l.values(batch[0].at)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	type open struct {
		file  *os.File
		o     object
		spans []span
	}
	var files []open
	for _, b := range batch {
		if here := r.l.here[b.at]; here != "" {
			p.files = append(p.files, here)
			continue
		}
		path, err := r.c.path(ctx, ".parquet")
		if err != nil {
			return p, err
		}
		file, err := b.footer.write(path, b.groups)
		if err != nil {
			return p, err
		}
		p.files, p.drop = append(p.files, path), append(p.drop, path)
		files = append(files, open{file, r.l.found.objects[b.at], coalesce(b.spans)})
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, f := range files {
		for _, s := range f.spans {
			group.Go(func() error { return r.c.copyRange(inner, f.o, s, f.file) })
		}
	}
	err = group.Wait()
	for _, f := range files {
		err = errors.Join(err, f.file.Close())
	}
	return p, err
}
