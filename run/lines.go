package run

import (
	"fmt"

	"github.com/dvt-dev/dvt/project"
)

// describeNode is "f_table model marts.orders_by_country", "test not_null_orders_id".
func describeNode(n *project.Node) string {
	switch n.ResourceType {
	case project.TypeTest:
		return "test " + n.Name
	case project.TypeSeed:
		return "seed file " + relationName(n)
	case project.TypeSource:
		return "freshness of " + n.Name
	}
	if n.Config.Materialized == n.ResourceType {
		return n.ResourceType + " " + relationName(n)
	}
	return n.Config.Materialized + " " + n.ResourceType + " " + relationName(n)
}

func skippedNode(n *project.Node) string {
	if n.ResourceType == project.TypeTest {
		return describeNode(n)
	}
	return "relation " + relationName(n)
}

// line is how a node's last line reads: its weight, what ended how, and the bracket.
func (r *Result) line() (level Level, text, bracket string) {
	n := r.Node
	plain := describeNode(n)
	if n.ResourceType == project.TypeTest {
		plain = n.Name
	}
	in := " in " + seconds(r.Elapsed)
	failures := int64(0)
	if r.Failures != nil {
		failures = *r.Failures
	}
	switch {
	case r.Status == Error && n.ResourceType == project.TypeSource && r.Err == nil:
		return Fault, "ERROR STALE " + plain, "ERROR STALE" + in
	case r.Status == Error:
		return Fault, "ERROR " + plain, seconds(r.Elapsed)
	case r.Status == Fail:
		return Fault, fmt.Sprintf("FAIL %d %s", failures, plain), fmt.Sprintf("FAIL %d%s", failures, in)
	case r.Status == Warned && n.ResourceType == project.TypeTest:
		return Warn, fmt.Sprintf("WARN %d %s", failures, plain), fmt.Sprintf("WARN %d%s", failures, in)
	case r.Status == Warned:
		return Warn, "WARN " + plain, "WARN" + in
	case r.Status == Pass:
		return Info, "PASS " + plain, "PASS" + in
	case n.ResourceType == project.TypeSeed:
		plain = "loaded " + plain
	}
	return Info, "OK " + plain, r.facts()
}

// facts is the bracketed part of the last line of a node that built something.
func (r *Result) facts() string {
	if r.Response != "" {
		return r.Response + " in " + seconds(r.Elapsed)
	}
	if r.Plan == nil {
		return seconds(r.Elapsed)
	}
	lane := "direct lane"
	if r.Plan.Lane == "compute" {
		lane = "compute lane"
	}
	return fmt.Sprintf("%s · %s in · %s out · %s", lane, plural(r.RowsIn(), "row"), plural(r.RowsOut, "row"), seconds(r.Elapsed))
}
