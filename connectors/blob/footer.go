package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// tailBytes is what is read of the end of a Parquet object at first: most footers are
// shorter.
const tailBytes = 64 << 10

const magic = "PAR1"

// footer is what a Parquet object says of itself.
type footer struct {
	md    *metadata.FileMetaData
	start int64 // where it begins
	size  int64
	// roots are the top-level columns by lower-case name, with their leaves. Nil when two
	// have one name for DuckDB, which then calls them something else.
	roots map[string][]int
}

// footerOf reads the footer of an object; nil, without an error, if it is none that this
// package understands: DuckDB then reads, or refuses, the whole object.
func (c *conn) footerOf(ctx context.Context, o object) (*footer, error) {
	n := min(o.size, tailBytes)
	if n < 12 {
		return nil, nil
	}
	tail, err := c.readRange(ctx, o, o.size-n, n)
	if err != nil {
		return nil, err
	}
	if string(tail[n-4:]) != magic {
		return nil, nil
	}
	size := int64(binary.LittleEndian.Uint32(tail[n-8:]))
	start := o.size - 8 - size
	if start < 4 || size > 1<<30 {
		return nil, nil
	}
	if size+8 > n {
		if tail, err = c.readRange(ctx, o, start, size+8); err != nil {
			return nil, err
		}
	}
	raw := tail[int64(len(tail))-8-size : len(tail)-8]
	md, err := parseFooter(raw)
	if err != nil {
		return nil, nil
	}
	f := &footer{md: md, start: start, size: size}
	f.roots = rootsOf(md.Schema)
	return f, nil
}

// parseFooter does not let a broken footer end the program.
func parseFooter(raw []byte) (md *metadata.FileMetaData, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("broken footer: %v", r)
		}
	}()
	md, err = metadata.NewFileMetaData(raw, nil)
	if err != nil {
		return nil, err
	}
	if md.IsSetEncryptionAlgorithm() {
		return nil, errors.New("encrypted")
	}
	for _, g := range md.RowGroups {
		if len(g.Columns) != md.Schema.NumColumns() {
			return nil, errors.New("a row group without all columns")
		}
		for _, col := range g.Columns {
			if col.MetaData == nil || col.CryptoMetadata != nil || col.FilePath != nil && *col.FilePath != "" {
				return nil, errors.New("a column elsewhere")
			}
			// What they point to is not brought along.
			col.MetaData.BloomFilterOffset, col.MetaData.BloomFilterLength = nil, nil
			col.OffsetIndexOffset, col.OffsetIndexLength = nil, nil
			col.ColumnIndexOffset, col.ColumnIndexLength = nil, nil
		}
	}
	return md, nil
}

func rootsOf(s *schema.Schema) map[string][]int {
	out := map[string][]int{}
	fields := map[string]bool{}
	for i := range s.Root().NumFields() {
		name := strings.ToLower(s.Root().Field(i).Name())
		if fields[name] {
			return nil
		}
		fields[name] = true
	}
	for i := range s.NumColumns() {
		name := strings.ToLower(s.Column(i).ColumnPath()[0])
		out[name] = append(out[name], i)
	}
	return out
}

// leavesOf are the leaves of the named columns; ok is false if it is not known which they
// are, so that all are needed. A column that this file lacks has none.
func (f *footer) leavesOf(names []string) (leaves []int, ok bool) {
	if f.roots == nil || names == nil {
		return nil, false
	}
	for _, n := range names {
		leaves = append(leaves, f.roots[strings.ToLower(n)]...)
	}
	return leaves, true
}

// extent is where the pages of a column chunk are. Old writers count the dictionary's
// header short, so that a little more belongs to it.
func (f *footer) extent(group, leaf int) span {
	m := f.md.RowGroups[group].Columns[leaf].MetaData
	from := m.DataPageOffset
	if m.DictionaryPageOffset != nil && *m.DictionaryPageOffset > 0 && *m.DictionaryPageOffset < from {
		from = *m.DictionaryPageOffset
	}
	if m.IndexPageOffset != nil && *m.IndexPageOffset > 0 && *m.IndexPageOffset < from {
		from = *m.IndexPageOffset
	}
	const slack = 128
	return span{max(0, from), min(f.start, from+m.TotalCompressedSize+slack)}
}

// write puts a file at path that is the object but for what lies outside of the chosen
// row groups: a hole, where nothing is filled in afterwards.
func (f *footer) write(path string, groups []int) (file *os.File, err error) {
	md, err := f.md.Subset(groups)
	if err != nil {
		return nil, err
	}
	file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(path))
		}
	}()
	raw, err := md.Serialize(context.Background())
	if err != nil {
		return file, err
	}
	raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(raw))), magic...)
	if _, err := file.WriteAt([]byte(magic), 0); err != nil {
		return file, err
	}
	_, err = file.WriteAt(raw, f.start)
	return file, err
}
