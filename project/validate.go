package project

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

const mixedStyles = "cannot mix is_incremental() and incremental_where_cond() in the same model. Choose one pattern: either dbt-compatible (is_incremental() + {{ this }}) or sling-native ({{ incremental_where_cond() }})"

// validate checks what incremental.md refuses at load. The texts are interface.
func (d *decoder) validate(n *Node, state string) {
	c := &n.Config
	if n.IsIncrementalStyle && n.WindowStyle {
		at := inspect(n.tmpl.Body).windowAt
		d.errs = append(d.errs, (pos{d.file, at.Line, at.Col}).errorf("%s", mixedStyles))
		return
	}
	incremental := c.Materialized == FIncremental || c.Materialized == Incremental
	r := c.Range
	switch {
	case r == nil:
	case r.Start != "" && r.Advance == "":
		d.fault("range", "range.start requires range.advance")
	case !incremental:
		d.fault("range", "range.* requires mode: incremental")
	case r.Advance != "" && c.WatermarkColumn == "":
		d.fault("range", "range.advance requires update_key")
	case !n.WindowStyle && c.WatermarkColumn != "":
		d.fault("range", "range.* requires incremental_where_cond() (sling style); is_incremental() is not compatible with range.*")
	}
	if (c.ModeIncremental || n.WindowStyle) && c.WatermarkColumn == "" && len(d.errs) == 0 {
		d.fault("materialized", "mode 'incremental' requires update_key")
	}
	if r != nil {
		if r.Advance != "" && state == "" && len(d.errs) == 0 {
			d.fault("range", "range.advance requires SLING_STATE to be configured")
		}
		for _, v := range []string{r.Advance, r.Lookback} {
			if v == "" {
				continue
			}
			if _, err := ParseDuration(v); err != nil {
				at := d.l["range"].at
				d.errs = append(d.errs, at.errorf("%s", err))
			}
		}
	}
	if incremental {
		d.validateKeys(n)
	}
	if (c.ChunkColumn == "") != (c.ChunkSize == 0) && len(d.errs) == 0 {
		key := "chunk_column"
		if c.ChunkColumn == "" {
			key = "chunk_size"
		}
		d.fault(key, "chunk_column and chunk_size belong together")
	}
}

func (d *decoder) validateKeys(n *Node) {
	c := &n.Config
	if len(c.UniqueKey) > 0 || len(d.errs) > 0 {
		return
	}
	if c.WatermarkNulls == "include" {
		d.fault("watermark_nulls", "watermark_nulls: include needs unique_key")
	}
	lookback := c.Range != nil && c.Range.Lookback != ""
	if n.WindowStyle && (c.Strategy != "append" || lookback) {
		d.fault("materialized", "an incremental_where_cond() model needs unique_key, or incremental_strategy: append without range.lookback")
	}
}

// Duration is the length of a range's advance or lookback. Months and years are 30
// and 365 days here; only the steps of --range follow the calendar.
type Duration struct {
	N    int64
	Unit string // ms s m h d w mo y
}

// Std is the duration in Go's terms.
func (d Duration) Std() time.Duration { return time.Duration(d.N) * durationUnits[d.Unit] }

var durationUnits = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "mo": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour}

var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d|w|mo|y)$`)

// ParseDuration reads <int><unit>.
func ParseDuration(v string) (Duration, error) {
	bad := &Error{Msg: "invalid duration '" + v + "': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y"}
	m := durationForm.FindStringSubmatch(strings.TrimSpace(v))
	if m == nil {
		return Duration{}, bad
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n <= 0 || n > int64(1<<63-1)/int64(durationUnits[m[2]]) {
		return Duration{}, bad
	}
	return Duration{n, m[2]}, nil
}
