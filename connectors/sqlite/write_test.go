package sqlite

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// record builds a batch of one row a slice, from texts ("∅" is NULL) as Arrow reads
// them, or values of builders that have no text form. A NULL row goes first and is
// sliced away: offsets of arrays must not be forgotten.
func record(t *testing.T, cols []connectors.Column, rows ...[]any) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cols))
	defer b.Release()
	for i := range cols {
		b.Field(i).AppendNull()
	}
	for _, row := range rows {
		for i, v := range row {
			f := b.Field(i)
			switch v := v.(type) {
			case string:
				if v == "∅" {
					f.AppendNull()
				} else if s, ok := f.(*array.StringBuilder); ok {
					s.Append(v)
				} else if err := f.AppendValueFromString(v); err != nil {
					t.Fatalf("%s as %s: %v", v, cols[i].Type, err)
				}
			case float64:
				if f4, ok := f.(*array.Float32Builder); ok {
					f4.Append(float32(v))
				} else {
					f.(*array.Float64Builder).Append(v)
				}
			case decimal128.Num:
				f.(*array.Decimal128Builder).Append(v)
			case arrow.Date32:
				f.(*array.Date32Builder).Append(v)
			case arrow.Timestamp:
				f.(*array.TimestampBuilder).Append(v)
			case arrow.Time64:
				f.(*array.Time64Builder).Append(v)
			case uint64:
				f.(*array.Uint64Builder).Append(v)
			case arrow.MonthDayNanoInterval:
				f.(*array.MonthDayNanoIntervalBuilder).Append(v)
			case []byte:
				if fixed, ok := f.(*array.FixedSizeBinaryBuilder); ok {
					fixed.Append(v)
				} else {
					f.(*array.BinaryBuilder).Append(v)
				}
			default:
				t.Fatalf("no way to append %T", v)
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	return rec.NewSlice(1, rec.NumRows())
}

// load stages rows and makes them the content of a table.
func load(t *testing.T, c *conn, table string, cols []connectors.Column, opts connectors.TargetOptions, recs ...arrow.RecordBatch) error {
	t.Helper()
	ctx := t.Context()
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: "0123456789ab", Target: connectors.Relation{Name: table}, Columns: cols, Options: opts})
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Discard(ctx); err != nil {
			t.Errorf("discarding: %v", err)
		}
	}()
	want := int64(0)
	for _, rec := range recs {
		if err := st.Write(ctx, rec); err != nil {
			return err
		}
		want += rec.NumRows()
	}
	n, err := st.Seal(ctx)
	if err != nil {
		return err
	}
	if n != want {
		t.Errorf("sealed %d rows, %d were written", n, want)
	}
	return c.Replace(ctx, st)
}

func decimalOfText(t *testing.T, s string) decimal128.Num {
	t.Helper()
	v, reason := scaled(s, 0)
	if reason != "" {
		t.Fatal(reason)
	}
	return decimal128.FromBigInt(v)
}

// Every kind, at its edges, to a file and back; stored is SQLite's own class and
// spelling, back the value as read again, "!…" an error.
func TestWriteValues(t *testing.T) {
	dec := func(s string) decimal128.Num { return decimalOfText(t, s) }
	list := connectors.ListOf(connectors.T(connectors.Integer))
	nested := connectors.Type{Kind: connectors.Struct, Fields: []connectors.Field{{Name: `a"b`, Type: connectors.T(connectors.Varchar)}, {Name: "l", Type: connectors.ListOf(connectors.Dec(38, 2))}}}
	mapping := connectors.Type{Kind: connectors.Map, Fields: []connectors.Field{{Name: "key", Type: connectors.T(connectors.Varchar)}, {Name: "value", Type: connectors.T(connectors.Double)}}}
	for _, k := range []struct {
		typ          connectors.Type
		value        any
		ddl          string
		stored, back string
	}{
		{connectors.T(connectors.Boolean), "true", "BOOLEAN", "integer 1", "true"},
		{connectors.T(connectors.TinyInt), "-128", "INTEGER", "integer -128", "-128"},
		{connectors.T(connectors.SmallInt), "-32768", "INTEGER", "integer -32768", "-32768"},
		{connectors.T(connectors.Integer), "-2147483648", "INTEGER", "integer -2147483648", "-2147483648"},
		{connectors.T(connectors.BigInt), "-9223372036854775808", "INTEGER", "integer -9223372036854775808", "-9223372036854775808"},
		{connectors.T(connectors.BigInt), "9223372036854775807", "INTEGER", "integer 9223372036854775807", "9223372036854775807"},
		{connectors.T(connectors.UTinyInt), "255", "INTEGER", "integer 255", "255"},
		{connectors.T(connectors.USmallInt), "65535", "INTEGER", "integer 65535", "65535"},
		{connectors.T(connectors.UInteger), "4294967295", "INTEGER", "integer 4294967295", "4294967295"},
		{connectors.T(connectors.UBigInt), uint64(math.MaxUint64), "DECIMAL_TEXT(20,0)", "text 18446744073709551615", "18446744073709551615"},
		{connectors.T(connectors.HugeInt), dec("-170141183460469231731687303715884105727"), "DECIMAL_TEXT(39,0)", "text -170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"},
		{connectors.T(connectors.Float), 0.5, "DOUBLE", "real 0.5", "0.5"},
		{connectors.T(connectors.Double), 0.1, "DOUBLE", "real 0.1", "0.1"},
		{connectors.T(connectors.Double), 5e-324, "DOUBLE", "", "5e-324"},
		{connectors.T(connectors.Double), math.MaxFloat64, "DOUBLE", "", "1.7976931348623157e+308"},
		{connectors.T(connectors.Double), math.Inf(-1), "DOUBLE", "real -Inf", "-Inf"},
		{connectors.T(connectors.Double), math.NaN(), "DOUBLE", "", "!no NaN"},
		{connectors.T(connectors.Double), math.Copysign(0, -1), "DOUBLE", "real 0.0", "0"}, // SQLite has no negative zero
		{connectors.Dec(15, 2), dec("999999999999999"), "DECIMAL(15,2)", "", "9999999999999.99"},
		{connectors.Dec(15, 15), dec("-1"), "DECIMAL(15,15)", "real -1.0e-15", "-0.000000000000001"},
		{connectors.Dec(10, 2), dec("500"), "DECIMAL(10,2)", "integer 5", "5.00"},
		{connectors.Dec(16, 2), dec("-1234567890123456"), "DECIMAL_TEXT(16,2)", "text -12345678901234.56", "-12345678901234.56"},
		{connectors.Dec(38, 38), dec("-1"), "DECIMAL_TEXT(38,38)", "text -0.00000000000000000000000000000000000001", "-0.00000000000000000000000000000000000001"},
		{connectors.Dec(38, 0), dec("99999999999999999999999999999999999999"), "DECIMAL_TEXT(38,0)", "text 99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
		{connectors.T(connectors.Varchar), "007", "TEXT", "text 007", "007"},
		{connectors.T(connectors.Varchar), "", "TEXT", "text ", ""},
		{connectors.T(connectors.Varchar), "∅", "TEXT", "null ∅", "∅"},
		{connectors.T(connectors.Varchar), "it's \"q\" \\N\t\r\n😀 e\u0301 \x00 end", "TEXT", "", "it's \"q\" \\N\t\r\n😀 e\u0301 \x00 end"},
		{connectors.T(connectors.Blob), []byte{0, 255, '\''}, "BLOB", "", "AP8n"},
		{connectors.T(connectors.Blob), []byte{}, "BLOB", "blob ", ""},
		{connectors.T(connectors.Date), "2024-02-29", "DATE", "text 2024-02-29", "2024-02-29"},
		{connectors.T(connectors.Date), "0001-01-01", "DATE", "text 0001-01-01", "0001-01-01"},
		{connectors.T(connectors.Date), "9999-12-31", "DATE", "text 9999-12-31", "9999-12-31"},
		{connectors.T(connectors.Date), arrow.Date32(maxDay + 1), "DATE", "", "!sqlite's dates"},
		{connectors.T(connectors.Date), arrow.Date32(math.MaxInt32), "DATE", "", "!infinity"},
		{connectors.T(connectors.Time), arrow.Time64(86399999999), "TIME", "text 23:59:59.999999", "23:59:59.999999"},
		{connectors.T(connectors.Time), arrow.Time64(86400000000), "TIME", "text 24:00:00", "00:00:00.000000"}, // Arrow's spelling of 24:00
		{connectors.T(connectors.Timestamp), arrow.Timestamp(-1), "DATETIME", "text 1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"},
		{connectors.T(connectors.Timestamp), arrow.Timestamp(0), "DATETIME", "text 1970-01-01 00:00:00", "1970-01-01 00:00:00.000000"},
		{connectors.T(connectors.Timestamp), arrow.Timestamp((maxDay+1)*day - 1), "DATETIME", "text 9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"},
		{connectors.T(connectors.Timestamp), arrow.Timestamp((maxDay + 1) * day), "DATETIME", "", "!year 0000 to 9999"},
		{connectors.T(connectors.Timestamp), arrow.Timestamp(math.MaxInt64), "DATETIME", "", "!infinity"},
		{connectors.T(connectors.TimestampTZ), arrow.Timestamp(1), "TIMESTAMPTZ", "text 1970-01-01 00:00:00.000001+00:00", "1970-01-01 00:00:00.000001Z"},
		{connectors.T(connectors.TimestampNS), arrow.Timestamp(-1), "TIMESTAMP_NS", "text 1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999"},
		{connectors.T(connectors.UUID), []byte("0123456789abcdef"), "UUID_TEXT", "text 30313233-3435-3637-3839-616263646566", "MDEyMzQ1Njc4OWFiY2RlZg=="},
		{connectors.T(connectors.JSON), `{"a": 1.0}`, "JSON_TEXT", `text {"a": 1.0}`, `{"a": 1.0}`},
		{connectors.T(connectors.JSON), "1e2", "JSON_TEXT", "text 1e2", "1e2"},
		{connectors.T(connectors.Bit), "0101", "TEXT", "text 0101", "0101"},
		{connectors.T(connectors.Interval), arrow.MonthDayNanoInterval{Months: 14, Days: -3, Nanoseconds: -1500000}, "TEXT", "text 1 year 2 months -3 days -00:00:00.001500", "1 year 2 months -3 days -00:00:00.001500"},
		{connectors.T(connectors.TimeTZ), uint64(3600e6)<<24 | (57599 - 19800), "TEXT", "text 01:00:00+05:30", "01:00:00+05:30"},
		{list, "[1,null,-3]", "JSON_TEXT", "text [1,null,-3]", "[1,null,-3]"},
		{list, "∅", "JSON_TEXT", "null ∅", "∅"},
		{nested, `{"a\"b": "x<&\n", "l": ["1234567890123456789012345678901234.56", null]}`, "JSON_TEXT", "", `{"a\"b":"x<&\n","l":[1234567890123456789012345678901234.56,null]}`},
		{mapping, `[{"key": "k", "value": 1.5}]`, "JSON_TEXT", `text {"k":1.5}`, `{"k":1.5}`},
	} {
		name := fmt.Sprintf("%v as %s", k.value, k.typ)
		c := newConn(t)
		cols := []connectors.Column{{Name: "k", Type: connectors.T(connectors.BigInt)}, {Name: "v", Type: k.typ}}
		rec := record(t, cols, []any{"5", k.value}, []any{"6", "∅"})
		err := load(t, c, "t", cols, connectors.TargetOptions{UniqueKey: []string{"k"}}, rec)
		rec.Release()
		if reason, fails := strings.CutPrefix(k.back, "!"); fails {
			var ve *connectors.ValueError
			if !errors.As(err, &ve) || ve.Row != "k = 5" || !strings.Contains(ve.Error(), reason) {
				t.Errorf("%s: error %v, want one with %q", name, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		table := describe(t, c, "t")
		if got := table.Columns[1].Native; got != k.ddl {
			t.Errorf("%s: declared %s, want %s", name, got, k.ddl)
		}
		stored := engineRows(t, c, "SELECT typeof(v) || ' ' || coalesce(v, '∅') FROM t WHERE k = 5")
		if k.stored != "" && stored[0] != k.stored {
			t.Errorf("%s: stored as %s, want %s", name, stored[0], k.stored)
		}
		if got, err := rows(t, c, table, "v"); err != nil || !slices.Equal(got, []string{k.back, "∅"}) {
			t.Errorf("%s: read back as %q, %v; want %q", name, got, err, k.back)
		}
	}
}

// A model's own column types: exact or refused.
func TestWriteColumnTypes(t *testing.T) {
	for _, k := range []struct {
		typ    connectors.Type
		value  any
		ddl    string
		stored string
	}{
		{connectors.Dec(20, 2), decimalOfText(t, "1234567"), "NUMERIC(20,2)", "real 12345.67"},
		{connectors.Dec(20, 2), decimalOfText(t, "12345678901234567"), "NUMERIC(20,2)", "!15 digits"},
		{connectors.Dec(18, 0), decimalOfText(t, "999999999999999999"), "INTEGER", "integer 999999999999999999"},
		{connectors.T(connectors.UBigInt), uint64(math.MaxUint64), "INTEGER", "!64 bits"},
		{connectors.T(connectors.UBigInt), uint64(5), "INTEGER", "integer 5"},
		{connectors.T(connectors.BigInt), "9007199254740993", "REAL", "!more digits"},
		{connectors.T(connectors.BigInt), "9007199254740993", "TEXT", "text 9007199254740993"},
		{connectors.T(connectors.Double), 0.1, "TEXT", "text 0.1"},
		{connectors.T(connectors.Varchar), "x", "VARCHAR(10)", "text x"},
		{connectors.T(connectors.Varchar), "007", "NUMERIC", "!make numbers of texts"},
		{connectors.T(connectors.Varchar), "x", "TEXT); DROP TABLE t; --", "!no type"},
	} {
		c := newConn(t)
		cols := []connectors.Column{{Name: "v", Type: k.typ}}
		rec := record(t, cols, []any{k.value})
		err := load(t, c, "t", cols, connectors.TargetOptions{ColumnTypes: map[string]string{"v": k.ddl}}, rec)
		rec.Release()
		if reason, fails := strings.CutPrefix(k.stored, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%v as %s: %v, want an error with %q", k.value, k.ddl, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v as %s: %v", k.value, k.ddl, err)
			continue
		}
		if got := engineRows(t, c, "SELECT typeof(v) || ' ' || v FROM t"); got[0] != k.stored {
			t.Errorf("%v as %s: stored as %s, want %s", k.value, k.ddl, got[0], k.stored)
		}
	}
}

func TestTargetTypeKeepsItsOwn(t *testing.T) {
	for _, k := range []struct {
		native string
		typ    connectors.Type
		want   string
	}{
		{"VARCHAR(20)", connectors.T(connectors.Varchar), "VARCHAR(20)"},
		{"bigint unsigned", connectors.T(connectors.BigInt), "bigint unsigned"},
		{"NUMERIC(10,2)", connectors.Dec(10, 2), "NUMERIC(10,2)"},
		{"NUMERIC(30,2)", connectors.Dec(30, 2), "DECIMAL_TEXT(30,2)"}, // else REAL in silence
		{"STRING", connectors.T(connectors.Varchar), "TEXT"},           // numeric affinity: '007' → 7
		{"JSON", connectors.T(connectors.JSON), "JSON_TEXT"},
		{"TIMESTAMP_UNIX", connectors.T(connectors.Timestamp), "DATETIME"},
		{"TEXT", connectors.T(connectors.BigInt), "INTEGER"}, // read as another type
		{"", connectors.T(connectors.Varchar), "TEXT"},
	} {
		got, err := targetType(connectors.Column{Name: "c", Type: k.typ, Native: k.native, Engine: engine})
		if err != nil || got != k.want {
			t.Errorf("%s as %s: %s, %v; want %s", k.native, k.typ, got, err, k.want)
		}
	}
	if got, _ := targetType(connectors.Column{Name: "c", Type: connectors.T(connectors.Varchar), Native: "citext", Engine: "postgres"}); got != "TEXT" {
		t.Errorf("another engine's type: %s", got)
	}
}

func TestWriteNames(t *testing.T) {
	c := newConn(t)
	var cols []connectors.Column
	names := []string{"select", "With Space", "quo\"te", "back`tick", "it's", "日本", "a;--", "]["}
	row := []any{}
	for _, n := range names {
		cols = append(cols, connectors.Column{Name: n, Type: connectors.T(connectors.Varchar)})
		row = append(row, "v "+n)
	}
	rec := record(t, cols, row)
	defer rec.Release()
	for _, table := range []string{"or`der", "x\"y", "ta'ble", "sélect 日本", "group"} {
		for range 2 { // the second time over the first
			if err := load(t, c, table, cols, connectors.TargetOptions{UniqueKey: []string{"back`tick"}}, rec); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
		}
		got, err := rows(t, c, describe(t, c, table))
		if err != nil || len(got) != 1 || got[0] != "v "+strings.Join(names, "|v ") {
			t.Errorf("%s: %q, %v", table, got, err)
		}
	}
}
