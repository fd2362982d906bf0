package clickhouse

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// predColumn is a column of the table that random predicates run over.
type predColumn struct {
	name, typ string
	values    []string // in ClickHouse SQL
	since     string   // the type that a server must have
}

var predTexts = []string{"", "a", "A", "ab", "aB", "á", "a ", " a", "b%", "b_", `b\x`, `b\`, "it's", `"q"`, "zz", "ß", "İ", "日本", "a\t", "~", "_", "%", "é", "e\u0301", "-a", "\U0001F600", "a\nb", "a.b", "[a]", "(a)", "a\x00b", "a\x00", "^a$", "a|b", "x{2}", `\%`}

func quotedTexts() (all []string) {
	for _, s := range predTexts {
		all = append(all, literal(s))
	}
	return all
}

var predColumns = []predColumn{
	{"i8", "Nullable(Int8)", []string{"-128", "127", "0", "1", "2", "-1", "NULL"}, ""},
	{"u8", "UInt8", []string{"0", "1", "2", "255"}, ""},
	{"i32", "Int32", []string{"-2147483648", "2147483647", "0", "1", "2", "3"}, ""},
	{"i64", "Nullable(Int64)", []string{"-9223372036854775808", "9223372036854775807", "0", "1", "2", "9007199254740993", "NULL"}, ""},
	{"i64b", "Nullable(Int64)", []string{"-9223372036854775808", "9223372036854775807", "0", "1", "2", "9007199254740992", "NULL"}, ""},
	{"u64", "Nullable(UInt64)", []string{"0", "1", "2", "18446744073709551615", "9223372036854775808", "NULL"}, ""},
	{"d9", "Nullable(Decimal(9, 2))", []string{"0", "1.50", "-2.25", "3.33", "9999999.99", "-9999999.99", "2.50", "NULL"}, ""},
	{"d18", "Decimal(18, 4)", []string{"0", "1.5", "-2.25", "3.3333", "99999999999999.9999", "-99999999999999.9999", "0.0001"}, ""},
	{"d18b", "Nullable(Decimal(18, 4))", []string{"0", "1.5", "3.3333", "NULL"}, ""},
	{"d38", "Nullable(Decimal(38, 10))", []string{"0", "1.5", "-2.25", "9999999999999999999999999999.9999999999", "0.0000000001", "NULL"}, ""},
	{"f32", "Nullable(Float32)", []string{"0", "-0.0", "0.1", "1.5", "nan", "inf", "-inf", "16777216", "NULL"}, ""},
	{"f64", "Nullable(Float64)", []string{"0", "-0.0", "0.1", "1.5", "nan", "inf", "-inf", "1e300", "-1e-300", "0x1p-1074", "-0x1.2688b70e62bp-1030", "9007199254740992", "NULL"}, ""},
	{"f64b", "Float64", []string{"0", "0.1", "1.5", "nan", "inf", "1e300", "0.30000000000000004"}, ""},
	{"s", "Nullable(String)", append(quotedTexts(), "NULL", "NULL", "NULL"), ""},
	{"s2", "String", quotedTexts(), ""},
	{"lc", "LowCardinality(Nullable(String))", append(quotedTexts(), "NULL", "NULL", "NULL"), ""},
	{"lc2", "LowCardinality(String)", quotedTexts(), ""},
	{"fs", "FixedString(3)", []string{"'a'", "'ab'", "'abc'", "''"}, ""},
	{"e8", "Nullable(Enum8('b' = -1, 'a' = 1, '' = 2, 'é' = 3, 'it\\'s' = 4))", []string{"'a'", "'b'", "''", "'é'", `'it\'s'`, "NULL"}, ""},
	{"e16", "Enum16('z' = 1, 'a' = 1000, 'A' = 2)", []string{"'z'", "'a'", "'A'"}, ""},
	{"da", "Nullable(Date)", []string{"'1970-01-01'", "'1970-01-02'", "'2024-01-01'", "'2024-01-02'", "'2024-02-29'", "'2105-12-31'", "toDate(65535)", "toDate(49673)", "NULL"}, ""},
	{"da2", "Date", []string{"'1970-01-01'", "'2024-01-01'", "'2024-01-02'", "'2105-12-31'"}, ""},
	{"dt", "Nullable(DateTime)", []string{"toDateTime(0)", "toDateTime(1)", "toDateTime(1704196800)", "toDateTime(1704153600)", "toDateTime(1704239999)", "toDateTime(4291747199)", "toDateTime(4294967295)", "NULL"}, ""},
	{"dtz", "DateTime('America/New_York')", []string{"toDateTime(0)", "toDateTime(1704196800)", "toDateTime(1704153600)", "toDateTime(1710055800)", "toDateTime(4291747199)"}, ""},
	{"dtz2", "DateTime('America/New_York')", []string{"toDateTime(0)", "toDateTime(1704196800)", "toDateTime(1710055800)"}, ""},
	{"uu", "Nullable(UUID)", []string{"'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'61f0c404-5cb3-11e7-0000-000000000001'", "NULL"}, ""},
	{"arr", "Array(Int8)", []string{"[]", "[1]"}, ""},
	{"bo", "Nullable(Bool)", []string{"true", "false", "NULL"}, "Bool"},
	{"i128", "Nullable(Int128)", []string{"0", "1", "-1", "toInt128('99999999999999999999999999999')", "toInt128('-99999999999999999999999999999')", "NULL"}, "Int128"},
	{"d32", "Nullable(Date32)", []string{"toDate32('1900-01-01')", "toDate32('1969-12-31')", "toDate32('2024-01-01')", "toDate32('2299-12-31')", "NULL"}, "Date32"},
	{"t0", "Nullable(DateTime64(0, 'UTC'))", []string{"'1969-12-31 23:59:59'", "'2024-01-02 12:00:00'", "NULL"}, "DateTime64"},
	{"t3", "DateTime64(3)", []string{"toDateTime64('1900-01-02 00:00:00.000', 3, 'UTC')", "toDateTime64('2024-01-02 12:00:00.001', 3, 'UTC')", "toDateTime64('1969-12-31 23:59:59.999', 3, 'UTC')"}, "DateTime64"},
	{"t6", "Nullable(DateTime64(6, 'Asia/Tokyo'))", []string{"toDateTime64('2024-01-02 12:00:00', 6, 'UTC')", "toDateTime64('2024-01-02 12:00:00.000001', 6, 'UTC')", "toDateTime64('2299-12-31 23:59:59.999999', 6, 'UTC')", "NULL"}, "DateTime64"},
	{"t9", "Nullable(DateTime64(9, 'UTC'))", []string{"'2024-01-02 12:00:00.000000001'", "'2024-01-02 12:00:00'", "'1969-12-31 23:59:59.999999999'", "NULL"}, "DateTime64"},
}

// TestPredicates compares what the server keeps with what DuckDB keeps, for random
// predicates over nasty values. DVT_FUZZ_PREDICATES sets their number, DVT_FUZZ_SEED
// repeats a run.
func TestPredicates(t *testing.T) {
	n := envInt("DVT_FUZZ_PREDICATES", 500)
	seed := uint64(envInt("DVT_FUZZ_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("seed %d", seed)
	g := &predGen{rnd: rand.New(rand.NewPCG(seed, 1))}
	f := newFixture(t, "")
	caps, err := f.capabilities(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var use []predColumn
	var notRun []string
	for _, c := range predColumns {
		if c.since != "" && !caps.types[c.since] {
			notRun = append(notRun, c.typ)
			continue
		}
		use = append(use, c)
	}
	if len(notRun) > 0 {
		t.Logf("not run, the server (%s) lacks them: %s", caps.info.version(), strings.Join(notRun, ", "))
	}
	makePredTable(g, f, use, 400)
	g.table = f.describe("p")
	duck := duckCopy(t, f, g.table)
	var pushed, exactly, needed, fetched, total int
	for range n {
		p := g.pred(2)
		oracle := duckPred(p, g.table)
		want, err := duckIDs(duck, oracle)
		if err != nil {
			continue // an overflow in DuckDB's own casts
		}
		total++
		r := connectors.RenderPred(f.Dialect(), p, g.table)
		if r.Verdict == connectors.No {
			continue
		}
		where := r.SQL
		if where == "" {
			where = "1 = 1"
		}
		e := connectors.Extract{Table: g.table, Columns: []int{0}, Where: where, Limit: -1}
		rows, err := readRows(f.conn, connectors.Query{SQL: f.Dialect().Select(e), Columns: g.table.Columns[:1]})
		if err != nil {
			t.Errorf("the server refuses %s: %v", where, err)
			continue
		}
		got := map[string]bool{}
		for _, row := range rows {
			got[row[0]] = true
		}
		pushed++
		needed, fetched = needed+len(want), fetched+len(got)
		for id := range want {
			if !got[id] {
				t.Errorf("LOST row %s\n  duckdb: %s\n  server: %s\n  row: %s", id, oracle, where, duckRow(duck, id))
				break
			}
		}
		if r.Verdict == connectors.Exact {
			exactly++
			for id := range got {
				if !want[id] {
					t.Errorf("NOT EXACT, row %s\n  duckdb: %s\n  server: %s\n  row: %s", id, oracle, where, duckRow(duck, id))
					break
				}
			}
		}
	}
	t.Logf("%d predicates, %d pushed, %d of them exact; rows needed %d, fetched %d", total, pushed, exactly, needed, fetched)
	if total > 100 && (pushed*100 < total*30 || needed == 0) {
		t.Errorf("too little was pushed to prove anything")
	}
}

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

func makePredTable(g *predGen, f *fixture, cols []predColumn, rows int) {
	defs, names := []string{"id Int32"}, []string{"id"}
	for _, c := range cols {
		defs, names = append(defs, c.name+" "+c.typ), append(names, c.name)
	}
	f.exec("CREATE TABLE " + f.db + ".p (" + strings.Join(defs, ", ") + ") ENGINE = MergeTree ORDER BY id")
	var b strings.Builder
	for i := range rows {
		b.WriteString("(" + strconv.Itoa(i))
		for _, c := range cols {
			b.WriteString(", " + c.values[g.rnd.IntN(len(c.values))])
		}
		b.WriteString(")")
	}
	f.post("INSERT INTO " + f.db + ".p (" + strings.Join(names, ", ") + ") VALUES " + b.String())
}

// predGen makes random predicates.
type predGen struct {
	rnd   *rand.Rand
	table *connectors.Table
}

func pick[T any](g *predGen, all []T) T { return all[g.rnd.IntN(len(all))] }

func (g *predGen) pred(depth int) *connectors.Pred {
	if depth == 0 || g.rnd.IntN(10) < 4 {
		return g.leaf()
	}
	kind := connectors.PAnd
	if g.rnd.IntN(2) == 0 {
		kind = connectors.POr
	}
	return &connectors.Pred{Kind: kind, Kids: []*connectors.Pred{g.pred(depth - 1), g.pred(depth - 1)}}
}

func (g *predGen) leaf() *connectors.Pred {
	for {
		col := 1 + g.rnd.IntN(len(g.table.Columns)-1)
		typ := g.table.Columns[col].Type
		p := &connectors.Pred{Col: col, Op: pick(g, []string{"=", "<>", "<", "<=", ">", ">="}), Neg: g.rnd.IntN(2) == 0}
		switch g.rnd.IntN(9) {
		case 0:
			p.Kind = connectors.PNull
			return p
		case 1:
			if p.Col2 = 1 + g.rnd.IntN(len(g.table.Columns)-1); p.Col2 == col || !g.table.Columns[p.Col2].Type.Equal(typ) || typ.Kind == connectors.List {
				continue
			}
			p.Kind, p.Neg = connectors.PColCmp, false
			return p
		case 2, 3:
			if typ.Kind != connectors.Varchar {
				continue
			}
			p.Kind, p.Op = connectors.PLike, pick(g, []string{"like", "like", "prefix", "suffix", "contains"})
			p.Vals = []connectors.Value{g.pattern(p.Op)}
			return p
		case 4:
			p.Kind = connectors.PIn
			for range 1 + g.rnd.IntN(4) {
				if v, ok := g.value(typ); ok {
					p.Vals = append(p.Vals, v)
				}
			}
			if len(p.Vals) == 0 {
				continue
			}
			return p
		default:
			if typ.Kind == connectors.Boolean {
				p.Kind = connectors.PBool
				return p
			}
			v, ok := g.value(typ)
			if !ok {
				continue
			}
			p.Kind, p.Neg, p.Vals = connectors.PCmp, false, []connectors.Value{v}
			return p
		}
	}
}

func (g *predGen) pattern(op string) connectors.Value {
	s := pick(g, predTexts)
	if op == "like" {
		s = pick(g, []string{"a%", "%a", "%b%", "_", "a_", "%", "", `b\%`, `%\%`, "A%", "%é%", "é%", "b_", `%\x`, "ß%", "日_", "日%", "_a%", "a.b", "%[%", "(%", "__", "%_%_%", "a%b", `\%`, `\\`, "%'%", "%\n%", "^%", "%$", "x{2}", "%|%", "_\u0301"})
	}
	return connectors.Value{Type: connectors.T(connectors.Varchar), Text: s}
}

func bigOf(s string) *big.Int {
	v, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return v
}

// value is a random constant that DuckDB may compare with a column of type typ.
func (g *predGen) value(typ connectors.Type) (v connectors.Value, ok bool) {
	k := typ.Kind
	switch {
	case isInteger(k) || k == connectors.Decimal:
		if k == connectors.Decimal || g.rnd.IntN(3) == 0 {
			v.Type = connectors.Dec(38, g.rnd.IntN(4))
			if k == connectors.Decimal && g.rnd.IntN(2) == 0 {
				v.Type = typ
			}
			v.Int = bigOf(pick(g, []string{"0", "1", "15", "150", "-225", "25", "250", "333", "33333", "3333", "1500", "15000", "-22500", "999999999", "-999999999", "999999999999999999", "10", "15000000000"}))
			return v, true
		}
		v.Type = pick(g, []connectors.Type{typ, connectors.T(connectors.BigInt), connectors.T(connectors.HugeInt)})
		v.Int = bigOf(pick(g, []string{"0", "1", "2", "3", "-1", "127", "128", "-128", "-129", "255", "256", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "9007199254740993", "9007199254740992", "99999999999999999999999999999", "-99999999999999999999999999999"}))
		lo, hi := kindRange(v.Type.Kind)
		return v, v.Int.Cmp(lo) >= 0 && v.Int.Cmp(hi) <= 0
	case k == connectors.Float || k == connectors.Double:
		v.Type = connectors.T(connectors.Double)
		if k == connectors.Float && g.rnd.IntN(2) == 0 {
			v.Type = typ
		}
		v.Float = pick(g, []float64{0, math.Copysign(0, -1), 0.1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e-300, 5e-324, -1e-310, 16777217, 9007199254740993, 0.30000000000000004, 1.4999999999999998, 123456.789e-30})
		if v.Type.Kind == connectors.Float {
			v.Float = float64(float32(v.Float))
		}
		return v, true
	case k == connectors.Varchar:
		v.Type, v.Text = typ, pick(g, predTexts)
		return v, true
	case k == connectors.UUID:
		v.Type, v.Text = typ, pick(g, []string{"61f0c404-5cb3-11e7-907b-a6006ad3dba0", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "12345678-1234-1234-1234-123456789012"})
		return v, true
	case k == connectors.Date:
		v.Type = typ
		v.Int = big.NewInt(pick(g, []int64{0, 1, -1, 19723, 19724, 19782, 49672, 49673, 65535, 65536, -25567, -25568, 120529, 120530, 2147483647, -2147483647, 2932896}))
		if g.rnd.IntN(4) == 0 {
			v.Type = connectors.T(connectors.Timestamp)
			v.Int = new(big.Int).Add(new(big.Int).Mul(big.NewInt(pick(g, []int64{0, 19723, 19724, -1, 65535, 65536})), big.NewInt(86400_000_000)), big.NewInt(pick(g, []int64{0, 0, 1, 43200_000_000})))
		}
		return v, true
	case k == connectors.TimestampTZ || k == connectors.TimestampNS:
		v.Type = typ
		sec := pick(g, []int64{0, 1, -1, 1704196800, 1704153600, 1704239999, 1710055800, 4291747199, 4291747200, 4294967295, 4294967296, -2208988800, 9223286400})
		if k == connectors.TimestampTZ {
			v.Int = big.NewInt(sec*1_000_000 + pick(g, []int64{0, 0, 1, 999_999, 1000, 500_000}))
			if g.rnd.IntN(20) == 0 {
				v.Int = big.NewInt(pick(g, []int64{math.MaxInt64, -math.MaxInt64, 253402300799_000_000, -62135596800_000_000}))
			}
			return v, true
		}
		v.Int = big.NewInt(min(sec, 9_000_000_000)*1_000_000_000 + pick(g, []int64{0, 0, 1, 999_999_999}))
		return v, true
	}
	return v, false
}

// ---- the oracle: DuckDB over what Read gave ----

func duckCopy(t *testing.T, f *fixture, tab *connectors.Table) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	do := func(s string) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.300s: %v", s, err)
		}
	}
	do("SET TimeZone = 'UTC'")
	e := connectors.Extract{Table: tab, Limit: -1}
	var defs []string
	for i, c := range tab.Columns {
		e.Columns = append(e.Columns, i)
		defs = append(defs, `"`+c.Name+`" `+c.Type.String())
	}
	do("CREATE TABLE p (" + strings.Join(defs, ", ") + ")")
	err = f.Read(context.Background(), connectors.Query{SQL: f.Dialect().Select(e), Columns: tab.Columns}, func(rec arrow.RecordBatch) error {
		for r := range int(rec.NumRows()) {
			vals := make([]string, rec.NumCols())
			for i := range vals {
				vals[i] = duckValue(rec.Column(i), r, tab.Columns[i].Type)
			}
			do("INSERT INTO p VALUES (" + strings.Join(vals, ", ") + ")")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func duckText(s string) string {
	parts := strings.Split(s, "\x00")
	for i := range parts {
		parts[i] = "'" + strings.ReplaceAll(parts[i], "'", "''") + "'"
	}
	return "(" + strings.Join(parts, " || chr(0) || ") + ")"
}

func duckValue(a arrow.Array, r int, typ connectors.Type) string {
	if a.IsNull(r) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.String:
		return duckText(a.Value(r))
	case *array.Date32:
		return duckConst(connectors.Value{Type: typ, Int: big.NewInt(int64(a.Value(r)))})
	case *array.Timestamp:
		return duckConst(connectors.Value{Type: typ, Int: big.NewInt(int64(a.Value(r)))})
	case *array.Decimal128:
		return duckConst(connectors.Value{Type: typ, Int: a.Value(r).BigInt()})
	case *array.Float32:
		return duckConst(connectors.Value{Type: typ, Float: float64(a.Value(r))})
	case *array.Float64:
		return duckConst(connectors.Value{Type: typ, Float: a.Value(r)})
	case *array.FixedSizeBinary:
		return "CAST('" + fmt.Sprintf("%x", a.Value(r)) + "' AS UUID)"
	case *array.List:
		return "[]"
	}
	return "CAST('" + a.ValueStr(r) + "' AS " + typ.String() + ")"
}

func duckConst(v connectors.Value) string {
	as := func(s string) string { return "CAST('" + s + "' AS " + v.Type.String() + ")" }
	switch v.Type.Kind {
	case connectors.Varchar:
		return duckText(v.Text)
	case connectors.UUID:
		return as(v.Text)
	case connectors.Float, connectors.Double:
		return as(strconv.FormatFloat(v.Float, 'g', -1, 64))
	case connectors.Decimal:
		return as(decimalText(v.Int, v.Type.Scale))
	case connectors.Date:
		if infiniteDate(v.Int.Int64()) {
			return as(infinityText(v.Int.Int64()))
		}
		return "(DATE '1970-01-01' + " + v.Int.String() + ")"
	case connectors.Timestamp:
		return "make_timestamp(" + v.Int.String() + ")"
	case connectors.TimestampTZ:
		if infinite(v.Int.Int64()) {
			return as(infinityText(v.Int.Int64()))
		}
		return "CAST(make_timestamp(" + v.Int.String() + ") AS TIMESTAMPTZ)"
	case connectors.TimestampNS:
		return "make_timestamp_ns(" + v.Int.String() + ")"
	}
	return as(v.Int.String())
}

func duckPred(p *connectors.Pred, t *connectors.Table) string {
	col := func(i int) string { return `"` + t.Columns[i].Name + `"` }
	not := map[bool]string{true: "NOT ", false: ""}[p.Neg]
	switch p.Kind {
	case connectors.PAnd:
		return "(" + duckPred(p.Kids[0], t) + " AND " + duckPred(p.Kids[1], t) + ")"
	case connectors.POr:
		return "(" + duckPred(p.Kids[0], t) + " OR " + duckPred(p.Kids[1], t) + ")"
	case connectors.PCmp:
		return col(p.Col) + " " + p.Op + " " + duckConst(p.Vals[0])
	case connectors.PColCmp:
		return col(p.Col) + " " + p.Op + " " + col(p.Col2)
	case connectors.PIn:
		var lits []string
		for _, v := range p.Vals {
			lits = append(lits, duckConst(v))
		}
		return col(p.Col) + " " + not + "IN (" + strings.Join(lits, ", ") + ")"
	case connectors.PNull:
		return col(p.Col) + " IS " + not + "NULL"
	case connectors.PBool:
		return not + col(p.Col)
	}
	if p.Op == "like" {
		return col(p.Col) + " " + not + "LIKE " + duckText(p.Vals[0].Text)
	}
	return not + map[string]string{"prefix": "prefix", "suffix": "suffix", "contains": "contains"}[p.Op] + "(" + col(p.Col) + ", " + duckText(p.Vals[0].Text) + ")"
}

// duckRow shows a row in a failure.
func duckRow(db *sql.DB, id string) (s string) {
	if err := db.QueryRow("SELECT CAST(p AS VARCHAR) FROM p WHERE id = " + id).Scan(&s); err != nil {
		return err.Error()
	}
	return s
}

func duckIDs(db *sql.DB, where string) (map[string]bool, error) {
	rows, err := db.Query("SELECT id FROM p WHERE " + where)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}
