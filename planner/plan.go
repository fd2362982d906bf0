// Package planner turns a rendered model and what the catalogs know of its relations
// into a Plan: a plain value that explain prints and run walks. It reads no file, opens
// no connection and asks no clock; an in-memory DuckDB is its analyser.
package planner

import (
	"strconv"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Marker ends the catalog name of every relation in the SQL that is planned:
// "crm_mysql__dvtcat"."crm"."customers". Execution replaces it by a suffix of the
// model's own, so that models staging one relation side by side do not meet; what
// users see has it removed.
const Marker = "__dvtcat"

// Relation is one relation that a model may name.
type Relation struct {
	// Catalog, Schema, Name are the parts under which the SQL names it; Catalog is
	// the output's name without Marker.
	Catalog, Schema, Name string
	Label                 string // for people: "crm.customers", "ref(stg_orders)"
	Connection            string // output name; "" for a relation that cannot be read
	Table                 *connectors.Table
	Dialect               connectors.Dialect
	// Use numbers the extracts of a relation that is read by several, from 1; 0 where it
	// is read by one. Catalog is one of its own in each from the second on.
	Use int
}

// Title is the relation for people, told apart from other extracts of it.
func (r *Relation) Title() string {
	if r.Use == 0 {
		return r.Label
	}
	return r.Label + "#" + strconv.Itoa(r.Use)
}

// Input is everything that a plan depends on.
type Input struct {
	Model string
	File  string // the model's file, for messages
	// SQL is the rendered model, one DuckDB SELECT, its relations spelled
	// "<Catalog><Marker>"."<Schema>"."<Name>".
	SQL       string
	Relations []Relation
	// Target is the connection that the result lands on and the relation there.
	TargetConnection string
	Target           connectors.Relation
	Now              time.Time // what now() is during the run
	// DisabledRules switches planner rules off by name (tests); "pushdown" is all.
	DisabledRules map[string]bool
	// ForceCompute keeps the model in the compute lane.
	ForceCompute bool
	// Together says why a relation is to be read by one extract however often the SQL
	// names it, "" where that is left to the planner.
	Together string
	// Stream says from how many rows on the query may read an extract as it comes, in
	// place of LeastStreamed, where it is not nil (tests).
	Stream *int64
}

// The lanes.
const (
	LaneInPlace  = "direct, in place"
	LaneStreamed = "direct, streamed"
	LaneCompute  = "compute"
)

// Plan is how one model will be run.
type Plan struct {
	Model      string
	Lane       string
	LaneReason string
	Extracts   []Extract
	// SQL is what DuckDB runs over the staged extracts: Input.SQL with scalars
	// spliced in, relations still carrying Marker. Of a relation that is read by several
	// extracts, each place names the catalog of its own.
	SQL string
	// Columns are the result's columns. Native and Engine are set where a column is
	// an unchanged source column.
	Columns []connectors.Column
	Ordered bool // the outermost query has an ORDER BY
	// Plain is set for a plain scan: the result is columns of the one relation, under a
	// filter and a limit that its source applies exactly, and nothing else. Plain[i] is
	// the column of Extracts[0].Relation.Table that Columns[i] is.
	Plain []int
	// Streamed, set in LaneStreamed, is one read of the source of Extracts[0] that gives
	// the model's result: its columns have the order and names of Columns, its types too.
	Streamed *connectors.Query
	// KeyReductions are possible while the extracts are made; see Reduce.
	KeyReductions []KeyReduction
	// Notes tell why the plan reads more than it might.
	Notes []string

	tree string // DuckDB's operators, for tests
}

// PlainScan reports whether the one extract is the model's result but for the order
// and names of its columns (see Plain), so that no DuckDB is needed.
func (p *Plan) PlainScan() bool { return p.Plain != nil }

// Extract is one read of one relation.
type Extract struct {
	Relation Relation
	// Columns are the indexes into Relation.Table.Columns that leave the source.
	Columns []int
	Query   connectors.Query // what is sent; Query.Columns matches Columns
	Where   string           // the predicate part of Query.SQL, "" = none
	Pushed  []Conjunct       // what the source applies (Verdict Exact or Superset)
	Kept    []Conjunct       // what only DuckDB applies
	Limit   int64            // -1 = none
	// Reduced says what the one row is, or the two, that are read in place of the rows: the
	// relation's columns hold "max(updated_at), min(id)" of them, which is all that the
	// plan needs.
	Reduced string
	// Pruned is set when the plan needs no row of the relation: nothing is sent and
	// an empty table is staged.
	Pruned bool
	// Index is set when the rows come from a kept copy of the relation's columns, not
	// from its source: the copy's path, for people.
	Index string
	// Streams says that the query may read the rows as they come, when all other extracts
	// are staged: it reads the relation once. StreamAfter rows are staged in any case.
	Streams     bool
	StreamAfter int64
	// Uses is how many places of the SQL name the relation and read this extract; Why
	// tells, where the relation is named more than once, why it is read by one extract or
	// by several.
	Uses int
	Why  string

	ReducedRows int                // that are read where Reduced is set
	order       []string           // the ORDER BY that belongs to Limit
	skip        bool               // Limit counts rows that an OFFSET leaves out
	sent        []*connectors.Pred // what Pushed says, each rendered at least in part
}

// Estimate guesses the rows that an extract brings at most, -1 where nothing is known.
func (x *Extract) Estimate() int64 {
	switch all := x.Relation.Table.RowEstimate; {
	case x.Pruned:
		return 0
	case x.Reduced != "":
		return int64(x.ReducedRows)
	case x.Limit >= 0 && (all < 0 || x.Limit < all):
		return x.Limit
	default:
		return all
	}
}

// Conjunct is one predicate of an extract.
type Conjunct struct {
	SQL     string // pushed: the engine's text; kept: DuckDB's
	Verdict connectors.Verdict
	Reason  string
}
