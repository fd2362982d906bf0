package planner

import (
	"context"
	"fmt"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// columns describes the result of q as DuckDB binds it.
func (s *shadow) columns(ctx context.Context, q *query) ([]connectors.Column, error) {
	var cols []connectors.Column
	err := s.prepare(ctx, q.sql, func(st *duckdb.Stmt) error {
		n, err := st.ColumnCount()
		if err != nil {
			return err
		}
		for i := range n {
			name, err := st.ColumnName(i)
			if err != nil {
				return err
			}
			info, err := st.ColumnTypeInfo(i)
			if err != nil {
				return err
			}
			t, ok := logicalType(info)
			if !ok {
				return unfit(name, info)
			}
			cols = append(cols, connectors.Column{Name: unmark(name), Type: t, Nullable: true})
		}
		return nil
	})
	return cols, err
}

// resultColumns checks the columns of a result. from tells which of them are those of a
// source, unchanged.
func resultColumns(cols []connectors.Column, from []*origin) ([]connectors.Column, error) {
	if err := checkNames(cols); err != nil {
		return nil, err
	}
	if len(from) == len(cols) {
		for i, o := range from {
			keepNative(&cols[i], o)
		}
	}
	return cols, nil
}

// keepNative lets a column that left a source unchanged keep the source's own type.
func keepNative(c *connectors.Column, o *origin) {
	if o == nil {
		return
	}
	src := o.rel.Table.Columns[o.col]
	if src.Type.Equal(c.Type) {
		c.Native, c.Engine, c.Type.Length = src.Native, src.Engine, src.Type.Length
		c.Collation, c.Attrs = src.Collation, src.Attrs
	}
}

// casts name, for types that have no kind, one that does.
var casts = map[duckdb.Type]string{
	duckdb.TYPE_UHUGEINT: "HUGEINT, DECIMAL or VARCHAR", duckdb.TYPE_BIGNUM: "DECIMAL or VARCHAR",
	duckdb.TYPE_TIMESTAMP_S: "TIMESTAMP", duckdb.TYPE_TIMESTAMP_MS: "TIMESTAMP",
	duckdb.TYPE_ENUM: "VARCHAR", duckdb.TYPE_ARRAY: "a list, such as DOUBLE[]", duckdb.TYPE_UNION: "VARCHAR or JSON",
}

func unfit(column string, info duckdb.TypeInfo) error {
	to := casts[info.InternalType()]
	if to == "" {
		to = "VARCHAR or JSON"
	}
	name := fmt.Sprint(info.InternalType())
	if n, ok := typeNames[info.InternalType()]; ok {
		name = n
	}
	return &Error{Msg: fmt.Sprintf("result column %q has DuckDB's type %s, or contains it, which targets cannot hold: cast it to %s", column, name, to)}
}

var typeNames = map[duckdb.Type]string{
	duckdb.TYPE_UHUGEINT: "UHUGEINT", duckdb.TYPE_BIGNUM: "BIGNUM", duckdb.TYPE_TIMESTAMP_S: "TIMESTAMP_S", duckdb.TYPE_TIMESTAMP_MS: "TIMESTAMP_MS",
	duckdb.TYPE_ENUM: "ENUM", duckdb.TYPE_ARRAY: "ARRAY", duckdb.TYPE_UNION: "UNION",
	duckdb.TYPE_LIST: "LIST", duckdb.TYPE_STRUCT: "STRUCT", duckdb.TYPE_MAP: "MAP",
}

// checkNames refuses result columns that a table could not hold side by side.
func checkNames(cols []connectors.Column) error {
	seen := map[string]string{}
	var twice []string
	for _, c := range cols {
		low := strings.ToLower(c.Name)
		if first, ok := seen[low]; ok {
			if first == c.Name {
				twice = append(twice, fmt.Sprintf("%q", c.Name))
			} else {
				twice = append(twice, fmt.Sprintf("%q and %q", first, c.Name))
			}
		}
		seen[low] = c.Name
	}
	if len(twice) > 0 {
		return &Error{Msg: "the result has more than one column called " + strings.Join(twice, ", ") + ": give them names of their own with AS"}
	}
	return nil
}
