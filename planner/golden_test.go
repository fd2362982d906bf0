package planner

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

var update = flag.Bool("update", false, "write the plans of testdata/plans anew; expectations are kept, and still fail")

// TestGoldenPlans checks testdata/plans/*.txt. A case is
//
//	## name
//	SQL with {{ relation }} for the relations of testRelations
//	expect=a line that the plan must have
//	expect-not=a text that no line of the plan may contain
//	----
//	the plan
func TestGoldenPlans(t *testing.T) {
	files, err := filepath.Glob("../testdata/plans/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	p := newPlanner(t)
	total := 0
	for _, file := range files {
		cases := readCases(t, file)
		total += len(cases)
		for i := range cases {
			c := &cases[i]
			t.Run(c.name, func(t *testing.T) {
				got := planText(p, c.sql)
				c.check(t, got)
				if got != c.plan && !*update {
					t.Errorf("plan differs (go test -update ./planner writes it anew)\ngot:\n%s\nwant:\n%s", got, c.plan)
				}
				c.plan = got
			})
		}
		if *update {
			writeCases(t, file, cases)
		}
	}
	if total < 200 {
		t.Errorf("%d cases, want 200 at least", total)
	}
}

type goldenCase struct {
	name, sql, plan string
	expect          []string // lines "expect=…" and "expect-not=…"
}

func (c *goldenCase) check(t *testing.T, got string) {
	lines := strings.Split(got, "\n")
	for _, e := range c.expect {
		if want, ok := strings.CutPrefix(e, "expect="); ok && !slices.Contains(lines, want) {
			t.Errorf("the plan lacks the line %q:\n%s", want, got)
		}
		if not, ok := strings.CutPrefix(e, "expect-not="); ok && strings.Contains(got, not) {
			t.Errorf("the plan has %q:\n%s", not, got)
		}
	}
}

func readCases(t *testing.T, file string) []goldenCase {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var cases []goldenCase
	inPlan := false
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Text()
		if name, ok := strings.CutPrefix(line, "## "); ok {
			cases = append(cases, goldenCase{name: name})
			inPlan = false
			continue
		}
		if len(cases) == 0 {
			t.Fatalf("%s: a line before the first case: %s", file, line)
		}
		c := &cases[len(cases)-1]
		switch {
		case line == "----":
			inPlan = true
		case inPlan && line != "":
			c.plan += line + "\n"
		case strings.HasPrefix(line, "expect=") || strings.HasPrefix(line, "expect-not="):
			c.expect = append(c.expect, line)
		case line != "":
			c.sql += line + "\n"
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func writeCases(t *testing.T, file string, cases []goldenCase) {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString("## " + c.name + "\n" + c.sql)
		for _, e := range c.expect {
			b.WriteString(e + "\n")
		}
		b.WriteString("----\n" + c.plan + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newPlanner(t testing.TB) *Planner {
	t.Helper()
	p := New()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// planText plans sql over testRelations and prints all facts of the plan.
func planText(p *Planner, sql string) string {
	rels := testRelations()
	in := Input{Model: "m", File: "models/m.sql", SQL: refs(sql, rels), Relations: rels, Now: testNow,
		TargetConnection: "dw", Target: connectors.Relation{Schema: "main", Name: "this"}}
	plan, err := p.Plan(context.Background(), in)
	if err != nil {
		return "error " + strings.ReplaceAll(err.Error(), "\n", "\nerror ") + "\n"
	}
	var b strings.Builder
	var cols []string
	for _, c := range plan.Columns {
		s := c.Name + " " + c.Type.String()
		if c.Native != "" {
			s += " [" + c.Engine + "]"
		}
		cols = append(cols, s)
	}
	fmt.Fprintf(&b, "result %s\n", strings.Join(cols, ", "))
	fmt.Fprintf(&b, "ordered=%v plain=%v\n", plan.Ordered, plan.PlainScan())
	fmt.Fprintf(&b, "%s: %s\n", plan.Lane, plan.LaneReason)
	if plan.Streamed != nil {
		fmt.Fprintf(&b, "streamed %s\n", plan.Streamed.SQL)
	}
	fmt.Fprintf(&b, "tree %s\n", plan.tree)
	for _, n := range plan.Notes {
		b.WriteString("note " + n + "\n")
	}
	if strings.Contains(plan.SQL, "#") {
		fmt.Fprintf(&b, "compute %s\n", strings.Join(strings.Fields(unmark(plan.SQL)), " "))
	}
	for _, x := range plan.Extracts {
		b.WriteString(extractText(x))
	}
	for _, k := range plan.KeyReductions {
		from, to := plan.Extracts[k.From].Relation, plan.Extracts[k.To].Relation
		about := ""
		if k.Keys >= 0 {
			about = fmt.Sprintf(", about %d", k.Keys)
		}
		fmt.Fprintf(&b, "keys %s.%s of %s.%s (%s%s)\n", extractName(to), to.Table.Columns[k.ToColumn].Name, extractName(from), from.Table.Columns[k.FromColumn].Name, k.Kind, about)
	}
	return b.String()
}

// extractName tells the extracts of one relation apart.
func extractName(r Relation) string {
	r.Label = r.Name
	return r.Title()
}

func extractText(x Extract) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, extractName(x.Relation)+" "+format+"\n", args...)
	}
	if x.Why != "" {
		line("uses %d | %s", x.Uses, x.Why)
	}
	if x.Pruned {
		line("pruned")
		return b.String()
	}
	var cols []string
	for _, c := range x.Columns {
		cols = append(cols, x.Relation.Table.Columns[c].Name)
	}
	line("columns %s", strings.Join(cols, ", "))
	for _, c := range x.Pushed {
		if c.Verdict == connectors.Exact {
			line("pushed %s", c.SQL)
		} else {
			line("pushed %s | %s: %s", c.SQL, c.Verdict, c.Reason)
		}
	}
	for _, c := range x.Kept {
		line("kept %s | %s", c.SQL, c.Reason)
	}
	if x.Limit >= 0 {
		line("limit %d", x.Limit)
	}
	if x.Reduced != "" {
		line("reduced %s", x.Reduced)
	}
	line("sql %s", x.Query.SQL)
	return b.String()
}
