package file

import (
	stdjson "encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

// A CSV or JSON file that dvt has written has a hidden file of its columns' types beside
// it, so that a model that reads it gets the types that the model before had: what CSV
// says of a decimal is the same as of a double. It counts only as long as the file is the
// one that was written; without it types come from the values.
type typeFile struct {
	Size    int64        `json:"size"`
	Time    int64        `json:"modified"` // ns since 1970
	Columns []typeColumn `json:"columns"`
}

type typeColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// typePath is the hidden file of a data file.
func typePath(file string) string {
	return filepath.Join(filepath.Dir(file), ".dvt-"+filepath.Base(file)+".types")
}

// writeTypes says what the types of staged are when it is at final. It is written first:
// a run that is killed in between leaves one that does not count.
func (x *staging) writeTypes(final string) error {
	if x.target.format == parquet {
		return nil
	}
	info, err := os.Stat(x.path)
	if err != nil {
		return err
	}
	t := typeFile{Size: info.Size(), Time: info.ModTime().UnixNano()}
	for _, c := range x.spec.Columns {
		typ := c.Type.String()
		if x.spec.Options.ColumnTypes[c.Name] != "" {
			// Its texts are those of the type that the model asked for.
			asked, err := connectors.ParseType(x.spec.Options.ColumnTypes[c.Name])
			if err != nil {
				asked = connectors.T(connectors.Varchar)
			}
			typ = asked.String()
		}
		t.Columns = append(t.Columns, typeColumn{c.Name, typ})
	}
	data, err := stdjson.Marshal(t)
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(final), stagingPrefix+"types_"+x.c.hash12(x.spec.Target))
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, typePath(final))
}

// copyTypes gives another name of a file its types.
func copyTypes(from, to string) error {
	err := os.Link(typePath(from), typePath(to))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writtenTypes are the columns of files that dvt has written, nil when one of them is not
// as it was written or has other columns.
func (f found) writtenTypes() []connectors.Column {
	var all []typeColumn
	for _, file := range f.files {
		data, err := os.ReadFile(typePath(file))
		if err != nil {
			return nil
		}
		var t typeFile
		info, err := os.Stat(file)
		if err != nil || stdjson.Unmarshal(data, &t) != nil || t.Size != info.Size() || t.Time != info.ModTime().UnixNano() || len(t.Columns) == 0 {
			return nil
		}
		if all != nil && !slices.Equal(all, t.Columns) {
			return nil
		}
		all = t.Columns
	}
	cols := make([]connectors.Column, len(all))
	for i, c := range all {
		typ, err := connectors.ParseType(c.Type)
		if err != nil {
			return nil
		}
		cols[i] = connectors.Column{Name: c.Name, Type: typ}
	}
	return cols
}

// written is the scan of files whose columns are known: they are read as texts, and as
// what JSON has forms of.
func (c *conn) written(f found, cols []connectors.Column) *scan {
	types := make([]string, len(cols))
	for i, col := range cols {
		types[i] = "VARCHAR"
		if f.format == json && (col.Type.Kind >= connectors.List || col.Type.Kind == connectors.JSON) {
			types[i] = col.Type.String()
		}
	}
	from := ""
	if f.format == json {
		from = readJSON(c.json(f.files), names(cols), types)
	} else {
		from = readCSV(f.files, c.spelling(f), names(cols), types)
	}
	out := &scan{rows: -1}
	for i, col := range cols {
		col.Engine, col.Nullable, col.Native = engine, true, types[i]
		col.Attrs = map[string]string{scanAttr: from}
		out.columns = append(out.columns, col)
	}
	return out
}
