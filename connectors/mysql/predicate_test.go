package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// The differential test: a table of nasty values on the server, what Read makes of it in
// DuckDB, and random predicates over both. A row that DuckDB keeps must be kept by the
// pushed text, and an exact text must keep no other.

var texts = []string{"a", "A", "a ", " a", "ab", "AB", "á", "é", "É", "e\u0301", "ß", "ss", "SS", "", " ", "b%", "b_", `b\x`, `\`, `a\%`, "%", "_", "'", `"`,
	"日本", "😀", "😀a", "ﬁ", "\u212a", "k", "ı", "I", "\t", "1", "01", "10", "ÿ", "Z", "a\x00", "\x1a", "a,1", "O'x;--"}

var days = []string{"0000-00-00", "2024-00-00", "2024-01-00", "2024-00-10", "2024-01-01", "2024-01-02", "2024-01-03", "2023-12-31", "2024-02-29", "1969-12-31", "1000-01-01", "0001-01-01", "9999-12-31"}
var clocks = []string{"00:00:00", "00:00:00.000001", "12:00:00", "12:00:00.5", "23:59:59.999999"}

type diffColumn struct {
	name, ddl string
	index     string // "" none
	value     func(r *rand.Rand) string
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func diffColumns() []diffColumn {
	text := func(r *rand.Rand) string { return str(pick(r, texts)) }
	short := func(limit rune) func(r *rand.Rand) string {
		return func(r *rand.Rand) string {
			for {
				if s := pick(r, texts); strings.IndexFunc(s, func(c rune) bool { return c >= limit }) < 0 {
					return str(s)
				}
			}
		}
	}
	from := func(v ...string) func(r *rand.Rand) string { return func(r *rand.Rand) string { return pick(r, v) } }
	ints := from("-2", "-1", "0", "1", "2", "3", "5")
	stamp := func(r *rand.Rand) string { return "'" + pick(r, days) + " " + pick(r, clocks) + "'" }
	instant := func(r *rand.Rand) string {
		if r.IntN(8) == 0 {
			return "'0000-00-00 00:00:00'"
		}
		return "'" + pick(r, []string{"2024-01-01", "2024-01-02", "1970-01-02", "2038-01-18", "2024-03-10"}) + " " + pick(r, clocks) + "'"
	}
	date := func(r *rand.Rand) string { return "'" + pick(r, days) + "'" }
	return []diffColumn{
		{"s", "varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "s", text},
		{"su", "varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci", "su", text},
		{"sb", "varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "", text},
		{"sn", "varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", "sn", text},
		{"s3", "varchar(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", "s3", short(0x10000)},
		{"sl", "varchar(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "sl", short(0x80)},
		{"sx", "varchar(50) CHARACTER SET latin1 COLLATE latin1_nopad_bin", "", short(0x100)},
		{"s16", "varchar(50) CHARACTER SET utf16", "", text},
		{"c", "char(6) CHARACTER SET utf8mb4", "c", text},
		{"cn", "char(6) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", "", text},
		{"tx", "text CHARACTER SET utf8mb4", "", text},
		{"en", "enum('a','B','1','é','') CHARACTER SET utf8mb4", "en", from("'a'", "'b'", "'1'", "'é'", "''")},
		{"st", "set('a','b','1') CHARACTER SET utf8mb4", "", from("'a'", "'a,1'", "''", "'1'")},
		{"n", "int", "n", ints},
		{"n8", "bigint", "", from("-9223372036854775808", "9223372036854775807", "0", "1")},
		{"u", "bigint unsigned", "u", from("0", "1", "18446744073709551615", "9223372036854775808")},
		{"y", "year", "y", from("0", "1901", "2024", "2050", "1999", "2155")},
		{"bt", "bit(10)", "bt", from("b'0'", "b'1'", "b'1111111111'", "b'110001'")},
		{"bl", "bit(64)", "", from("b'0'", "b'101'", "b'"+strings.Repeat("1", 64)+"'")},
		{"dc", "decimal(9,2)", "dc", from("0", "1.5", "-2.25", "3.33", "2.50", "12.34", "12.35", "1")},
		{"dx", "decimal(38,10)", "", from("0", "1.5", "9999999999999999999999999999.9999999999", "-0.0000000001", "12.34")},
		{"f", "double", "f", from("0", "-0e0", "1.5", "0.1", "1e300", "16777217", "5e-324", "-0.1", "1e-10")},
		{"f4", "float", "f4", from("0", "0.1", "1.5", "16777217", "3.4e38", "-0.1", "0.3")},
		{"ts", "datetime(6)", "ts", stamp},
		{"ts0", "datetime", "ts0", stamp},
		{"tz", "timestamp(6) NULL", "tz", instant},
		{"tz0", "timestamp NULL", "tz0", instant},
		{"d", "date", "d", date},
		{"dn", "date NOT NULL", "dn", date},
		{"t", "time(6)", "t", from("'00:00:00'", "'12:00:00.5'", "'23:59:59.999999'", "'24:00:00'", "'00:00:00.000001'")},
		{"b", "tinyint(1)", "b", from("0", "1")},
		{"b1", "bit(1)", "", from("b'0'", "b'1'")},
		{"id2", "uuid", "id2", from("'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'")},
		{"js", "json", "", from(`'{"a":1}'`, `'1'`)},
		{"ip", "inet6", "", from("'::1'", "'2001:db8::1'")},
	}
}

// constants of one logical type: those that occur, and others near them.
func constant(r *rand.Rand, t connectors.Type) connectors.Value {
	v := connectors.Value{Type: t}
	num := func(s ...string) *big.Int {
		n, ok := new(big.Int).SetString(pick(r, s), 10)
		if !ok {
			panic(s)
		}
		return n
	}
	days := func() int64 {
		d := [][3]int64{{2024, 1, 1}, {2024, 1, 2}, {2023, 12, 31}, {2024, 2, 29}, {1969, 12, 31}, {1000, 1, 1}, {1, 1, 1}, {9999, 12, 31}, {2050, 6, 1}, {12024, 1, 1}}[r.IntN(10)]
		return daysOf(d[0], d[1], d[2])
	}
	switch k := t.Kind; {
	case k == connectors.JSON:
		v.Text = `{"a":1}`
	case k == connectors.Varchar:
		v.Text = pick(r, texts)
	case k == connectors.UUID:
		v.Text = pick(r, []string{"123e4567-e89b-12d3-a456-426655440000", "00000000-0000-0000-0000-000000000000", "eccbc87e-4b5c-e2fe-2830-8fd9f2a7baf3"})
	case k == connectors.Float:
		v.Float = float64([]float32{0, 0.1, 1.5, 16777216, 3.4e38, 0.3, -0.1}[r.IntN(7)])
	case k == connectors.Double:
		v.Float = []float64{0, 0.1, 1.5, 1e300, 16777217, 5e-324, -0.1, 1e-10, 0.10000000149011612}[r.IntN(9)]
	case k == connectors.Boolean:
		v.Int = num("0", "1")
	case k == connectors.UBigInt:
		v.Int = num("0", "1", "5", "49", "1023", "18446744073709551615", "9223372036854775808")
	case k == connectors.BigInt:
		v.Int = num("-9223372036854775808", "9223372036854775807", "0", "-1")
	case isInteger(k):
		v.Int = num("-2", "0", "1", "3", "50", "99", "2024", "1999", "2050")
	case k == connectors.Decimal && t.Scale == 2:
		v.Int = num("0", "150", "-225", "333", "250", "1234", "1235", "100", "999999999")
	case k == connectors.Decimal:
		v.Int = num("0", "15000000000", "-1", "99999999999999999999999999999999999999", "123400000000")
	case k == connectors.Date:
		v.Int = big.NewInt(days())
	case k == connectors.Time:
		v.Int = num("0", "43200500000", "86399999999", "86400000000", "1")
	case k == connectors.Timestamp || k == connectors.TimestampTZ:
		v.Int = big.NewInt(days()*dayMicros + []int64{0, 1, 43200000000, 43200500000, 86399999999}[r.IntN(5)])
	}
	return v
}

func leaf(r *rand.Rand, tab *connectors.Table) *connectors.Pred {
	for {
		p := &connectors.Pred{Col: 1 + r.IntN(len(tab.Columns)-1), Neg: r.IntN(2) == 0}
		t := tab.Columns[p.Col].Type
		p.Op = pick(r, []string{"=", "<>", "<", "<=", ">", ">="})
		switch x := r.IntN(10); {
		case x == 0:
			p.Kind = connectors.PNull
		case x < 3:
			p.Kind = connectors.PIn
			for range 1 + r.IntN(3) {
				p.Vals = append(p.Vals, constant(r, t))
			}
		case x < 5 && t.Kind == connectors.Varchar:
			p.Kind, p.Op = connectors.PLike, pick(r, []string{"like", "prefix", "suffix", "contains"})
			p.Vals = []connectors.Value{{Type: t, Text: pick(r, []string{"a%", "%a", "%b%", "_", "a_", "%", "", `b\%`, `%\%`, "A%", "%é%", "b_", `%\x`, "ß%", "%S", "日_", "日", "a", "A", " ", "😀", `\`, "'", "_😀%", "1"})}}
		case x < 6:
			p.Kind, p.Col2 = connectors.PColCmp, 1+r.IntN(len(tab.Columns)-1)
			if !tab.Columns[p.Col2].Type.Equal(t) {
				continue
			}
		case t.Kind == connectors.Boolean:
			p.Kind = connectors.PBool
		default:
			p.Kind, p.Vals = connectors.PCmp, []connectors.Value{constant(r, t)}
		}
		return p
	}
}

func randomPred(r *rand.Rand, tab *connectors.Table, depth int) *connectors.Pred {
	if depth == 0 || r.IntN(5) < 2 {
		return leaf(r, tab)
	}
	p := &connectors.Pred{Kind: connectors.PAnd}
	if r.IntN(2) == 0 {
		p.Kind = connectors.POr
	}
	for range 2 {
		p.Kids = append(p.Kids, randomPred(r, tab, depth-1))
	}
	return p
}

func duckQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func duckText(s string) string {
	if strings.ContainsRune(s, 0) {
		return "(" + strings.ReplaceAll(duckQuote(s), "\x00", "' || chr(0) || '") + ")"
	}
	return duckQuote(s)
}

// duckLiteral spells a constant for DuckDB.
func duckLiteral(v connectors.Value) string {
	cast := func(s string) string { return "CAST(" + s + " AS " + v.Type.String() + ")" }
	switch k := v.Type.Kind; k {
	case connectors.Varchar, connectors.JSON, connectors.UUID:
		return cast(duckText(v.Text))
	case connectors.Float, connectors.Double:
		return cast("'" + strconv.FormatFloat(v.Float, 'g', -1, 64) + "'")
	case connectors.Decimal:
		return cast("'" + decimalText(v.Int, v.Type.Scale) + "'")
	case connectors.Date:
		return "(DATE '1970-01-01' + CAST(" + v.Int.String() + " AS INTEGER))"
	case connectors.Time:
		return cast("'" + string(appendTime(nil, v.Int.Int64())) + "'")
	case connectors.Timestamp:
		return "make_timestamp(" + v.Int.String() + ")"
	case connectors.TimestampTZ:
		return cast("make_timestamp(" + v.Int.String() + ")")
	}
	return cast(v.Int.String())
}

// duckSQL is the predicate as a model might say it.
func duckSQL(p *connectors.Pred, tab *connectors.Table) string {
	not := map[bool]string{true: "NOT "}[p.Neg]
	if p.Kind == connectors.PAnd || p.Kind == connectors.POr {
		op := map[connectors.PredKind]string{connectors.PAnd: " AND ", connectors.POr: " OR "}[p.Kind]
		return "(" + duckSQL(p.Kids[0], tab) + op + duckSQL(p.Kids[1], tab) + ")"
	}
	c := `"` + tab.Columns[p.Col].Name + `"`
	switch p.Kind {
	case connectors.PNull:
		return c + " IS " + not + "NULL"
	case connectors.PColCmp:
		return c + " " + p.Op + ` "` + tab.Columns[p.Col2].Name + `"`
	case connectors.PBool:
		return not + c
	case connectors.PIn:
		var vals []string
		for _, v := range p.Vals {
			vals = append(vals, duckLiteral(v))
		}
		return c + " " + not + "IN (" + strings.Join(vals, ", ") + ")"
	case connectors.PLike:
		s := duckText(p.Vals[0].Text)
		if p.Op == "like" {
			return c + " " + not + "LIKE " + s
		}
		return not + p.Op + "(" + c + ", " + s + ")"
	}
	return c + " " + p.Op + " " + duckLiteral(p.Vals[0])
}

// differential is a table on the server and what Read makes of it in DuckDB.
type differential struct {
	c    *Conn
	tab  *connectors.Table
	duck *sql.DB
}

func newDifferential(t *testing.T, r *rand.Rand, rows int) *differential {
	t.Helper()
	c := connect(t, "tinyint1_is_bool", true)
	cols := diffColumns()
	def := []string{"id bigint PRIMARY KEY"}
	for _, d := range cols {
		def = append(def, quote(d.name)+" "+d.ddl)
		if d.index != "" {
			def = append(def, "KEY ("+quote(d.index)+")")
		}
	}
	var ins strings.Builder
	for i := range rows {
		if i > 0 {
			ins.WriteString(", ")
		}
		fmt.Fprintf(&ins, "(%d", i)
		for _, d := range cols {
			if v := d.value(r); r.IntN(8) > 0 || strings.Contains(d.ddl, "NOT NULL") {
				ins.WriteString(", " + v)
			} else {
				ins.WriteString(", NULL")
			}
		}
		ins.WriteString(")")
	}
	execSQL(t, c, "SET time_zone = '+00:00', sql_mode = ''; CREATE TABLE t ("+strings.Join(def, ", ")+"); INSERT INTO t VALUES "+ins.String()+"; ANALYZE TABLE t")
	d := &differential{c: c, tab: describe(t, c, "t")}
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	duck.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := duck.Close(); err != nil {
			t.Error(err)
		}
	})
	d.duck = duck
	d.fill(t)
	return d
}

func (d *differential) fill(t *testing.T) {
	t.Helper()
	var raw, typed, marks []string
	for _, c := range d.tab.Columns {
		raw, marks = append(raw, `"`+c.Name+`" VARCHAR`), append(marks, "?")
		v := `CAST("` + c.Name + `" AS ` + c.Type.String() + ")"
		if c.Type.Kind == connectors.TimestampTZ {
			v = `CAST("` + c.Name + `" || '+00' AS TIMESTAMPTZ)`
		}
		typed = append(typed, v+` AS "`+c.Name+`"`)
	}
	run := func(sql string, args ...any) {
		if _, err := d.duck.Exec(sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("SET TimeZone = 'UTC'")
	run("CREATE TABLE raw (" + strings.Join(raw, ", ") + ")")
	for _, row := range read(t, d.c, all(d.c, d.tab)) {
		args := make([]any, len(row))
		for i, v := range row {
			if v != "NULL" {
				args[i] = v
			}
		}
		run("INSERT INTO raw VALUES ("+strings.Join(marks, ", ")+")", args...)
	}
	run("CREATE TABLE t AS SELECT " + strings.Join(typed, ", ") + " FROM raw")
}

// duckIDs are the ids that DuckDB keeps, in order of tail.
func (d *differential) duckIDs(t *testing.T, tail string) []int64 {
	t.Helper()
	rows, err := d.duck.QueryContext(context.Background(), "SELECT id FROM t "+tail)
	if err != nil {
		t.Fatalf("duckdb: %s: %v", tail, err)
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// serverIDs are the ids that the server gives for an extract.
func (d *differential) serverIDs(t *testing.T, e connectors.Extract) []int64 {
	t.Helper()
	e.Table, e.Columns = d.tab, []int{0}
	q := connectors.Query{SQL: d.c.Dialect().Select(e), Columns: d.tab.Columns[:1]}
	var ids []int64
	for _, row := range read(t, d.c, q) {
		id, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func fuzzSeed(t *testing.T) (uint64, int) {
	t.Helper()
	seed, n := uint64(time.Now().UnixNano()), 500
	if s := os.Getenv("DVT_FUZZ_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = v
	}
	if s := os.Getenv("DVT_FUZZ_PREDICATES"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		n = v
	}
	t.Logf("DVT_FUZZ_SEED=%d", seed)
	return seed, n
}

func TestPredicatesAgainstDuckDB(t *testing.T) {
	seed, n := fuzzSeed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	d := newDifferential(t, r, 400)
	dialect := d.c.Dialect()
	var pushed, exactly, wrong int
	for range n {
		p := randomPred(r, d.tab, 2)
		got := connectors.RenderPred(dialect, p, d.tab)
		if got.Verdict == connectors.No {
			continue
		}
		pushed++
		want := d.duckIDs(t, "WHERE "+duckSQL(p, d.tab)+" ORDER BY id")
		have := d.serverIDs(t, connectors.Extract{Where: got.SQL, Limit: -1})
		slices.Sort(have)
		if got.Verdict == connectors.Exact {
			exactly++
			if !slices.Equal(want, have) {
				wrong++
				t.Errorf("not exact: duckdb keeps %d rows, the server %d\n  %s\n  %s", len(want), len(have), duckSQL(p, d.tab), got.SQL)
			}
		}
		for _, id := range want {
			if _, ok := slices.BinarySearch(have, id); !ok {
				wrong++
				t.Errorf("row %d is lost\n  %s\n  %s", id, duckSQL(p, d.tab), got.SQL)
				break
			}
		}
		if wrong > 10 {
			t.Fatal("and so on")
		}
	}
	t.Logf("%d predicates: %d pushed, %d exactly", n, pushed, exactly)
	if pushed < n*3/10 {
		t.Errorf("only %d of %d predicates were pushed", pushed, n)
	}
}

func TestOrderKeysAgainstDuckDB(t *testing.T) {
	seed, _ := fuzzSeed(t)
	d := newDifferential(t, rand.New(rand.NewPCG(seed, 2)), 200)
	ordered := 0
	for i, col := range d.tab.Columns[1:] {
		for k := range 4 {
			key := connectors.OrderKey{Col: i + 1, Desc: k&1 > 0, NullsLast: k&2 > 0}
			sql, ok := d.c.Dialect().OrderKey(d.tab, key)
			if !ok {
				continue
			}
			ordered++
			want := `ORDER BY "` + col.Name + `"`
			if key.Desc {
				want += " DESC"
			}
			want += map[bool]string{true: " NULLS LAST", false: " NULLS FIRST"}[key.NullsLast]
			a := d.duckIDs(t, want+", id LIMIT 150")
			if b := d.serverIDs(t, connectors.Extract{OrderBy: []string{sql, "`id`"}, Limit: 150}); !slices.Equal(a, b) {
				t.Errorf("%s %s, server: %s", col.Native, want, sql)
			}
		}
	}
	if ordered < 60 {
		t.Errorf("%d orders", ordered)
	}
}
