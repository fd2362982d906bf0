// Package index keeps the index of {{ this }}: a copy of the columns of a model's target
// that its delta reads, in a file of the project, so that set logic over the target moves
// no row of it. The target's content is the truth. A copy is used only while its
// fingerprint is that of the target at that moment, and made anew otherwise; nothing here
// remembers that a copy is good.
//
// The package knows no engine and builds no SQL; it decides nothing about plans.
package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
)

// format is counted up when the layout of the file changes.
const format = 1

// Spec says what an index is a copy of.
type Spec struct {
	Path       string // of the file
	Version    string // of dvt and its compute engine: another one makes its own copy
	Model      string // what tells one text of the model from another
	Connection string // the output
	Load       string // the run
	Table      *connectors.Table
	Columns    []int // of Table, ascending
}

// Index is an open index whose content is the target's. Close it.
type Index struct {
	spec Spec
	file *compute.IndexFile
	stat Stat
}

// Stat is what it took to have the index.
type Stat struct {
	Rebuilt     string // why it was made anew, "" when it was good
	Rows, Bytes int64  // read from the target
}

// Path is the file of a model's index on an output, below a project's folder.
func Path(project, output, model string) string {
	return filepath.Join(project, ".dvt", "index", fileName(output), fileName(model))
}

// Discard removes the index of a model, if there is one.
func Discard(path string) error { return compute.RemoveIndex(path) }

// fileName makes one file name of a name: a slash, and a dot at the beginning, would lead
// elsewhere.
func fileName(name string) string {
	name = url.PathEscape(name)
	if rest, dot := strings.CutPrefix(name, "."); dot {
		name = "%2E" + rest
	}
	return name
}

// Can says whether an index of these columns can be compared with the target.
func Can(conn connectors.Conn, t *connectors.Table, cols []int) bool {
	f, ok := conn.Dialect().(connectors.Fingerprinter)
	if !ok || len(cols) == 0 || t.View {
		return false
	}
	_, ok = f.SelectFingerprint(t, cols)
	return ok && compute.CanIndex(t.Pick(cols))
}

// note is what the file says about itself.
type note struct {
	Format     int      `json:"format"`
	Version    string   `json:"version"`
	Model      string   `json:"model"`
	Connection string   `json:"connection"`
	Relation   string   `json:"relation"`
	Columns    []string `json:"columns"` // name and type
	Load       string   `json:"load"`    // the run that made it
}

func (s Spec) note() note {
	n := note{Format: format, Version: s.Version, Model: s.Model, Connection: s.Connection, Relation: s.Table.Relation.String(), Load: s.Load}
	for _, c := range s.Columns {
		n.Columns = append(n.Columns, s.describe(c))
	}
	return n
}

func (s Spec) describe(col int) string {
	return s.Table.Columns[col].Name + " " + s.Table.Columns[col].Type.String()
}

// match compares s with what a file says of itself. Columns that the file has beyond those
// of s stay: the model has more than one query. why is "" when the file serves.
func (s Spec) match(text string) (all []int, why string) {
	var old note
	if text == "" || json.Unmarshal([]byte(text), &old) != nil {
		return s.Columns, "there was none"
	}
	n := s.note()
	switch {
	case old.Format != n.Format || old.Version != n.Version:
		return s.Columns, "another version of dvt made it"
	case old.Connection != n.Connection || old.Relation != n.Relation:
		return s.Columns, "it was of another relation, " + old.Relation
	case old.Model != n.Model:
		return s.Columns, "the model was changed"
	}
	for _, c := range n.Columns {
		if !slices.Contains(old.Columns, c) {
			why = "the model reads further columns"
		}
	}
	found := 0
	for i := range s.Table.Columns {
		had := slices.Contains(old.Columns, s.describe(i))
		if had {
			found++
		}
		if had || slices.Contains(s.Columns, i) {
			all = append(all, i)
		}
	}
	if found != len(old.Columns) {
		return s.Columns, "the target's columns were changed"
	}
	return all, why
}

// Open opens the index of s and compares it with the target, making it anew where it is
// not a copy of what the target holds now. compute.ErrIndexBusy when another process has
// it. The caller holds the target's lock.
func Open(ctx context.Context, engine *compute.Engine, conn connectors.Conn, s Spec) (*Index, error) {
	file, err := engine.OpenIndex(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	x := &Index{spec: s, file: file}
	if err := x.ready(ctx, conn); err != nil {
		return nil, errors.Join(fmt.Errorf("the index of %s: %w", s.Table.Relation, err), file.Discard())
	}
	return x, nil
}

// Follow opens the index of s to let it follow a load, without comparing it with the
// target: its next user does. It is nil where there is none of s.
func Follow(ctx context.Context, engine *compute.Engine, s Spec) (*Index, error) {
	if !Exists(s.Path) {
		return nil, nil
	}
	file, err := engine.OpenIndex(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	all, why := s.match(file.Note(ctx))
	if why != "" {
		return nil, file.Discard()
	}
	s.Columns = all
	return &Index{spec: s, file: file}, nil
}

func (x *Index) ready(ctx context.Context, conn connectors.Conn) error {
	all, why := x.spec.match(x.file.Note(ctx))
	if Can(conn, x.spec.Table, all) {
		x.spec.Columns = all
	}
	if why == "" {
		same, err := x.same(ctx, conn)
		if err != nil || same {
			return err
		}
		why = "the target was changed since"
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return x.rebuild(ctx, conn, why)
}

// same compares the two contents. What is wrong with the file makes them different; only
// the target's errors are errors.
func (x *Index) same(ctx context.Context, conn connectors.Conn) (bool, error) {
	cols := x.spec.Table.Pick(x.spec.Columns)
	type sum struct {
		rows, marks string
		err         error
	}
	own := make(chan sum, 1)
	go func() {
		var s sum
		s.rows, s.marks, s.err = x.file.Fingerprint(ctx, cols)
		own <- s
	}()
	rows, marks, err := ask(ctx, conn, x.spec)
	mine := <-own
	if err != nil {
		return false, err
	}
	return mine.err == nil && mine.rows == rows && mine.marks == marks, nil
}

// ask has the target sum itself up.
func ask(ctx context.Context, conn connectors.Conn, s Spec) (rows, marks string, err error) {
	q, ok := conn.Dialect().(connectors.Fingerprinter).SelectFingerprint(s.Table, s.Columns)
	if !ok {
		return "", "", errors.New("its columns have no fingerprint")
	}
	err = conn.Read(ctx, q, func(rec arrow.RecordBatch) error {
		if rec.NumRows() > 0 {
			rows = strings.Clone(rec.Column(0).(*array.String).Value(0))
			marks = strings.Clone(rec.Column(1).(*array.String).Value(0))
		}
		return nil
	})
	if err == nil && rows == "" {
		err = errors.New("its fingerprint came without a row")
	}
	return rows, marks, err
}

func (x *Index) rebuild(ctx context.Context, conn connectors.Conn, why string) error {
	text, err := json.Marshal(x.spec.note())
	if err != nil {
		return err
	}
	cols := x.spec.Table.Pick(x.spec.Columns)
	q := connectors.Query{Columns: cols, SQL: conn.Dialect().Select(connectors.Extract{Table: x.spec.Table, Columns: x.spec.Columns, Limit: -1})}
	x.stat = Stat{Rebuilt: why}
	return x.file.Rebuild(ctx, string(text), cols, func(emit func(arrow.RecordBatch) error) error {
		return conn.Read(ctx, q, func(rec arrow.RecordBatch) error {
			x.stat.Rows += rec.NumRows()
			x.stat.Bytes += extract.RecordBytes(rec)
			return emit(rec)
		})
	})
}

// Stat says what Open did.
func (x *Index) Stat() Stat { return x.stat }

// Stage puts the index in the place of the relation catalog.schema.name in m.
func (x *Index) Stage(ctx context.Context, m *compute.Model, catalog, schema, name string) error {
	return m.StageIndex(ctx, catalog, schema, name, x.spec.Table.Columns, x.file, x.spec.Columns)
}

// Apply lets the index follow a delta that the target has committed: the rows that sql
// selects from m, with the columns that were written. Where it cannot, the index is
// removed.
func (x *Index) Apply(ctx context.Context, m *compute.Model, d connectors.Delta, sql string) error {
	cols := x.spec.Table.Pick(x.spec.Columns)
	follows := len(d.Alter) == 0
	for _, c := range cols {
		follows = follows && slices.Contains(d.Columns, c.Name)
	}
	for _, k := range d.Key {
		follows = follows && slices.ContainsFunc(cols, func(c connectors.Column) bool { return c.Name == k })
	}
	if !follows {
		return x.file.Discard()
	}
	if err := x.file.Apply(ctx, m, d, cols, sql); err != nil {
		return errors.Join(fmt.Errorf("the index of %s: %w", x.spec.Table.Relation, err), x.file.Discard())
	}
	return nil
}

// Close lets the file go.
func (x *Index) Close() error { return x.file.Close() }

// Exists says whether there is a file at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
