// Package mysql reads and writes MySQL and MariaDB servers. Both names of profiles.yml
// lead here: what differs between the two is decided by the version that the server
// reports. It plans nothing: it answers what the engine can do, moves rows and
// applies deltas.
package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
)

func init() {
	connectors.Register(connectors.Kindred{
		Types:         []string{"mysql", "mariadb"},
		Open:          Open,
		DefaultSchema: func(out connectors.Output) string { return text(out.Keys, "schema", "database", "dbname") },
		CanMerge:      true,
	})
}

// The values of zero_dates.
const (
	zeroNull  = "null"
	zeroError = "error"
)

// settings are the keys of one output, checked.
type settings struct {
	cfg            *driver.Config
	where          string // for error texts: type, host, port, database
	schema         string
	tinyint1IsBool bool
	zeroDates      string
}

// Open checks the settings of out; the first use connects.
func Open(out connectors.Output, env connectors.Env) (connectors.Conn, error) {
	set, err := parse(out, env)
	if err != nil {
		return nil, fmt.Errorf("output %q: %w", out.Name, err)
	}
	log := env.Log
	if log == nil {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Conn{
		settings:     *set,
		env:          env,
		log:          log.With("connection", out.Name),
		guess:        guessVersion(out.Type),
		queryTimeout: env.QueryTimeout,
	}, nil
}

func parse(out connectors.Output, env connectors.Env) (*settings, error) {
	k := out.Keys
	host := text(k, "server", "host")
	if host == "" {
		return nil, errors.New("key server (or host) is missing")
	}
	port := 3306
	if s := text(k, "port"); s != "" {
		var err error
		if port, err = strconv.Atoi(s); err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("port %q is not a port number", s)
		}
	}
	set := &settings{schema: text(k, "schema", "database", "dbname"), zeroDates: zeroNull}
	if s := text(k, "zero_dates"); s != "" {
		if s != zeroNull && s != zeroError {
			return nil, fmt.Errorf("zero_dates %q: expected null or error", s)
		}
		set.zeroDates = s
	} else if v, ok := k["zero_dates"]; ok && v != nil {
		return nil, errors.New("zero_dates: expected null or error")
	}
	var err error
	if set.tinyint1IsBool, err = flag(k, "tinyint1_is_bool"); err != nil {
		return nil, err
	}
	cfg := driver.NewConfig()
	cfg.Net = "tcp"
	cfg.Addr = net.JoinHostPort(host, strconv.Itoa(port))
	cfg.User = text(k, "username", "user")
	cfg.Passwd = text(k, "password", "pass")
	cfg.Timeout = env.ConnectTimeout
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	dialer := net.Dialer{Timeout: cfg.Timeout, KeepAlive: 30 * time.Second}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return netidle.Wrap(c, env.QueryTimeout), nil
	}
	cfg.MaxAllowedPacket = 0   // ask the server: the driver's own 64 MB would refuse what it allows
	cfg.ClientFoundRows = true // an UPDATE counts the rows that it found, also where nothing changed
	cfg.Loc = time.UTC
	cfg.ParseTime = false // the driver turns '2024-00-10' into 2023-12-10
	cfg.Logger = &driver.NopLogger{}
	if err := cfg.Apply(driver.Charset("utf8mb4", "")); err != nil {
		return nil, err
	}
	if err := transport(cfg, k, host); err != nil {
		return nil, err
	}
	set.cfg = cfg
	set.where = strings.ToLower(out.Type) + " " + cfg.Addr
	if set.schema != "" {
		set.where += "/" + set.schema
	}
	return set, nil
}

// transport sets TLS as the engine's own client does: encrypted without verification
// where the server offers it and nothing is configured, verified against ssl_ca when
// that is given, and also against the host's name with ssl_verify_identity.
func transport(cfg *driver.Config, k map[string]any, host string) error {
	disabled, err := flag(k, "ssl_disabled")
	if err != nil {
		return err
	}
	identity, err := flag(k, "ssl_verify_identity")
	if err != nil {
		return err
	}
	ca := text(k, "ssl_ca")
	cert, key := text(k, "ssl_cert"), text(k, "ssl_key")
	switch {
	case disabled && (ca != "" || cert != "" || identity):
		return errors.New("ssl_disabled contradicts the other ssl keys")
	case disabled:
		return nil
	case ca == "" && identity:
		return errors.New("ssl_verify_identity needs ssl_ca")
	case ca == "" && cert == "":
		cfg.TLSConfig = "preferred"
		return nil
	}
	conf := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("reading ssl_cert: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if ca == "" {
		conf.InsecureSkipVerify = true // a client certificate alone does not ask for verification
		cfg.TLS = conf
		return nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return fmt.Errorf("reading ssl_ca: %w", err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("ssl_ca %s holds no certificate", ca)
	}
	if !identity {
		// The chain is verified below; only the name is not.
		conf.InsecureSkipVerify = true
		conf.VerifyConnection = verifyChain(conf.RootCAs)
	}
	cfg.TLS = conf
	return nil
}

func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(st tls.ConnectionState) error {
		if len(st.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		inter := x509.NewCertPool()
		for _, c := range st.PeerCertificates[1:] {
			inter.AddCert(c)
		}
		_, err := st.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter})
		return err
	}
}

// text is the first of the named keys that is set.
func text(k map[string]any, names ...string) string {
	for _, n := range names {
		if v, ok := k[n]; ok && v != nil {
			if s := fmt.Sprint(v); s != "" {
				return s
			}
		}
	}
	return ""
}

func flag(k map[string]any, name string) (bool, error) {
	switch s := strings.ToLower(text(k, name)); s {
	case "", "false", "no", "0":
		return false, nil
	case "true", "yes", "1":
		return true, nil
	default:
		return false, fmt.Errorf("%s %q: expected true or false", name, s)
	}
}
