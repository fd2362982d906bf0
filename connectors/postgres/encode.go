package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// appendFunc appends one value, which is not NULL, in the form that the server reads.
type appendFunc func(b []byte, row int) ([]byte, error)

// binder makes the appendFunc for one column of one batch.
type binder func(arrow.Array) appendFunc

// encoder turns batches into a COPY stream: binary where the binary form of each column
// is known, else text for all of them, read by the types' own input functions.
type encoder struct {
	names  []string
	cols   []columnEncoder
	binary bool
	keys   []string // columns that name a row in messages
	out    []byte
	rows   int64

	scratch []byte // what checks spell
}

type columnEncoder struct {
	bind  binder
	check binder // text form: the binary encoder whose checks the text form lacks
	text  binder // spells a value for a message
}

// newEncoder chooses the form. infos are the staging table's columns in the order of
// cols, types their spelling.
func newEncoder(cols []connectors.Column, types []string, infos []typeInfo, keys []string, stripNUL bool) (*encoder, error) {
	e := &encoder{binary: true, keys: keys}
	if len(cols) != len(infos) {
		return nil, fmt.Errorf("the staging table has %d columns, expected are %d", len(infos), len(cols))
	}
	bound := make([]binder, len(cols))
	for i, col := range cols {
		bound[i] = binaryEncoder(col.Type, infos[i], stripNUL)
		if bound[i] == nil && !textHolds(col.Type, infos[i]) {
			return nil, &connectors.TypeError{Column: col.Name, Native: col.Type.String(), Reason: fmt.Sprintf(
				"it cannot become a PostgreSQL %s without loss: cast it in the model, or ask for another type in column_types", types[i])}
		}
		e.binary = e.binary && bound[i] != nil
		e.names = append(e.names, col.Name)
	}
	for i, col := range cols {
		ce := columnEncoder{bind: bound[i], text: textEncoder(col.Type, false, stripNUL)}
		if !e.binary {
			ce.check, ce.bind = bound[i], copyText(textEncoder(col.Type, infos[i].elem == 0, stripNUL))
		}
		e.cols = append(e.cols, ce)
	}
	return e, nil
}

func (e *encoder) header() []byte {
	if !e.binary {
		return nil
	}
	return append(append([]byte(nil), copyHeader...), make([]byte, 8)...)
}

func (e *encoder) trailer() []byte {
	if !e.binary {
		return nil
	}
	return []byte{0xff, 0xff}
}

// batch encodes the rows of rec behind e.out; full takes a filled buffer and returns an
// empty one.
func (e *encoder) batch(rec arrow.RecordBatch, full func([]byte) ([]byte, error)) error {
	if int(rec.NumCols()) != len(e.cols) {
		return fmt.Errorf("loading: a batch has %d columns, expected are %d", rec.NumCols(), len(e.cols))
	}
	arrays := rec.Columns()
	values := make([]appendFunc, len(e.cols))
	checks := make([]appendFunc, len(e.cols))
	for i := range e.cols {
		values[i] = e.cols[i].bind(arrays[i])
		if e.cols[i].check != nil {
			checks[i] = e.cols[i].check(arrays[i])
		}
	}
	encode := e.textRow
	if e.binary {
		encode = e.binaryRow
	}
	holes := make([]arrow.Array, len(arrays)) // those with NULL
	for i, a := range arrays {
		if a.NullN() > 0 {
			holes[i] = a
		}
	}
	for row := range int(rec.NumRows()) {
		b, col, err := encode(e.out, row, values, checks, holes)
		if err != nil {
			return e.valueError(rec, col, row, err)
		}
		e.out = b
		e.rows++
		if len(b) >= copyBuffer {
			next, err := full(b)
			if err != nil {
				return err
			}
			e.out = next
		}
	}
	return nil
}

// binaryRow appends a row; an error is that of column col.
func (e *encoder) binaryRow(b []byte, row int, values, _ []appendFunc, holes []arrow.Array) (_ []byte, col int, err error) {
	b = binary.BigEndian.AppendUint16(b, uint16(len(values)))
	for i, value := range values {
		if holes[i] != nil && holes[i].IsNull(row) {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(b)
		if b, err = value(append(b, 0, 0, 0, 0), row); err != nil {
			return b, i, err
		}
		size := len(b) - at - 4
		if size >= maxField {
			return b, i, &badValue{"of " + strconv.Itoa(size) + " bytes", "PostgreSQL holds less than 1 GB in one value"}
		}
		binary.BigEndian.PutUint32(b[at:], uint32(size))
	}
	return b, 0, nil
}

// textRow is binaryRow in the text form.
func (e *encoder) textRow(b []byte, row int, values, checks []appendFunc, holes []arrow.Array) (_ []byte, col int, err error) {
	for i, value := range values {
		if i > 0 {
			b = append(b, '\t')
		}
		if holes[i] != nil && holes[i].IsNull(row) {
			b = append(b, `\N`...)
			continue
		}
		if checks[i] != nil {
			if e.scratch, err = checks[i](e.scratch[:0], row); err != nil {
				return b, i, err
			}
		}
		if b, err = value(b, row); err != nil {
			return b, i, err
		}
	}
	return append(b, '\n'), 0, nil
}

// maxField is PostgreSQL's limit of one allocation, less what it needs itself.
const maxField = 1<<30 - 64

func (e *encoder) valueError(rec arrow.RecordBatch, col, row int, err error) error {
	var bad *badValue
	if !errors.As(err, &bad) {
		return fmt.Errorf("loading column %q: %w", e.names[col], err)
	}
	return &connectors.ValueError{Column: e.names[col], Value: connectors.Shorten(bad.value), Row: e.rowName(rec, row), Reason: bad.reason}
}

func (e *encoder) rowName(rec arrow.RecordBatch, row int) string {
	return connectors.RowName(e.names, e.keys, e.rows+1, func(i int) string { return e.spell(rec, i, row) })
}

// spell is a value for a message.
func (e *encoder) spell(rec arrow.RecordBatch, col, row int) string {
	a := rec.Column(col)
	if a.IsNull(row) {
		return "NULL"
	}
	b, err := e.cols[col].text(a)(nil, row)
	if err != nil {
		return strconv.Quote(connectors.Shorten(a.ValueStr(row)))
	}
	return connectors.Shorten(string(b))
}
