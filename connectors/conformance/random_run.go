package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
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

// Random moves random rows of random schemas from each source to each target.
func (b *Bench) Random(sources, targets []string) {
	b.Helper()
	rows := 500
	if full() {
		rows = 10000
	}
	n := seed(b)
	for i, from := range sources {
		for _, narrow := range []bool{false, true} {
			var to []string
			for _, e := range targets {
				if narrow == (from == "clickhouse" || e == "clickhouse") {
					to = append(to, e)
				}
			}
			if len(to) == 0 {
				continue
			}
			cols := maker{Rand: rand.New(rand.NewPCG(n, uint64(i))), narrow: narrow}.columns(from, rows)
			b.thereAndBack(b.Site(from), b.Site(from).Create(cols...), to)
		}
	}
}

// thereAndBack compares what was read from a source with what is read from each target
// after the load, in one model of the compute engine. One target of each source also
// takes the rows straight from the source, without the compute engine.
func (b *Bench) thereAndBack(from *Site, rel connectors.Relation, targets []string) {
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
	streamed := false
	for _, e := range targets {
		to := b.Site(e)
		target := to.Name()
		if err := st.Land(to, target, st.Result(), "SELECT * FROM "+st.Table(), connectors.TargetOptions{}, true); err != nil {
			b.Errorf("%s → %s: %v", from.Engine, to.Engine, err)
			continue
		}
		st.compareBack(to, target, "back"+e)
		if from.fills() || to.fills() || from.shares(to) || streamed && !full() {
			continue
		}
		streamed = true
		target = to.Name()
		if err := st.Stream(to, target); err != nil {
			b.Errorf("%s → %s, streamed: %v", from.Engine, to.Engine, err)
			continue
		}
		st.compareBack(to, target, "streamed"+e)
	}
}

// shares says that rows are staged between the two, as runs do.
func (s *Site) shares(to *Site) bool {
	a, one := s.Conn.(connectors.OneWriter)
	b, other := to.Conn.(connectors.OneWriter)
	return one && other && a.Resource() == b.Resource()
}

// compareBack reads a target and compares it with what is staged.
func (st *Staged) compareBack(to *Site, target connectors.Relation, catalog string) {
	b := st.bench
	b.Helper()
	declared := map[string]connectors.Type{}
	for _, c := range st.Columns {
		if c.Type.Kind == connectors.Blob || to.untyped {
			declared[c.Name] = c.Type
		}
	}
	back, err := to.extractTo(st.model, catalog, target, declared, nil)
	if err != nil {
		b.Errorf("%s → %s → compute: %v", st.From.Engine, to.Engine, err)
		return
	}
	for i, c := range st.Columns {
		if bad := st.differences(back, i); bad != "" {
			b.Errorf("%s (%s) → %s (%s): %s", st.From.Engine, c.Native, to.Engine, back.Columns[i].Native, bad)
		}
	}
}

// differences counts the rows in which column i of two relations of one model differs,
// and shows one.
func (st *Staged) differences(other *Staged, i int) string {
	c, back := st.Columns[i], other.Columns[i]
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
		left, right, st.Table(), other.Table(), left, right)
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
