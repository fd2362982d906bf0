package run

import (
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestWithTimeouts(t *testing.T) {
	env := connectors.Env{ConnectTimeout: 10 * time.Second}
	for _, c := range []struct {
		keys           map[string]any
		connect, query time.Duration
	}{
		{nil, 10 * time.Second, 0},
		{map[string]any{"query_timeout": 5}, 10 * time.Second, 5 * time.Second},
		{map[string]any{"query_timeout": "1.5", "connect_timeout": "1500ms"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
	} {
		out, got, err := withTimeouts(connectors.Output{Name: "x", Keys: c.keys}, env)
		if err != nil || got.ConnectTimeout != c.connect || got.QueryTimeout != c.query {
			t.Errorf("%v: %v %v %v", c.keys, got.ConnectTimeout, got.QueryTimeout, err)
		}
		if c.keys["connect_timeout"] != nil && (out.Keys["connect_timeout"] != 2 || c.keys["connect_timeout"] != "1500ms") {
			t.Error("the connector sees whole seconds, the profile stays:", out.Keys, c.keys)
		}
	}
	for _, v := range []any{"soon", 0, -1, "-3s"} {
		if _, _, err := withTimeouts(connectors.Output{Keys: map[string]any{"query_timeout": v}}, env); err == nil {
			t.Errorf("query_timeout %v was taken", v)
		}
	}
}
