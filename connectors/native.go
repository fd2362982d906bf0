package connectors

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Builder is a target that builds views and tables from SELECTs in the engine's own
// SQL, whose rows never leave it. Without it the connection takes federated models only.
type Builder interface {
	// SQLName is how such SQL names rel. Inside a view the name must hold for other
	// clients of the engine too.
	SQLName(rel Relation) string
	// FoldName is what the engine makes of a name that is written without quotes.
	FoldName(name string) string
	// CreateView makes sql the view rel so that a reader sees the old relation or the
	// new one: a view or table of that name is replaced, views that depend on it
	// survive, or it is an error that names them and nothing has changed.
	CreateView(ctx context.Context, rel Relation, sql string) error
	// StageSelect is Stager.Stage, the rows of sql, and Staging.Seal in one;
	// s.Columns is not looked at. The caller must call Discard on the staging, also
	// when the error is set, unless it is nil.
	StageSelect(ctx context.Context, s StageSelect) (Staging, Selected, error)
	// ResultColumns describes what sql returns, Native and Engine included, without
	// running it.
	ResultColumns(ctx context.Context, sql string) ([]Column, error)
	// FirstRow runs sql read-only and gives columns of its first row as text, nil for
	// NULL and for an empty text; no row is an error.
	FirstRow(ctx context.Context, sql string, columns []string) ([]*string, error)
	// Rows runs one SELECT read-only and hands its rows to sink in the order that sql asks
	// for. An error of sink ends the reading.
	Rows(ctx context.Context, sql string, sink TextSink) error
}

// TextSink receives a small result as the engine's text: Columns once, then Row for each
// row, a nil value being NULL. A column whose type is not known is Invalid.
type TextSink interface {
	Columns(cols []Column) error
	Row(values []*string) error
}

// TextValues copies one row of a batch whose columns are all text, nil being NULL.
func TextValues(rec arrow.RecordBatch, row int) []*string {
	values := make([]*string, rec.NumCols())
	for j := range values {
		if c := rec.Column(j).(*array.String); c.IsValid(row) {
			text := strings.Clone(c.Value(row))
			values[j] = &text
		}
	}
	return values
}

// StageSelect is what Builder.StageSelect stages.
type StageSelect struct {
	StageSpec
	SQL string
	// Unique are columns whose values together must not repeat, compared by bytes,
	// NULL being equal to NULL: else a *RepeatedKeyError. Empty: nothing is checked.
	Unique []string
}

// Selected is what a StageSelect gave.
type Selected struct {
	Rows int64
	// Columns are the staged columns with the engine's own types. A type that dvt
	// cannot carry is no error here: its Kind is Invalid.
	Columns []Column
}

// ErrNoRow says that a query of one row gave none.
var ErrNoRow = errors.New("the query gave no row")

// TextRow is a row of texts for Builder.FirstRow.
func TextRow(values []string) []*string {
	out := make([]*string, len(values))
	for i := range values {
		if values[i] != "" {
			out[i] = &values[i]
		}
	}
	return out
}

// RepeatedKeyError says that a key stands in several rows of a delta.
type RepeatedKeyError struct {
	Key    []string
	Values []string // "NULL" for NULL
}

func (e *RepeatedKeyError) Error() string {
	parts := make([]string, len(e.Key))
	for i, k := range e.Key {
		parts[i] = k + " = " + Shorten(e.Values[i])
	}
	return fmt.Sprintf("the same unique_key stands in several rows of the result: %s; the target is unchanged", strings.Join(parts, ", "))
}

// TrimSelect is a SELECT that can be part of another statement: without closing
// semicolons, and ending in a line break, which closes a comment at its end.
func TrimSelect(sql string) string { return strings.TrimRight(sql, "; \t\r\n") + "\n" }

// EmptySelect is a SELECT without its rows, for --empty.
func EmptySelect(sql string) string {
	return "SELECT * FROM (\n" + TrimSelect(sql) + ") AS __dvt_empty WHERE 1 = 0"
}
