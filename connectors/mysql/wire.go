package mysql

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// This file reads rows of the binary protocol as they come, without an interface value
// for each cell. What a value means stays with the decoders of decode.go: the common
// pairs of a wire type and a column type have a way of their own here, with the same
// outcome, and all others are given to the decoder as the driver would give them.

// wireKind is how a value of a column lies in a row.
type wireKind uint8

const (
	wireUnknown wireKind = iota
	wireNull
	wireInt // size bytes, little endian
	wireFloat
	wireDouble
	wireBytes // length, then bytes
	wireDate
	wireStamp
	wireTime
)

// wireColumn is one column of a result.
type wireColumn struct {
	kind     wireKind
	size     int
	unsigned bool
	digits   int                 // of a second's fraction, in the driver's text
	direct   func(v []byte) bool // a short way into the column; false: the decoder has to look
}

// wireNames are the driver's names of the types on the wire, without UNSIGNED.
var wireNames = map[string]wireColumn{
	"NULL": {kind: wireNull}, "FLOAT": {kind: wireFloat, size: 4}, "DOUBLE": {kind: wireDouble, size: 8},
	"TINYINT": {kind: wireInt, size: 1}, "SMALLINT": {kind: wireInt, size: 2}, "YEAR": {kind: wireInt, size: 2},
	"MEDIUMINT": {kind: wireInt, size: 4}, "INT": {kind: wireInt, size: 4}, "BIGINT": {kind: wireInt, size: 8},
	"DATE": {kind: wireDate}, "DATETIME": {kind: wireStamp}, "TIMESTAMP": {kind: wireStamp}, "TIME": {kind: wireTime},
	"DECIMAL": {kind: wireBytes}, "BIT": {kind: wireBytes}, "ENUM": {kind: wireBytes}, "SET": {kind: wireBytes}, "JSON": {kind: wireBytes},
	"TEXT": {kind: wireBytes}, "BLOB": {kind: wireBytes}, "TINYTEXT": {kind: wireBytes}, "TINYBLOB": {kind: wireBytes},
	"MEDIUMTEXT": {kind: wireBytes}, "MEDIUMBLOB": {kind: wireBytes}, "LONGTEXT": {kind: wireBytes}, "LONGBLOB": {kind: wireBytes},
	"CHAR": {kind: wireBytes}, "BINARY": {kind: wireBytes}, "VARCHAR": {kind: wireBytes}, "VARBINARY": {kind: wireBytes},
	"GEOMETRY": {kind: wireBytes}, "VECTOR": {kind: wireBytes},
}

// wireColumns describes the columns of rows; ok is false when one of them is a type that
// is not known here.
func wireColumns(rows driver.Rows) (cols []wireColumn, ok bool) {
	names, ok1 := rows.(driver.RowsColumnTypeDatabaseTypeName)
	scales, ok2 := rows.(driver.RowsColumnTypePrecisionScale)
	if !ok1 || !ok2 {
		return nil, false
	}
	for i := range rows.Columns() {
		name, unsigned := strings.CutPrefix(names.ColumnTypeDatabaseTypeName(i), "UNSIGNED ")
		c, known := wireNames[name]
		if !known {
			return nil, false
		}
		c.unsigned = unsigned
		if c.kind == wireStamp || c.kind == wireTime {
			p, _, _ := scales.ColumnTypePrecisionScale(i)
			if c.digits = int(p); p == 31 { // "not told": the driver gives none
				c.digits = 0
			}
			if c.digits > 6 {
				return nil, false
			}
		}
		cols = append(cols, c)
	}
	return cols, true
}

// take cuts the value at the head of p: its bytes without a length, and what follows.
// ok is false if p ends before.
func (c *wireColumn) take(p []byte) (v, rest []byte, ok bool) {
	n := c.size
	if c.kind >= wireBytes {
		var head int
		if n, head, ok = lengthAt(p); !ok {
			return nil, nil, false
		}
		p = p[head:]
	}
	if n < 0 || n > len(p) {
		return nil, nil, false
	}
	return p[:n], p[n:], true
}

// lengthAt reads a length-encoded integer.
func lengthAt(p []byte) (n, size int, ok bool) {
	switch {
	case len(p) == 0:
		return 0, 0, false
	case p[0] < 0xfb:
		return int(p[0]), 1, true
	case p[0] == 0xfc && len(p) >= 3:
		return int(binary.LittleEndian.Uint16(p[1:])), 3, true
	case p[0] == 0xfd && len(p) >= 4:
		return int(p[1]) | int(p[2])<<8 | int(p[3])<<16, 4, true
	case p[0] == 0xfe && len(p) >= 9:
		return int(binary.LittleEndian.Uint64(p[1:])), 9, true
	}
	return 0, 0, false
}

func (c *wireColumn) integer(v []byte) int64 {
	var n uint64
	for i := len(v) - 1; i >= 0; i-- {
		n = n<<8 | uint64(v[i])
	}
	if !c.unsigned {
		shift := 64 - 8*len(v)
		return int64(n<<shift) >> shift
	}
	return int64(n)
}

var errBrokenRow = errors.New("reading: a row of the server's stream is broken")

// value is v as the driver gives it; errBrokenRow if it is none of its type.
func (c *wireColumn) value(v []byte) (driver.Value, error) {
	switch c.kind {
	case wireInt:
		n := c.integer(v)
		if c.unsigned && n < 0 {
			return fmt.Append(nil, uint64(n)), nil
		}
		return n, nil
	case wireFloat:
		return math.Float32frombits(binary.LittleEndian.Uint32(v)), nil
	case wireDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(v)), nil
	case wireBytes:
		return v, nil
	case wireDate, wireStamp:
		return c.stampText(v)
	case wireTime:
		return c.timeText(v)
	}
	return nil, errBrokenRow
}

func (c *wireColumn) stampText(v []byte) (driver.Value, error) {
	var f [7]int64 // year, month, day, hour, minute, second, µs
	switch len(v) {
	case 11:
		f[6] = int64(binary.LittleEndian.Uint32(v[7:]))
		fallthrough
	case 7:
		f[3], f[4], f[5] = int64(v[4]), int64(v[5]), int64(v[6])
		fallthrough
	case 4:
		f[0], f[1], f[2] = int64(binary.LittleEndian.Uint16(v)), int64(v[2]), int64(v[3])
	case 0:
	default:
		return nil, errBrokenRow
	}
	b := append(digits(nil, f[0], 4), '-')
	b = append(digits(b, f[1], 2), '-')
	b = digits(b, f[2], 2)
	if c.kind == wireDate {
		return b, nil
	}
	return c.clockText(append(b, ' '), f[3], f[4], f[5], f[6]), nil
}

func (c *wireColumn) timeText(v []byte) (driver.Value, error) {
	if len(v) == 0 {
		return c.clockText(nil, 0, 0, 0, 0), nil
	}
	if len(v) != 8 && len(v) != 12 {
		return nil, errBrokenRow
	}
	var b []byte
	if v[0] == 1 {
		b = append(b, '-')
	}
	us := int64(0)
	if len(v) == 12 {
		us = int64(binary.LittleEndian.Uint32(v[8:]))
	}
	return c.clockText(b, int64(binary.LittleEndian.Uint32(v[1:]))*24+int64(v[5]), int64(v[6]), int64(v[7]), us), nil
}

func (c *wireColumn) clockText(b []byte, h, m, s, us int64) []byte {
	b = append(digits(b, h, 2), ':')
	b = append(digits(b, m, 2), ':')
	b = digits(b, s, 2)
	if c.digits == 0 {
		return b
	}
	b = digits(append(b, '.'), us, 6)
	return b[:len(b)-6+c.digits]
}

// runWire is run without the driver between.
func (r *reader) runWire(ctx context.Context, rows driver.Rows, t *tap, cols []wireColumn, emit func(arrow.RecordBatch) error) (whole bool, err error) {
	for i, d := range r.cols {
		cols[i].direct = directly(&cols[i], d, r.builder.Field(i))
	}
	defer t.end()
	if t.begin() {
		first := t.next
		size := 0
		for {
			p, ok := t.row(first)
			if !ok {
				break
			}
			if r.rows == r.room {
				r.reserve()
			}
			r.seen++
			r.rows++
			if err := r.wireRow(p, cols); err != nil {
				return false, err
			}
			size += len(p)
			if r.rows >= connectors.BatchRows || size >= connectors.BatchBytes {
				if err := r.flush(ctx, emit); err != nil {
					return false, err
				}
				size, r.room = 0, 0
			}
		}
	}
	// What stands there now is the driver's: the end, or an error.
	if err := rows.Next(make([]driver.Value, len(cols))); !errors.Is(err, io.EOF) {
		if err == nil {
			return false, errBrokenRow
		}
		return true, err
	}
	if r.rows > 0 {
		return true, r.flush(ctx, emit)
	}
	return true, nil
}

// reserve makes room for more rows of the batch in all columns: a few at first, for many
// results are short.
func (r *reader) reserve() {
	more := min(max(r.room, 64), connectors.BatchRows)
	for i := range r.cols {
		r.builder.Field(i).Reserve(more)
	}
	r.room += more
}

// wireRow decodes one row: a 0, a bitmap of NULLs that begins at its third bit, the
// values that are not NULL.
func (r *reader) wireRow(p []byte, cols []wireColumn) error {
	bitmap := (len(cols) + 9) / 8
	if len(p) < 1+bitmap {
		return errBrokenRow
	}
	nulls, p := p[1:1+bitmap], p[1+bitmap:]
	for i := range cols {
		c := &cols[i]
		null := nulls[(i+2)>>3]>>((i+2)&7)&1 == 1 || c.kind == wireNull
		var v []byte
		if !null {
			var ok bool
			if v, p, ok = c.take(p); !ok {
				return errBrokenRow
			}
		}
		if i >= len(r.cols) {
			continue // only the number of rows matters
		}
		d := r.cols[i]
		if null {
			d.null()
			continue
		}
		if c.direct != nil && c.direct(v) {
			continue
		}
		val, err := c.value(v)
		if err != nil {
			return err
		}
		if reason := d.put(val); reason != "" {
			return d.fault(val, r.seen, reason)
		}
	}
	return nil
}

// directly is the short way of a common pair, nil for the others. It relies on reserve
// where it appends without asking for room.
func directly(c *wireColumn, d *decoder, b array.Builder) func(v []byte) bool {
	switch c.kind {
	case wireInt:
		return directInt(c, b)
	case wireDouble:
		if b, is := b.(*array.Float64Builder); is {
			return func(v []byte) bool {
				b.UnsafeAppend(math.Float64frombits(binary.LittleEndian.Uint64(v)))
				return true
			}
		}
	case wireDate, wireStamp:
		return directStamp(c, b)
	case wireBytes:
		return directBytes(d, b)
	}
	return nil
}

func directInt(c *wireColumn, b array.Builder) func([]byte) bool {
	switch b := b.(type) {
	case *array.Int64Builder:
		if c.unsigned && c.size == 8 {
			return nil
		}
		return func(v []byte) bool {
			if len(v) == 8 {
				b.UnsafeAppend(int64(binary.LittleEndian.Uint64(v)))
			} else {
				b.UnsafeAppend(c.integer(v))
			}
			return true
		}
	case *array.Int32Builder:
		if c.size > 4 || c.unsigned && c.size == 4 {
			return nil
		}
		return func(v []byte) bool {
			if len(v) == 4 {
				b.UnsafeAppend(int32(binary.LittleEndian.Uint32(v)))
			} else {
				b.UnsafeAppend(int32(c.integer(v)))
			}
			return true
		}
	case *array.BooleanBuilder:
		if c.size != 1 {
			return nil
		}
		return func(v []byte) bool {
			if v[0] > 1 {
				return false
			}
			b.UnsafeAppend(v[0] == 1)
			return true
		}
	}
	return nil
}

func directStamp(c *wireColumn, b array.Builder) func([]byte) bool {
	day := func(v []byte) (int64, bool) {
		if len(v) != 4 && len(v) != 7 && len(v) != 11 {
			return 0, false
		}
		y, m, d := int64(binary.LittleEndian.Uint16(v)), int64(v[2]), int64(v[3])
		return daysOf(y, m, d), y <= 9999 && m >= 1 && m <= 12 && d >= 1 && d <= daysIn(y, m)
	}
	switch b := b.(type) {
	case *array.Date32Builder:
		if c.kind != wireDate {
			return nil
		}
		return func(v []byte) bool {
			days, ok := day(v)
			if ok {
				b.UnsafeAppend(arrow.Date32(days))
			}
			return ok
		}
	case *array.TimestampBuilder:
		if c.kind != wireStamp {
			return nil
		}
		return func(v []byte) bool {
			days, ok := day(v)
			if !ok {
				return false
			}
			us := days * dayMicros
			if len(v) >= 7 {
				if v[4] > 23 || v[5] > 59 || v[6] > 59 {
					return false
				}
				us += (int64(v[4])*3600 + int64(v[5])*60 + int64(v[6])) * secMicros
			}
			if len(v) == 11 {
				f := int64(binary.LittleEndian.Uint32(v[7:]))
				if f >= secMicros {
					return false
				}
				us += f
			}
			b.UnsafeAppend(arrow.Timestamp(us))
			return true
		}
	}
	return nil
}

func directBytes(d *decoder, b array.Builder) func([]byte) bool {
	switch b := b.(type) {
	case *array.StringBuilder:
		if k := d.col.Type.Kind; k != connectors.Varchar && k != connectors.JSON {
			return nil
		}
		return func(v []byte) bool {
			if !utf8.Valid(v) {
				return false
			}
			b.BinaryBuilder.Append(v)
			return true
		}
	case *array.BinaryBuilder:
		return func(v []byte) bool {
			b.Append(v)
			return true
		}
	case *array.Decimal128Builder:
		if d.col.Type.Kind != connectors.Decimal {
			return nil
		}
		scale, limit := d.col.Type.Scale, powerOfTen(d.col.Type.Precision)
		return func(v []byte) bool {
			n, neg, ok := parseDecimal(v, scale)
			if !ok || !n.less(limit) {
				return false
			}
			b.UnsafeAppend(signed(n, neg))
			return true
		}
	case *array.FixedSizeBinaryBuilder:
		return func(v []byte) bool {
			u, ok := parseUUID(v)
			if ok {
				b.Append(u[:])
			}
			return ok
		}
	}
	return nil
}
