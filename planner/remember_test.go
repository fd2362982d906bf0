package planner

import (
	"context"
	"crypto/sha256"
	"math/big"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/dvt-dev/dvt/connectors"
)

// keeper is a Memory for one test.
type keeper struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte][]byte
	hits int
}

func newKeeper() *keeper { return &keeper{kept: map[[sha256.Size]byte][]byte{}} }

func (k *keeper) Get(key [sha256.Size]byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[key] != nil {
		k.hits++
	}
	return k.kept[key]
}

func (k *keeper) Put(key [sha256.Size]byte, value []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[key] = value
}

func goldenCases(t *testing.T) (all []goldenCase) {
	files, err := filepath.Glob("../testdata/plans/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, file := range files {
		all = append(all, readCases(t, file)...)
	}
	return all
}

func goldenInput(sql string) Input {
	rels := testRelations()
	return Input{Model: "m", File: "models/m.sql", SQL: refs(sql, rels), Relations: rels, Now: testNow,
		TargetConnection: "dw", Target: connectors.Relation{Schema: "main", Name: "this"}}
}

// TestRememberedPlans plans each golden case without a memory, into one, and out of it by
// another planner: the plans are the same, and the last needs no DuckDB.
func TestRememberedPlans(t *testing.T) {
	mem := newKeeper()
	plain, cold, warm := newPlanner(t), newPlanner(t), newPlanner(t)
	cold.Remember(mem)
	warm.Remember(mem)
	fromMemory := 0
	for _, c := range goldenCases(t) {
		in := goldenInput(c.sql)
		want, wantErr := plain.Plan(context.Background(), in)
		for _, p := range []*Planner{cold, warm} {
			before := mem.hits
			got, err := p.Plan(context.Background(), in)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, wantErr) {
				t.Errorf("%s: remembered\n%+v %v\nwant\n%+v %v", c.name, got, err, want, wantErr)
			}
			if p == warm && mem.hits == before+2 {
				fromMemory++
			}
		}
		if text := planText(warm, c.sql); text != c.plan {
			t.Errorf("%s: remembered plan\n%s\nwant\n%s", c.name, text, c.plan)
		}
	}
	if fromMemory < 200 {
		t.Errorf("%d plans came from the memory, want 200 at least", fromMemory)
	}

	idle := newPlanner(t)
	idle.Remember(mem)
	if _, err := idle.Plan(context.Background(), goldenInput("select id from {{ orders }} where qty = 7")); err != nil {
		t.Fatal(err)
	}
	if len(idle.idle) != 1 {
		t.Errorf("%d shadows for a plan that is not known, want 1", len(idle.idle))
	}
	idle = newPlanner(t)
	idle.Remember(mem)
	if _, err := idle.Plan(context.Background(), goldenInput("select id from {{ orders }} where qty = 7")); err != nil {
		t.Fatal(err)
	}
	if len(idle.idle) != 0 {
		t.Error("DuckDB was opened for a plan that is known")
	}
}

// TestOtherInputIsPlannedAnew changes one thing at a time of what a kept plan depended on.
func TestOtherInputIsPlannedAnew(t *testing.T) {
	const sql = `select "id", "c" from "pg__dvtcat"."s"."t" where "c" = '1' and "id" > 3`
	base := func() Input {
		r := rel("pg", "s", "t", testDialect{text: connectors.Exact}, "id:BIGINT", "c:VARCHAR", "d:DECIMAL(10,2)")
		r.Table.Columns[1].Attrs = map[string]string{"bytes": "yes"}
		return Input{Model: "m", SQL: sql, Relations: []Relation{r}, Now: testNow}
	}
	column := func(f func(c []connectors.Column)) func(*Input) {
		return func(in *Input) { f(in.Relations[0].Table.Columns) }
	}
	changes := map[string]func(*Input){
		"sql":       func(in *Input) { in.SQL = strings.Replace(in.SQL, "> 3", "> 4", 1) },
		"rule":      func(in *Input) { in.DisabledRules = map[string]bool{ruleRewrite: true} },
		"type":      column(func(c []connectors.Column) { c[1].Type = connectors.T(connectors.Integer) }),
		"scale":     column(func(c []connectors.Column) { c[2].Type = connectors.Dec(10, 3) }),
		"length":    column(func(c []connectors.Column) { c[1].Type.Length = 5 }),
		"null":      column(func(c []connectors.Column) { c[1].Nullable = !c[1].Nullable }),
		"name":      column(func(c []connectors.Column) { c[2].Name = "e" }),
		"order":     column(func(c []connectors.Column) { c[0], c[1] = c[1], c[0] }),
		"native":    column(func(c []connectors.Column) { c[1].Native = "citext" }),
		"engine":    column(func(c []connectors.Column) { c[1].Engine = "other" }),
		"collation": column(func(c []connectors.Column) { c[1].Collation = "x" }),
		"attribute": column(func(c []connectors.Column) { c[1].Attrs["bytes"] = "no" }),
		"more": func(in *Input) {
			t := in.Relations[0].Table
			t.Columns = append(t.Columns, t.Columns[0])
			t.Columns[3].Name = "x"
		},
		"fewer": func(in *Input) { t := in.Relations[0].Table; t.Columns = t.Columns[:2] },
	}
	for name, change := range changes {
		mem := newKeeper()
		kept := newPlanner(t)
		kept.Remember(mem)
		mustPlan(t, kept, base())
		in := base()
		change(&in)
		p := newPlanner(t)
		want := mustPlan(t, p, in)
		p.Remember(mem)
		entries := len(mem.kept)
		if got := mustPlan(t, p, in); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, want)
		}
		if len(mem.kept) == entries {
			t.Errorf("%s changed and the plan is the one that was kept", name)
		}
	}
}

// TestSourceAnswersAnew: what the source's dialect says of a predicate is never kept.
func TestSourceAnswersAnew(t *testing.T) {
	mem, p := newKeeper(), newPlanner(t)
	p.Remember(mem)
	for _, verdict := range []connectors.Verdict{connectors.Exact, connectors.Superset, connectors.Exact} {
		r := rel("pg", "s", "t", testDialect{text: verdict}, "id:BIGINT", "c:VARCHAR")
		plan := mustPlan(t, p, Input{SQL: `select id from "pg__dvtcat"."s"."t" where c = 'a'`, Relations: []Relation{r}})
		if x := plan.Extracts[0]; len(x.Pushed) != 1 || x.Pushed[0].Verdict != verdict {
			t.Errorf("pushed %+v, want %v", x.Pushed, verdict)
		}
	}
	if len(mem.kept) != 2 {
		t.Errorf("%d entries, want a parse and an analysis", len(mem.kept))
	}
}

// TestClockIsNotKept: functions of the clock, of chance and of the session are found by
// name, and all that this DuckDB has are known, its own macros over them included.
func TestClockIsNotKept(t *testing.T) {
	ctx := context.Background()
	s, err := openShadow(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	rows, err := s.conn.QueryContext(ctx, `SELECT DISTINCT function_name, len(parameters)::INTEGER FROM duckdb_functions()
		WHERE function_type IN ('scalar', 'macro') AND (stability <> 'CONSISTENT' OR
			macro_definition SIMILAR TO '.*(current_|localtime|now\(|today\(|random\(|uuid\(|getvariable).*') ORDER BY ALL`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	exprs := []string{"current_date", "current_time", "Current_Timestamp", "localtime", "localtimestamp", `"current_date"`, "now()", "ago(interval 1 day)", "age(timestamp '2000-01-01')", "system.main.now()"}
	for rows.Next() {
		var name string
		var args int
		if err := rows.Scan(&name, &args); err != nil {
			t.Fatal(err)
		}
		exprs = append(exprs, quote(name)+"("+strings.TrimSuffix(strings.Repeat("NULL,", args), ",")+")")
	}
	if err := rows.Err(); err != nil || len(exprs) < 25 {
		t.Fatal(exprs, err)
	}
	for _, e := range exprs {
		q, err := s.parseNew(ctx, "select 1 where "+e+" is null")
		if err != nil {
			t.Errorf("%s: %v", e, err)
		} else if q.steady() {
			t.Errorf("%s: the plan would be kept", e)
		}
	}
	mem, p := newKeeper(), newPlanner(t)
	p.Remember(mem)
	r := rel("pg", "s", "t", testDialect{text: connectors.Exact}, "id:BIGINT", "seen:TIMESTAMP WITH TIME ZONE")
	seen := map[string]bool{}
	for day := range 3 {
		plan, err := p.Plan(ctx, Input{SQL: `select id from "pg__dvtcat"."s"."t" where seen > now()`, Relations: []Relation{r}, Now: testNow.Add(time.Duration(day) * 24 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		seen[plan.Extracts[0].Where] = true
	}
	if len(seen) != 3 {
		t.Errorf("three days gave the predicates %v", seen)
	}
}

// TestCodecHasEveryField fills all fields of what is kept: one that a method forgets comes
// back empty.
func TestCodecHasEveryField(t *testing.T) {
	r := rel("pg", "s", "t", testDialect{}, "a:BIGINT", "b:BIGINT", "c:BIGINT")
	rels := []*Relation{&r, &r}
	a := &analysis{scans: []*scan{{}, {}}}
	f := filler{rel: &r, scan: a.scans[1]}
	for _, s := range a.scans {
		f.fill(reflect.ValueOf(s).Elem(), 0)
	}
	scans := a.scans
	f.fill(reflect.ValueOf(a).Elem(), 0)
	a.scans = scans
	var cols []connectors.Column
	f.fill(reflect.ValueOf(&cols).Elem(), 0)
	q := &query{}
	f.fill(reflect.ValueOf(q).Elem(), 0)
	q.node = nil // not kept

	w := &codec{writing: true, rels: rels}
	w.analysis(a, &cols)
	w.parsedQuery(q)
	back, backCols, backQ := &analysis{}, []connectors.Column(nil), &query{}
	c := &codec{in: string(w.out), rels: rels}
	c.analysis(back, &backCols)
	c.parsedQuery(backQ)
	if w.bad || c.bad || c.in != "" {
		t.Fatalf("bad %v %v, %d bytes left", w.bad, c.bad, len(c.in))
	}
	if !reflect.DeepEqual(a, back) || !reflect.DeepEqual(cols, backCols) || !reflect.DeepEqual(q, backQ) {
		t.Errorf("got\n%+v\n%+v\n%+v\nwant\n%+v\n%+v\n%+v", back, backCols, backQ, a, cols, q)
	}
}

// filler sets every field, unexported ones too.
type filler struct {
	rel  *Relation
	scan *scan
}

func (f filler) fill(v reflect.Value, depth int) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	switch v.Type() {
	case reflect.TypeFor[*Relation]():
		v.Set(reflect.ValueOf(f.rel))
		return
	case reflect.TypeFor[*scan]():
		v.Set(reflect.ValueOf(f.scan))
		return
	case reflect.TypeFor[*big.Int]():
		v.Set(reflect.ValueOf(big.NewInt(-70000)))
		return
	case reflect.TypeFor[obj]():
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth)
		}
	case reflect.Pointer:
		if depth < 3 { // types and expressions nest without end
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < 3 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				f.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": "v", "l": "w"}))
	case reflect.String:
		v.SetString("é x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(-0.5)
	case reflect.Uint8:
		v.SetUint(3)
	default:
		v.SetInt(2)
	}
}

// TestCodecReadsAnything: what is no entry is refused or gives something, never a panic.
func TestCodecReadsAnything(t *testing.T) {
	mem, p := newKeeper(), newPlanner(t)
	p.Remember(mem)
	in := goldenInput("select o.id, c.name from {{ orders }} o join {{ customers }} c on o.customer_id = c.id where o.status in ('a', 'b') and o.qty > 3")
	if _, err := p.Plan(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	var rels []*Relation
	for i := range in.Relations {
		rels = append(rels, &in.Relations[i])
	}
	read := func(b []byte) {
		var cols []connectors.Column
		(&codec{in: string(b), rels: rels}).analysis(&analysis{}, &cols)
		(&codec{in: string(b)}).parsedQuery(&query{})
	}
	for _, value := range mem.kept {
		for i := range value {
			read(value[:i])
			for bit := range 8 {
				b := append([]byte(nil), value...)
				b[i] ^= 1 << bit
				read(b)
			}
		}
	}
	read([]byte(strings.Repeat("\x02", 1<<20))) // deep
}
