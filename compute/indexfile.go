package compute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// ErrIndexBusy says that another process has an index file open.
var ErrIndexBusy = errors.New("the index file is in use")

// IndexFile is a DuckDB file with one table, the copy of some columns of a relation, and
// a note of what it is a copy of. It is attached to the run's engine and so within its
// memory limit. What it holds is believed by nobody without Fingerprint.
type IndexFile struct {
	engine  *Engine
	session *duck.Conn
	path    string
	file    string // what is attached: path, or its successor after Rebuild
	alias   string
}

// OpenIndex attaches the file at path, made new if it is missing or no DuckDB file.
// ErrIndexBusy when another process has it. The caller closes it.
func (e *Engine) OpenIndex(ctx context.Context, path string) (*IndexFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db, err := e.instance(ctx)
	if err != nil {
		return nil, err
	}
	session, err := db.Connect(ctx)
	if err != nil {
		return nil, err
	}
	x := &IndexFile{engine: e, session: session, path: path}
	if err = x.attach(ctx, path); err != nil && !errors.Is(err, ErrIndexBusy) && ctx.Err() == nil {
		if err = RemoveIndex(path); err == nil {
			err = x.attach(ctx, path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return x, nil
}

// indexPatience is how long an earlier use of the file in this process may take to end.
const indexPatience = 5 * time.Second

// attach opens a file under a new name. A transaction that looks at all databases, as a
// look into the catalog does, holds one that has been detached until it ends.
func (x *IndexFile) attach(ctx context.Context, file string) error {
	x.engine.mu.Lock()
	x.engine.models++
	x.alias, x.file = fmt.Sprintf("__dvt_index_%d", x.engine.models), file
	x.engine.mu.Unlock()
	deadline := time.Now().Add(indexPatience)
	for {
		err := x.session.Exec(ctx, attachFile(file, x.alias))
		switch {
		case err == nil:
			return os.Chmod(file, 0o600)
		case strings.Contains(err.Error(), "Could not set lock"):
			return fmt.Errorf("%w: %w", ErrIndexBusy, err)
		case !strings.Contains(err.Error(), "Unique file handle conflict"):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("%w: %w", ErrIndexBusy, err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unfinished are the files of rebuilds that have not ended.
const unfinished = ".new"

// RemoveIndex removes an index file and what dead runs left beside it.
func RemoveIndex(path string) error {
	errs := []error{os.RemoveAll(path), os.RemoveAll(path + ".wal")}
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if rest, ours := strings.CutPrefix(e.Name(), filepath.Base(path)+"."); ours && strings.Contains(rest, unfinished) {
			errs = append(errs, os.RemoveAll(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return errors.Join(errs...)
}

// Close writes the file out and lets it go. What was rebuilt takes the old file's place.
func (x *IndexFile) Close() error {
	if x.session == nil {
		return nil
	}
	err := x.checkpoint()
	err = errors.Join(err, x.session.Exec(context.Background(), detach(x.alias)), x.session.Close())
	x.session = nil
	switch {
	case x.file == x.path:
	case err != nil:
		err = errors.Join(err, RemoveIndex(x.file))
	default: // the old log would be read as one of the new file
		err = errors.Join(os.RemoveAll(x.path+".wal"), os.Rename(x.file, x.path))
	}
	return err
}

// checkpoint has the log written into the file, which is why it need not be taken along.
// Sessions that look at all databases may hold it up.
func (x *IndexFile) checkpoint() error {
	for deadline := time.Now().Add(indexPatience); ; time.Sleep(5 * time.Millisecond) {
		err := x.session.Exec(context.Background(), checkpoint(x.alias))
		if err == nil || !strings.Contains(err.Error(), "Cannot CHECKPOINT") || time.Now().After(deadline) {
			return err
		}
	}
}

// Discard closes the index and removes its file.
func (x *IndexFile) Discard() error {
	err := x.session.Exec(context.Background(), detach(x.alias))
	err = errors.Join(err, x.session.Close(), RemoveIndex(x.path), RemoveIndex(x.file))
	x.session = nil
	return err
}

// Note is what the index says it is a copy of, "" for a new or broken file.
func (x *IndexFile) Note(ctx context.Context) string {
	rows, err := x.texts(ctx, "SELECT note FROM "+x.table(indexNote))
	if err != nil || len(rows) != 1 || rows[0][0] == nil {
		return ""
	}
	return *rows[0][0]
}

// Fingerprint sums the table up as connectors.Fingerprinter says. Every block of it is
// read and checked.
func (x *IndexFile) Fingerprint(ctx context.Context, cols []connectors.Column) (rows, marks string, err error) {
	sql, ok := indexFingerprint(x.table(indexRows), cols)
	if !ok {
		return "", "", errors.New("columns of such types have no fingerprint")
	}
	got, err := x.texts(ctx, sql)
	if err != nil {
		return "", "", err
	}
	return *got[0][0], *got[0][1], nil
}

// CanIndex says whether an index can hold columns of these types.
func CanIndex(cols []connectors.Column) bool {
	_, ok := indexFingerprint("t", cols)
	return ok
}

func indexFingerprint(from string, cols []connectors.Column) (string, bool) {
	plain := make([]connectors.Column, len(cols))
	for i, c := range cols {
		plain[i] = connectors.Column{Name: c.Name, Type: c.Type}
	}
	return ducksql.Fingerprint(from, plain)
}

// Rebuild makes a file with the rows that read emits, which takes the place of the old
// one when the index is closed: nothing is written into a file that may be damaged. The
// note comes last; without it the file is none.
func (x *IndexFile) Rebuild(ctx context.Context, note string, cols []connectors.Column, read func(emit func(arrow.RecordBatch) error) error) error {
	err := x.session.Exec(ctx, detach(x.alias))
	if err == nil {
		err = RemoveIndex(x.path)
	}
	if err == nil {
		err = x.attach(ctx, fmt.Sprintf("%s.%d%s%d", x.path, os.Getpid(), unfinished, time.Now().UnixNano()))
	}
	if err == nil {
		err = x.session.Exec(ctx, createTable(x.table(indexRows), cols))
	}
	if err != nil {
		return err
	}
	rows, err := x.session.Appender(ctx, x.alias, "main", indexRows, cols)
	if err != nil {
		return err
	}
	err = read(rows.Append)
	if e := rows.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return x.session.Exec(ctx, noteIndex(x.table(indexNote), note))
}

// Apply brings the rows that sql selects from m into the index as d brings them into
// its target. All columns of the index are among those of sql.
func (x *IndexFile) Apply(ctx context.Context, m *Model, d connectors.Delta, cols []connectors.Column, sql string) error {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	if err := x.session.Exec(ctx, marked(stageDelta(names, sql), m.suffix)); err != nil {
		return m.unmark(err)
	}
	steps := append([]string{"BEGIN"}, applyDelta(x.table(indexRows), names, d)...)
	for _, s := range append(steps, "COMMIT") {
		if err := x.session.Exec(ctx, s); err != nil {
			return err
		}
	}
	return x.session.Exec(ctx, dropDelta)
}

// StageIndex makes the relation catalog.schema.name, where catalog is without the
// planner's marker, a view of the index, which must stay open as long as m. Columns that
// the index lacks are NULL.
func (m *Model) StageIndex(ctx context.Context, catalog, schema, name string, all []connectors.Column, x *IndexFile, held []int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil {
		return errors.New("the model's staging is closed")
	}
	catalog += m.suffix
	return m.define(ctx, catalog, []string{schema}, createView(relationName(catalog, schema, name), x.table(indexRows), all, held))
}

func (x *IndexFile) table(name string) string { return relationName(x.alias, "main", name) }

func (x *IndexFile) texts(ctx context.Context, sql string) ([][]*string, error) {
	return textRows(ctx, x.session, sql)
}
