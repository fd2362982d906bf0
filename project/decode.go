package project

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
)

// decoder turns merged settings into a Config and keeps what is wrong with them.
type decoder struct {
	kind string // "model", "snapshot", ... for messages
	name string
	l    layer
	file string
	errs []error
}

// fault reports a setting that cannot be.
func (d *decoder) fault(key, f string, args ...any) {
	at := d.l[key].at
	if at.file == "" {
		at.file = d.file
	}
	d.errs = append(d.errs, at.errorf("%s '%s': %s", d.kind, d.name, fmt.Sprintf(f, args...)))
}

func (d *decoder) str(key string) string { return str(d.l[key].v) }

func (d *decoder) bool(key string) *bool {
	s, ok := d.l[key]
	if !ok || s.v == nil {
		return nil
	}
	if b, ok := s.v.(bool); ok {
		return &b
	}
	b, ok := truth(jinja.Str(s.v))
	if !ok {
		d.fault(key, "%s must be true or false, not %s", key, jinja.Repr(s.v))
		return nil
	}
	return &b
}

func (d *decoder) dict(key string) *jinja.Dict {
	s, ok := d.l[key]
	if !ok || s.v == nil {
		return nil
	}
	m, ok := s.v.(*jinja.Dict)
	if !ok {
		d.fault(key, "%s must be a mapping, not %s", key, jinja.Repr(s.v))
	}
	return m
}

// oneOf checks a word against the words there are and gives it in lower case.
func (d *decoder) oneOf(key, fallback string, words ...string) string {
	v := strings.ToLower(d.str(key))
	if v == "" {
		return fallback
	}
	for _, w := range words {
		if v == w {
			return v
		}
	}
	d.fault(key, "%s '%s' is not known: known are %s%s", key, d.str(key), strings.Join(words, ", "), didYouMean(v, words))
	return fallback
}

// decode reads the settings that every kind of node shares.
func (d *decoder) decode() Config {
	c := Config{
		Target: d.str("target"), Schema: d.str("schema"), Database: d.str("database"), Alias: d.str("alias"),
		Enabled: true, Tags: unique(strs(d.l["tags"].v)), Raw: map[string]any{},
		PreHook: d.hooks("pre_hook"), PostHook: d.hooks("post_hook"),
	}
	if on := d.bool("enabled"); on != nil {
		c.Enabled = *on
	}
	for k, s := range d.l {
		c.Raw[k] = toGo(s.v)
	}
	c.Meta = map[string]any{}
	if m := d.dict("meta"); m != nil {
		c.Meta = toGo(m).(map[string]any)
	}
	c.UniqueKey = d.columns("unique_key")
	c.FullRefresh = d.bool("full_refresh")
	return c
}

// columns reads a column or list of columns.
func (d *decoder) columns(key string) []string {
	var out []string
	for _, c := range strs(d.l[key].v) {
		if c = strings.TrimSpace(c); c == "" {
			d.fault(key, "%s names a column without a name", key)
			continue
		}
		out = append(out, c)
	}
	return unique(out)
}

// hooks reads a hook, a list of hooks, or mappings with a key sql.
func (d *decoder) hooks(key string) []string {
	var out []string
	for _, v := range list(d.l[key].v) {
		sql := str(v)
		if m, ok := v.(*jinja.Dict); ok {
			s, _ := m.GetStr("sql")
			sql = str(s)
		}
		if strings.TrimSpace(sql) != "" {
			out = append(out, sql)
		}
	}
	return out
}

// decodeModel adds what only models have.
func (d *decoder) decodeModel(c *Config) {
	c.Materialized = View
	if s, ok := d.l["materialized"]; ok && s.v != nil {
		m, known := canonical(str(s.v), s.sling)
		if !known {
			d.fault("materialized", "%s", unknownMaterialization(str(s.v)))
		} else {
			c.Materialized = m
		}
		c.ModeIncremental = s.sling && m == FIncremental
	}
	c.WatermarkColumn = strings.TrimSpace(d.str("watermark_column"))
	c.WatermarkNulls = d.oneOf("watermark_nulls", "exclude", "exclude", "include")
	c.OnSchemaChange = d.oneOf("on_schema_change", "ignore", "ignore", "fail", "append_new_columns", "sync_all_columns")
	c.Lane = d.oneOf("lane", "auto", "auto", "compute")
	c.ChunkColumn = strings.TrimSpace(d.str("chunk_column"))
	c.ChunkSize = d.count("chunk_size")
	c.Format, c.Path, c.Engine = strings.ToLower(d.str("format")), d.str("path"), d.str("engine")
	c.OrderBy, c.PartitionBy = strs(d.l["order_by"].v), strs(d.l["partition_by"].v)
	c.ColumnTypes = d.columnTypes()
	c.Indexes = d.indexes()
	d.rng(c)
	if c.Materialized == FSnapshot {
		d.decodeSnapshot(c)
		return
	}
	d.strategy(c)
}

// count reads a positive number.
func (d *decoder) count(key string) int64 {
	s, ok := d.l[key]
	if !ok || s.v == nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(jinja.Str(s.v), "_", ""), 10, 64)
	if _, big := s.v.(*big.Int); err != nil || n < 1 || big {
		d.fault(key, "%s must be a whole number above 0, not %s", key, jinja.Repr(s.v))
		return 0
	}
	return n
}

func (d *decoder) columnTypes() map[string]string {
	m := d.dict("column_types")
	if m == nil {
		return nil
	}
	out := map[string]string{}
	m.Each(func(k, v jinja.Value) { out[jinja.Str(k)] = str(v) })
	return out
}

func (d *decoder) indexes() []connectors.Index {
	var out []connectors.Index
	for _, v := range list(d.l["indexes"].v) {
		m, ok := v.(*jinja.Dict)
		if !ok {
			d.fault("indexes", "indexes must be a list of mappings with the key columns")
			return nil
		}
		cols, _ := m.GetStr("columns")
		uniq, _ := m.GetStr("unique")
		typ, _ := m.GetStr("type")
		if len(list(cols)) == 0 {
			d.fault("indexes", "an index without columns")
			continue
		}
		out = append(out, connectors.Index{Columns: strs(cols), Unique: jinja.Truth(uniq), Type: str(typ)})
	}
	return out
}

// strategies are the spellings of the incremental strategies.
var strategies = map[string]string{
	"merge": "merge", "update+insert": "merge", "append": "append", "insert": "append", "delete+insert": "delete+insert",
}

func (d *decoder) strategy(c *Config) {
	v := d.str("incremental_strategy")
	if v == "" {
		return
	}
	k := strings.ToLower(strings.TrimSpace(v))
	k = strings.NewReplacer("_", "+", "-", "+").Replace(k)
	s, ok := strategies[k]
	if !ok {
		d.fault("incremental_strategy", "incremental_strategy '%s' is not supported: known are merge (= update+insert), append, insert, delete+insert%s",
			v, didYouMean(k, []string{"merge", "update+insert", "append", "insert", "delete+insert"}))
		return
	}
	c.Strategy, c.StrategyInsert = s, k == "insert"
}

// rng reads range, which only front matter may carry.
func (d *decoder) rng(c *Config) {
	s, ok := d.l["range"]
	if !ok || s.v == nil {
		return
	}
	if s.from != fromFrontMatter {
		d.fault("range", "range is a front-matter-only key")
		return
	}
	m, ok := s.v.(*jinja.Dict)
	if !ok {
		d.fault("range", "range must be a mapping of start, advance, lookback")
		return
	}
	r := &Range{}
	m.Each(func(k, v jinja.Value) {
		switch k {
		case "start":
			r.Start = strings.TrimSpace(str(v))
		case "advance":
			r.Advance = strings.TrimSpace(str(v))
		case "lookback":
			r.Lookback = strings.TrimSpace(str(v))
		default:
			d.fault("range", "range.%s is not known: known are start, advance, lookback", jinja.Str(k))
		}
	})
	if *r != (Range{}) {
		c.Range = r
	}
}

// decodeSnapshot reads the keys of f_snapshot and of dbt's snapshots.
func (d *decoder) decodeSnapshot(c *Config) {
	c.Strategy = d.oneOf("strategy", "", "timestamp", "check")
	c.UpdatedAt = d.str("updated_at")
	switch cols := d.l["check_cols"].v.(type) {
	case string:
		if c.CheckAll = strings.EqualFold(cols, "all"); !c.CheckAll {
			c.CheckCols = []string{cols}
		}
	default:
		c.CheckCols = strs(cols)
	}
	c.HardDeletes = d.oneOf("hard_deletes", "ignore", "ignore", "invalidate", "new_record")
	if on := d.bool("invalidate_hard_deletes"); on != nil && *on {
		if _, both := d.l["hard_deletes"]; both {
			d.fault("invalidate_hard_deletes", "invalidate_hard_deletes and hard_deletes say the same: use one")
		}
		c.HardDeletes = "invalidate"
	}
	c.ValidToCurrent = d.str("dbt_valid_to_current")
	switch {
	case len(c.UniqueKey) == 0:
		d.fault("unique_key", "a snapshot needs unique_key")
	case c.Strategy == "" && len(d.errs) == 0:
		d.fault("strategy", "a snapshot needs strategy: timestamp or check")
	case c.Strategy == "timestamp" && c.UpdatedAt == "":
		d.fault("strategy", "strategy 'timestamp' needs updated_at")
	case c.Strategy == "check" && !c.CheckAll && len(c.CheckCols) == 0:
		d.fault("strategy", "strategy 'check' needs check_cols: a list of columns, or all")
	}
}

func unique(in []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range in {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
