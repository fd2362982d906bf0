package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// Values as SQLite stores them, by declared type; want is the Arrow text, or an error's
// reason behind "!".
var readCases = []struct{ declared, value, want string }{
	{"INTEGER", "9223372036854775807", "9223372036854775807"},
	{"INTEGER", "-9223372036854775808", "-9223372036854775808"},
	{"INTEGER", "NULL", "∅"},
	{"INTEGER", "'abc'", "!not an integer"},
	{"INTEGER", "''", "!not an integer"},
	{"INTEGER", "3.5", "!not an integer"},
	{"INTEGER", "x'31'", "!not an integer"},
	{"INTEGER", "'12'", "12"}, // SQLite's own affinity
	{"INTEGER", "1e300", "!not an integer"},
	{"BOOLEAN", "1", "true"},
	{"BOOLEAN", "0", "false"},
	{"BOOLEAN", "2", "!not 0 or 1"},
	{"BOOLEAN", "'true'", "!not 0 or 1"},
	{"REAL", "0.1", "0.1"},
	{"REAL", "9e999", "+Inf"},
	{"REAL", "-9e999", "-Inf"},
	{"REAL", "9007199254740993", "9.007199254740992e+15"}, // SQLite's own affinity
	{"REAL", "'x'", "!not a number"},
	{"REAL", "5e-324", "5e-324"},
	{"REAL", "1.7976931348623157e308", "1.7976931348623157e+308"},
	{"DECIMAL(10,2)", "12.34", "12.34"},
	{"DECIMAL(10,2)", "-0.01", "-0.01"},
	{"DECIMAL(10,2)", "5", "5.00"},
	{"DECIMAL(10,2)", "'12.3'", "12.30"},
	{"DECIMAL(10,2)", "12.345", "!more than 2 digits"},
	{"DECIMAL(10,2)", "0.1 + 0.2", "!more than 2 digits"},
	{"DECIMAL(10,2)", "99999999.99", "99999999.99"},
	{"DECIMAL(10,2)", "100000000", "!too large"},
	{"DECIMAL(10,2)", "'abc'", "!not a decimal"},
	{"DECIMAL(10,2)", "''", "!not a decimal"},
	{"DECIMAL(10,2)", "9e999", "!infinite"},
	{"DECIMAL(38,30)", "1e-30", "0.000000000000000000000000000001"},
	{"DECIMAL(38,0)", "1e37", "10000000000000000000000000000000000000"},
	{"DECIMAL(18,0)", "999999999999999999", "999999999999999999"},
	{"DECIMAL_TEXT(38,10)", "'-1234567890123456789012345678.0123456789'", "-1234567890123456789012345678.0123456789"},
	{"DECIMAL_TEXT(20,0)", "'18446744073709551615'", "18446744073709551615"},
	{"DECIMAL_TEXT(5,2)", "'1.5e1'", "15.00"},
	{"DECIMAL_TEXT(5,2)", "'--1'", "!not a decimal"},
	{"DECIMAL_TEXT(5,2)", "'1.'", "1.00"},
	{"DECIMAL_TEXT(39,0)", "'-170141183460469231731687303715884105727'", "-170141183460469231731687303715884105727"},
	{"DECIMAL_TEXT(39,0)", "'170141183460469231731687303715884105728'", "!too large"},
	{"TEXT", "'it''s'", "it's"},
	{"TEXT", "''", ""},
	{"TEXT", "NULL", "∅"},
	{"TEXT", "5", "5"}, // SQLite's own affinity
	{"TEXT", "'a' || char(0) || 'b'", "a\x00b"},
	{"TEXT", "char(128512, 233, 769)", "😀é\u0301"},
	{"TEXT", "CAST(x'ff' AS TEXT)", "!not valid UTF-8"},
	{"TEXT", "CAST(x'eda080' AS TEXT)", "!not valid UTF-8"},
	{"TEXT", "CAST(x'c080' AS TEXT)", "!not valid UTF-8"},
	{"TEXT", "CAST(x'6162636465666768e282' AS TEXT)", "!not valid UTF-8"},
	{"TEXT", "x'61'", "!not a text"},
	{"", "5", "5"},
	{"", "2.0", "2.0"},
	{"", "0.1", "0.1"},
	{"", "1e300", "1.0e+300"},
	{"", "1.5e-7", "1.5e-07"},
	{"", "'t'", "t"},
	{"", "x'61'", "!not a text"},
	{"BLOB", "x'0001ff'", "AAH/"},
	{"BLOB", "x''", ""},
	{"BLOB", "'text'", "!not a blob"},
	{"DATE", "'2024-02-29'", "2024-02-29"},
	{"DATE", "'0001-01-01'", "0001-01-01"},
	{"DATE", "'9999-12-31'", "9999-12-31"},
	{"DATE", "'2024-01-02 00:00:00'", "2024-01-02"},
	{"DATE", "'2024-01-02T10:00:00'", "!a date with a time"},
	{"DATE", "'2023-02-29'", "!not a date"},
	{"DATE", "'2024-1-2'", "!not a date"},
	{"DATE", "''", "!not a date"},
	{"DATE", "'20240102'", "!not an ISO 8601 text"},
	{"DATE", "'garbage'", "!not a date"},
	{"DATE", "1704153600", "!not an ISO 8601 text"},
	{"DATETIME", "'2024-01-02 12:00:00'", "2024-01-02 12:00:00.000000"},
	{"DATETIME", "'2024-01-02T12:00:00.5Z'", "2024-01-02 12:00:00.500000"},
	{"DATETIME", "'2024-01-02'", "2024-01-02 00:00:00.000000"},
	{"DATETIME", "'2024-01-02 12:34'", "2024-01-02 12:34:00.000000"},
	{"DATETIME", "'1969-12-31 23:59:59.999999'", "1969-12-31 23:59:59.999999"},
	{"DATETIME", "'2024-01-02 12:00:00.123456000'", "2024-01-02 12:00:00.123456"},
	{"DATETIME", "'2024-01-02 12:00:00.1234567'", "!finer than microseconds"},
	{"DATETIME", "'2024-01-02 12:00:00.0000000000001'", "!finer than nanoseconds"},
	{"DATETIME", "'2024-01-02 23:30:00-05:00'", "!a time stamp with an offset"},
	{"DATETIME", "'2024-01-02 12:00:00+00:00'", "2024-01-02 12:00:00.000000"},
	{"DATETIME", "'2024-01-02 24:00:00'", "!not a time stamp"},
	{"DATETIME", "'garbage'", "!not a time stamp"},
	{"DATETIME", "1704153600", "!UNIX"},
	{"TIMESTAMP_UNIX", "1704153600", "2024-01-02 00:00:00.000000"},
	{"TIMESTAMP_UNIX_MS", "-1", "1969-12-31 23:59:59.999000"},
	{"DATETIME UNIX", "9223372036854775807", "!UNIX"},
	{"TIMESTAMPTZ", "'2024-01-02 23:30:00-05:00'", "2024-01-03 04:30:00.000000Z"},
	{"TIMESTAMPTZ", "'2024-01-02T12:00:00.25Z'", "2024-01-02 12:00:00.250000Z"},
	{"TIMESTAMPTZ", "'2024-01-02 12:00:00+0530'", "2024-01-02 06:30:00.000000Z"},
	{"TIMESTAMPTZ", "'2024-01-02 12:00:00'", "!Z or an offset"},
	{"TIME", "'23:59:59.999999'", "23:59:59.999999"},
	{"TIME", "'07:08'", "07:08:00.000000"},
	{"TIME", "'25:00:00'", "!not a time"},
	{"UUID", "'6BA7B810-9dad-11d1-80b4-00c04fd430c8'", "a6e4EJ2tEdGAtADAT9QwyA=="},
	{"UUID", "'6ba7b8109dad11d180b400c04fd430c8'", "a6e4EJ2tEdGAtADAT9QwyA=="},
	{"UUID", "x'6ba7b8109dad11d180b400c04fd430c8'", "a6e4EJ2tEdGAtADAT9QwyA=="},
	{"UUID", "'6ba7b810'", "!not a UUID"},
	{"JSON", `'{"a": [1, 2.50, "x\u00e9"], "b": null}'`, `{"a": [1, 2.50, "x\u00e9"], "b": null}`},
	{"JSON", "'[1,]'", "!not JSON"},
	{"JSON", "''", "!not JSON"},
	{"JSON", "'{\"a\":01}'", "!not JSON"},
	{"JSON", "5", "5"},
	{"JSON", "5.5", "5.5"},
	{"JSONB", `jsonb('{"a":[1,2]}')`, `{"a":[1,2]}`},
}

func TestReadValues(t *testing.T) {
	c := newConn(t)
	for i, k := range readCases {
		name := fmt.Sprintf("t%d", i)
		run(t, c, fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY, v %s); INSERT INTO %s VALUES (41, %s)", name, k.declared, name, k.value))
		got, err := rows(t, c, describe(t, c, name), "v")
		reason, fails := strings.CutPrefix(k.want, "!")
		if fails {
			var ve *connectors.ValueError
			if !errors.As(err, &ve) || !strings.Contains(ve.Error(), reason) || ve.Row != "rowid 41" || ve.Column != "v" {
				t.Errorf("%s of %s: got %q, error %v, want an error with %q", k.value, k.declared, got, err, reason)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0] != k.want {
			t.Errorf("%s of %s: got %q, error %v, want %q", k.value, k.declared, got, err, k.want)
		}
	}
}

func TestMismatchPolicies(t *testing.T) {
	c := newConn(t)
	run(t, c, `CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, d DATE, s TEXT, b BLOB, n DECIMAL(9,2));
		INSERT INTO t VALUES (1, 'abc', '', x'ff', 'text', 'n/a'), (2, 5, '2024-01-02', 'ok', x'01', 1.5), (3, NULL, NULL, x'6162', NULL, NULL), (4, 2.5, 20240102, 'x', x'', 7)`)
	null := connAt(t, c.path, "sqlite_type_mismatch", "null")
	got, err := rows(t, null, describe(t, null, "t"))
	want := []string{"1|∅|∅|∅|∅|∅", "2|5|2024-01-02|ok|AQ==|1.50", "3|∅|∅|∅|∅|∅", "4|∅|∅|x||7.00"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("null: %q, %v", got, err)
	}
	text := connAt(t, c.path, "sqlite_type_mismatch", "text")
	run(t, c, "UPDATE t SET s = 'valid' WHERE id = 1")
	got, err = rows(t, text, describe(t, text, "t"))
	want = []string{"1|abc||valid|dGV4dA==|n/a", "2|5|2024-01-02|ok|AQ==|1.5", "3|∅|∅|ab|∅|∅", "4|2.5|20240102|x||7"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("text: %q, %v", got, err)
	}
	if k := describe(t, text, "t").Columns[0].Type.Kind; k != connectors.BigInt {
		t.Errorf("the key is read as %s", k)
	}
}

// Every width of integer, and types that only a project's data_type asks for.
func TestReadAsOtherTypes(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (v)")
	for _, k := range []struct {
		typ         connectors.Type
		value, want string
	}{
		{connectors.T(connectors.TinyInt), "-128", "-128"},
		{connectors.T(connectors.TinyInt), "128", "!out of the range"},
		{connectors.T(connectors.UTinyInt), "255", "255"},
		{connectors.T(connectors.UTinyInt), "-1", "!out of the range"},
		{connectors.T(connectors.SmallInt), "32767", "32767"},
		{connectors.T(connectors.USmallInt), "65535", "65535"},
		{connectors.T(connectors.Integer), "-2147483648", "-2147483648"},
		{connectors.T(connectors.Integer), "2147483648", "!out of the range"},
		{connectors.T(connectors.UInteger), "4294967295", "4294967295"},
		{connectors.T(connectors.BigInt), "2.0", "2"},
		{connectors.T(connectors.BigInt), "9.3e18", "!not an integer"},
		{connectors.T(connectors.UBigInt), "'18446744073709551615'", "18446744073709551615"},
		{connectors.T(connectors.UBigInt), "-1", "!out of the range"},
		{connectors.T(connectors.Float), "0.5", "0.5"},
		{connectors.T(connectors.Float), "0.1", "!not a 32-bit float"},
		{connectors.T(connectors.Double), "9007199254740993", "!no double equals"},
		{connectors.T(connectors.Double), "7", "7"},
		{connectors.T(connectors.TimestampNS), "'2024-01-02 12:00:00.123456789'", "2024-01-02 12:00:00.123456789"},
		{connectors.T(connectors.Bit), "'0101'", "0101"},
		{connectors.T(connectors.TimestampTZ), "'2024-01-02T00:00:00Z'", "2024-01-02 00:00:00.000000Z"},
	} {
		q := connectors.Query{SQL: "SELECT " + k.value + " AS v", Columns: []connectors.Column{{Name: "v", Type: k.typ}}}
		got, err := texts(t, c, q)
		if reason, fails := strings.CutPrefix(k.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s as %s: got %q, error %v", k.value, k.typ, got, err)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0] != k.want {
			t.Errorf("%s as %s: got %q, error %v, want %q", k.value, k.typ, got, err, k.want)
		}
	}
	q := connectors.Query{SQL: "SELECT 1", Columns: []connectors.Column{{Name: "v", Type: connectors.T(connectors.Interval)}}}
	var te *connectors.TypeError
	if _, err := texts(t, c, q); !errors.As(err, &te) {
		t.Errorf("interval: %v", err)
	}
}

func TestReadBatches(t *testing.T) {
	c := newConn(t)
	run(t, c, `CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO t SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'text ' || i END FROM n;
		INSERT INTO t VALUES (100000, replace(hex(zeroblob(15000000)), '0', 'x')), (100001, 'after')`)
	table := describe(t, c, "t")
	got, err := rows(t, c, table)
	if err != nil || len(got) != 40002 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i := range 40000 {
		want := fmt.Sprintf("%d|text %d", i+1, i+1)
		if (i+1)%3 == 0 {
			want = fmt.Sprintf("%d|∅", i+1)
		}
		if got[i] != want {
			t.Fatalf("row %d: %q, want %q", i, got[i], want)
		}
	}
	if long := got[40000]; len(long) != len("100000|")+30000000 || got[40001] != "100001|after" {
		t.Errorf("the long text has %d bytes; after it %q", len(long), got[40001])
	}
	// No columns: only the number of rows matters.
	e, _ := extract(table, "id <= 20000")
	e.Columns = nil
	n := int64(0)
	err = c.Read(t.Context(), connectors.Query{SQL: c.d.Select(e)}, func(rec arrow.RecordBatch) error {
		n += rec.NumRows()
		return nil
	})
	if err != nil || n != 20000 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestReadRefusals(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
	for _, sql := range []string{"DELETE FROM t", "SELECT 1; SELECT 2", "", "SELECT a, a FROM t", "SELECT \"gone\" FROM t", "SELECT `gone` FROM t"} {
		q := connectors.Query{SQL: sql, Columns: []connectors.Column{{Name: "a", Type: connectors.T(connectors.BigInt)}}}
		if got, err := texts(t, c, q); err == nil {
			t.Errorf("%q: no error, %q", sql, got)
		}
	}
	if got := engineRows(t, c, "SELECT count(*) FROM t"); got[0] != "1" {
		t.Errorf("%s rows", got)
	}
	fail := errors.New("enough")
	q := connectors.Query{SQL: "SELECT a FROM t", Columns: []connectors.Column{{Name: "a", Type: connectors.T(connectors.BigInt)}}}
	if err := c.Read(t.Context(), q, func(arrow.RecordBatch) error { return fail }); !errors.Is(err, fail) {
		t.Errorf("emit's error: %v", err)
	}
}

func TestReadCancel(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	q := connectors.Query{
		SQL:     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
		Columns: []connectors.Column{{Name: "a", Type: connectors.T(connectors.BigInt)}},
	}
	began := time.Now()
	err := c.Read(ctx, q, func(arrow.RecordBatch) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if got, err := rows(t, c, describe(t, c, "t")); err != nil || len(got) != 1 {
		t.Errorf("after the cancellation: %q, %v", got, err)
	}
}

func TestSnapshot(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
		table := describe(t, c, "t")
		sn, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wrote := make(chan error, 1)
		go func() { wrote <- c.Exec(context.Background(), "INSERT INTO t VALUES (2)") }()
		if mode == "WAL" {
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
		e, cols := extract(table, "")
		for range 2 {
			if got, err := texts(t, sn, connectors.Query{SQL: c.d.Select(e), Columns: cols}); err != nil || !slices.Equal(got, []string{"1"}) {
				t.Errorf("%s: %q, %v", mode, got, err)
			}
		}
		if err := sn.Close(); err != nil {
			t.Error(err)
		}
		if mode != "WAL" {
			if err := <-wrote; err != nil { // queued behind the snapshot, not refused
				t.Error(err)
			}
		}
		if got, err := rows(t, c, table); err != nil || len(got) != 2 {
			t.Errorf("%s: after the snapshot %q, %v", mode, got, err)
		}
		if got := engineRows(t, c, "PRAGMA journal_mode"); !strings.EqualFold(got[0], mode) {
			t.Errorf("the journal mode became %s", got)
		}
	}
}
