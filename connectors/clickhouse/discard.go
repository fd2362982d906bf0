package clickhouse

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// discard reads blocks and throws them away.
type discard struct{}

func (*discard) begin(int, int) error { return nil }
func (*discard) end() error           { return nil }
func (*discard) column(in *input, _, rows int, _, typ string) error {
	if rows == 0 {
		return nil
	}
	t, err := parseType(typ)
	if err != nil {
		return err
	}
	if err := (&decoder{in: in}).prefixes(t); err != nil {
		return err
	}
	return discardData(in, t, rows)
}

var widths = map[string]int{
	"Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Int128": 16, "Int256": 32, "UInt8": 1, "UInt16": 2, "UInt32": 4,
	"UInt64": 8, "UInt128": 16, "UInt256": 32, "Float32": 4, "Float64": 8, "Date": 2, "Date32": 4, "DateTime": 4,
	"DateTime64": 8, "UUID": 16, "Bool": 1, "Enum8": 1, "Enum16": 2, "IPv4": 4, "IPv6": 16,
}

// width is the size of one value of a type of fixed size, 0 for others.
func (t *chType) width() int {
	switch t.name {
	case "FixedString":
		return t.size
	case "Decimal":
		switch {
		case t.prec <= 9:
			return 4
		case t.prec <= 18:
			return 8
		case t.prec <= 38:
			return 16
		}
		return 32
	}
	return widths[t.name]
}

func discardData(in *input, t *chType, n int) error {
	skip := func(bytes int) error {
		_, err := io.CopyN(io.Discard, in.Reader, int64(bytes))
		return noEOF(err)
	}
	switch t.name {
	case "Nullable":
		if err := skip(n); err != nil {
			return err
		}
		return discardData(in, t.args[0], n)
	case "String":
		for range n {
			size, err := in.size(maxText)
			if err == nil {
				err = skip(size)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if w := t.width(); w > 0 {
		return skip(n * w)
	}
	if typ := t.logical(); typ.Kind != connectors.Invalid {
		data, err := (&decoder{in: in, alloc: memory.DefaultAllocator}).data(t, n, typ, nil, false)
		if err == nil {
			data.Release()
		}
		return err
	}
	return fmt.Errorf("unexpected column of type %s", t.text)
}
