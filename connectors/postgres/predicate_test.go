package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// duckSQL is the predicate as DuckDB reads it.
func duckSQL(p *connectors.Pred, t *connectors.Table) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	value := func(v connectors.Value) string {
		s := v.Text
		switch v.Type.Kind {
		case connectors.Float, connectors.Double:
			s = strconv.FormatFloat(v.Float, 'g', -1, 64)
		case connectors.Date:
			if days := v.Int.Int64(); days < minDay || days > maxDay {
				if days != math.MaxInt32 && days != -math.MaxInt32 {
					return fmt.Sprintf("(DATE '1970-01-01' + %d)", days)
				}
			}
			s = string(appendDate(nil, v.Int.Int64()))
		case connectors.Timestamp, connectors.TimestampTZ:
			us := v.Int.Int64()
			if us == math.MaxInt64 || us == -math.MaxInt64 {
				s = string(appendTimestamp(nil, us))
			} else {
				return fmt.Sprintf("make_timestamp(%d)::%s", us, v.Type)
			}
		case connectors.Time:
			s = string(appendTime(nil, v.Int.Int64()))
		case connectors.Varchar, connectors.UUID:
		default:
			s = decimalText(v.Int, v.Type.Scale)
		}
		return quote(s) + "::" + v.Type.String()
	}
	not := map[bool]string{true: "NOT ", false: ""}[p.Neg]
	col := func(i int) string { return quoteIdent(t.Columns[i].Name) }
	var vals []string
	for _, v := range p.Vals {
		vals = append(vals, value(v))
	}
	switch p.Kind {
	case connectors.PAnd, connectors.POr:
		var kids []string
		for _, k := range p.Kids {
			kids = append(kids, duckSQL(k, t))
		}
		return "(" + strings.Join(kids, map[connectors.PredKind]string{connectors.PAnd: " AND ", connectors.POr: " OR "}[p.Kind]) + ")"
	case connectors.PCmp:
		return col(p.Col) + " " + p.Op + " " + vals[0]
	case connectors.PColCmp:
		return col(p.Col) + " " + p.Op + " " + col(p.Col2)
	case connectors.PIn:
		return col(p.Col) + " " + not + "IN (" + strings.Join(vals, ", ") + ")"
	case connectors.PNull:
		return col(p.Col) + " IS " + not + "NULL"
	case connectors.PBool:
		return not + col(p.Col)
	}
	if p.Op == "like" {
		return col(p.Col) + " " + not + "LIKE " + vals[0]
	}
	return not + p.Op + "(" + col(p.Col) + ", " + vals[0] + ")"
}

// fuzzTable makes the source and its copy in DuckDB, taken through Read.
func fuzzTable(t *testing.T, d *db, f fuzzer, rows int) (*connectors.Table, *sql.DB) {
	t.Helper()
	createTypes(d)
	d.exec(`CREATE COLLATION nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
	d.exec("CREATE DOMAIN padded AS char(4)")
	cols := fuzzColumns(f)
	defs := []string{"id bigint"}
	for _, c := range cols {
		defs = append(defs, quoteIdent(c.name)+" "+c.decl)
	}
	d.exec("CREATE TABLE t (" + strings.Join(defs, ", ") + ")")
	d.exec("SET client_min_messages = error")
	var tuples []string
	for i := range rows {
		vals := []string{strconv.Itoa(i)}
		for _, c := range cols {
			if f.IntN(10) == 0 {
				vals = append(vals, "NULL")
				continue
			}
			decl, _, _ := strings.Cut(c.decl, " COLLATE")
			vals = append(vals, quoteText(c.value())+"::"+decl)
		}
		tuples = append(tuples, "("+strings.Join(vals, ", ")+")")
	}
	d.exec("INSERT INTO t VALUES " + strings.Join(tuples, ", "))
	tab := d.describe("t")
	q := d.query(tab)
	tab.Columns = q.Columns
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = duck.Close() })
	duck.SetMaxOpenConns(1)
	run := func(sql string) {
		if _, err := duck.Exec(sql); err != nil {
			t.Fatalf("%s: %v", connectors.Shorten(sql), err)
		}
	}
	run("SET TimeZone = 'UTC'")
	defs = nil
	for _, c := range tab.Columns {
		defs = append(defs, quoteIdent(c.Name)+" "+c.Type.String())
	}
	run("CREATE TABLE t (" + strings.Join(defs, ", ") + ")")
	recs := d.read(q)
	defer release(recs)
	tuples = nil
	for _, r := range recs {
		for row := range int(r.NumRows()) {
			var vals []string
			for i, c := range tab.Columns {
				if r.Column(i).IsNull(row) {
					vals = append(vals, "NULL")
					continue
				}
				if ts, ok := r.Column(i).(*array.Timestamp); ok {
					if us := int64(ts.Value(row)); us != math.MaxInt64 && us != -math.MaxInt64 {
						vals = append(vals, fmt.Sprintf("make_timestamp(%d)", us))
						continue
					}
				}
				b, err := textEncoder(c.Type, true, false)(r.Column(i))(nil, row)
				if err != nil {
					t.Fatal(err)
				}
				vals = append(vals, "'"+strings.ReplaceAll(string(b), "'", "''")+"'")
			}
			tuples = append(tuples, "("+strings.Join(vals, ", ")+")")
		}
	}
	run("INSERT INTO t VALUES " + strings.Join(tuples, ", "))
	return tab, duck
}

func duckIDs(duck *sql.DB, where string) ([]int64, error) {
	rows, err := duck.Query("SELECT id FROM t WHERE " + where)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (d *db) ids(sql string) ([]int64, error) {
	var ids []int64
	err := d.Read(context.Background(), connectors.Query{SQL: sql, Columns: []connectors.Column{{Name: "id", Type: connectors.T(connectors.BigInt)}}},
		func(r arrow.RecordBatch) error {
			ids = append(ids, r.Column(0).(*array.Int64).Int64Values()...)
			return nil
		})
	return ids, err
}

// TestPredicates holds the contract of Leaf against the real server: what DuckDB keeps
// of the extract, the pushed text keeps too, and an exact text keeps nothing else.
func TestPredicates(t *testing.T) {
	count := 500
	if s := os.Getenv("DVT_FUZZ_PREDICATES"); s != "" {
		var err error
		if count, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DVT_FUZZ_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d predicates, DVT_FUZZ_SEED=%d", count, seed)
	f := fuzzer{rand.New(rand.NewPCG(seed, 0))}
	d := open(t, map[string]any{"search_path": "public"})
	tab, duck := fuzzTable(t, d, f, 300)
	seen := map[string]int{}
	for range count {
		p := f.pred(tab, 2)
		want, err := duckIDs(duck, duckSQL(p, tab))
		if err != nil {
			seen["refused by DuckDB"]++
			continue
		}
		r := connectors.RenderPred(d.dialect, p, tab)
		seen[r.Verdict.String()]++
		if r.Verdict != connectors.Exact && len(r.Reasons) == 0 {
			t.Errorf("%s: %s without a reason", duckSQL(p, tab), r.Verdict)
		}
		if r.Verdict == connectors.No {
			continue
		}
		got, err := d.ids(d.dialect.Select(connectors.Extract{Table: tab, Columns: []int{0}, Where: r.SQL, Limit: -1}))
		if err != nil {
			t.Errorf("pushed text refused: %v\n duckdb %s\n pushed %s", err, duckSQL(p, tab), r.SQL)
			continue
		}
		if len(want) > 0 {
			seen["with rows"]++
		}
		slices.Sort(got)
		for _, id := range want {
			if _, ok := slices.BinarySearch(got, id); !ok {
				t.Errorf("row %d is lost\n duckdb %s\n pushed %s", id, duckSQL(p, tab), r.SQL)
				break
			}
		}
		if r.Verdict == connectors.Exact && len(got) != len(want) {
			t.Errorf("%d rows instead of %d, yet exact\n duckdb %s\n pushed %s", len(got), len(want), duckSQL(p, tab), r.SQL)
		}
	}
	t.Log(seen)
	if pushed := seen["exact"] + seen["superset"]; pushed < count/2 || seen["with rows"] < pushed/2 {
		t.Errorf("too few predicates say something: %v", seen)
	}
}

// TestLeaves tries each kind of leaf on each column, so that no rule goes untried.
func TestLeaves(t *testing.T) {
	f := fuzzer{rand.New(rand.NewPCG(1, 2))}
	d := open(t, map[string]any{"search_path": "public"})
	tab, duck := fuzzTable(t, d, f, 150)
	verdicts := map[string]map[connectors.Verdict]int{}
	for col := 1; col < len(tab.Columns); col++ {
		for range 60 {
			p := f.leaf(tab)
			for p.Col != col {
				p = f.leaf(tab)
			}
			a := d.dialect.Leaf(p, tab)
			key := tab.Columns[col].Native
			if verdicts[key] == nil {
				verdicts[key] = map[connectors.Verdict]int{}
			}
			verdicts[key][a.Verdict]++
			if a.Verdict == connectors.No {
				continue
			}
			want, err := duckIDs(duck, duckSQL(p, tab))
			if err != nil {
				continue
			}
			got, err := d.ids("SELECT id FROM " + d.dialect.Relation(tab.Relation) + " WHERE " + a.SQL)
			slices.Sort(got)
			slices.Sort(want)
			switch {
			case err != nil:
				t.Errorf("%s: %v", a.SQL, err)
			case a.Verdict == connectors.Exact && !slices.Equal(got, want):
				t.Errorf("%d rows instead of %d\n duckdb %s\n pushed %s", len(got), len(want), duckSQL(p, tab), a.SQL)
			case slices.ContainsFunc(want, func(id int64) bool { return !slices.Contains(got, id) }):
				t.Errorf("rows lost\n duckdb %s\n pushed %s", duckSQL(p, tab), a.SQL)
			}
		}
	}
	for native, v := range verdicts {
		if v[connectors.Exact]+v[connectors.Superset] == 0 {
			t.Errorf("nothing exact on %s: %v", native, v)
		}
	}
}

// TestOrderKeys: a top-N must take the rows that DuckDB's own would.
func TestOrderKeys(t *testing.T) {
	f := fuzzer{rand.New(rand.NewPCG(3, 4))}
	d := open(t, map[string]any{"search_path": "public"})
	tab, duck := fuzzTable(t, d, f, 150)
	ordered := 0
	for col := 1; col < len(tab.Columns); col++ {
		for _, k := range []connectors.OrderKey{{Col: col}, {Col: col, Desc: true}, {Col: col, NullsLast: true}, {Col: col, Desc: true, NullsLast: true}} {
			key, ok := d.dialect.OrderKey(tab, k)
			if !ok {
				continue
			}
			ordered++
			dir := map[bool]string{true: " DESC", false: " ASC"}[k.Desc] + map[bool]string{true: " NULLS LAST", false: " NULLS FIRST"}[k.NullsLast]
			want, err := duckIDs(duck, "true ORDER BY "+quoteIdent(tab.Columns[col].Name)+dir+", id")
			if err != nil {
				t.Fatal(err)
			}
			id, _ := d.dialect.OrderKey(tab, connectors.OrderKey{Col: 0})
			got, err := d.ids(d.dialect.Select(connectors.Extract{Table: tab, Columns: []int{0}, OrderBy: []string{key, id}, Limit: 100}))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[:100]) {
				t.Errorf("%s orders otherwise than DuckDB", key)
			}
		}
	}
	if ordered < 60 {
		t.Errorf("%d keys only", ordered)
	}
}

// TestExtremes: max and min answered by the server are those of DuckDB.
func TestExtremes(t *testing.T) {
	f := fuzzer{rand.New(rand.NewPCG(5, 6))}
	d := open(t, map[string]any{"search_path": "public"})
	tab, duck := fuzzTable(t, d, f, 100)
	answered := 0
	for col := 1; col < len(tab.Columns); col++ {
		for _, greatest := range []bool{true, false} {
			for _, where := range []string{"", "id < 0", "id < 30"} {
				expr, ok := d.dialect.Extreme(tab, col, greatest)
				if !ok {
					continue
				}
				answered++
				c := tab.Columns[col]
				sql := d.dialect.SelectExtremes(connectors.Extract{Table: tab, Columns: []int{col}, Where: where, Limit: -1}, []string{expr})
				recs := d.read(connectors.Query{SQL: sql, Columns: []connectors.Column{c}})
				if len(recs) != 1 || recs[0].NumRows() != 1 {
					t.Fatalf("%s: not one row", sql)
				}
				fn := map[bool]string{true: "max", false: "min"}[greatest]
				same := fmt.Sprintf("%s(%s) IS NOT DISTINCT FROM ", fn, quoteIdent(c.Name))
				if recs[0].Column(0).IsNull(0) {
					same += "NULL"
				} else if ts, ok := recs[0].Column(0).(*array.Timestamp); ok && ts.Value(0) != math.MaxInt64 && ts.Value(0) != -math.MaxInt64 {
					same += fmt.Sprintf("make_timestamp(%d)::%s", ts.Value(0), c.Type)
				} else {
					b, err := textEncoder(c.Type, false, false)(recs[0].Column(0))(nil, 0)
					if err != nil {
						t.Fatal(err)
					}
					same += "'" + strings.ReplaceAll(string(b), "'", "''") + "'::" + c.Type.String()
				}
				release(recs)
				if where == "" {
					where = "true"
				}
				var ok2 bool
				if err := duck.QueryRow("SELECT " + same + " FROM t WHERE " + where).Scan(&ok2); err != nil || !ok2 {
					t.Errorf("%s: DuckDB says no to %s: %v", sql, same, err)
				}
			}
		}
	}
	if answered < 100 {
		t.Errorf("%d answers only", answered)
	}
}
