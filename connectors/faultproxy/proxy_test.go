package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a server that sends size bytes to each client and then ends the connection,
// having swallowed what the client says.
func source(t *testing.T, size int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Write(bytes.Repeat([]byte("x"), size))
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

func proxied(t *testing.T, upstream string) *Proxy {
	t.Helper()
	p, err := Listen(upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c.(*net.TCPConn)
}

// read takes all that a new connection gives. That it cannot even be opened is an error
// like one of reading: a reset may come before the connection is told to be there.
func read(p *Proxy) ([]byte, error) {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return io.ReadAll(c)
}

// refused checks that nothing answers, neither to the first packet nor later.
func refused(t *testing.T, p *Proxy) {
	t.Helper()
	if got, err := read(p); err == nil {
		t.Fatal("it answered with", len(got), "bytes and an orderly end")
	}
}

const size = 300_000

func TestPassesEverything(t *testing.T) {
	p := proxied(t, source(t, size))
	c := dial(t, p)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || len(got) != size {
		t.Fatal(len(got), err)
	}
	_ = c.Close()
	if p.Passed(ToClient) != size {
		t.Error(p.Passed(ToClient))
	}
	for start := time.Now(); p.Open() > 0 || p.Passed(ToServer) != 5; time.Sleep(time.Millisecond) {
		if time.Since(start) > 5*time.Second {
			t.Fatal("the connection stays open, or bytes to the server are missing:", p.Open(), p.Passed(ToServer))
		}
	}
}

func TestTruncateIsExactAndOrderly(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Truncate, Bytes: 123_457})
	other := dial(t, p) // not yet counted: nothing was asked of it
	got, err := read(p)
	rest, err2 := io.ReadAll(other)
	if err != nil || err2 != nil {
		t.Fatal("the end is not orderly:", err, err2)
	}
	// The connections share the count: one of them ends early, the other is whole.
	if n, m := min(len(got), len(rest)), max(len(got), len(rest)); n > 123_457 || m != size {
		t.Fatal(n, m)
	}
	if p.Passed(ToClient) < 123_457 || !p.Fired() {
		t.Error(p.Passed(ToClient))
	}
}

func TestTruncateAlone(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Truncate, Bytes: 123_457})
	got, err := read(p)
	if err != nil || len(got) != 123_457 {
		t.Fatal(len(got), err)
	}
}

func TestCut(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Cut, Bytes: 100_000})
	got, err := read(p)
	if err == nil || len(got) > 100_000 {
		t.Fatal("a reset must be an error:", len(got), err)
	}
	if got, err = read(p); err != nil || len(got) != size {
		t.Fatal("a new connection must pass:", len(got), err)
	}
}

func TestCutByTime(t *testing.T) {
	p := proxied(t, source(t, 10))
	c := dial(t, p)
	if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p.Set(Rule{Fault: Cut, After: 50 * time.Millisecond})
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			break
		}
		if time.Since(start) > 5*time.Second {
			t.Fatal("still open")
		}
		time.Sleep(time.Millisecond)
	}
	if time.Since(start) < 50*time.Millisecond {
		t.Error("cut too early:", time.Since(start))
	}
}

func TestRefuse(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Refuse})
	refused(t, p)
	p.Heal()
	if got, err := read(p); err != nil || len(got) != size {
		t.Fatal(len(got), err)
	}
}

func TestStall(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Stall, Bytes: 50_000})
	c := dial(t, p)
	if _, err := io.ReadFull(c, make([]byte, 50_000)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(80 * time.Millisecond))
	var timeout net.Error
	if n, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatal("bytes passed, or the connection is gone:", n, err)
	}
	p.Heal()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, err := io.ReadAll(c); err != nil || len(got) != size-50_000 {
		t.Fatal(len(got), err)
	}
}

func TestCloseWhileStalled(t *testing.T) {
	p := proxied(t, source(t, size))
	p.Set(Rule{Fault: Stall})
	c := dial(t, p)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal("closing twice:", err)
	}
}

func TestSlow(t *testing.T) {
	p := proxied(t, source(t, 20_000))
	p.Set(Rule{Fault: Slow, Rate: 100_000})
	start := time.Now()
	got, err := read(p)
	if err != nil || len(got) != 20_000 {
		t.Fatal(len(got), err)
	}
	if d := time.Since(start); d < 150*time.Millisecond || d > 3*time.Second {
		t.Error("20 kB at 100 kB/s took", d)
	}
}

func TestDoAtAByte(t *testing.T) {
	p := proxied(t, source(t, size))
	var calls atomic.Int32
	var at atomic.Int64
	p.Set(Rule{Bytes: 70_001, Do: func() { calls.Add(1); at.Store(p.Passed(ToClient)) }})
	if got, err := read(p); err != nil || len(got) != size {
		t.Fatal(len(got), err)
	}
	if calls.Load() != 1 || at.Load() != 70_001 {
		t.Error("called", calls.Load(), "times, at byte", at.Load())
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	p := proxied(t, addr)
	refused(t, p)
}

func TestMatch(t *testing.T) {
	p := proxied(t, source(t, 10))
	var at atomic.Int64
	note := func() { at.Store(p.Passed(ToServer)) }
	send := func(parts ...string) {
		c := dial(t, p)
		for _, s := range parts {
			if _, err := c.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.Set(Rule{Direction: ToServer, Match: "COMMIT", Do: note})
	send("SELECT 1; COMMIT;")
	if !p.Fired() || at.Load() != 10 {
		t.Fatal("bytes before the match:", at.Load())
	}
	before := p.Passed(ToServer)
	p.Set(Rule{Direction: ToServer, Match: "COMMIT", Passing: true, Do: note})
	send("SELECT 1; COM", "MIT;")
	if !p.Fired() || at.Load()-before != 17 {
		t.Fatal("bytes up to the end of what held the match:", at.Load()-before)
	}
	p.Set(Rule{Direction: ToServer, Match: "COMMIT"})
	send("ROLLBACK;")
	if p.Fired() {
		t.Fatal("there was no COMMIT")
	}
}
