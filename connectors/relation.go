package connectors

// Relation names a table, view or file of one connection, in the engine's own
// spelling and unquoted.
type Relation struct {
	Schema string // schema (PostgreSQL, DuckDB), database (MySQL, ClickHouse), folder (files); "" is the connection's default
	Name   string
}

// String is for people: never put it into SQL.
func (r Relation) String() string {
	if r.Schema == "" {
		return r.Name
	}
	return r.Schema + "." + r.Name
}

// Column is one column of a relation, of an extract or of a result.
type Column struct {
	Name string
	Type Type

	// Native is the engine's own full type text ("character varying(20)",
	// "bigint(20) unsigned", "Nullable(DateTime)"). In a result it stays set only
	// where the column is an unchanged source column, together with Engine, so that
	// a target of the same engine can give it its own type back.
	Native string
	Engine string // registered type name of the engine that Native belongs to

	Nullable  bool
	Collation string // text columns of engines that have collations, as the catalog names it
	// Attrs are facts that only the engine's own dialect understands (for example
	// that a collation orders by bytes).
	Attrs map[string]string
}

// Table is what an engine knows about a relation.
type Table struct {
	Relation
	View        bool // a view or anything else without storage of its own
	Columns     []Column
	PrimaryKey  []string
	RowEstimate int64 // the engine's own guess, -1 if it has none
	// Stats are the engine's own statistics of Columns, in their order; nil where it has
	// none or reading them would cost more than the catalog's other facts.
	Stats []Stat
	// Stable says that two reads of one Snapshot see the same rows of it, whatever
	// others do meanwhile. It is false for what has no snapshot, for a table of a storage
	// engine without versions, for a foreign table and for a view, which may read one.
	Stable bool
}

// Stat is what an engine's statistics say of a column. They may be old and wrong: they
// choose between ways that are all right.
type Stat struct {
	Distinct int64 // about how many values it has, 0 = not known
	Width    int   // bytes of a value on average, 0 = not known
}

// Stat is what is known of column i.
func (t *Table) Stat(i int) Stat {
	if len(t.Stats) != len(t.Columns) {
		return Stat{}
	}
	return t.Stats[i]
}

// Index is the position of the column called name (exact spelling), -1 if absent.
func (t *Table) Index(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}
