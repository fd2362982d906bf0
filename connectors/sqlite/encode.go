package sqlite

/*
#include "lite.h"
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// param is one column of a batch as C binds it: the buffers of an Arrow array, or of
// texts and numbers made for it here.
type param struct {
	mode, offset   int
	valid, data    []byte
	offsets, bytes []byte
}

// typeWords is what a declared type of the project's own may look like.
var typeWords = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ ]*(\([0-9 ,]*\))?$`)

// declare is the declared type of a result column: the model's own choice, or the type
// that holds every value. A choice whose affinity would change texts is refused.
func declare(col connectors.Column, chosen string) (string, error) {
	if chosen == "" {
		return targetType(col)
	}
	if !typeWords.MatchString(chosen) {
		return "", &connectors.TypeError{Column: col.Name, Native: chosen, Reason: "this is no type that sqlite can declare"}
	}
	if aff := affinityOf(chosen); aff != affText && aff != affNone {
		switch col.Type.Kind {
		case connectors.Varchar, connectors.JSON, connectors.Bit, connectors.List, connectors.Struct, connectors.Map:
			return "", &connectors.TypeError{Column: col.Name, Native: chosen, Reason: "sqlite would make numbers of texts like '007' in a column of this type: choose one with TEXT in its name"}
		}
	}
	return chosen, nil
}

// encode turns a batch into parameters and refuses what the file cannot hold exactly.
func (st *staging) encode(rec arrow.RecordBatch) ([]param, error) {
	if int(rec.NumCols()) != len(st.spec.Columns) {
		return nil, fmt.Errorf("a batch has %d columns, %d are expected", rec.NumCols(), len(st.spec.Columns))
	}
	params := make([]param, rec.NumCols())
	for i, col := range st.spec.Columns {
		arr := rec.Column(i)
		if !arrow.TypeEqual(arr.DataType(), col.Type.Arrow()) {
			return nil, fmt.Errorf("column %q arrives as %s, %s is expected", col.Name, arr.DataType(), col.Type.Arrow())
		}
		e := encoder{st: st, rec: rec, col: col, arr: arr, aff: affinityOf(st.types[i])}
		p, err := e.encode()
		if err != nil {
			return nil, err
		}
		params[i] = p
	}
	return params, nil
}

// encoder turns one column of one batch into a parameter.
type encoder struct {
	st  *staging
	rec arrow.RecordBatch
	col connectors.Column
	arr arrow.Array
	aff affinity
}

func (e *encoder) refuse(row int, value, reason string) error {
	return &connectors.ValueError{Column: e.col.Name, Value: connectors.Shorten(value), Row: e.row(row), Reason: reason}
}

// row names a row by the model's key, or by its place in the stream.
func (e *encoder) row(i int) string {
	spec := e.st.spec
	return connectors.RowName(connectors.Names(spec.Columns), spec.Options.RowKey(), e.st.rows+int64(i)+1, func(c int) string { return e.rec.Column(c).ValueStr(i) })
}

// each calls f for every value that is not NULL.
func (e *encoder) each(f func(i int) error) error {
	for i := range e.arr.Len() {
		if e.arr.IsValid(i) {
			if err := f(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// own gives the array's own buffers to C.
func (e *encoder) own(mode int) param {
	d := e.arr.Data()
	p := param{mode: mode, offset: d.Offset()}
	if e.arr.NullN() > 0 {
		p.valid = d.Buffers()[0].Bytes()
	}
	if len(d.Buffers()) > 2 {
		p.offsets = d.Buffers()[1].Bytes()
		if b := d.Buffers()[2]; b != nil {
			p.bytes = b.Bytes()
		}
	} else if b := d.Buffers()[1]; b != nil {
		p.data = b.Bytes()
	}
	return p
}

// made is a parameter of values built here; NULLs stay where they are.
func (e *encoder) made(mode int, p param) param {
	p.mode = mode
	p.valid = make([]byte, (e.arr.Len()+7)/8)
	for i := range e.arr.Len() {
		if e.arr.IsValid(i) {
			p.valid[i>>3] |= 1 << (i & 7)
		}
	}
	return p
}

// texts builds a text for every value.
func (e *encoder) texts(f func(buf []byte, i int) ([]byte, error)) (param, error) {
	offsets := binary.NativeEndian.AppendUint32(nil, 0)
	var bytes []byte
	for i := range e.arr.Len() {
		if e.arr.IsValid(i) {
			var err error
			if bytes, err = f(bytes, i); err != nil {
				return param{}, err
			}
		}
		offsets = binary.NativeEndian.AppendUint32(offsets, uint32(len(bytes)))
	}
	return e.made(C.WRITE_TEXT, param{offsets: offsets, bytes: bytes}), nil
}

// words builds a 64-bit value for every value.
func (e *encoder) words(mode int, f func(i int) (uint64, error)) (param, error) {
	data := make([]byte, 8*e.arr.Len())
	err := e.each(func(i int) error {
		w, err := f(i)
		binary.NativeEndian.PutUint64(data[8*i:], w)
		return err
	})
	return e.made(mode, param{data: data}), err
}

func (e *encoder) encode() (param, error) {
	switch a := e.arr.(type) {
	case *array.Boolean:
		if e.aff == affText { // as text, what every engine calls it
			return e.texts(func(buf []byte, i int) ([]byte, error) { return strconv.AppendBool(buf, a.Value(i)), nil })
		}
		return e.own(C.WRITE_BOOL), nil
	case *array.Int8:
		return e.own(C.WRITE_I8), nil
	case *array.Int16:
		return e.own(C.WRITE_I16), nil
	case *array.Int32:
		return e.own(C.WRITE_I32), nil
	case *array.Uint8:
		return e.own(C.WRITE_U8), nil
	case *array.Uint16:
		return e.own(C.WRITE_U16), nil
	case *array.Uint32:
		return e.own(C.WRITE_U32), nil
	case *array.Int64:
		return e.int64s(a)
	case *array.Float32:
		return e.floats(C.WRITE_F32, func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		return e.floats(C.WRITE_F64, a.Value)
	case *array.Date32:
		return e.own(C.WRITE_DATE), e.each(func(i int) error {
			if v := int64(a.Value(i)); v < minDay || v > maxDay {
				return e.refuse(i, dayName(v), "sqlite's dates go from 0000-01-01 to 9999-12-31")
			}
			return nil
		})
	case *array.Timestamp:
		return e.stamps(a)
	case *array.Decimal128:
		return e.decimals(a)
	case *array.FixedSizeBinary:
		return e.own(C.WRITE_UUID), nil
	case *array.Binary:
		return e.own(C.WRITE_BLOB), nil
	case *array.String:
		return e.own(C.WRITE_TEXT), nil
	case *array.Uint64:
		if e.col.Type.Kind == connectors.UBigInt {
			return e.numbers(0, func(i int) *big.Int { return new(big.Int).SetUint64(a.Value(i)) })
		}
	}
	return e.texts(func(buf []byte, i int) ([]byte, error) {
		out, reason := appendText(buf, e.col.Type, e.arr, i)
		if reason != "" {
			return buf, e.refuse(i, e.arr.ValueStr(i), reason)
		}
		return out, nil
	})
}

// int64s: a REAL column keeps integers up to 2^53.
func (e *encoder) int64s(a *array.Int64) (param, error) {
	if e.aff != affReal {
		return e.own(C.WRITE_I64), nil
	}
	return e.own(C.WRITE_I64), e.each(func(i int) error {
		if v := a.Value(i); v > 1<<53 || v < -1<<53 {
			return e.refuse(i, a.ValueStr(i), "it has more digits than a REAL holds")
		}
		return nil
	})
}

// floats: SQLite turns NaN into NULL. It has no negative zero either: -0.0 becomes 0.0,
// which equals it, and is documented.
func (e *encoder) floats(mode int, at func(int) float64) (param, error) {
	err := e.each(func(i int) error {
		if math.IsNaN(at(i)) {
			return e.refuse(i, "NaN", "sqlite has no NaN and would store NULL")
		}
		return nil
	})
	if err == nil && e.aff == affText {
		// SQLite's own conversion to text keeps 15 digits.
		return e.texts(func(buf []byte, i int) ([]byte, error) { return append(buf, realText(at(i))...), nil })
	}
	return e.own(mode), err
}

func (e *encoder) stamps(a *array.Timestamp) (param, error) {
	mode := C.WRITE_TS
	switch e.col.Type.Kind {
	case connectors.TimestampNS:
		return e.texts(func(buf []byte, i int) ([]byte, error) {
			ns := int64(a.Value(i))
			if ns == math.MaxInt64 || ns == -math.MaxInt64 {
				return buf, e.refuse(i, stampName(ns), "sqlite's time stamps have no infinity")
			}
			return appendNanos(buf, ns), nil
		})
	case connectors.TimestampTZ:
		mode = C.WRITE_TSTZ
	}
	return e.own(mode), e.each(func(i int) error {
		if v := int64(a.Value(i)); v < minDay*day || v >= (maxDay+1)*day {
			return e.refuse(i, stampName(v), "sqlite's time stamps go from year 0000 to 9999")
		}
		return nil
	})
}

func (e *encoder) decimals(a *array.Decimal128) (param, error) {
	scale := e.col.Type.Scale
	if e.aff == affText || e.aff == affNone {
		return e.texts(func(buf []byte, i int) ([]byte, error) {
			v := a.Value(i)
			if n := int64(v.LowBits()); v.HighBits() == n>>63 { // it has 64 bits
				return appendDecimal(buf, n, scale), nil
			}
			return append(buf, decimalText(v.BigInt(), scale)...), nil
		})
	}
	return e.numbers(scale, func(i int) *big.Int { return a.Value(i).BigInt() })
}

// numbers stores decimals: as text under a type with text affinity; else as an integer,
// or as the double nearest to them, which a decimal of 15 digits is read back from.
func (e *encoder) numbers(scale int, at func(int) *big.Int) (param, error) {
	switch {
	case e.aff == affText || e.aff == affNone:
		return e.texts(func(buf []byte, i int) ([]byte, error) { return append(buf, decimalText(at(i), scale)...), nil })
	case scale == 0 && e.aff != affReal:
		return e.words(C.WRITE_I64, func(i int) (uint64, error) {
			v := at(i)
			if !v.IsInt64() {
				return 0, e.refuse(i, v.String(), "sqlite's integers have 64 bits: a type with TEXT in its name holds it")
			}
			return uint64(v.Int64()), nil
		})
	}
	limit := tenTo(maxExactDigits)
	unit := math.Pow10(scale)
	return e.words(C.WRITE_F64, func(i int) (uint64, error) {
		v := at(i)
		if v.CmpAbs(limit) >= 0 || scale > 22 {
			return 0, e.refuse(i, decimalText(v, scale), "a REAL holds 15 digits: a type with TEXT in its name holds it")
		}
		// Both are exact, so that the quotient is the nearest double.
		return math.Float64bits(float64(v.Int64()) / unit), nil
	})
}
