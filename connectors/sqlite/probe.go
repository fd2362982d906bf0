package sqlite

/*
#include "lite.h"
*/
import "C"

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dvt-dev/dvt/connectors"
)

// Probe finds the scale that the decimals of columns like NUMERIC need, over the rows
// that are going to be read.
func (c *conn) Probe(ctx context.Context, t *connectors.Table, cols []int, where string) ([]connectors.Type, error) {
	s, release, err := c.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	types := make([]connectors.Type, len(cols))
	for i, at := range cols {
		if types[i], err = c.probe(ctx, s, t, at, where); err != nil {
			return nil, err
		}
	}
	return types, nil
}

func (c *conn) probe(ctx context.Context, s *session, t *connectors.Table, at int, where string) (connectors.Type, error) {
	col := t.Columns[at]
	whole, scale := 0, 0 // digits before and behind the point
	row := int64(0)
	err := s.rows(ctx, c.d.probe(t, at, where), func(st *stmt) error {
		row++
		if st.null(0) {
			return nil
		}
		v := cell{class: st.class(0), policy: c.d.policy, native: col.Native}
		spelled := ""
		switch v.class {
		case C.LITE_INTEGER:
			v.i = st.integer(0)
			spelled = strconv.FormatInt(v.i, 10)
		case C.LITE_FLOAT:
			v.f = st.double(0)
			spelled = strconv.FormatFloat(v.f, 'e', -1, 64)
		case C.LITE_TEXTUAL:
			v.b = st.bytes(0, false)
			spelled = string(v.b)
		default:
			v.b = st.bytes(0, true)
		}
		digits, exp, reason := decimalParts(spelled)
		if reason != "" {
			if c.d.policy == mismatchNull {
				return nil
			}
			where := "number " + strconv.FormatInt(row, 10)
			if st.columns() > 1 {
				where = "rowid " + strconv.FormatInt(st.integer(1), 10)
			}
			return &connectors.ValueError{Column: col.Name, Value: v.String(), Row: where, Reason: reason + v.advice(col)}
		}
		if digits.Sign() == 0 {
			return nil
		}
		text := digits.Text(10)
		if text[0] == '-' {
			text = text[1:]
		}
		for exp < 0 && text[len(text)-1] == '0' { // 1.50 needs one digit
			text, exp = text[:len(text)-1], exp+1
		}
		whole, scale = max(whole, len(text)+exp), max(scale, -exp)
		return nil
	})
	if err != nil {
		return connectors.Type{}, err
	}
	if whole+scale > 38 {
		return connectors.Type{}, &connectors.TypeError{Column: col.Name, Native: col.Native,
			Reason: fmt.Sprintf("its values have up to %d digits before and %d behind the point, more than a DECIMAL holds: set data_type: double or varchar for the column of the source", whole, scale)}
	}
	return connectors.Dec(38, scale), nil
}
