package watermark

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"5m": 5 * time.Minute, "2h": 2 * time.Hour, "7d": 168 * time.Hour, "1w": 168 * time.Hour, "1mo": 720 * time.Hour, "1y": 8760 * time.Hour, "250ms": 250 * time.Millisecond} {
		d, err := ParseDuration(in)
		if err != nil || d.Fixed() != want {
			t.Errorf("%s = %v, %v; want %v", in, d.Fixed(), err, want)
		}
	}
	for _, in := range []string{"", "d", "7", "-1d", "0d", "1 d", "1.5d", "7days", "1M", "99999999999999999999d", "9223372036854775807y"} {
		_, err := ParseDuration(in)
		if want := "invalid duration '" + in + "': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func value(t testing.TB, kind connectors.Kind, s string) Value {
	t.Helper()
	v, err := Parse(connectors.T(kind), s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConditions(t *testing.T) {
	mark := value(t, connectors.Timestamp, "2024-03-15 10:00:00")
	day := value(t, connectors.Date, "2024-03-15")
	two, _ := ParseDuration("2d")
	for want, w := range map[string]Window{
		"1=1":                                    Plain(nil),
		`"c" > '2024-03-15 10:00:00'::TIMESTAMP`: Plain(&mark),
		`"c" >= '2024-03-13 10:00:00'::TIMESTAMP`: Lookback(&mark, two),
		`"c" >= '2024-03-13'::DATE`:               Lookback(&day, two),
	} {
		if got := w.Condition(`"c"`); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	instant := value(t, connectors.TimestampTZ, "2024-11-03 01:30:00.123456-04:00")
	if got := instant.Literal(); got != "'2024-11-03 05:30:00.123456+00'::TIMESTAMPTZ" {
		t.Error(got)
	}
	if got := instant.State(); got != "2024-11-03T05:30:00.123456+00:00" {
		t.Error(got)
	}
	back, err := Parse(instant.Type, instant.State())
	if err != nil || back.Compare(instant) != 0 {
		t.Error(back, err)
	}
}

func TestAdvance(t *testing.T) {
	week, _ := ParseDuration("7d")
	two, _ := ParseDuration("2d")
	now := time.Date(2024, 1, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ state, back, lower, upper string }{
		{"2024-01-01", "", "2024-01-01", "2024-01-08"},
		{"2024-01-08", "2d", "2024-01-06", "2024-01-15"},
		{"2024-01-15", "", "2024-01-15", "2024-01-20"},
		{"2024-01-20", "2d", "", ""},
	} {
		var back *Duration
		if c.back != "" {
			back = &two
		}
		w, ok := Advance(value(t, connectors.Date, c.state), week, back, now)
		if ok != (c.lower != "") {
			t.Errorf("%s: ok = %v", c.state, ok)
		}
		if ok && (w.Lower.Short() != c.lower || w.Upper.Short() != c.upper || !w.Inclusive) {
			t.Errorf("%s: [%s, %s)", c.state, w.Lower.Short(), w.Upper.Short())
		}
	}
}

func TestRange(t *testing.T) {
	for in, want := range map[string]string{
		"a": `invalid --range "a": expected 'start,end' or 'start,end,step'`, "a,b,c,d": `invalid --range "a,b,c,d": expected 'start,end' or 'start,end,step'`,
		",b": `invalid --range ",b": start and end must be non-empty`, "a,": `invalid --range "a,": start and end must be non-empty`,
	} {
		if _, err := ParseRange(in); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	for _, c := range []struct {
		kind connectors.Kind
		in   string
		want string
	}{
		{connectors.Date, "2024-01-01,2024-04-01,1mo", "2024-01-01 2024-02-01 2024-03-01 2024-04-01"},
		{connectors.Timestamp, "2024-01-31,2024-05-01,1mo", "2024-01-31 2024-02-29 2024-03-31 2024-04-30 2024-05-01"},
		{connectors.Date, "2023-06-15,2025-01-01,1y", "2023-06-15 2024-06-15 2025-01-01"},
		{connectors.BigInt, "0,10,4", "0 4 8 10"},
		{connectors.BigInt, "-5,5", "-5 5"},
		{connectors.Timestamp, "2024-01-01,2024-01-01 01:00:00,25m", "2024-01-01 2024-01-01 00:25:00 2024-01-01 00:50:00 2024-01-01 01:00:00"},
	} {
		r, err := ParseRange(c.in)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := r.Chunks(connectors.T(c.kind))
		if err != nil {
			t.Fatal(c.in, err)
		}
		got := chunks[0].Lower.Short()
		for _, w := range chunks {
			got += " " + w.Upper.Short()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
	twelve, err := Range{"2024-01-01", "2024-12-31", "1mo"}.Chunks(connectors.T(connectors.Timestamp))
	if err != nil || len(twelve) != 12 {
		t.Error(len(twelve), err)
	}
	for in, want := range map[string]string{
		"2024-02-01,2024-01-01": "start must be before end", "x,y,1d": "--range with step requires ISO date/timestamp start",
		"2024-01-01,y,1d": "--range with step requires ISO date/timestamp end", "2024-01-01,2024-02-01,1q": "invalid duration '1q'",
		"2024-01-01,2024-02-01,6h": "does not move a date",
	} {
		r, _ := ParseRange(in)
		if _, err := r.Chunks(connectors.T(connectors.Date)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// TestChunksTile: whatever the step, chunks meet end to start and cover exactly the
// range.
func TestChunksTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 9e8).Draw(t, "start")) * time.Second)
		end := start.Add(time.Duration(rapid.Int64Range(1, 3e7).Draw(t, "length")) * time.Second)
		step := fmt.Sprintf("%d%s", rapid.IntRange(1, 40).Draw(t, "count"), rapid.SampledFrom([]string{"h", "d", "w", "mo", "y"}).Draw(t, "unit"))
		const layout = "2006-01-02 15:04:05"
		chunks, err := Range{start.Format(layout), end.Format(layout), step}.Chunks(connectors.T(connectors.Timestamp))
		if err != nil {
			t.Fatal(err)
		}
		at := start
		for _, w := range chunks {
			if !w.Lower.Time.Equal(at) || w.Upper.Compare(*w.Lower) <= 0 {
				t.Fatalf("chunk [%v, %v) after %v", w.Lower.Time, w.Upper.Time, at)
			}
			at = w.Upper.Time
		}
		if !at.Equal(end) {
			t.Fatalf("ends at %v, want %v", at, end)
		}
	})
}
