package connectors

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Room makes room in a builder for a batch like the one before it, so that columns are
// allocated once for each batch instead of growing to their size by doubling. The zero
// value makes none until Note was called.
type Room struct {
	rows  int
	bytes []int // of the values of texts and blobs, by column
}

// Note remembers the size of a batch. Short ones, which end a result, do not count.
func (r *Room) Note(rec arrow.RecordBatch) {
	if rec.NumRows() < 1024 {
		r.rows = 0
		return
	}
	r.rows = min(int(rec.NumRows()), BatchRows)
	r.bytes = r.bytes[:0]
	for _, c := range rec.Columns() {
		n := 0
		if bufs := c.Data().Buffers(); len(bufs) == 3 && bufs[2] != nil {
			n = min(bufs[2].Len(), BatchBytes)
		}
		r.bytes = append(r.bytes, n+n/16)
	}
}

// Reserve makes room in an empty builder of the same columns.
func (r *Room) Reserve(b *array.RecordBuilder) {
	if r.rows == 0 {
		return
	}
	for i, c := range b.Fields() {
		c.Reserve(r.rows)
		if v, ok := c.(interface{ ReserveData(int) }); ok && i < len(r.bytes) {
			v.ReserveData(r.bytes[i])
		}
	}
}
