package clickhouse

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// selfSigned is a certificate that nobody vouches for.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TLS is used when asked for, and a certificate that cannot be verified is refused
// unless the profile says verify: false.
func TestTLS(t *testing.T) {
	cert := selfSigned(t)
	both(t, func(t *testing.T, f *fixture) {
		p := newTLSCutter(t, f.cfg.addr(), 1<<40, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
		out := serverOutput(t, map[bool]string{true: "http", false: "native"}[f.cfg.http], f.db)
		out.Keys["port"] = p.Addr().(*net.TCPAddr).Port
		out.Keys["secure"] = true
		c := openConn(t, out)
		_, err := c.Ping(context.Background())
		var ce *connectors.ConnectError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("an unknown certificate: %v", err)
		}
		out.Keys["verify"] = false
		c = openConn(t, out)
		if _, err := c.Ping(context.Background()); err != nil {
			t.Errorf("verify: false: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		if err := c.Exec(ctx, "SELECT max(cityHash64('tls', number)) FROM system.numbers"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		f.waitFor("cityHash64(\\'tls\\'", false)
		_ = c.Close()
		_ = p.Close()
	})
}
