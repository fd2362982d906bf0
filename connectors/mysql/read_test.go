package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

type edge struct {
	ddl   string
	typ   connectors.Type
	value []string // SQL, then text, alternating
}

// edges are values of each type in the engine's SQL, with the logical type and the
// texts that dvt must read. "" stands for the engine's own text of the value.
var edges = []edge{
	{"tinyint", connectors.T(connectors.TinyInt), []string{"-128", "", "127", "", "0", ""}},
	{"tinyint unsigned", connectors.T(connectors.UTinyInt), []string{"0", "", "255", ""}},
	{"tinyint(1)", connectors.T(connectors.TinyInt), []string{"5", "", "-1", ""}},
	{"smallint", connectors.T(connectors.SmallInt), []string{"-32768", "", "32767", ""}},
	{"smallint unsigned", connectors.T(connectors.USmallInt), []string{"65535", ""}},
	{"mediumint", connectors.T(connectors.Integer), []string{"-8388608", "", "8388607", ""}},
	{"mediumint unsigned", connectors.T(connectors.UInteger), []string{"16777215", ""}},
	{"int", connectors.T(connectors.Integer), []string{"-2147483648", "", "2147483647", ""}},
	{"int unsigned", connectors.T(connectors.UInteger), []string{"4294967295", ""}},
	{"int(5) zerofill", connectors.T(connectors.UInteger), []string{"42", "42"}},
	{"bigint", connectors.T(connectors.BigInt), []string{"-9223372036854775808", "", "9223372036854775807", ""}},
	{"bigint unsigned", connectors.T(connectors.UBigInt), []string{"0", "", "9223372036854775807", "", "9223372036854775808", "", "18446744073709551615", ""}},
	{"decimal(38,0)", connectors.Dec(38, 0), []string{"99999999999999999999999999999999999999", "", "-99999999999999999999999999999999999999", "", "0", ""}},
	{"decimal(38,38)", connectors.Dec(38, 38), []string{"0.00000000000000000000000000000000000001", "", "-0.99999999999999999999999999999999999999", ""}},
	{"decimal(18,4)", connectors.Dec(18, 4), []string{"-0.0001", "", "12345678901234.5678", "", "1", "", "-0", "0.0000"}},
	{"decimal(5,2) unsigned", connectors.Dec(5, 2), []string{"999.99", ""}},
	{"float", connectors.T(connectors.Float), []string{"0.1", "0.10000000149011612", "16777217", "1.6777216e+07", "3.4028234e38", "3.4028234663852886e+38", "1.4e-45", "1.401298464324817e-45"}},
	{"double", connectors.T(connectors.Double), []string{"0.1", "", "-0e0", "", "1.7976931348623157e308", "1.7976931348623157e+308", "5e-324", "5e-324", "16777217", "1.6777217e+07"}},
	{"date", connectors.T(connectors.Date), []string{"'0001-01-01'", "", "'9999-12-31'", "", "'2024-02-29'", "", "'0000-05-05'", "", "'1969-12-31'", ""}},
	{"datetime", connectors.T(connectors.Timestamp), []string{"'0001-01-01 00:00:00'", "0001-01-01 00:00:00.000000", "'2024-03-31 02:30:00'", "2024-03-31 02:30:00.000000"}},
	{"datetime(3)", connectors.T(connectors.Timestamp), []string{"'2024-11-03 01:30:00.123'", "2024-11-03 01:30:00.123000"}},
	{"datetime(6)", connectors.T(connectors.Timestamp), []string{"'9999-12-31 23:59:59.999999'", "", "'1969-12-31 23:59:59.999999'", "", "'2024-03-10 02:30:00.000001'", ""}},
	{"timestamp(6) NULL", connectors.T(connectors.TimestampTZ), []string{"'1970-01-01 00:00:01.000000'", "", "'2038-01-19 03:14:07.999999'", "", "'2024-11-03 01:30:00.5'", ""}},
	{"timestamp NULL", connectors.T(connectors.TimestampTZ), []string{"'2024-03-10 02:30:00'", "2024-03-10 02:30:00.000000"}},
	{"time", connectors.T(connectors.Time), []string{"'00:00:00'", "00:00:00.000000", "'24:00:00'", "24:00:00.000000"}},
	{"time(6)", connectors.T(connectors.Time), []string{"'23:59:59.999999'", "", "'00:00:00.000001'", ""}},
	{"year", connectors.T(connectors.SmallInt), []string{"1901", "1901", "2155", "2155", "0", "0"}},
	{"bit(1)", connectors.T(connectors.Boolean), []string{"b'1'", "1", "b'0'", "0"}},
	{"bit(10)", connectors.T(connectors.UBigInt), []string{"b'1111111111'", "1023", "b'0'", "0"}},
	{"bit(64)", connectors.T(connectors.UBigInt), []string{"b'1111111111111111111111111111111111111111111111111111111111111111'", "18446744073709551615"}},
	{"char(6) CHARACTER SET utf8mb4", connectors.T(connectors.Varchar), []string{"'ab '", "ab", "'日本'", "日本"}},
	{"varchar(60) CHARACTER SET utf8mb4", connectors.T(connectors.Varchar), []string{`'a\'b"c\\d\ne\tf\r\0'`, "a'b\"c\\d\ne\tf\r\x00", "''", "", "'ab '", "", `'\\N'`, `\N`, "'😀é'", ""}},
	{"varchar(60) CHARACTER SET latin1", connectors.T(connectors.Varchar), []string{"'é€ß'", "é€ß", "'Ä '", "Ä "}},
	{"varchar(60) CHARACTER SET utf16", connectors.T(connectors.Varchar), []string{"'é€😀'", "é€😀"}},
	{"tinytext CHARACTER SET utf8mb4", connectors.T(connectors.Varchar), []string{"'x'", ""}},
	{"longtext CHARACTER SET utf8mb4", connectors.T(connectors.Varchar), []string{"repeat('é', 500000)", "", "''", ""}},
	{"enum('x','it''s','ü') CHARACTER SET utf8mb4", connectors.T(connectors.Varchar), []string{"'it''s'", "it's", "'ü'", "ü"}},
	{"set('a','b','c')", connectors.T(connectors.Varchar), []string{"'c,a'", "a,c", "''", ""}},
	{"json", connectors.T(connectors.JSON), []string{`'{"b": 1.10, "a": [null, "x"]}'`, `{"b": 1.10, "a": [null, "x"]}`}},
	{"binary(4)", connectors.T(connectors.Blob), []string{"x'0001'", "00010000"}},
	{"varbinary(300)", connectors.T(connectors.Blob), []string{"x'00ff275c0a'", "00ff275c0a", "''", ""}},
	{"longblob", connectors.T(connectors.Blob), []string{"unhex('" + allBytes() + "')", allBytes()}},
	{"geometry", connectors.T(connectors.Blob), []string{"ST_GeomFromText('POINT(1 2)', 4326)", "0101000000000000000000f03f0000000000000040"}},
	{"uuid", connectors.T(connectors.UUID), []string{"'123e4567-e89b-12d3-a456-426655440000'", "", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", ""}},
	{"inet4", connectors.T(connectors.Varchar), []string{"'192.0.2.1'", ""}},
	{"inet6", connectors.T(connectors.Varchar), []string{"'2001:db8::ff'", "", "'::ffff:192.0.2.1'", ""}},
}

func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		b.WriteString(string("0123456789abcdef"[i>>4]) + string("0123456789abcdef"[i&15]))
	}
	return b.String()
}

// edgeTable makes one table of all of list: column vN holds the values of list[N] in its
// rows 0, 1, …, and NULL in the others.
func edgeTable(t *testing.T, c *Conn, name string, list []edge) (rows int) {
	t.Helper()
	def := []string{"i int PRIMARY KEY"}
	for k, e := range list {
		def = append(def, fmt.Sprintf("v%d %s", k, e.ddl))
		rows = max(rows, len(e.value)/2+1)
	}
	sql := []string{"CREATE TABLE " + name + " (" + strings.Join(def, ", ") + ")"}
	for i := range rows {
		var cols, vals []string
		for k, e := range list {
			if 2*i < len(e.value) {
				cols, vals = append(cols, fmt.Sprintf("v%d", k)), append(vals, e.value[2*i])
			}
		}
		sql = append(sql, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, strings.Join(append(cols, "i"), ", "), strings.Join(append(vals, fmt.Sprint(i)), ", ")))
	}
	execSQL(t, c, strings.Join(sql, "; "))
	return rows
}

func TestReadEdges(t *testing.T) {
	c := connect(t)
	n := edgeTable(t, c, "e", edges)
	own := query(t, c, "SELECT * FROM e ORDER BY i")
	tab := describe(t, c, "e")
	q := all(c, tab)
	q.SQL += " ORDER BY i"
	rows := read(t, c, q)
	for k, e := range edges {
		if got := tab.Columns[k+1].Type; !got.Equal(e.typ) {
			t.Fatalf("%s: type %s, want %s", e.ddl, got, e.typ)
		}
		for i := range n {
			want := "NULL"
			if 2*i < len(e.value) {
				if want = e.value[2*i+1]; want == "" {
					want = own[i][k+1]
				}
			}
			if got := rows[i][k+1]; got != want {
				t.Errorf("%s: value %d is %s, want %s", e.ddl, i, connectors.Shorten(got), connectors.Shorten(want))
			}
		}
	}
}

func TestZeroDates(t *testing.T) {
	var log bytes.Buffer
	c := connect(t, "", &log)
	const ddl = "SET sql_mode='ALLOW_INVALID_DATES'; CREATE TABLE z (i int, d date, t datetime(6), s timestamp NULL);" +
		"INSERT INTO z VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00'), (2, '2024-00-10', '2024-01-00 10:00:00', NULL), (3, '2024-01-02', '2024-01-02', '2024-01-02')"
	execSQL(t, c, ddl)
	q := all(c, describe(t, c, "z"))
	q.SQL += " ORDER BY i"
	rows := read(t, c, q)
	for i := range 2 {
		for k := 1; k < 4; k++ {
			if rows[i][k] != "NULL" {
				t.Errorf("row %d column %d is %s, want NULL", i, k, rows[i][k])
			}
		}
	}
	if rows[2][1] != "2024-01-02" {
		t.Errorf("real date is %s", rows[2][1])
	}
	if c.ZeroDates() != 5 || !strings.Contains(log.String(), "column=d values=2") {
		t.Errorf("%d zero dates counted, log:\n%s", c.ZeroDates(), log.String())
	}
	c.zeroDates = zeroError
	var verr *connectors.ValueError
	if _, err := tryRead(c, q); !errors.As(err, &verr) || verr.Column != "d" || verr.Value != "0000-00-00" {
		t.Errorf("with zero_dates: error got %v", err)
	}
	c.zeroDates = zeroNull
	execSQL(t, c, "SET sql_mode='ALLOW_INVALID_DATES'; INSERT INTO z VALUES (4, '2023-02-31', NULL, NULL)")
	if _, err := tryRead(c, q); !errors.As(err, &verr) || verr.Value != "2023-02-31" {
		t.Errorf("an invalid date: got %v", err)
	}
}

func TestReadRefusesValues(t *testing.T) {
	c := connect(t, "tinyint1_is_bool", true)
	execSQL(t, c, "CREATE TABLE r (b tinyint(1), t time(3)); INSERT INTO r VALUES (1, '-838:59:58.999'), (2, NULL)")
	tab := describe(t, c, "r")
	var verr *connectors.ValueError
	if _, err := tryRead(c, connectors.Query{SQL: "SELECT b FROM r", Columns: tab.Columns[:1]}); !errors.As(err, &verr) || verr.Value != "2" || verr.Row != "number 2" {
		t.Errorf("a tinyint(1) of 2 as boolean: %v", err)
	}
	if _, err := tryRead(c, connectors.Query{SQL: "SELECT t FROM r", Columns: tab.Columns[1:]}); !errors.As(err, &verr) || verr.Value != "-838:59:58.999" {
		t.Errorf("a time below 0: %v", err)
	}
	// The project may give the column a type that holds it.
	for _, typ := range []struct {
		kind connectors.Kind
		want string
	}{{connectors.Varchar, "-838:59:58.999"}, {connectors.Interval, "-838:59:58.999"}} {
		col := tab.Columns[1]
		col.Type = connectors.T(typ.kind)
		if got := read(t, c, connectors.Query{SQL: "SELECT t FROM r LIMIT 1", Columns: []connectors.Column{col}}); got[0][0] != typ.want {
			t.Errorf("as %s: %s", typ.kind, got[0][0])
		}
	}
}

func TestReadCharsets(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "SET sql_mode = ''; CREATE TABLE cs (i int, a varchar(9) CHARACTER SET ascii, b varchar(9) CHARACTER SET cp1251, c enum('a','б') CHARACTER SET cp1251, d text CHARACTER SET cp932);"+
		"INSERT INTO cs VALUES (1, 'a?', 'я??', 'б', '①?'), (2, x'61E9', NULL, NULL, NULL), (3, NULL, x'98', NULL, NULL), (4, 'x', '', 'a', x'ED40')")
	tab := describe(t, c, "cs")
	q := all(c, tab)
	rows := read(t, c, connectors.Query{SQL: q.SQL + " WHERE i IN (1, 4) ORDER BY i", Columns: q.Columns})
	if got := fmt.Sprint(rows); got != "[[1 a? я?? б ①?] [4 x  a 纊]]" {
		t.Errorf("read %s", got)
	}
	for i, col := range map[int]string{2: "a", 3: "b"} {
		var verr *connectors.ValueError
		if _, err := tryRead(c, connectors.Query{SQL: fmt.Sprintf("%s WHERE i = %d", q.SQL, i), Columns: q.Columns}); !errors.As(err, &verr) || verr.Column != col {
			t.Errorf("a character without a counterpart: %v", err)
		}
	}
	tab.Columns[1].Type = connectors.T(connectors.Blob)
	q = all(c, tab)
	if rows := read(t, c, connectors.Query{SQL: q.SQL + " WHERE i = 2", Columns: q.Columns}); rows[0][1] != "61e9" {
		t.Errorf("as a blob: %v", rows)
	}
}

func TestProbe(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE p (i int, d decimal(65,30), e decimal(65,0)); INSERT INTO p VALUES (1, 12345678901234567890.000000000012345678, 7), (2, -0.5, NULL), (3, NULL, 99999999999999999999999999999999999999999)")
	tab := describe(t, c, "p")
	types, err := c.Probe(context.Background(), tab, []int{1, 2}, "i < 3")
	if err != nil {
		t.Fatal(err)
	}
	if !types[0].Equal(connectors.Dec(38, 18)) || !types[1].Equal(connectors.Dec(38, 0)) {
		t.Fatalf("probed %v", types)
	}
	tab.Columns[1].Type, tab.Columns[2].Type = types[0], types[1]
	q := all(c, tab)
	rows := read(t, c, connectors.Query{SQL: q.SQL + " WHERE i < 3 ORDER BY i", Columns: q.Columns})
	if rows[0][1] != "12345678901234567890.000000000012345678" || rows[1][1] != "-0.500000000000000000" {
		t.Errorf("read %v", rows)
	}
	var terr *connectors.TypeError
	if _, err := c.Probe(context.Background(), tab, []int{2}, ""); !errors.As(err, &terr) || terr.Column != "e" {
		t.Errorf("41 digits: %v", err)
	}
}

func TestReadWithoutColumns(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE n (i int); INSERT INTO n VALUES (1), (2), (3)")
	tab := describe(t, c, "n")
	sql := c.Dialect().Select(connectors.Extract{Table: tab, Limit: -1})
	if rows := read(t, c, connectors.Query{SQL: sql}); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	one := []connectors.Column{{Name: "1", Type: connectors.T(connectors.TinyInt)}}
	if rows := read(t, c, connectors.Query{SQL: sql, Columns: one}); len(rows) != 3 || rows[0][0] != "1" {
		t.Errorf("rows %v", rows)
	}
}

// TestStatistics: the first columns of indexes have a number of values, and tables without
// versions are not read twice in one state.
func TestStatistics(t *testing.T) {
	c := connect(t)
	for _, q := range []string{"CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(20), p VARCHAR(20), n INT, KEY (k, n), KEY (s), KEY (p(2)))",
		"INSERT INTO t SELECT seq, seq % 10, CONCAT('s', seq % 50), CONCAT('p', seq), seq FROM seq_1_to_1000", "ANALYZE TABLE t",
		"CREATE TABLE a (id INT) ENGINE=Aria", "CREATE TABLE m (id INT) ENGINE=MyISAM", "CREATE VIEW v AS SELECT * FROM t"} {
		execSQL(t, c, q)
	}
	got := describe(t, c, "t")
	for i, want := range []int64{1000, 10, 50, 0, 0} { // of the last but one, the index knows beginnings
		if n := got.Stat(i).Distinct; n < want/2 || n > want*2 {
			t.Errorf("%s: %d values, want about %d", got.Columns[i].Name, n, want)
		}
	}
	if !slices.Equal(got.PrimaryKey, []string{"id"}) {
		t.Errorf("primary key %v", got.PrimaryKey)
	}
	for name, stable := range map[string]bool{"t": true, "a": false, "m": false, "v": false} {
		if describe(t, c, name).Stable != stable {
			t.Errorf("%s: not stable %v", name, stable)
		}
	}
}
