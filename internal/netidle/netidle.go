// Package netidle gives up on a network peer that neither sends nor takes anything: a
// stalled network says nothing, and a timeout that the server keeps never arrives
// through it. It does not bound how long a connection is used.
package netidle

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Grace is what the network and the server get beyond the bound that the server itself
// keeps, so that its own answer comes first.
const Grace = 5 * time.Second

// ErrIdle is what a Read or Write returns that waited too long, and every one after it.
// It is a timeout to drivers, which then report it instead of what follows from it.
var ErrIdle = errors.New("no answer from the server")

type idleError struct{ limit time.Duration }

func (e *idleError) Error() string {
	return fmt.Sprintf("%v for %s: query_timeout is %s", ErrIdle, e.limit+Grace, e.limit)
}
func (e *idleError) Unwrap() error { return ErrIdle }
func (e *idleError) Timeout() bool { return true }

// Temporary is there to make it a net.Error.
func (e *idleError) Temporary() bool { return false }

var _ net.Error = (*idleError)(nil)

// Wrap lets each Read and Write of c wait for limit + Grace at most; a limit of 0 changes
// nothing. Deadlines set on the connection hold as well.
func Wrap(c net.Conn, limit time.Duration) net.Conn {
	if limit <= 0 {
		return c
	}
	return &conn{Conn: c, limit: limit}
}

type conn struct {
	net.Conn
	limit time.Duration

	mu          sync.Mutex
	read, write time.Time // the owner's deadlines
	gone        error     // an *idleError when the peer was silent for too long
}

// bound is the deadline of an operation that starts now: the sooner of the owner's and
// the limit's.
func (c *conn) bound(owner time.Time) time.Time {
	at := time.Now().Add(c.limit + Grace)
	if !owner.IsZero() && owner.Before(at) {
		return owner
	}
	return at
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	err := c.gone
	if err == nil {
		err = c.Conn.SetReadDeadline(c.bound(c.read))
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	return n, c.idle(err, &c.read)
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	err := c.gone
	if err == nil {
		err = c.Conn.SetWriteDeadline(c.bound(c.write))
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	return n, c.idle(err, &c.write)
}

// idle tells the limit's timeouts from the owner's.
func (c *conn) idle(err error, owner *time.Time) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !owner.IsZero() && !owner.After(time.Now()) {
		return err
	}
	c.gone = &idleError{c.limit}
	return c.gone
}

func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.write = t, t
	return c.Conn.SetDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// SyscallConn lets drivers look whether the peer has closed an idle connection.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite tells the peer that nothing more will come.
func (c *conn) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}
