package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// scan is how the files of a relation are read: their columns and the text after FROM
// for some of them.
type scan struct {
	columns []connectors.Column
	rows    int64
	read    func(files []string) string
}

// Describe reads columns and types: from the files' own schema (Parquet), or from all
// their rows. What it found is kept as long as the files do not change.
func (c *conn) Describe(ctx context.Context, rel connectors.Relation) (*connectors.Table, error) {
	f, err := c.resolve(rel)
	if err != nil {
		return nil, err
	}
	key, err := f.state()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	s := c.seen[key]
	c.mu.Unlock()
	if s == nil {
		if s, err = c.look(ctx, f); err != nil {
			return nil, fmt.Errorf("reading the columns of %s: %w", rel, err)
		}
		c.mu.Lock()
		c.seen[key] = s
		c.mu.Unlock()
	}
	return &connectors.Table{Relation: rel, Columns: slices.Clone(s.columns), RowEstimate: s.rows}, nil
}

// state tells files from what they were before.
func (f found) state() (string, error) {
	var b strings.Builder
	for _, file := range f.files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", file, info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), nil
}

func (c *conn) look(ctx context.Context, f found) (out *scan, err error) {
	if cols := f.writtenTypes(); f.format != parquet && cols != nil {
		return c.written(f, cols), nil
	}
	s, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out = &scan{rows: -1}
	switch f.format {
	case parquet:
		out.read = readParquet
		if rows, err := queryTexts(ctx, s, parquetRows(f.files)); err != nil {
			return nil, err
		} else if n, err := strconv.ParseInt(rows[0][0], 10, 64); err == nil {
			out.rows = n
		}
	case csv:
		out.read, err = c.lookCSV(ctx, s, f.files)
	default:
		out.read, err = c.lookJSON(ctx, s, f.files)
	}
	if err != nil {
		return nil, err
	}
	out.columns, err = c.describe(ctx, s, out.read(f.files))
	return out, err
}

// describe asks for all columns at once, and for each alone when one has a type that
// cannot be carried: that matters only if the column is used.
func (c *conn) describe(ctx context.Context, s connectors.Session, from string) ([]connectors.Column, error) {
	cols, err := s.Columns(ctx, selectAll(from))
	var unknown *connectors.TypeError
	if errors.As(err, &unknown) {
		cols, err = c.describeEach(ctx, s, from)
	}
	if err != nil {
		return nil, err
	}
	for i := range cols {
		cols[i].Engine, cols[i].Nullable = engine, true
		if cols[i].Native == "" {
			cols[i].Native = cols[i].Type.String()
		}
		cols[i].Attrs = map[string]string{scanAttr: from}
	}
	return cols, nil
}

func (c *conn) describeEach(ctx context.Context, s connectors.Session, from string) ([]connectors.Column, error) {
	rows, err := queryTexts(ctx, s, "SELECT column_name, column_type FROM (DESCRIBE "+selectAll(from)+")")
	if err != nil {
		return nil, err
	}
	var out []connectors.Column
	for _, r := range rows {
		col := connectors.Column{Name: r[0], Native: r[1]}
		cols, err := s.Columns(ctx, selectColumn(from, r[0]))
		var unknown *connectors.TypeError
		switch {
		case err == nil:
			col.Type = cols[0].Type
		case !errors.As(err, &unknown):
			return nil, err
		}
		out = append(out, col)
	}
	return out, nil
}

// lookCSV fixes the spelling by the first file, whose columns all must have, and the
// types by every value.
func (c *conn) lookCSV(ctx context.Context, s connectors.Session, files []string) (func([]string) string, error) {
	o := c.csv
	var names []string
	for i, file := range files {
		found, have, err := csvHead(file, o)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			o, names = found, have
		case !slices.Equal(have, names):
			return nil, fmt.Errorf("%s has the columns %s but %s has %s", files[0], strings.Join(names, ", "), file, strings.Join(have, ", "))
		}
	}
	types := make([]string, len(names))
	for i := range types {
		types[i] = "VARCHAR"
	}
	found, err := queryTexts(ctx, s, csvProbe(readCSV(files, o, names, types), names))
	if err != nil && o.escape == "" {
		// A file that is none with doubled quotes may be one with a backslash before them.
		o.escape = `\`
		if again, e := queryTexts(ctx, s, csvProbe(readCSV(files, o, names, types), names)); e == nil {
			found, err = again, nil
		}
	}
	if err != nil {
		var st *connectors.StatementError
		if errors.As(err, &st) { // the file is at fault, not the statement
			err = st.Err
		}
		return nil, err
	}
	for i := range types {
		answers := found[0][i*(1+len(csvTypes)):]
		for j, t := range csvTypes {
			if answers[0] == "true" && answers[1+j] == "true" {
				types[i] = t.name
				break
			}
		}
	}
	return func(files []string) string { return readCSV(files, o, names, types) }, nil
}
