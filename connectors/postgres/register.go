// Package postgres connects dvt to PostgreSQL, 12 and later, as a source and as a
// target. It knows SQL text, catalogs and the binary COPY format of PostgreSQL and
// nothing of models, plans or strategies.
//
// Rows travel by binary COPY in both directions, decoded into and encoded from Arrow
// batches without a Go value in between.
package postgres

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// engineName is the registered type that Column.Engine carries.
const engineName = "postgres"

func init() {
	connectors.Register(connectors.Kindred{
		Types:         []string{engineName, "postgresql"},
		Open:          Open,
		Secrets:       []string{"password", "pass", "sslpassword"},
		DefaultSchema: defaultSchema,
		CanMerge:      true,
	})
}

func defaultSchema(out connectors.Output) string {
	if s := out.Text("schema"); s != "" {
		return s
	}
	return "public"
}

// settings are the keys of an output that this connector reads; others are ignored,
// for an output is shared with dbt's own adapter.
type settings struct {
	host, port, user, password, dbname string
	ssl                                [][2]string // keyword, value as libpq spells them
	connectTimeout, queryTimeout       time.Duration
	keepalive                          time.Duration
	session                            [][2]string // what every session and transaction sets
	stripNUL                           bool
}

// where names the server for messages.
func (s *settings) where() string {
	if strings.HasPrefix(s.host, "/") {
		return fmt.Sprintf("postgres %s:%s/%s", s.host, s.port, s.dbname)
	}
	return fmt.Sprintf("postgres %s/%s", net.JoinHostPort(s.host, s.port), s.dbname)
}

func parseSettings(out connectors.Output, env connectors.Env) (*settings, error) {
	s := &settings{
		host:           out.Text("host"),
		port:           out.Text("port"),
		user:           out.Text("user"),
		password:       out.Text("password", "pass"),
		dbname:         out.Text("dbname", "database"),
		connectTimeout: env.ConnectTimeout,
		queryTimeout:   env.QueryTimeout,
		keepalive:      30 * time.Second,
	}
	if s.port == "" {
		s.port = "5432"
	}
	for _, need := range []struct{ key, value string }{{"host", s.host}, {"user", s.user}, {"dbname", s.dbname}} {
		if need.value == "" {
			return nil, fmt.Errorf("output %q: key %s is missing", out.Name, need.key)
		}
	}
	if n, err := strconv.ParseUint(s.port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("output %q: port %q is not a port number", out.Name, s.port)
	}
	for _, k := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword"} {
		if v := out.Text(k); v != "" {
			s.ssl = append(s.ssl, [2]string{k, v})
		}
	}
	if err := s.parseTimes(out); err != nil {
		return nil, err
	}
	switch v := out.Text("nul_bytes"); v {
	case "", "error":
	case "strip":
		s.stripNUL = true
	default:
		return nil, fmt.Errorf("output %q: nul_bytes is %q: known are error, strip", out.Name, v)
	}
	s.session = sessionSettings(out, env)
	return s, nil
}

func (s *settings) parseTimes(out connectors.Output) error {
	if v := out.Text("connect_timeout"); v != "" {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("output %q: connect_timeout %q is not a number of seconds", out.Name, v)
		}
		s.connectTimeout = time.Duration(n * float64(time.Second))
	}
	if s.connectTimeout <= 0 {
		s.connectTimeout = 10 * time.Second
	}
	// dbt spells the idle time before a probe keepalives_idle and means by 0 the
	// system's own default; keepalives: 0 switches probes off, as in libpq.
	if v := out.Text("keepalives_idle"); v != "" && v != "0" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("output %q: keepalives_idle %q is not a number of seconds", out.Name, v)
		}
		s.keepalive = time.Duration(n) * time.Second
	}
	if out.Text("keepalives") == "0" {
		s.keepalive = -1
	}
	return nil
}

// sessionSettings are forced on every session, and once more inside each transaction
// of ours, so that they hold behind a pooler that hands a transaction to any session.
// Without them text forms, and so casts to text, would depend on the server's or the
// role's configuration.
func sessionSettings(out connectors.Output, env connectors.Env) [][2]string {
	set := [][2]string{
		{"client_encoding", "UTF8"},
		{"TimeZone", "UTC"},
		{"DateStyle", "ISO, YMD"},
		{"IntervalStyle", "postgres"},
		{"standard_conforming_strings", "on"},
		{"extra_float_digits", "3"}, // shortest exact text from 12 on
		{"bytea_output", "hex"},
		{"xmloption", "content"},
		{"jit", "off"}, // compiling costs more than it gains on plain scans
		{"idle_in_transaction_session_timeout", "0"},
	}
	if env.QueryTimeout > 0 {
		set = append(set, [2]string{"statement_timeout", strconv.FormatInt(env.QueryTimeout.Milliseconds(), 10)})
	}
	for _, k := range []string{"search_path", "role"} {
		if v := out.Text(k); v != "" {
			set = append(set, [2]string{k, v})
		}
	}
	return set
}
