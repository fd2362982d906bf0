package ducksql

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Numbered is rec with one column more, made in mem and called name: first, first+1, … The
// caller releases it.
func Numbered(mem memory.Allocator, rec arrow.RecordBatch, name string, first int64) arrow.RecordBatch {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(int(rec.NumRows()))
	for i := range rec.NumRows() {
		b.UnsafeAppend(first + i)
	}
	numbers := b.NewInt64Array()
	defer numbers.Release()
	fields := append(append([]arrow.Field(nil), rec.Schema().Fields()...), arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	cols := append(append([]arrow.Array(nil), rec.Columns()...), numbers)
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, rec.NumRows())
}
