package netidle

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func pair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	// As if Grace were over: the limit less Grace is what is waited for.
	return &conn{Conn: a, limit: 30*time.Millisecond - Grace}, b
}

func TestSilence(t *testing.T) {
	c, _ := pair(t)
	start := time.Now()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrIdle) || time.Since(start) < 30*time.Millisecond {
		t.Fatal(err, time.Since(start))
	}
	start = time.Now()
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) > 20*time.Millisecond {
		t.Fatal("the second time at once, and as a timeout:", err, time.Since(start))
	}
}

func TestFullPeer(t *testing.T) {
	c, _ := pair(t)
	if _, err := c.Write([]byte("x")); !errors.Is(err, ErrIdle) {
		t.Fatal("a peer that takes nothing:", err)
	}
}

func TestOwnersDeadline(t *testing.T) {
	c, peer := pair(t)
	c.limit = time.Hour
	if err := c.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrIdle) {
		t.Fatal("the owner interrupts by a deadline of its own:", err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	// An interruption while Read waits.
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrIdle) {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Time{})
	go func() { _, _ = peer.Write([]byte("y")) }()
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

func TestNoLimit(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	if Wrap(a, 0) != a {
		t.Fatal("without a limit there is nothing to wrap")
	}
}

func TestHalfClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := Wrap(c, time.Hour).(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}
