package project

import (
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
)

// The resource types of nodes.
const (
	TypeModel    = "model"
	TypeSeed     = "seed"
	TypeSnapshot = "snapshot"
	TypeTest     = "test"
	TypeSource   = "source" // of selectors only: sources are no Nodes
)

// The materializations in their canonical spelling.
const (
	FTable       = "f_table"
	FIncremental = "f_incremental"
	FSnapshot    = "f_snapshot"
	View         = "view"
	Table        = "table"
	Incremental  = "incremental"
	Ephemeral    = "ephemeral"
)

// Node is one model, seed, snapshot or test.
type Node struct {
	UniqueID     string
	Name         string
	Package      string
	ResourceType string
	Path         string // of the file, relative to the project: models/marts/x.sql
	AbsPath      string
	RawCode      string // the file's text; a snapshot's block; a generic test's call
	Body         string // RawCode without front matter
	BodyLine     int    // the file's line on which Body starts
	FQN          []string
	Tags         []string
	Description  string
	Config       Config
	DependsOn    []string // unique ids of models, seeds, snapshots and sources
	Macros       []string // unique ids of the macros that parsing called
	Refs         []Ref
	SourceRefs   [][2]string // source name, table name
	Columns      []ColumnSpec
	Constraints  []Constraint // of the properties, the columns' first
	Connection   string       // output name: config target, --target, the profile's default
	Schema       string
	Alias        string

	// Federated is set for f_table, f_incremental and f_snapshot, and for promoted nodes.
	Federated bool
	// Promoted is set on a view, table or incremental that reads what is not on its
	// target: it runs as Config.Materialized, which was PromotedFrom.
	Promoted         bool
	PromotedFrom     string
	PromotionWarning string

	// IsIncrementalStyle and WindowStyle say that the template calls is_incremental(),
	// or incremental_where_cond() or incremental_value().
	IsIncrementalStyle, WindowStyle bool

	// Version is the model's version, VersionOf what ref() calls all of them, and
	// LatestVersion which of them it means; "" of a model without versions.
	Version, VersionOf, LatestVersion string

	Test *TestSpec // of tests

	// Err is what keeps the node from running although the project loads: a value
	// that needs a missing environment variable. Check and Compile return it.
	Err error

	tmpl   *jinja.Template
	patch  *patch
	owner  *pkg
	config map[string]setting
}

// Ref is one ref() of a node.
type Ref struct {
	Package, Name string
	Version       string
}

// TestSpec is what a test node tests.
type TestSpec struct {
	Generic  string // not_null, unique, dbt_utils.at_least_one; "" = singular
	Column   string
	Attached string // unique id of the model, seed, snapshot or source
	Severity string // error or warn
	WarnIf   string // "!= 0"
	ErrorIf  string
	FailCalc string // "count(*)"
	Limit    int64  // 0 = none
	Where    string
	Store    bool   // store_failures
	StoreAs  string // store_failures_as: table or view, "" = not said
	kwargs   *jinja.Dict
	macro    string
	pkg      string // namespace of the test macro, "" = search order
	line     int
}

// ColumnSpec is what a YAML file says of a column.
type ColumnSpec struct {
	Name        string
	DataType    string
	Description string
	Quote       *bool
	Tags        []string
	Meta        map[string]any
}

// Constraint is one that the properties name. It holds where the contract is enforced.
type Constraint struct {
	Type       string // not_null, check, unique, primary_key, foreign_key, custom
	Name       string
	Columns    []string
	Expression string
	To         string // ref() or source() as written
	ToID       string // the unique id that To names, once the project is resolved
	ToColumns  []string
	OnColumn   string // the column that it is written at, "" = the model
	// WarnUnenforced and WarnUnsupported: false silences that the engine does not
	// enforce, or does not know, such constraints.
	WarnUnenforced, WarnUnsupported bool

	at pos
}

// Range is the window of a window-style model.
type Range struct {
	Start, Advance, Lookback string
}

// Config is a node's configuration after all carriers are merged.
type Config struct {
	Materialized string // canonical: f_table, view, ..., seed, snapshot, test
	// ModeIncremental says that the Sling spelling mode: incremental was used.
	ModeIncremental bool
	Target          string
	Schema          string // the custom schema; Node.Schema is the resolved one
	Database        string
	Alias           string
	Tags            []string
	Enabled         bool

	UniqueKey []string
	// Strategy is merge, append or delete+insert, "" when not said; of snapshots
	// timestamp or check.
	Strategy        string
	StrategyInsert  bool // append, declared as insert: rows whose key exists are skipped
	WatermarkColumn string
	WatermarkNulls  string // exclude or include
	Range           *Range
	ChunkColumn     string
	ChunkSize       int64
	OnSchemaChange  string // ignore, fail, append_new_columns, sync_all_columns
	FullRefresh     *bool

	Format, Path string
	ColumnTypes  map[string]string
	Indexes      []connectors.Index
	Engine       string
	OrderBy      []string
	PartitionBy  []string
	PreHook      []string
	PostHook     []string
	Lane         string // auto or compute
	Meta         map[string]any

	// Of snapshots.
	UpdatedAt      string
	CheckCols      []string
	CheckAll       bool
	HardDeletes    string // ignore, invalidate, new_record
	ValidToCurrent string // SQL of dbt_valid_to_current, "" = NULL

	// Of seeds.
	Delimiter    string
	QuoteColumns *bool

	// Raw holds every key in its canonical spelling, known or not, as plain Go values.
	Raw map[string]any
}

// Source is one table of a source.
type Source struct {
	UniqueID    string // source.<package>.<source>.<table>
	SourceName  string
	Name        string
	Package     string
	Identifier  string
	Schema      string
	Database    string
	Connection  string
	Columns     []ColumnSpec
	Description string
	Path        string // of the YAML file
	AbsPath     string
	Line        int
	FQN         []string
	Tags        []string
	Loader      string
	Meta        map[string]any
	Enabled     bool
	// LoadedAtField, LoadedAtQuery and Freshness are kept for source freshness.
	LoadedAtField string
	LoadedAtQuery string
	Freshness     *Freshness
	// Err is a missing environment variable in one of the source's values.
	Err error
}

// Freshness are the limits of a source's age.
type Freshness struct {
	WarnAfter, ErrorAfter *Age
	Filter                string
}

// Age is a count of minutes, hours or days.
type Age struct {
	Count  int64
	Period string // minute, hour, day
}

// Label names the source for people.
func (s *Source) Label() string { return s.SourceName + "." + s.Name }
