package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/connectors"
)

// look is what is known of the objects of a relation. It does not change, and lasts as
// long as the connection: a plan made with it is read with it.
type look struct {
	id    string
	found found
	scan  connectors.FileScan // of the files' own columns
	parts []connectors.Column // that only folders give; where files have one too, theirs counts
	at    []int               // where each of parts is among an object's
	// footers are of Parquet objects, in their order. Nil, where brief says that there is
	// one, is a footer that is read again when it is needed: all of them might not fit.
	footers []*footer
	brief   []bool
	held    int64 // bytes of those that are kept
	count   int64 // rows that all of them tell
	// here are objects that were brought here whole, "" for one that was not.
	here []string
	// stubs are files without rows, one for each schema among the Parquet objects.
	stubs []string
}

func (l *look) columns() []connectors.Column {
	return append(slices.Clone(l.scan.Columns), l.parts...)
}

// values are those of parts in an object's folders.
func (l *look) values(object int) (out []part) {
	for _, at := range l.at {
		out = append(out, l.found.objects[object].parts[at])
	}
	return out
}

// Describe finds columns and types: of Parquet by the footers, of CSV and JSON by all
// rows, for which the objects are brought here.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	l, err := c.look(ctx, rel)
	if err != nil {
		return nil, err
	}
	cols := l.columns()
	for i := range cols {
		cols[i].Engine = c.service.name
		cols[i].Attrs = map[string]string{lookAttr: l.id}
	}
	return &connectors.Table{Relation: rel, Columns: cols, RowEstimate: l.rows()}, nil
}

func (l *look) rows() int64 {
	if l.found.format != parquet {
		return l.scan.Rows
	}
	if slices.Contains(l.brief, false) {
		return -1
	}
	return l.count
}

// look lists a relation, and looks at what it has not seen yet.
func (c *conn) look(ctx context.Context, rel connectors.Relation) (*look, error) {
	f, err := c.resolve(ctx, rel)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, o := range f.objects {
		_, _ = fmt.Fprintf(h, "%s\x00%s\x00%d\x00", o.key, o.version, o.size)
	}
	id := hex.EncodeToString(h.Sum(nil)[:16])
	c.mu.Lock()
	l := c.seen[id]
	c.mu.Unlock()
	if l == nil {
		if l, err = c.lookAt(ctx, id, f); err != nil {
			return nil, fmt.Errorf("reading the columns of %s: %w", rel, err)
		}
	}
	c.mu.Lock()
	c.seen[id] = l
	c.mu.Unlock()
	return l, nil
}

func (c *conn) lookAt(ctx context.Context, id string, f found) (*look, error) {
	n := len(f.objects)
	l := &look{id: id, found: f, footers: make([]*footer, n), brief: make([]bool, n), here: make([]string, n)}
	schemas := map[string]sample{}
	var mu sync.Mutex
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for i, o := range f.objects {
		group.Go(func() (err error) {
			if f.format == parquet {
				foot, err := c.footerOf(inner, o)
				if err != nil {
					return err
				}
				if foot != nil {
					mu.Lock()
					defer mu.Unlock()
					return l.keep(i, foot, schemas)
				}
			}
			l.here[i], err = c.bring(inner, f.format, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	files, err := c.samples(ctx, l, schemas)
	if err != nil {
		return nil, err
	}
	if l.scan, err = c.files.LookFiles(ctx, f.format, files); err != nil {
		return nil, c.localNames(l, err)
	}
	for at, p := range partitionColumns(f.objects) {
		if !slices.ContainsFunc(l.scan.Columns, func(c connectors.Column) bool { return strings.EqualFold(c.Name, p.Name) }) {
			l.parts, l.at = append(l.parts, p), append(l.at, at)
		}
	}
	if len(files) < 2 {
		l.stubs = nil // any piece has all columns
	}
	return l, nil
}

// heldBytes of footers are kept, as they are in the objects; in memory they are some
// times as large.
var heldBytes int64 = 16 << 20

// sample is a footer without row groups, and the first object that has its schema.
type sample struct {
	at     int
	footer *footer
}

// keep notes what a footer says, and keeps it if there is room.
func (l *look) keep(at int, f *footer, schemas map[string]sample) error {
	l.brief[at] = true
	l.count += f.md.NumRows
	if l.held += f.size; l.held <= heldBytes {
		l.footers[at] = f
	}
	key := f.md.Schema.String() + f.md.GetCreatedBy()
	have, ok := schemas[key]
	if ok && have.at < at {
		return nil
	}
	if ok {
		schemas[key] = sample{at, have.footer}
		return nil
	}
	md, err := f.md.Subset(nil)
	if err == nil {
		schemas[key] = sample{at, &footer{md: md, start: f.start, size: f.size}}
	}
	return err
}

// samples are files that have all columns and types of the objects, in their order: the
// objects themselves where they are here, else a file without rows for each schema.
func (c *conn) samples(ctx context.Context, l *look, schemas map[string]sample) (files []string, err error) {
	first := map[int]*footer{}
	for _, s := range schemas {
		first[s.at] = s.footer
	}
	for i := range l.found.objects {
		if l.here[i] != "" {
			files = append(files, l.here[i])
		}
		f := first[i]
		if f == nil {
			continue
		}
		path, err := c.path(ctx, ".parquet")
		if err != nil {
			return nil, err
		}
		file, err := f.write(path, nil)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return nil, err
		}
		l.stubs = append(l.stubs, path)
		files = append(files, path)
	}
	return files, nil
}

// bring copies a whole object here. Its ending says how it is compressed.
func (c *conn) bring(ctx context.Context, format string, o object) (path string, err error) {
	ext := c.files.Extensions(format)[0]
	for _, e := range c.files.Extensions(format) {
		if strings.HasSuffix(strings.ToLower(o.key), e) && len(e) > len(ext) || strings.HasSuffix(strings.ToLower(o.key), ".tsv") {
			ext = e
		}
	}
	if path, err = c.path(ctx, ext); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	err = errors.Join(c.fill(ctx, o, coalesce([]span{{0, o.size}}), file), file.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return path, err
}

// localNames puts the objects' addresses in the place of their files' in an error.
func (c *conn) localNames(l *look, err error) error {
	var names []string
	for i, path := range l.here {
		if path != "" {
			names = append(names, path, c.url(l.found.objects[i].key))
		}
	}
	text := strings.NewReplacer(names...).Replace(err.Error())
	if text == err.Error() {
		return err
	}
	return &renamed{text, err}
}

// renamed is an error with another text.
type renamed struct {
	text string
	err  error
}

func (e *renamed) Error() string { return e.text }
func (e *renamed) Unwrap() error { return e.err }
