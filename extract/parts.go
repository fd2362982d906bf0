package extract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dvt-dev/dvt/chunker"
	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// parts is the folder of a load in chunks: what was counted, and the pieces.
type parts struct {
	dir   string
	model *compute.Model
	span  chunker.Span
	old   bool // a failed run left the folder
}

// manifest says what the pieces of a folder belong to.
type manifest struct {
	Fingerprint string `json:"fingerprint"` // of what is read and how it is cut
	Rows        int64  `json:"rows"`
	Nulls       int64  `json:"nulls"`
	Min         string `json:"min"` // "" is NULL
	Max         string `json:"max"`
}

// openParts begins a folder, or goes on with the one that a failed run left when the
// caller resumes and the same is to be read. probe counts for a new one.
func openParts(ctx context.Context, m *compute.Model, c *Chunks, x *planner.Extract, probe func() (chunker.Span, error)) (*parts, error) {
	if err := compute.CheckPart(x.Query.Columns); err != nil {
		return nil, err
	}
	p := &parts{dir: c.Dir, model: m}
	path := filepath.Join(c.Dir, "chunks.json")
	mark := fingerprint(c, x)
	if c.Resume {
		if old, ok := readManifest(path); ok && old.Fingerprint == mark {
			p.span = chunker.Span{Type: x.Relation.Table.Columns[c.Column].Type, Rows: old.Rows, Nulls: old.Nulls}
			var ok1, ok2 bool
			p.span.Min, ok1 = parseBound(old.Min, p.span.Type)
			p.span.Max, ok2 = parseBound(old.Max, p.span.Type)
			if p.old = ok1 && ok2; p.old {
				return p, nil
			}
		}
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return nil, err
	}
	var err error
	if p.span, err = probe(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	text, err := json.Marshal(manifest{Fingerprint: mark, Rows: p.span.Rows, Nulls: p.span.Nulls, Min: bound(p.span.Min), Max: bound(p.span.Max)})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return p, err
}

func readManifest(path string) (m manifest, ok bool) {
	text, err := os.ReadFile(path)
	return m, err == nil && json.Unmarshal(text, &m) == nil
}

// fingerprint changes with the rows that are read, their columns and the cut.
func fingerprint(c *Chunks, x *planner.Extract) string {
	h := sha256.New()
	rel := x.Relation
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00%d\x00%s\x00", rel.Connection, rel.Dialect.Relation(rel.Table.Relation), c.Size, x.Where)
	for _, i := range append([]int{c.Column}, x.Columns...) {
		col := rel.Table.Columns[i]
		_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s\x00", col.Name, col.Type, col.Native)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// bound and parseBound keep one end of the span: a whole number in units, or the bits of
// a float.
func bound(v connectors.Value) string {
	switch {
	case v.Null:
		return ""
	case v.Int != nil:
		return v.Int.String()
	}
	return strconv.FormatUint(math.Float64bits(v.Float), 10)
}

func parseBound(text string, t connectors.Type) (v connectors.Value, ok bool) {
	v.Type = t
	if v.Null = text == ""; v.Null {
		return v, true
	}
	if t.Kind == connectors.Float || t.Kind == connectors.Double {
		bits, err := strconv.ParseUint(text, 10, 64)
		v.Float = math.Float64frombits(bits)
		return v, err == nil
	}
	v.Int, ok = new(big.Int).SetString(text, 10)
	return v, ok
}

func (p *parts) path(at int) string {
	return filepath.Join(p.dir, fmt.Sprintf("part-%05d.parquet", at+1))
}

// have gives the rows of each of n pieces that is there and whole, -1 for the others.
func (p *parts) have(ctx context.Context, n int) (rows []int64, kept int) {
	for at := range n {
		rows = append(rows, -1)
		if _, err := os.Stat(p.path(at)); !p.old || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if n, err := p.model.PartRows(ctx, p.path(at)); err == nil {
			rows[at] = n
			kept++
		}
	}
	return rows, kept
}
