// Package clickhouse connects dvt to ClickHouse, from 18.14 to today's versions, over
// the native protocol or HTTP. What a server can do is asked of it once per connection
// pool and decides which types and statements are used. The package reads, judges
// predicates and loads; it plans nothing.
package clickhouse

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

const engineName = "clickhouse"

func init() {
	connectors.Register(connectors.Kindred{
		Types:         []string{engineName},
		Open:          open,
		Secrets:       []string{"password"},
		DefaultSchema: defaultSchema,
		CanMerge:      true, // by a swap
	})
}

// config is an output's settings, checked.
type config struct {
	host, user, password string
	port                 int
	database             string
	http                 bool
	tls                  *tls.Config
	compression          string // "lz4", "none", "" = lz4 unless the server is on this machine
	settings             [][2]any
	connectTimeout       time.Duration
	queryTimeout         time.Duration
	mutate               bool  // clickhouse_merge
	joinBytes            int64 // tests: in place of the constant
}

func (c *config) addr() string { return net.JoinHostPort(c.host, strconv.Itoa(c.port)) }

func (c *config) where() string {
	return engineName + " " + c.addr() + "/" + c.database
}

// compress: on the machine itself compression costs more than it saves.
func (c *config) compress(nc net.Conn) bool {
	if c.compression != "" {
		return c.compression == "lz4"
	}
	a, ok := nc.RemoteAddr().(*net.TCPAddr)
	return !ok || !a.IP.IsLoopback()
}

func defaultSchema(out connectors.Output) string {
	for _, key := range []string{"schema", "database"} {
		if s, ok := out.Keys[key].(string); ok && s != "" {
			return s
		}
	}
	return "default"
}

func open(out connectors.Output, env connectors.Env) (connectors.Conn, error) {
	cfg, err := parseConfig(out)
	if err != nil {
		return nil, err
	}
	cfg.connectTimeout, cfg.queryTimeout = env.ConnectTimeout, env.QueryTimeout
	if cfg.connectTimeout <= 0 {
		cfg.connectTimeout = 10 * time.Second
	}
	log := env.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &conn{cfg: cfg, log: log, alloc: env.Allocator()}, nil
}

func parseConfig(out connectors.Output) (*config, error) {
	r := keyReader{out: out}
	c := &config{
		host: r.text("localhost", "host"), user: r.text("default", "user", "username"), password: r.text("", "password"),
		database: defaultSchema(out), compression: strings.ToLower(r.text("", "compression")),
	}
	secure := r.boolean(false, "secure")
	verify := r.boolean(true, "verify")
	driver := strings.ToLower(r.text("", "driver"))
	c.port = r.integer(0, "port")
	switch driver {
	case "":
		c.http = c.port == 8123 || c.port == 8443 || c.port == 443 || c.port == 80
	case "native", "http":
		c.http = driver == "http"
	default:
		r.fail("driver", "must be native or http")
	}
	if c.port == 0 {
		c.port = map[[2]bool]int{{false, false}: 9000, {false, true}: 9440, {true, false}: 8123, {true, true}: 8443}[[2]bool{c.http, secure}]
	}
	if secure {
		c.tls = &tls.Config{ServerName: c.host, InsecureSkipVerify: !verify, MinVersion: tls.VersionTLS12}
	}
	switch c.compression {
	case "", "lz4":
	case "none", "false":
		c.compression = "none"
	case "true":
		c.compression = "lz4"
	default:
		r.fail("compression", "must be lz4 or none")
	}
	c.settings = r.settings()
	merge := r.text("", "clickhouse_merge")
	c.mutate = merge == "mutate"
	if merge != "" && merge != "mutate" && merge != "rebuild" {
		r.fail("clickhouse_merge", "must be rebuild or mutate")
	}
	return c, r.err
}

// keyReader reads typed keys and keeps the first error.
type keyReader struct {
	out connectors.Output
	err error
}

func (r *keyReader) fail(key, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("output %q: %s %s", r.out.Name, key, what)
	}
}

func (r *keyReader) find(keys []string) (string, any) {
	for _, k := range keys {
		if v := r.out.Keys[k]; v != nil {
			return k, v
		}
	}
	return "", nil
}

func (r *keyReader) text(def string, keys ...string) string {
	_, v := r.find(keys)
	if v == nil {
		return def
	}
	return fmt.Sprint(v)
}

func (r *keyReader) integer(def int, keys ...string) int {
	key, v := r.find(keys)
	if v == nil {
		return def
	}
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n < 1 || n > 65535 {
		r.fail(key, "must be a port number")
	}
	return n
}

func (r *keyReader) boolean(def bool, keys ...string) bool {
	key, v := r.find(keys)
	if v == nil {
		return def
	}
	b, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(v)))
	if err != nil {
		r.fail(key, "must be true or false")
	}
	return b
}

// settings are custom_settings in the order of their names.
func (r *keyReader) settings() (all [][2]any) {
	v := r.out.Keys["custom_settings"]
	if v == nil {
		return nil
	}
	m := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		m = v
	case map[any]any:
		for k, x := range v {
			m[fmt.Sprint(k)] = x
		}
	default:
		r.fail("custom_settings", "must be a mapping of setting to value")
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch m[k].(type) {
		case string, bool, int, int64, uint64, float64:
		default:
			r.fail("custom_settings", "has a value of an unknown kind for "+k)
		}
		all = append(all, [2]any{k, m[k]})
	}
	return all
}
