package blob_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/faultproxy"
)

// columnsSQL are columns of all kinds whose values come in order, more or less, with
// NULLs, whole row groups of them too, and what comparisons stumble over.
const columnsSQL = `SELECT i::BIGINT AS id,
	CASE WHEN i %% 11 <> 0 THEN (i - 3000)::INTEGER END AS n,
	(i * 1000000007)::UBIGINT + 9223372036854775000::UBIGINT AS u,
	CASE WHEN i BETWEEN 2048 AND 4095 THEN NULL ELSE ((i - 3000) / 8.0)::DECIMAL(9,2) END AS d,
	((i - 3000)::DECIMAL(38,4) * 1000000000000000000000) AS wide,
	CASE i %% 500 WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE WHEN 3 THEN '-inf'::DOUBLE WHEN 4 THEN -0.0 ELSE (i - 3000) / 4.0 END AS f,
	CASE WHEN i %% 2048 = 7 THEN 'nan'::FLOAT ELSE (i / 16)::FLOAT END AS g,
	CASE i %% 7 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE chr((97 + i // 256)::INTEGER) || repeat('é', (i %% 60)::INTEGER) END AS s,
	(DATE '1969-01-01' + (i // 8)::INTEGER) AS day,
	(TIMESTAMP '1970-01-01' + to_microseconds(i * 1000003 - 3000000000)) AS ts,
	(TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_minutes(i)) AS tz,
	(TIMESTAMP_NS '1970-01-01 00:00:00' + to_microseconds(i)) AS ns,
	i %% 3 = 0 AS b
	FROM range(%d, %d) r(i)`

// TestPruneLosesNothing: whatever is left out of a data set by its statistics and by the
// names of its folders, DuckDB finds no row more when it reads all.
func TestPruneLosesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DVT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("DVT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	l := newLake(t)
	var all []string
	for i, folder := range []string{"p=-2/q=a%20b", "p=7/q=2024-01-01", "p=__HIVE_DEFAULT_PARTITION__/q="} {
		file := l.put("main/data/"+folder+"/x.parquet", fmt.Sprintf(columnsSQL, i*3000, (i+1)*3000+1100*i), "FORMAT parquet, ROW_GROUP_SIZE 2048")
		p, q := []string{"-2", "7", "NULL"}[i], []string{"a b", "2024-01-01", ""}[i]
		all = append(all, fmt.Sprintf("SELECT *, CAST(%s AS BIGINT) AS p, '%s' AS q FROM read_parquet('%s')", p, q, file))
	}
	conn, proxy := l.proxied()
	table, err := conn.Describe(context.Background(), connectors.Relation{Schema: "main", Name: "data"})
	l.must(err)
	runs, least := 120, int64(math.MaxInt64)
	if testing.Short() {
		runs = 20
	}
	for range runs {
		pred := randomPred(rng, table, 2)
		r := connectors.RenderPred(conn.Dialect(), pred, table)
		if r.SQL == "" {
			continue
		}
		before := proxy.Passed(faultproxy.ToClient)
		got, err := ids(conn, table, r.SQL)
		if err != nil {
			t.Fatalf("%s: %v", r.SQL, err)
		}
		least = min(least, proxy.Passed(faultproxy.ToClient)-before)
		_, rows, err := l.duck.Query("SELECT id FROM (" + strings.Join(all, " UNION ALL ") + ") WHERE " + r.SQL)
		if err != nil {
			t.Fatalf("%s: %v", r.SQL, err)
		}
		var want []int64
		for _, row := range rows {
			n, err := strconv.ParseInt(*row[0], 10, 64)
			l.must(err)
			want = append(want, n)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", r.SQL, len(got), len(want))
		}
	}
	if least > 1000 {
		t.Errorf("no predicate left all bytes out: the least was %d", least)
	}
}

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

func randomPred(rng *rand.Rand, t *connectors.Table, depth int) *connectors.Pred {
	if depth > 0 && rng.IntN(2) == 0 {
		p := &connectors.Pred{Kind: []connectors.PredKind{connectors.PAnd, connectors.POr}[rng.IntN(2)]}
		for range 2 + rng.IntN(2) {
			p.Kids = append(p.Kids, randomPred(rng, t, depth-1))
		}
		return p
	}
	p := &connectors.Pred{Kind: connectors.PCmp, Col: rng.IntN(len(t.Columns)), Op: comparisons[rng.IntN(6)], Neg: rng.IntN(3) == 0}
	typ := t.Columns[p.Col].Type
	p.Vals = []connectors.Value{randomValue(rng, typ)}
	switch rng.IntN(6) {
	case 0:
		p.Kind = connectors.PNull
	case 1:
		p.Kind = connectors.PIn
		for range rng.IntN(3) {
			p.Vals = append(p.Vals, randomValue(rng, typ))
		}
	case 2:
		if typ.Kind == connectors.Varchar {
			p.Kind, p.Op = connectors.PLike, []string{"prefix", "contains", "like"}[rng.IntN(3)]
		}
	}
	if typ.Kind == connectors.Boolean && p.Kind != connectors.PNull {
		p.Kind = connectors.PBool
	}
	return p
}

// randomValue is about as often within the values as not.
func randomValue(rng *rand.Rand, t connectors.Type) connectors.Value {
	v := connectors.Value{Type: t}
	i := rng.Int64N(14000) - 1500
	switch t.Kind {
	case connectors.Integer, connectors.BigInt:
		v.Int = big.NewInt(i - 1500*rng.Int64N(2))
	case connectors.UBigInt:
		v.Int = new(big.Int).Add(new(big.Int).SetUint64(9223372036854775000), big.NewInt(max(0, i)*1000000007))
	case connectors.Decimal:
		v.Int = big.NewInt((i - 3000) * 12)
		if t.Precision == 38 {
			v.Int.Mul(big.NewInt(i-3000), new(big.Int).Exp(big.NewInt(10), big.NewInt(25), nil))
		}
	case connectors.Double, connectors.Float:
		v.Float = []float64{float64(i-3000) / 4, float64(i) / 16, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN()}[rng.IntN(7)]
		if t.Kind == connectors.Float {
			v.Float = float64(float32(v.Float))
		}
	case connectors.Varchar:
		v.Text = []string{"", "a", "cé", string(rune('a'+rng.IntN(30))) + strings.Repeat("é", rng.IntN(60)), "a b", "2024-01-01", "zz"}[rng.IntN(7)]
	case connectors.Date:
		v.Int = big.NewInt(i/8 - 365)
	case connectors.Timestamp:
		v.Int = big.NewInt(i*1000003 - 3000000000)
	case connectors.TimestampTZ:
		v.Int = big.NewInt((1704067200 + i*60) * 1000000)
	case connectors.TimestampNS:
		v.Int = big.NewInt(i * 1000)
	default:
		v.Int = big.NewInt(1)
	}
	return v
}
