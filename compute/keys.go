package compute

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// KeyRange is the least and greatest value of a staged relation's column, as DuckDB
// prints them; nil when there is none but NULL.
func (m *Model) KeyRange(ctx context.Context, catalog, schema, name, column string) (lo, hi *string, err error) {
	rel := relationName(catalog+planner.Marker, schema, name)
	rows, err := m.texts(ctx, "SELECT CAST(min("+quote(column)+") AS VARCHAR), CAST(max("+quote(column)+") AS VARCHAR) FROM "+rel)
	if err != nil {
		return nil, nil, err
	}
	return rows[0][0], rows[0][1], nil
}

// Keys are the distinct values of a staged relation's column without NULL, as DuckDB
// prints them, but no more than most+1 of them.
func (m *Model) Keys(ctx context.Context, catalog, schema, name, column string, most int) ([]string, error) {
	rel := relationName(catalog+planner.Marker, schema, name)
	keys, err := m.keys(ctx, "(SELECT "+quote(column)+" FROM "+rel+" LIMIT "+strconv.Itoa(keySample)+")", column, most)
	if err != nil || len(keys) > most {
		return keys, err // where keys are many, a few rows tell
	}
	return m.keys(ctx, rel, column, most)
}

// keySample is how many rows are looked at first: DISTINCT gathers all keys before it
// gives the first.
const keySample = 16 << 10

func (m *Model) keys(ctx context.Context, from, column string, most int) ([]string, error) {
	rows, err := m.texts(ctx, LimitQuery("SELECT DISTINCT CAST("+quote(column)+" AS VARCHAR) AS key FROM "+from+" WHERE "+quote(column)+" IS NOT NULL", int64(most)+1))
	keys := []string{}
	for _, r := range rows {
		keys = append(keys, *r[0])
	}
	return keys, err
}

// texts runs a small query whose columns are text.
func (m *Model) texts(ctx context.Context, sql string) (rows [][]*string, err error) {
	err = m.Query(ctx, sql, false, gather(&rows))
	return rows, err
}

func textRows(ctx context.Context, s connectors.Session, sql string) (rows [][]*string, err error) {
	err = s.Query(ctx, sql, gather(&rows))
	return rows, err
}

// gather appends the rows of batches whose columns are text.
func gather(rows *[][]*string) func(arrow.RecordBatch) error {
	return func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			*rows = append(*rows, connectors.TextValues(rec, i))
		}
		return nil
	}
}
