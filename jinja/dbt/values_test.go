package dbt

import (
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/jinja"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)

// The answers are Python's.
func TestModules(t *testing.T) {
	const dt, re = "{% set dt = modules.datetime %}", "{% set re = modules.re %}"
	for src, want := range map[string]string{
		dt + "{{ dt.datetime(2024, 1, 2, 3, 4, 5, 6) }}":                                                                             "2024-01-02 03:04:05.000006",
		dt + "{{ [dt.datetime(2024, 1, 2, 3), dt.date(2024, 1, 2), dt.timedelta(days=1, seconds=2)] }}":                              "[datetime.datetime(2024, 1, 2, 3, 0), datetime.date(2024, 1, 2), datetime.timedelta(days=1, seconds=2)]",
		dt + "{{ dt.datetime(2024, 1, 31) - dt.datetime(2024, 1, 1, 12) }}":                                                          "29 days, 12:00:00",
		dt + "{{ dt.datetime(2024, 1, 1) - dt.timedelta(hours=-25) }}":                                                               "2024-01-02 01:00:00",
		dt + "{{ (dt.datetime(2024, 1, 1) - dt.datetime(2024, 1, 2)).days }}":                                                        "-1",
		dt + "{{ dt.timedelta(hours=-1) }} {{ dt.timedelta(hours=36).total_seconds() }}":                                             "-1 day, 23:00:00 129600.0",
		dt + "{{ dt.date(2024, 2, 28) + dt.timedelta(days=1, hours=23) }}":                                                           "2024-02-29",
		dt + "{{ dt.date(2024, 1, 1) < dt.date(2024, 1, 2) }}":                                                                       "True",
		dt + "{{ dt.datetime.strptime('31/12/23 23:59:58.5', '%d/%m/%y %H:%M:%S.%f') }}":                                             "2023-12-31 23:59:58.500000",
		dt + "{{ dt.datetime.strptime('5', '%d') }}":                                                                                 "1900-01-05 00:00:00",
		dt + "{{ dt.datetime.fromisoformat('2024-01-02T03:04:05+02:00').isoformat() }}":                                              "2024-01-02T03:04:05+02:00",
		dt + "{{ dt.date.today() }} {{ dt.datetime.utcnow() }}":                                                                      "2026-03-04 2026-03-04 05:06:07.123456",
		dt + "{{ dt.datetime(2024, 1, 2).strftime('%Y%m%d %-d %j %a %B %U %W %V %% %p') }}":                                          "20240102 2 002 Tue January 00 01 01 % AM",
		dt + "{{ dt.datetime(2024, 1, 2).replace(day=31, hour=5).isoformat(' ') }}":                                                  "2024-01-31 05:00:00",
		dt + "{{ dt.datetime(2024, 1, 2, 3).date() }} {{ dt.datetime(2024, 1, 7).isoweekday() }}":                                    "2024-01-02 7",
		dt + "{{ modules.pytz.timezone('Europe/Berlin').localize(dt.datetime(2024, 1, 1)).astimezone(modules.pytz.utc) }}":           "2023-12-31 23:00:00+00:00",
		dt + "{{ dt.datetime.now(modules.pytz.timezone('Asia/Kolkata')).strftime('%H:%M %z') }}":                                     "10:36 +0530",
		dt + "{{ dt.datetime.fromtimestamp(0) }} {{ dt.datetime(1970, 1, 2).timestamp() }}":                                          "1970-01-01 00:00:00 86400.0",
		re + "{{ re.match('a', 'ba') }} {{ re.search('a', 'ba').start() }} {{ re.fullmatch('a+', 'aab') }}":                          "None 1 None",
		re + "{{ re.search('(?P<k>\\w+)=(?P<v>\\w+)?', 'a=').groupdict() }}":                                                         "{'k': 'a', 'v': None}",
		re + "{{ re.search('(a)(b)?', 'a').groups() }} {{ re.findall('(a)(b)?', 'aab') }}":                                           "('a', None) [('a', ''), ('a', 'b')]",
		re + "{{ re.sub('(\\w)(\\w)', '\\\\2\\\\1', 'abcd') }} {{ re.sub('(?P<x>a)', '<\\\\g<x>>', 'aba', count=1) }}":               "badc <a>ba",
		re + "{{ re.split('[,;]', 'a,b;c') }} {{ re.split('(,)', 'a,b,c', 1) }}":                                                     "['a', 'b', 'c'] ['a', ',', 'b,c']",
		re + "{{ re.sub('A', 'x', 'aA', flags=re.IGNORECASE) }} {{ re.search('a.b', 'a\nb', re.S) is none }}":                        "xx False",
		re + "{{ re.findall('é', 'éaé') | length }} {{ re.search('b', 'éb').start() }}":                                              "2 1",
		re + "{{ re.findall('^\\w(?=\\d)', 'a1\nb2\nc', re.M) }} {{ re.findall('(\\w)\\\\1', 'aabbc') }}":                            "['a', 'b'] ['a', 'b']",
		re + "{{ re.sub('(?P<q>[ab])(?P=q)', '_', 'aabab') }}":                                                                       "_bab",
		re + "{{ re.compile('\\d+').sub('#', 'a1b22') }} {{ re.compile('x', re.I).match('X') is not none }} {{ re.escape('a.b*') }}": "a#b# True a\\.b\\*",
		"{{ modules.itertools.product([1, 2], 'ab') | list }} {{ modules.itertools.chain([1], [2]) | list }}":                        "[(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')] [1, 2]",
	} {
		got, err := render(t, NewNode(registry(t, nil), "root", testHost()), src)
		if err != nil || got != want {
			t.Errorf("%s\n got %q, %v\nwant %q", src, got, err, want)
		}
	}
}

func TestModuleErrors(t *testing.T) {
	for src, want := range map[string]string{
		"{{ modules.datetime.datetime(2024, 2, 30) }}":                               "ValueError: day is out of range for month",
		"{{ modules.datetime.datetime(2024, 13, 1) }}":                               "ValueError: month must be in 1..12",
		"{{ modules.datetime.datetime.strptime('x', '%Y') }}":                        "ValueError: time data 'x' does not match format '%Y'",
		"{{ modules.datetime.datetime(2024, 1, 1) - run_started_at }}":               "TypeError: can't subtract offset-naive and offset-aware datetimes",
		"{{ modules.datetime.datetime(2024, 1, 1) < run_started_at }}":               "TypeError",
		"{{ modules.pytz.timezone('Mars/Olympus') }}":                                "UnknownTimeZoneError: 'Mars/Olympus'",
		"{{ modules.re.match('(', 'x') }}":                                           "ValueError",
		"{{ modules.re.match('a', 5) }}":                                             "TypeError: expected string or bytes-like object, got 'int'",
		"{{ modules.re.match('a', 'a').group(3) }}":                                  "IndexError: no such group",
		"{{ fromyaml('a: &a [*a]') or exceptions.raise_compiler_error('refused') }}": "refused",
		"{{ adapter.create_schema(this) }}":                                          "adapter.create_schema would change a database",
		"{{ set_strict(5) }}":                                                        "TypeError",
		"{% call statement('x') %}insert{% endcall %}":                               "statement() only reads",
		"{{ config.require('nothing') }}":                                            "required config parameter 'nothing'",
	} {
		h := testHost()
		h.This = NewRelation(h.Spelling, "d", "s", "t", nil)
		_, err := render(t, NewNode(registry(t, nil), "root", h), src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}

func TestTable(t *testing.T) {
	table := &Table{Names: []string{"id", "Name"}, Rows: [][]V{{int64(1), "a"}, {int64(2), nil}}}
	for src, want := range map[string]string{
		"{{ t | length }} {{ t.rows | length }} {{ t.column_names }}":                                 "2 2 ('id', 'Name')",
		"{{ t[0][1] }} {{ t.rows[1]['id'] }} {{ t.rows[0].name is defined }} {{ t.rows[0]['name'] }}": "a 2 True a",
		"{% for r in t %}{{ r.values() }}{% endfor %}":                                                "(1, 'a')(2, None)",
		"{% for id, name in t.rows %}{{ id }}{{ name }} {% endfor %}":                                 "1a 2None ",
		"{{ t.columns[0].values() }} {{ t.columns['Name'].values() }} {{ t.columns.id.name }}":        "(1, 2) ('a', None) id",
		"{{ t.columns | map(attribute='name') | list }} {{ t.rows[0].dict() }}":                       "['id', 'Name'] {'id': 1, 'Name': 'a'}",
		"{{ t.columns[0].values_distinct() | length }} {{ t.rows[-1][0] }}":                           "2 2",
		"{{ 'some' if t else 'none' }} {{ 'some' if empty else 'none' }}":                             "some none",
	} {
		c := NewNode(registry(t, nil), "root", testHost())
		c.Vars["t"], c.Vars["empty"] = table, &Table{}
		if got, err := render(t, c, src); err != nil || got != want {
			t.Errorf("%s\n got %q, %v\nwant %q", src, got, err, want)
		}
	}
}

func TestRelation(t *testing.T) {
	h := testHost()
	h.This = NewRelation(h.Spelling, "db", "s", "t", "table").In("cat")
	for src, want := range map[string]string{
		"{{ this }} {{ this.include(schema=false) }} {{ this.database }} {{ this.type }} {{ this.is_table }} {{ this.is_view }}":         "<cat.s.t> db..t db table True False",
		"{{ this.incorporate(path={'identifier': 'u'}) }} {{ this.incorporate(path={'database': 'x'}) }}":                                "<cat.s.u> x.s.t",
		"{{ this.incorporate(type='view').is_view }} {{ this.without_identifier() }} {{ this.render() }}":                                "True db.s <cat.s.t>",
		"{{ this is mapping }} {{ this['schema'] }} {{ this.get('identifier') }} {{ this.metadata.type }} {{ this.nothing is defined }}": "True s t TestRelation False",
		"{{ {this: 1}[this] }} {{ this == this.incorporate(type='view') }} {{ this in [this] }} {{ this | string | length }}":            "1 True True 9",
		"{{ this.quote(database=false, schema=false, identifier=false) }} {{ [this] }}":                                                  "db.s.t [<TestRelation <cat.s.t>>]",
		"{{ api.Relation.create(schema='a', identifier='b') }} {{ adapter.quote('x') }} {{ adapter.type() }}":                            "a.b [x] maria",
		"{{ api.Column.create('a', 'int').quoted }} {{ api.Column.numeric_type('decimal', 5, 2) }} {{ api.Column.string_type(9) }}":      "[a] decimal(5,2) character varying(9)",
	} {
		if got, err := render(t, NewNode(registry(t, nil), "root", h), src); err != nil || got != want {
			t.Errorf("%s\n got %q, %v\nwant %q", src, got, err, want)
		}
	}
}

func TestConfigCalls(t *testing.T) {
	set := jinja.NewDict()
	h := testHost()
	h.Config = &Config{Set: func(k string, v V) { _ = set.Set(k, v) }, Get: func(k string) (V, bool) {
		if k == "meta" {
			return Dict("a", int64(1)), true
		}
		return nil, false
	}}
	got, err := render(t, NewNode(registry(t, nil), "root", h), "{{ config({'a': 1}) }}{{ config(b=[2], c='x') }}{{ config.get('z', 9) }} {{ config.meta_get('a') }} {{ config.persist_column_docs() }}")
	if err != nil || got != "9 1 False" || jinja.Repr(set) != "{'a': 1, 'b': [2], 'c': 'x'}" {
		t.Errorf("%q, %v, %s", got, err, jinja.Repr(set))
	}
	if _, err := render(t, NewNode(registry(t, nil), "root", h), "{{ config({'a': 1}, b=2) }}"); err == nil || !strings.Contains(err.Error(), "Invalid inline model config") {
		t.Error(err)
	}
}

func TestParseMode(t *testing.T) {
	h := testHost()
	h.Execute = false
	c := NewNode(registry(t, nil), "root", h)
	tmpl, err := c.Registry.Env.Parse("{{ run_query('x').columns[0].values() }}{{ var('nope') }}{{ unknown.thing(1).more }}{{ adapter.get_columns_in_relation(this) }}{% call statement('a', fetch_result=True) %}x{% endcall %}{{ load_result('a')['data'] }}{{ execute }}", "t.sql", 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tmpl.RenderState(c.State(true))
	if err != nil || got != "None[]False" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct{ typ, want string }{
		{"character varying(20)", "character varying|character varying(20)|20 none none|True False"},
		{"numeric(12,2)", "numeric|numeric(12,2)|none 12 2|False True"},
		{"timestamp(3) without time zone", "timestamp without time zone|timestamp(3) without time zone|none none none|False False"},
		{"bigint(20) unsigned", "bigint|bigint(20) unsigned|none none none|False True"},
		{"DECIMAL(12,2)", "DECIMAL(12,2)|DECIMAL(12,2)|none 12 2|False True"},
		{"Nullable(Decimal(12, 2))", "Decimal(12, 2)|Nullable(Decimal(12, 2))|none 12 2|False True"},
		{"LowCardinality(Nullable(String))", "String|LowCardinality(Nullable(String))|none none none|True False"},
		{"uuid", "uuid|uuid|none none none|False False"},
	} {
		env := NewEnv()
		tm, err := env.Parse("{{ c.dtype }}|{{ c.data_type }}|{{ [c.char_size, c.numeric_precision, c.numeric_scale] | map('string') | map('lower') | join(' ') }}|{{ c.is_string() }} {{ c.is_number() }}", "m.sql", 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tm.Render(jinja.MapCtx{"c": &Column{Name: "c", Type: c.typ}})
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, want %s (%v)", c.typ, got, c.want, err)
		}
	}
}
