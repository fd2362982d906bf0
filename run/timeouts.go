package run

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// withTimeouts puts an output's connect_timeout and query_timeout, numbers of seconds or
// durations such as 500ms, into the surroundings of its connector. The connector sees
// connect_timeout as a whole number of seconds.
func withTimeouts(out connectors.Output, env connectors.Env) (connectors.Output, connectors.Env, error) {
	connect, set, err := timeout(out, "connect_timeout")
	if err != nil {
		return out, env, err
	}
	if set {
		env.ConnectTimeout = connect
		out.Keys = maps.Clone(out.Keys)
		out.Keys["connect_timeout"] = int(math.Ceil(connect.Seconds()))
	}
	query, set, err := timeout(out, "query_timeout")
	if set {
		env.QueryTimeout = query
	}
	return out, env, err
}

func timeout(out connectors.Output, key string) (d time.Duration, set bool, err error) {
	v := out.Keys[key]
	if v == nil {
		return 0, false, nil
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	if n, e := strconv.ParseFloat(text, 64); e == nil && n > 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), true, nil
	}
	if d, e := time.ParseDuration(text); e == nil && d > 0 {
		return d, true, nil
	}
	return 0, false, fmt.Errorf("%s %q is no time: expected seconds, or a duration such as 30s", key, text)
}
