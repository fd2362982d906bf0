package ducksql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// Texts gathers a query of the catalog whose columns are all VARCHAR; NULL is "".
func Texts(ctx context.Context, s connectors.Session, sql string) (rows [][]string, err error) {
	err = s.Query(ctx, sql, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for j, text := range connectors.TextValues(rec, i) {
				if text != nil {
					row[j] = *text
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}
