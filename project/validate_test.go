package project

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The texts of the specification, word for word.
func TestIncrementalValidation(t *testing.T) {
	const window = "\nselect 1 where {{ incremental_where_cond() }}"
	for name, c := range map[string]struct {
		src, want string
		env       []string
	}{
		"start without advance": {"/**\nmode: incremental\nupdate_key: a\nunique_key: a\nrange: {start: '2024-01-01'}\n**/" + window,
			"models/m.sql:5:1: model 'm': range.start requires range.advance", nil},
		"range on a table": {"/**\nmode: table\nrange: {lookback: 1d}\n**/ select 1", "model 'm': range.* requires mode: incremental", nil},
		"advance without update_key": {"/**\nmode: incremental\nunique_key: a\nrange: {advance: 1d}\n**/" + window,
			"model 'm': range.advance requires update_key", nil},
		"range on dbt style": {"/**\nmode: incremental\nupdate_key: a\nunique_key: a\nrange: {lookback: 1d}\n**/ select 1 {% if is_incremental() %} where 1=1 {% endif %}",
			"model 'm': range.* requires incremental_where_cond() (sling style); is_incremental() is not compatible with range.*", nil},
		"mode without update_key":             {"{{ config(mode='incremental', unique_key='a') }} select 1", "model 'm': mode 'incremental' requires update_key", nil},
		"window style without update_key":     {"{{ config(materialized='f_incremental', unique_key='a') }}" + window, "model 'm': mode 'incremental' requires update_key", nil},
		"advance without state":               {"/**\nmode: incremental\nupdate_key: a\nunique_key: a\nrange: {advance: 1d}\n**/" + window, "model 'm': range.advance requires SLING_STATE to be configured", nil},
		"advance with state, bad duration":    {"/**\nmode: incremental\nupdate_key: a\nunique_key: a\nrange: {advance: 1q}\n**/" + window, "invalid duration '1q': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y", []string{"SLING_STATE", "pg/state"}},
		"bad lookback":                        {"/**\nmode: incremental\nupdate_key: a\nunique_key: a\nrange: {lookback: 0d}\n**/" + window, "invalid duration '0d': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y", nil},
		"mixed":                               {"{{ config(mode='incremental', update_key='a', unique_key='a') }}{% if is_incremental() %}{{ incremental_where_cond() }}{% endif %}", "models/m.sql:1:93: " + mixedStyles, nil},
		"range in config()":                   {"{{ config(mode='incremental', update_key='a', unique_key='a', range={'lookback': '1d'}) }}" + window, "model 'm': range is a front-matter-only key", nil},
		"window style without unique_key":     {"{{ config(mode='incremental', update_key='a') }}" + window, "needs unique_key, or incremental_strategy: append without range.lookback", nil},
		"append with lookback and no key":     {"/** {mode: incremental, update_key: a, merge_strategy: append, range: {lookback: 1d}} **/" + window, "needs unique_key, or incremental_strategy: append without range.lookback", nil},
		"lookback without the window's macro": {"/** {mode: incremental, update_key: a, unique_key: a, range: {lookback: 1d}} **/ select 1", "range.* requires incremental_where_cond()", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryLoad(t, map[string]string{"models/m.sql": c.src}, Options{Env: env(c.env...)})
			var e *Error
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) || e.File != "models/m.sql" {
				t.Errorf("error %v\nwants %q", err, c.want)
			}
		})
	}
}

func TestRangeElsewhere(t *testing.T) {
	const want = "model 'm': range is a front-matter-only key"
	body := "/** {mode: incremental, update_key: a, unique_key: a} **/ select 1 where {{ incremental_where_cond() }}"
	got := loadError(t, map[string]string{"models/m.sql": body, "models/s.yml": "models:\n  - name: m\n    config:\n      range: {lookback: 1d}\n"})
	if !strings.Contains(got, "models/s.yml:4:7: "+want) {
		t.Error(got)
	}
	got = loadError(t, map[string]string{"models/m.sql": body, "dbt_project.yml": "name: shop\nprofile: shop\nmodels:\n  +range: {lookback: 1d}\n"})
	if !strings.Contains(got, "dbt_project.yml:4:3: "+want) {
		t.Error(got)
	}
}

func TestMentionInCommentIsNoStyle(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": `{{ config(mode='incremental', update_key='a', unique_key='a') }}
{# is_incremental() is not used here #}
select 1 -- is_incremental()
where {{ incremental_where_cond('o.a') }}`})
	n := p.Nodes["model.shop.m"]
	if n.IsIncrementalStyle || !n.WindowStyle {
		t.Errorf("is_incremental %v, window %v", n.IsIncrementalStyle, n.WindowStyle)
	}
}

func TestValidIncrementals(t *testing.T) {
	for name, src := range map[string]string{
		"advance with state": "/** {mode: incremental, update_key: a, unique_key: a, range: {start: 2024-01-01, advance: 7d, lookback: 2d}} **/ select {{ incremental_value() }}",
		"append":             "/** {mode: incremental, update_key: a, merge_strategy: append} **/ select 1 where {{ incremental_where_cond() }}",
		"watermark only":     "{{ config(materialized='f_incremental', watermark_column='a') }} select 1",
		"dbt style":          "{{ config(materialized='f_incremental', unique_key='a') }} select 1 {% if is_incremental() %} where a > (select max(a) from {{ this }}) {% endif %}",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tryLoad(t, map[string]string{"models/m.sql": src}, Options{Env: env("SLING_STATE", "pg/s")})
			if err != nil {
				t.Fatal(err)
			}
			if r := p.Nodes["model.shop.m"].Config.Range; name == "advance with state" && *r != (Range{"2024-01-01", "7d", "2d"}) {
				t.Errorf("range %+v", r)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"5ms": 5 * time.Millisecond, "10s": 10 * time.Second, "5m": 5 * time.Minute, "2h": 2 * time.Hour,
		"7d": 168 * time.Hour, "1w": 168 * time.Hour, "1mo": 720 * time.Hour, "1y": 8760 * time.Hour} {
		d, err := ParseDuration(in)
		if err != nil || d.Std() != want {
			t.Errorf("%s = %v, %v", in, d.Std(), err)
		}
	}
	for _, in := range []string{"", "5", "d", "0d", "-1d", "1.5d", "1 d", "1D", "99999999999999999999d", "400y2"} {
		if _, err := ParseDuration(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}
