package clickhouse

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

func TestPing(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		info, err := f.Ping(context.Background())
		if err != nil || info.Version == "" {
			t.Fatalf("%+v, %v", info, err)
		}
		t.Log(info.Version)
	})
}

// Each column holds edge values of its type; what is read must be the server's own.
func TestReadTypes(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.exec("CREATE TABLE " + f.db + `.t (id Int32, i8 Int8, i64 Nullable(Int64), u8 UInt8, u64 UInt64, f32 Float32, f64 Float64,
		s String, ns Nullable(String), fs FixedString(3), e Enum8('a' = -128, 'it\'s' = 5), d Date, ts DateTime, tu DateTime('UTC'),
		uid UUID, d9 Decimal(9, 2), d18 Nullable(Decimal(18, 4)), d38 Decimal(38, 0),
		a Array(Nullable(Int32)), aa Array(Array(String)), tup Tuple(Int8, String), nt Tuple(x Int8, y Array(String)), n Nested(k Int8, v String)
		) ENGINE = Memory`)
		f.exec("INSERT INTO " + f.db + `.t VALUES
		(1, -128, -9223372036854775808, 0, 0, -inf, nan, '', NULL, '', 'a', '1970-01-01', '1970-01-01 05:30:00', '1970-01-01 00:00:00',
		'00000000-0000-0000-0000-000000000000', -9999999.99, NULL, -99999999999999999999999999999999999999, [], [], (1, 'x'), (1, ['p', 'q']), [], []),
		(2, 127, 9223372036854775807, 255, 18446744073709551615, 0.1, 1.7976931348623157e308, '日本\n\t\\''"\0x', '', 'ab', 'it\'s', '2105-12-31', '2024-03-10 12:00:00', '2105-12-31 23:59:59',
		'61f0c404-5cb3-11e7-907b-a6006ad3dba0', 9999999.99, 12345678901234.5678, 99999999999999999999999999999999999999, [1, NULL, -3], [['a', ''], []], (-1, ''), (2, []), [1, 2], ['a', 'b'])`)
		want := [][]string{
			{"1", "-128", "-9223372036854775808", "0", "0", "-Inf", "NaN", "", "(null)", "\x00\x00\x00", "a", "1970-01-01", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
				"AAAAAAAAAAAAAAAAAAAAAA==", "-9999999.99", "(null)", "-99999999999999999999999999999999999999", "[]", "[]", `{"1":1,"2":"x"}`, `{"x":1,"y":["p","q"]}`, "[]", "[]"},
			{"2", "127", "9223372036854775807", "255", "18446744073709551615", "0.1", "1.7976931348623157e+308", "日本\n\t\\'\"\x00x", "", "ab\x00", "it's", "2105-12-31", "2024-03-10T06:30:00Z", "2105-12-31T23:59:59Z",
				"YfDEBFyzEeeQe6YAatPboA==", "9999999.99", "12345678901234.5678", "99999999999999999999999999999999999999", "[1,null,-3]", `[["a",""],[]]`, `{"1":-1,"2":""}`, `{"x":2,"y":[]}`, "[1,2]", `["a","b"]`},
		}
		got := f.table("t", "id")
		if len(got) != len(want) {
			t.Fatalf("%d rows", len(got))
		}
		tab := f.describe("t")
		for r := range want {
			for i := range want[r] {
				if got[r][i] != want[r][i] {
					t.Errorf("row %d %s %s (%s): got %q, want %q", r, tab.Columns[i].Name, tab.Columns[i].Native, tab.Columns[i].Type, got[r][i], want[r][i])
				}
			}
		}
	})
}

func TestReadLowCardinality(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.exec("CREATE TABLE " + f.db + ".t (id UInt32, s LowCardinality(String), n LowCardinality(Nullable(String)), a Array(LowCardinality(String)), d LowCardinality(Date), i LowCardinality(Nullable(Int32))) ENGINE = MergeTree ORDER BY id")
		f.exec("INSERT INTO " + f.db + ".t SELECT number, toString(number % 300), if(number % 3 = 0, NULL, toString(number % 5)), arraySlice([toString(number % 7), 'x'], 1, number % 3), toDate(number % 400), if(number % 4 = 0, NULL, toInt32(number % 9)) FROM system.numbers LIMIT 1000")
		f.exec("CREATE TABLE " + f.db + ".p (id UInt32, s String, n Nullable(String), a Array(String), d Date, i Nullable(Int32)) ENGINE = MergeTree ORDER BY id")
		f.exec("INSERT INTO " + f.db + ".p SELECT number, toString(number % 300), if(number % 3 = 0, NULL, toString(number % 5)), arraySlice([toString(number % 7), 'x'], 1, number % 3), toDate(number % 400), if(number % 4 = 0, NULL, toInt32(number % 9)) FROM system.numbers LIMIT 1000")
		if got, want := f.table("t", "id"), f.table("p", "id"); !reflect.DeepEqual(got, want) {
			t.Errorf("LowCardinality columns differ from plain ones:\n%v\n%v", got[:5], want[:5])
		}
	})
}

func TestReadStops(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		stop := errors.New("enough")
		var rows int64
		err := f.Read(context.Background(), connectors.Query{SQL: "SELECT number FROM system.numbers", Columns: []connectors.Column{{Name: "n", Type: connectors.T(connectors.UBigInt)}}},
			func(rec arrow.RecordBatch) error {
				if rec.NumRows() > connectors.BatchRows {
					t.Errorf("a batch of %d rows", rec.NumRows())
				}
				if rows += rec.NumRows(); rows > 100_000 {
					return stop
				}
				return nil
			})
		if !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
	})
}
