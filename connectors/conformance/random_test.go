package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// seed is printed by a failing test; DVT_SEED repeats its run.
func seed(t testing.TB) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if v := os.Getenv("DVT_SEED"); v != "" {
		var err error
		if n, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("DVT_SEED=%d", n)
	return n
}

// TestRandom moves random rows of random schemas from every engine to every engine and
// back into the compute engine, where both ends must be equal.
func TestRandom(t *testing.T) {
	rows := 500
	if full() {
		rows = 10000
	}
	n := seed(t)
	b := NewBench(t)
	for i, from := range Engines {
		for _, narrow := range []bool{false, true} {
			m := maker{rand.New(rand.NewPCG(n, uint64(i))), narrow}
			if from == "clickhouse" && !narrow {
				continue // its values are narrow
			}
			cols := m.columns(from, rows)
			s := b.Site(from)
			rel := s.Create(cols...)
			for _, to := range Engines {
				if (to == "clickhouse") == narrow || from == "clickhouse" {
					b.thereAndBack(s, rel, cols, b.Site(to))
				}
			}
		}
	}
}

// thereAndBack compares what was read from a source with what is read from the target
// after the load, in one model of the compute engine.
func (b *Bench) thereAndBack(from *Site, rel connectors.Relation, cols []*Column, to *Site) {
	b.Helper()
	st, err := from.Extract(rel, nil)
	if err != nil {
		b.Fatalf("%s: %v", from.Engine, err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	}()
	all := st.Pick(indexes(len(st.Columns)))
	for i := range all {
		all[i].Nullable = true
	}
	target := to.Name()
	if err := st.Land(to, target, all, "SELECT * FROM "+st.Table(), connectors.TargetOptions{}, true); err != nil {
		b.Errorf("%s → %s: %v", from.Engine, to.Engine, err)
		return
	}
	declared := map[string]connectors.Type{}
	for _, c := range st.Columns {
		if c.Type.Kind == connectors.Blob {
			declared[c.Name] = c.Type
		}
	}
	back, err := to.extractInto(st.model, "back", target, declared)
	if err != nil {
		b.Errorf("%s → %s → compute: %v", from.Engine, to.Engine, err)
		return
	}
	for i, c := range st.Columns[1:] {
		if bad := st.differences(c, back.Columns[i+1]); bad != "" {
			b.Errorf("%s (%s) → %s (%s): %s", from.Engine, c.Native, to.Engine, back.Columns[i+1].Native, bad)
		}
	}
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// differences counts the rows in which the two staged columns differ and shows one.
func (st *Staged) differences(c, back connectors.Column) string {
	q := quoted(`"`)(c.Name)
	typ := c.Type.String()
	if c.Type.Kind == connectors.JSON {
		typ = "VARCHAR" // to the letter
	}
	left, right := "a."+q, "b."+q
	if !c.Type.Equal(back.Type) || c.Type.Kind == connectors.JSON {
		left, right = "CAST("+left+" AS "+typ+")", "CAST("+right+" AS "+typ+")"
	}
	sql := fmt.Sprintf(`SELECT CAST(count(*) AS VARCHAR), CAST(min(struct_pack(i := coalesce(a.id, b.id), l := CAST(%s AS VARCHAR), r := CAST(%s AS VARCHAR))) AS VARCHAR)
FROM %s a FULL JOIN %s b ON a.id = b.id WHERE a.id IS NULL OR b.id IS NULL OR %s IS DISTINCT FROM %s`,
		left, right, st.Table(), strings.Replace(st.Table(), stagedCatalog, "back", 1), left, right)
	out := ""
	err := st.model.Query(st.bench.ctx, sql, true, func(rec arrow.RecordBatch) error {
		if n := rec.Column(0).(*array.String).Value(0); n != "0" {
			out = n + " rows differ, as " + rec.Column(1).ValueStr(0)
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return out
}
