package connectors

// Spanner is a Dialect whose engine counts the rows of an extract and bounds one of its
// columns in one query, so that a first load can be cut into ranges without reading it
// twice. Without it the column is read whole to find that out.
type Spanner interface {
	// SelectSpan is a query of one row with four columns: how many rows e has, in how
	// many of them the column is NULL, its least and its greatest value, both equal to
	// DuckDB's over the rows that Read would give. ok is false where the engine counts
	// or orders differently.
	SelectSpan(e Extract, col int) (q Query, ok bool)
}

// SpanColumns are the columns of a span's query; number is how the engine gives a count.
func SpanColumns(number, value Column) []Column {
	cols := []Column{number, number, value, value}
	for i, name := range []string{"rows", "nulls", "least", "greatest"} {
		cols[i].Name = name
	}
	return cols
}
