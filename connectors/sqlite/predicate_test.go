package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	_ "github.com/duckdb/duckdb-go/v2" // the judge of what a predicate keeps

	"github.com/dvt-dev/dvt/connectors"
)

// The table of the differential test: every type, with values of the wrong class and
// in odd forms. STRICT and the key are where answers are exact.
const looseTable = `CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, sn TEXT COLLATE NOCASE, sr VARCHAR(9) COLLATE RTRIM, sx, sv MONEY,
	n INTEGER, m BIGINT, f REAL, g DOUBLE, dec DECIMAL(9,2), dect DECIMAL_TEXT(9,2), d DATE, ts DATETIME, tz TIMESTAMPTZ,
	ux UNIXTIME, b BOOLEAN, bl BLOB, u UUID, j JSON, tm TIME);
	CREATE INDEX t_n ON t (n); CREATE INDEX t_s ON t (s); CREATE INDEX t_d ON t (d); CREATE INDEX t_ts ON t (ts); CREATE INDEX t_f ON t (f)`

const strictTable = "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, sn TEXT COLLATE NOCASE, n INT, m INTEGER, f REAL, g REAL, bl BLOB) STRICT; CREATE INDEX t_n ON t (n); CREATE INDEX t_s ON t (s)"

var fuzzTexts = []string{"", "a", "A", "ab", "aB", "AB", "á", "a ", " a", "b%", "b_", `b\x`, "it's", `"q"`, "zz", "ß", "K", "\u212a", "日本", "日本語",
	"a\t", "~", "_", "é", "e\u0301", "-a", "10", "9", "5", "\U0001F600", "\uffff", "a\nb", "a\x00b", "\x00", "b\x00a", "5.0", "0.1", "ab:", "3a"}

// q are texts as SQL of the fixture.
func q(s string) string {
	return "CAST(x'" + fmt.Sprintf("%x", s) + "' AS TEXT)"
}

type fuzzer struct{ *rand.Rand }

func (r fuzzer) of(values ...string) string { return values[r.Intn(len(values))] }
func (r fuzzer) text() string               { return fuzzTexts[r.Intn(len(fuzzTexts))] }

// clean are values that match the column; odd are the others.
func (r fuzzer) clean(c connectors.Column) string {
	if r.Intn(10) == 0 {
		return "NULL"
	}
	switch c.Type.Kind {
	case connectors.BigInt:
		return r.of("0", "1", "2", "3", "-1", "4", "9007199254740993", "9007199254740992", "-9223372036854775808", "9223372036854775807")
	case connectors.Double:
		return r.of("0.0", "1.5", "0.1", "0.1 + 0.2", "0.3", "2", "1e300", "-1e300", "9e999", "-9e999", "5e-324", "-0.0", "16777217", "1.0/3", "123456789.123456789")
	case connectors.Decimal:
		v := r.of("0", "1.5", "-2.25", "3.33", "12.34", "12.35", "-0.01", "9999999.99", "1", "10", "9")
		if affinityOf(c.Native) == affText {
			return "'" + v + "'"
		}
		return v
	case connectors.Date:
		return r.of("'2024-01-02'", "'2024-01-01'", "'2024-01-03'", "'2023-12-31'", "'2024-02-29'", "'0999-05-05'", "'2024-01-02 00:00:00'", "'2024-01-01T00:00:00'", "'9999-12-31'")
	case connectors.Timestamp:
		if c.Native == "UNIXTIME" {
			return r.of("0", "1704153600", "-1", "1704190200")
		}
		return r.of("'2024-01-02 12:00:00'", "'2024-01-02T12:00:00'", "'2024-01-02T12:00:00.5Z'", "'2024-01-02'", "'2024-01-02 12:00'", "'2024-01-02 00:00:00.000001'",
			"'2023-12-31 23:59:59.999999'", "'2024-01-03'", "'2024-01-02T09:30'", "'2024-01-02 23:59:59.999999'", "'2024-01-02 9:30:00'")
	case connectors.TimestampTZ:
		return r.of("'2024-01-02 12:00:00Z'", "'2024-01-02 23:30:00-05:00'", "'2024-01-03 01:00:00+14:00'", "'2024-01-01 23:59:59.999999+00:00'", "'2024-01-02T00:00:00-12:00'", "'2024-01-03T00:00:00Z'")
	case connectors.Boolean:
		return r.of("0", "1")
	case connectors.Blob:
		return r.of("x'61'", "x''", "x'ff00'")
	case connectors.UUID:
		return r.of("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "'00000000-0000-0000-0000-000000000000'")
	case connectors.JSON:
		return r.of(`'{"a":1}'`, "'[]'", "5")
	case connectors.Time:
		return r.of("'10:00:00'", "'23:59'")
	}
	if affinityOf(c.Native) != affText {
		return r.of(q(r.text()), q(r.text()), "5", "10", "2.5", "0.1", "-3")
	}
	return q(r.text())
}

func (r fuzzer) odd(c connectors.Column) string {
	if c.Name == "id" || r.Intn(5) > 0 {
		return r.clean(c)
	}
	return r.of("'abc'", "''", "x'61'", "x'ff'", "x''", "3.7", "-1", "2", "1e300", "'2024-1-2'", "'garbage'", "20240102", "'2024-01-02 23:30:00-05:00'", "'1/2/2024'",
		"'true'", "12.345", "'~'", "'2024-13-01'", "CAST(x'ff' AS TEXT)", "9e999", "'2024-01-02 10:00:00'", "':'", "'0'")
}

func value(typ connectors.Type, s string) connectors.Value {
	v := connectors.Value{Type: typ, Text: s}
	switch typ.Kind {
	case connectors.Float, connectors.Double:
		v.Float, _ = strconv.ParseFloat(s, 64)
	case connectors.Varchar:
	default:
		v.Int, _ = new(big.Int).SetString(s, 10)
	}
	return v
}

// constants that a comparison with the column may meet.
func (r fuzzer) constant(c connectors.Column) connectors.Value {
	moments := []string{"2024-01-02 12:00:00", "2024-01-02 00:00:00", "2024-01-02 23:59:59.999999", "2024-01-02 00:00:00.000001", "2024-01-03 00:00:00", "2023-12-31 23:59:59.999999",
		"2024-01-02 09:30:00", "0001-01-01 00:00:00", "9999-12-31 00:00:00", "2024-01-02 12:00:30", "2024-01-03 04:30:00", "2024-01-01 11:00:00"}
	moment, _ := time.Parse("2006-01-02 15:04:05", r.of(moments...))
	switch c.Type.Kind {
	case connectors.BigInt:
		switch r.Intn(8) {
		case 0:
			return value(connectors.Dec(2, 1), r.of("25", "20", "-5"))
		case 1:
			return value(connectors.T(connectors.Double), r.of("2", "2.5", "9007199254740992", "1e300", "-0.5", "NaN", "+Inf"))
		case 2:
			return value(connectors.T(connectors.HugeInt), r.of("9223372036854775808", "3"))
		}
		return value(connectors.T(connectors.BigInt), r.of("0", "1", "2", "3", "-1", "4", "5", "9007199254740993", "9007199254740992", "9223372036854775807"))
	case connectors.Double:
		return value(connectors.T(connectors.Double), r.of("0", "1.5", "0.1", "0.3", "0.30000000000000004", "2", "1e300", "5e-324", "NaN", "+Inf", "-Inf", "-0", "0.3333333333333333", "1.23456789123456789e8"))
	case connectors.Decimal:
		if r.Intn(4) == 0 {
			return value(connectors.T(connectors.Integer), r.of("0", "1", "10", "9"))
		}
		return value(connectors.Dec(9, 2), r.of("0", "150", "-225", "333", "1234", "1235", "-1", "999999999", "1000"))
	case connectors.Date:
		return value(c.Type, strconv.FormatInt(moment.Unix()/86400, 10))
	case connectors.Timestamp, connectors.TimestampTZ:
		return value(c.Type, strconv.FormatInt(moment.UnixMicro(), 10))
	case connectors.Boolean:
		return value(c.Type, r.of("0", "1"))
	}
	s := r.text()
	if r.Intn(6) == 0 {
		s += r.text()
	}
	return value(connectors.T(connectors.Varchar), s)
}

// leaf makes a leaf, nil where the column has none.
func (r fuzzer) leaf(t *connectors.Table) *connectors.Pred {
	at := r.Intn(len(t.Columns))
	c := t.Columns[at]
	p := &connectors.Pred{Col: at, Neg: r.Intn(2) == 0}
	switch r.Intn(8) {
	case 0:
		p.Kind = connectors.PNull
		return p
	case 1:
		for other, o := range t.Columns {
			if other != at && o.Type.Equal(c.Type) && r.Intn(2) == 0 {
				p.Kind, p.Op, p.Col2 = connectors.PColCmp, r.of("=", "<>", "<", "<=", ">", ">="), other
				return p
			}
		}
	}
	switch c.Type.Kind {
	case connectors.Blob, connectors.UUID, connectors.JSON, connectors.Time:
		p.Kind = connectors.PNull
		return p
	case connectors.Boolean:
		if r.Intn(2) == 0 {
			p.Kind = connectors.PBool
			return p
		}
	case connectors.Varchar:
		if r.Intn(3) == 0 {
			p.Kind, p.Op = connectors.PLike, r.of("like", "prefix", "suffix", "contains")
			text := r.text()
			if p.Op == "like" {
				text = r.of("a%", "%a", "%b%", "_", "a_", "%", "", `b\%`, "A%", "%é%", "日_", "%b", "_\x00%", "K", "%5%")
			}
			p.Vals = []connectors.Value{value(c.Type, text)}
			return p
		}
	}
	if r.Intn(4) == 0 {
		p.Kind = connectors.PIn
		first := r.constant(c)
		p.Vals = []connectors.Value{first}
		for range 5 {
			if v := r.constant(c); v.Type.Equal(first.Type) {
				p.Vals = append(p.Vals, v)
			}
		}
		return p
	}
	p.Kind, p.Op, p.Vals = connectors.PCmp, r.of("=", "<>", "<", "<=", ">", ">="), []connectors.Value{r.constant(c)}
	return p
}

func (r fuzzer) pred(t *connectors.Table, depth int) *connectors.Pred {
	if depth == 0 || r.Intn(5) < 3 {
		return r.leaf(t)
	}
	p := &connectors.Pred{Kind: connectors.PAnd}
	if r.Intn(2) == 0 {
		p.Kind = connectors.POr
	}
	for range 2 + r.Intn(2) {
		p.Kids = append(p.Kids, r.pred(t, depth-1))
	}
	return p
}

// duckValue and duck spell a predicate in DuckDB's SQL.
func duckValue(v connectors.Value) string {
	switch v.Type.Kind {
	case connectors.Float, connectors.Double:
		s := strconv.FormatFloat(v.Float, 'g', -1, 64)
		if math.Signbit(v.Float) && v.Float == 0 {
			s = "-0.0"
		}
		return "CAST('" + s + "' AS DOUBLE)"
	case connectors.Boolean:
		return map[bool]string{true: "true", false: "false"}[v.Int.Sign() != 0]
	case connectors.Date:
		return "DATE '" + dayName(v.Int.Int64()) + "'"
	case connectors.Timestamp:
		return "TIMESTAMP '" + stampName(v.Int.Int64()) + "'"
	case connectors.TimestampTZ:
		return "TIMESTAMPTZ '" + stampName(v.Int.Int64()) + "+00'"
	}
	return "CAST('" + decimalText(v.Int, v.Type.Scale) + "' AS " + v.Type.String() + ")"
}

func duck(p *connectors.Pred, t *connectors.Table, text func(string) string) string {
	col := func(i int) string { return `"` + t.Columns[i].Name + `"` }
	lit := func(v connectors.Value) string {
		if v.Type.Kind == connectors.Varchar {
			return text(v.Text)
		}
		return duckValue(v)
	}
	not := ""
	if p.Neg {
		not = "NOT "
	}
	switch p.Kind {
	case connectors.PAnd, connectors.POr:
		parts := make([]string, len(p.Kids))
		for i, k := range p.Kids {
			parts[i] = duck(k, t, text)
		}
		return "(" + strings.Join(parts, map[connectors.PredKind]string{connectors.PAnd: " AND ", connectors.POr: " OR "}[p.Kind]) + ")"
	case connectors.PNull:
		return col(p.Col) + " IS " + not + "NULL"
	case connectors.PBool:
		return not + col(p.Col)
	case connectors.PColCmp:
		return col(p.Col) + " " + p.Op + " " + col(p.Col2)
	case connectors.PLike:
		if p.Op == "like" {
			return col(p.Col) + " " + not + "LIKE " + lit(p.Vals[0])
		}
		return not + p.Op + "(" + col(p.Col) + ", " + lit(p.Vals[0]) + ")"
	case connectors.PIn:
		parts := make([]string, len(p.Vals))
		for i, v := range p.Vals {
			parts[i] = lit(v)
		}
		return col(p.Col) + " " + not + "IN (" + strings.Join(parts, ", ") + ")"
	}
	return col(p.Col) + " " + p.Op + " " + lit(p.Vals[0])
}

// judge holds the extracted rows in DuckDB. Text constants go as parameters: that way
// no spelling of a literal is in question.
type judge struct {
	t  *testing.T
	db *sql.DB
}

func newJudge(t *testing.T, c *conn, table *connectors.Table) judge {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	j := judge{t, db}
	j.exec("SET TimeZone = 'UTC'")
	var defs, marks []string
	for _, col := range table.Columns {
		typ := col.Type.String()
		switch col.Type.Kind {
		case connectors.Blob, connectors.UUID, connectors.JSON, connectors.Time:
			typ = "VARCHAR" // only NULL is asked of them
		}
		defs = append(defs, `"`+col.Name+`" `+typ)
		marks = append(marks, "CAST(? AS "+typ+")")
	}
	j.exec("CREATE TABLE t (" + strings.Join(defs, ", ") + ")")
	insert := "INSERT INTO t VALUES (" + strings.Join(marks, ", ") + ")"
	e, cols := extract(table, "")
	j.exec("BEGIN")
	err = c.Read(t.Context(), connectors.Query{SQL: c.d.Select(e), Columns: cols}, func(rec arrow.RecordBatch) error {
		for r := range int(rec.NumRows()) {
			args := make([]any, len(cols))
			for i := range cols {
				if rec.Column(i).IsValid(r) {
					args[i] = textOf(rec.Column(i), r)
				}
			}
			j.exec(insert, args...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	j.exec("COMMIT")
	return j
}

func (j judge) exec(q string, args ...any) {
	j.t.Helper()
	if _, err := j.db.Exec(q, args...); err != nil {
		j.t.Fatalf("%s: %v", q, err)
	}
}

func (j judge) ids(p *connectors.Pred, table *connectors.Table) ([]string, string) {
	j.t.Helper()
	var args []any
	where := duck(p, table, func(s string) string {
		args = append(args, s)
		return "CAST($" + strconv.Itoa(len(args)) + " AS VARCHAR)"
	})
	rows, err := j.db.Query("SELECT id FROM t WHERE "+where+" ORDER BY id", args...)
	if err != nil {
		j.t.Fatalf("%s %q: %v", where, args, err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			j.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
	return ids, fmt.Sprintf("%s %q", where, args)
}

func envInt(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// No row that DuckDB keeps is lost by a pushed predicate, and an exact one keeps no
// other. DVT_FUZZ_PREDICATES and DVT_FUZZ_SEED set how many and which.
func TestPredicatesAgainstDuckDB(t *testing.T) {
	n := envInt(t, "DVT_FUZZ_PREDICATES", 500)
	seed := envInt(t, "DVT_FUZZ_SEED", 1+time.Now().UnixNano()%1_000_000)
	t.Logf("DVT_FUZZ_SEED=%d DVT_FUZZ_PREDICATES=%d", seed, n)
	for i, k := range []struct {
		name, ddl, policy string
		odd               bool
	}{
		{"null", looseTable, "null", true},
		{"text", looseTable, "text", true},
		{"error", looseTable, "error", false},
		{"strict", strictTable, "error", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := fuzzer{rand.New(rand.NewSource(seed + int64(i)))}
			c := newConn(t, "sqlite_type_mismatch", k.policy)
			run(t, c, k.ddl)
			declared := describe(t, connAt(t, c.path), "t")
			var inserts strings.Builder
			for id := range 300 {
				vals := []string{strconv.Itoa(id - 5)}
				for _, col := range declared.Columns[1:] {
					v := r.clean(col)
					if k.odd && col.Type.Kind != connectors.Varchar {
						v = r.odd(col)
					}
					if k.odd && k.policy == "null" && r.Intn(20) == 0 {
						v = r.of("x'ff'", "CAST(x'ff' AS TEXT)", "x'61'")
					}
					if k.policy == "text" && (v == "x'ff'" || v == "CAST(x'ff' AS TEXT)") {
						v = "x'6162'" // what is no UTF-8 has no text
					}
					vals = append(vals, v)
				}
				fmt.Fprintf(&inserts, "INSERT INTO t VALUES (%s);\n", strings.Join(vals, ", "))
			}
			run(t, c, "BEGIN; "+inserts.String()+"COMMIT")
			table := describe(t, c, "t")
			j := newJudge(t, c, table)
			stat := map[string]int{}
			for range n / 4 {
				p := r.pred(table, 2)
				want, text := j.ids(p, table)
				if len(want) > 0 {
					stat["with rows"]++
				}
				pushed := connectors.RenderPred(c.d, p, table)
				stat[pushed.Verdict.String()]++
				if pushed.Verdict == connectors.No {
					continue
				}
				e := connectors.Extract{Table: table, Columns: []int{0}, Where: pushed.SQL, Limit: -1}
				got := engineRows(t, c, strings.Replace(c.d.Select(e), ", rowid AS `"+rowKeyColumn+"`", "", 1)+" ORDER BY id")
				for _, id := range want {
					if !slices.Contains(got, id) {
						t.Fatalf("seed %d: row %s is lost\n duckdb %s\n pushed %s\n row %q", seed, id, text, pushed.SQL,
							engineRows(t, c, "SELECT * FROM t WHERE id = "+id))
					}
				}
				if pushed.Verdict == connectors.Exact && len(got) != len(want) {
					t.Fatalf("seed %d: not exact: %d rows, %d are right\n duckdb %s\n pushed %s", seed, len(got), len(want), text, pushed.SQL)
				}
			}
			t.Logf("%v", stat)
			if sent := stat["exact"] + stat["superset"]; k.policy != "text" && sent*10 < int(n/4)*3 {
				t.Errorf("only %d of %d predicates were sent", sent, n/4)
			}
			if k.name == "strict" && stat["exact"] == 0 {
				t.Error("nothing was exact")
			}
		})
	}
}

// The order of a key that is offered is DuckDB's, with NULLs where they belong.
func TestOrderKeys(t *testing.T) {
	c := newConn(t)
	run(t, c, strictTable)
	declared := describe(t, c, "t")
	r := fuzzer{rand.New(rand.NewSource(7))}
	inserts := strings.Builder{}
	for id := range 200 {
		vals := []string{strconv.Itoa(id)}
		for _, col := range declared.Columns[1:] {
			vals = append(vals, r.clean(col))
		}
		fmt.Fprintf(&inserts, "INSERT INTO t VALUES (%s);\n", strings.Join(vals, ", "))
	}
	run(t, c, "BEGIN; "+inserts.String()+"COMMIT")
	j := newJudge(t, c, declared)
	offered := 0
	for i, col := range declared.Columns {
		for flags := range 4 {
			key := connectors.OrderKey{Col: i, Desc: flags&1 != 0, NullsLast: flags&2 != 0}
			text, ok := c.d.OrderKey(declared, key)
			if !ok {
				continue
			}
			offered++
			order := `"` + col.Name + `"`
			if key.Desc {
				order += " DESC"
			}
			order += map[bool]string{true: " NULLS LAST", false: " NULLS FIRST"}[key.NullsLast]
			rows, err := j.db.Query("SELECT id FROM t ORDER BY " + order + ", id")
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				want = append(want, id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			_ = rows.Close()
			if got := engineRows(t, c, "SELECT id FROM t ORDER BY "+text+", id"); !slices.Equal(got, want) {
				t.Errorf("ORDER BY %s differs from DuckDB's %s", text, order)
			}
		}
	}
	if offered != 4*7 { // all but the blob
		t.Errorf("%d keys were offered", offered)
	}
}
