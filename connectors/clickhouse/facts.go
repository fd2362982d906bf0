package clickhouse

import (
	"context"
	"fmt"
	"strings"
)

// facts are what a server can do and what its profile allows.
type facts struct {
	info     serverInfo
	types    map[string]bool   // families that columns may have
	settings map[string]string // settings it knows, and the session's values
	columns  map[string]bool   // "table.column" of its system tables
}

// modern is assumed where no server can be asked.
var modern = &facts{
	info:  serverInfo{major: 99},
	types: map[string]bool{"DateTime64": true, "Date32": true, "Bool": true, "Int128": true, "Map": true},
}

// has is newer if the server has that type, else older.
func (f *facts) has(newer, older string) string {
	if f.types[newer] {
		return newer
	}
	return older
}

func (f *facts) atLeast(major, minor int) bool {
	return f.info.major > major || f.info.major == major && f.info.minor >= minor
}

// old servers are those before 20.1: no DateTime64, and times up to 2105.
func (f *facts) old() bool { return !f.atLeast(20, 1) }

// learn asks a server for its facts.
func learn(ctx context.Context, s session) (*facts, error) {
	f := &facts{info: s.server(), types: map[string]bool{}, settings: map[string]string{}, columns: map[string]bool{}}
	rows, err := queryText(ctx, s, factsSQL)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		switch r[0] {
		case "type":
			f.types[r[1]] = true
		case "setting":
			f.settings[r[1]] = r[2]
		case "column":
			f.columns[r[1]] = true
		}
	}
	return f, nil
}

// setup makes a fresh session right for dvt: its database, and settings under which a
// result is never cut short in silence.
func (c *conn) setup(ctx context.Context, s session, readOnly bool) error {
	f, err := c.facts(ctx, s)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, c.cfg.database); err != nil {
		return err
	}
	set, err := c.sessionSettings(f, readOnly)
	if err != nil || len(set) == 0 {
		return err
	}
	return s.set(ctx, set)
}

// facts are learned by the first session of the pool.
func (c *conn) facts(ctx context.Context, s session) (*facts, error) {
	c.mu.Lock()
	f := c.known
	c.mu.Unlock()
	if f != nil && f.info == s.server() {
		return f, nil
	}
	f, err := learn(ctx, s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.known = f
	c.mu.Unlock()
	return f, nil
}

// capabilities are the facts, asked for if need be.
func (c *conn) capabilities(ctx context.Context) (*facts, error) {
	c.mu.Lock()
	f := c.known
	c.mu.Unlock()
	if f != nil {
		return f, nil
	}
	s, err := c.acquire(ctx, false)
	if err != nil {
		return nil, err
	}
	c.release(s, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known, nil
}

// setting is one SET; the value is a string or an int.
type setting struct {
	name  string
	value any
}

// sessionSettings are the settings of a session, in order: the last may end the right
// to change any.
func (c *conn) sessionSettings(f *facts, readOnly bool) ([]setting, error) {
	locked := f.settings["readonly"] == "1"
	var set []setting
	add := func(name string, value any) {
		if v, known := f.settings[name]; known && v != fmt.Sprint(value) {
			set = append(set, setting{name, value})
		}
	}
	for name, v := range f.settings {
		// 'break' ends a result at a limit as if it were complete.
		if strings.HasSuffix(name, "_overflow_mode") && v == "break" {
			if locked {
				return nil, fmt.Errorf("the user's profile cuts results short (%s = 'break') and is read-only, so dvt cannot change it", name)
			}
			set = append(set, setting{name, "throw"})
		}
	}
	if locked {
		return nil, nil
	}
	add("limit", 0) // these two cut every result
	add("offset", 0)
	add("extremes", 0)
	add("send_logs_level", "none")
	add("max_query_size", 64<<20) // lists of join keys are long
	if readOnly {
		add("max_block_size", 16384)
	} else {
		add("insert_deduplicate", 0)
		add("insert_distributed_sync", 1)
		add("async_insert", 0)
		add("optimize_on_insert", 0) // the rows staged are counted
		add("receive_timeout", 12*3600)
		add("allow_experimental_low_cardinality_type", 1)
		add("allow_suspicious_low_cardinality_types", 1)
		add("allow_experimental_bigint_types", 1)
		add("allow_experimental_map_type", 1)
		add("mutations_sync", 1)
	}
	for _, kv := range c.cfg.settings {
		set = append(set, setting{kv[0].(string), kv[1]})
	}
	if readOnly && f.settings["readonly"] == "0" {
		set = append(set, setting{"readonly", 1})
	}
	return set, nil
}
