package run

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

var fedNames = regexp.MustCompile(`@@(\w+)\.(\w+)@@`)

// fedModel is a query as a model, fedOracleNames as the oracle's SQL.
func fedModel(sql string) string {
	return fedNames.ReplaceAllString(sql, "{{ source('$1', '$2') }}")
}
func fedOracleNames(sql string) string { return fedNames.ReplaceAllString(sql, "$1.$2") }

// fedShare is what one engine was asked for.
type fedShare struct{ extracts, pushed, exact, kept, moved, whole int64 }

// fedStats counts over all workers.
type fedStats struct {
	mu                                                                               sync.Mutex
	compared, nonEmpty, refused, wrong, streamed, limits, ones, keyed, apart, coming int64
	engines                                                                          [7]int64 // queries over so many engines
	byEngine                                                                         map[string]*fedShare
	refusals                                                                         map[string]int
}

func (s *fedStats) mismatches() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

func (s *fedStats) mismatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong++
}

var fedDigits = regexp.MustCompile(`[0-9'"].*`)

func (s *fedStats) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	if s.refusals == nil {
		s.refusals = map[string]int{}
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	s.refusals[fedDigits.ReplaceAllString(line, "")]++
}

func (s *fedStats) count(res *fedResult, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compared++
	if rows > 0 {
		s.nonEmpty++
	}
	if res.streamed != nil {
		s.streamed++
	}
	if len(res.plan.KeyReductions) > 0 {
		s.keyed++
	}
	seen := map[string]bool{}
	for i := range res.plan.Extracts {
		x := &res.plan.Extracts[i]
		name := x.Relation.Connection
		seen[name] = true
		e := s.byEngine[name]
		if e == nil {
			e = &fedShare{}
			s.byEngine[name] = e
		}
		e.extracts++
		e.pushed += int64(len(x.Pushed))
		e.kept += int64(len(x.Kept))
		for _, c := range x.Pushed {
			if c.Verdict == connectors.Exact {
				e.exact++
			}
		}
		if x.Limit >= 0 {
			s.limits++
		}
		if x.Reduced != "" {
			s.ones++
		}
		e.moved += res.stats[i].Rows
		if res.stats[i].Streamed > 0 {
			s.coming++
		}
		for _, t := range fedTables() {
			if t.engine == name && t.name == x.Relation.Name {
				e.whole += int64(t.rows)
			}
		}
	}
	s.engines[len(seen)]++
}

// countApart counts relations that several extracts read.
func (s *fedStats) countApart(res *fedResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range res.plan.Extracts {
		if x.Relation.Use == 1 {
			s.apart++
		}
	}
}

func fedPercent(part, of int64) int64 { return 100 * part / max(of, 1) }

func (s *fedStats) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d queries compared, %d wrong, %d%% with rows; %d refused by DuckDB; over 0, 1, 2, … engines: %v; %d streamed, %d with keys, %d limits, %d extracts of one row, %d relations by several extracts, %d read by the query as they came\n",
		s.compared, s.wrong, fedPercent(s.nonEmpty, s.compared), s.refused, s.engines, s.streamed, s.keyed, s.limits, s.ones, s.apart, s.coming)
	var names []string
	for name := range s.byEngine {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		e := s.byEngine[name]
		fmt.Fprintf(&b, "  %-5s %6d extracts, of %6d predicates %d%% pushed (%d%% exactly), %d%% of the rows moved\n", name, e.extracts, e.pushed+e.kept, fedPercent(e.pushed, e.pushed+e.kept), fedPercent(e.exact, e.pushed+e.kept), fedPercent(e.moved, e.whole))
	}
	for why, n := range s.refusals {
		fmt.Fprintf(&b, "  %6d refused: %s\n", n, why)
	}
	return b.String()
}

// enough fails a comparison that proves nothing: few rows, or little pushed. Few queries
// scatter.
func (s *fedStats) enough(t *testing.T, queries int64) {
	if t.Failed() || s.compared < 250 {
		return
	}
	withRows := int64(50)
	if s.compared > 900 {
		withRows = 60
		if s.streamed == 0 || s.keyed == 0 || s.limits == 0 || s.ones == 0 || s.apart == 0 || s.coming == 0 {
			t.Error("not all kinds of plans took part")
		}
	}
	if s.refused > s.compared/10 || fedPercent(s.nonEmpty, s.compared) < withRows {
		t.Errorf("too little was put to the test: %d compared of %d", s.compared, queries)
	}
	for name, e := range s.byEngine {
		if fedPercent(e.pushed, e.pushed+e.kept) < 30 {
			t.Errorf("%s: too few predicates were pushed", name)
		}
	}
	if len(s.byEngine) != 6 {
		t.Error("not all engines took part")
	}
}

// shrink replaces predicates by true as long as the result stays wrong.
func (f *fedRig) shrink(sql string, preds []string, ordered bool, off map[string]bool) string {
	sort.Slice(preds, func(i, j int) bool { return len(preds[i]) > len(preds[j]) })
	for _, p := range preds {
		smaller := strings.Replace(sql, p, "true", 1)
		if smaller == sql {
			continue
		}
		want, cols, err := f.want(smaller)
		if err != nil {
			continue
		}
		got, err := f.got(smaller, off)
		if err != nil || got.sameAs(want, cols, ordered) != nil {
			sql = smaller
		}
	}
	return sql
}

// explain says what was sent for a query, and what is wrong with its result.
func (f *fedRig) explain(sql string, ordered bool, off map[string]bool) string {
	var b strings.Builder
	want, cols, err := f.want(sql)
	if err != nil {
		return err.Error()
	}
	got, err := f.got(sql, off)
	if err == nil {
		err = got.sameAs(want, cols, ordered)
	}
	fmt.Fprintf(&b, "%v\n", err)
	if err == nil && got.streamed != nil {
		b.WriteString("streamed\n")
	}
	if got != nil && got.plan != nil {
		n, err := f.runner.Project.Inline(fedModel(sql))
		if err != nil {
			return err.Error()
		}
		_ = (&Prepared{Node: n, Plan: got.plan}).Explanation().Write(&b, "f_table")
		if got.plan.Streamed != nil {
			fmt.Fprintf(&b, "  streamed %s\n", got.plan.Streamed.SQL)
		}
		for i, x := range got.plan.Extracts {
			fmt.Fprintf(&b, "  %d rows of %s.%s\n", got.stats[i].Rows, x.Relation.Connection, x.Relation.Name)
		}
	}
	plain := map[string]bool{}
	for _, r := range planner.RuleNames() {
		plain[r] = true
	}
	for _, rules := range []map[string]bool{{"pushdown": true}, plain} {
		got, err := f.got(sql, rules)
		if err == nil {
			err = got.sameAs(want, cols, ordered)
		}
		fmt.Fprintf(&b, "with %d rules off: %v\n", len(rules), err == nil)
	}
	if _, err := f.conn.ExecContext(f.t.Context(), "PRAGMA disable_optimizer"); err == nil {
		again, cols, err := f.want(sql)
		if err == nil && got != nil {
			err = got.sameAs(again, cols, ordered)
		}
		fmt.Fprintf(&b, "the oracle without its optimizer agrees: %v\n", err == nil)
		_, _ = f.conn.ExecContext(f.t.Context(), "PRAGMA enable_optimizer")
	}
	return b.String()
}
