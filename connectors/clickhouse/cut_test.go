package clickhouse

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// cutter forwards connections to the server and cuts each after limit bytes of answer.
type cutter struct {
	net.Listener
	to    string
	limit int64
	tls   *tls.Config // set: clients must use TLS
	wg    sync.WaitGroup
}

func newCutter(t *testing.T, to string, limit int64) *cutter {
	t.Helper()
	return newTLSCutter(t, to, limit, nil)
}

func newTLSCutter(t *testing.T, to string, limit int64, conf *tls.Config) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to, limit: limit, tls: conf}
	c.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.forward(in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) forward(in net.Conn) {
	if c.tls != nil {
		in = tls.Server(in, c.tls)
	}
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	c.wg.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	_, _ = io.CopyN(in, out, c.limit)
}

// A connection that is cut is an error wherever it happens, never a shorter table.
func TestCutConnection(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		for _, limit := range []int64{10, 5_000, 50_000, 300_000, 700_000} {
			p := newCutter(t, f.cfg.addr(), limit)
			out := serverOutput(t, map[bool]string{true: "http", false: "native"}[f.cfg.http], f.db)
			out.Keys["port"] = p.Addr().(*net.TCPAddr).Port
			c := openConn(t, out)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			var rows int64
			err := c.Read(ctx, connectors.Query{SQL: "SELECT number, toString(number) FROM system.numbers LIMIT 100000", Columns: cols("n", connectors.UBigInt, "s", connectors.Varchar)},
				func(rec arrow.RecordBatch) error { rows += rec.NumRows(); return nil })
			if err == nil || ctx.Err() != nil {
				t.Errorf("cut after %d bytes: %d rows, %v", limit, rows, err)
			}
			t.Logf("cut after %d bytes: %d rows, %v", limit, rows, err)
			cancel()
			_ = c.Close()
			_ = p.Close()
		}
	})
}
