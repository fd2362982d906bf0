package mysql

import (
	"encoding/binary"
	"errors"
	"net"
	"syscall"
)

// tap is the connection below the driver. It gives the driver one packet at a time, so
// that nothing of a result's rows lies in the driver's own buffer when it has read the
// columns: the session then takes the rows from here, without a value for each cell, and
// leaves the packet that ends them to the driver, which sees a result without rows. Over
// TLS it only passes bytes on.
type tap struct {
	net.Conn
	sealed bool // TLS has begun

	buf  []byte
	r, w int // what is in buf
	left int // of the packet that the driver is reading
	err  error
	long []byte // a row of several packets

	next byte // the sequence number that a row's packet has to have
}

const (
	tapBuffer  = 4 << 10   // between results
	rowsBuffer = 256 << 10 // while rows are read
	packetMost = 1<<24 - 1 // a payload of this size goes on in the next packet
)

func newTap(c net.Conn) *tap { return &tap{Conn: c, buf: make([]byte, tapBuffer)} }

// clientSSL is the capability that a client's first packet has when TLS is to follow.
const clientSSL = 1 << 11

// Write looks for the packet that begins TLS: 32 bytes, the first that the client sends.
func (t *tap) Write(p []byte) (int, error) {
	if len(p) == 36 && p[0] == 32 && p[1]|p[2] == 0 && p[3] == 1 && binary.LittleEndian.Uint32(p[4:])&clientSSL != 0 {
		t.sealed = true
	}
	return t.Conn.Write(p)
}

// Read gives at most the rest of one packet.
func (t *tap) Read(p []byte) (int, error) {
	if t.sealed && t.r == t.w {
		return t.Conn.Read(p)
	}
	if !t.sealed && t.left == 0 {
		if !t.fill(4) {
			return 0, t.err
		}
		t.left = 4 + payload(t.buf[t.r:])
	}
	if t.r == t.w && !t.fill(1) {
		return 0, t.err
	}
	n := t.w - t.r
	if !t.sealed {
		n = min(n, t.left)
	}
	n = copy(p, t.buf[t.r:t.r+n])
	t.r += n
	t.left -= min(n, t.left)
	return n, nil
}

func payload(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// fill makes n bytes be in the buffer. It is false when the connection fails before.
func (t *tap) fill(n int) bool {
	if t.w-t.r >= n {
		return true
	}
	if t.r > 0 {
		t.w = copy(t.buf, t.buf[t.r:t.w])
		t.r = 0
	}
	if n > len(t.buf) {
		t.buf = append(make([]byte, 0, n+n/4), t.buf[:t.w]...)
		t.buf = t.buf[:cap(t.buf)]
	}
	for t.w < n {
		if t.err != nil {
			return false
		}
		m, err := t.Conn.Read(t.buf[t.w:])
		t.w, t.err = t.w+m, err
	}
	return true
}

// canRows reports whether rows can be read past the driver now.
func (t *tap) canRows() bool { return t != nil && !t.sealed && t.left == 0 && t.err == nil }

// begin makes ready for the rows that come next.
func (t *tap) begin() bool {
	t.resize(rowsBuffer)
	if !t.fill(4) {
		return false // the driver meets the error
	}
	t.next = t.buf[t.r+3]
	return true
}

var errOutOfOrder = errors.New("the server's packets are out of order")

// row is the payload of the next row, valid until the call after it. ok is false at
// anything else (the end, an error of the server, a broken connection), which is left
// for the driver, numbered as the packet that it expects.
func (t *tap) row(first byte) (p []byte, ok bool) {
	if !t.fill(5) {
		return nil, false
	}
	n := payload(t.buf[t.r:])
	if t.buf[t.r+3] != t.next {
		t.err, t.r, t.w = errOutOfOrder, 0, 0
		return nil, false
	}
	if n == 0 || t.buf[t.r+4] != 0 {
		t.buf[t.r+3] = first
		return nil, false
	}
	if n == packetMost {
		return t.longRow()
	}
	if !t.fill(4 + n) {
		return nil, false
	}
	p = t.buf[t.r+4 : t.r+4+n]
	t.r += 4 + n
	t.next++
	return p, true
}

// longRow gathers a row of 16 MB or more.
func (t *tap) longRow() ([]byte, bool) {
	t.long = t.long[:0]
	for n := packetMost; n == packetMost; t.next++ {
		if !t.fill(4) {
			return nil, false
		}
		if t.buf[t.r+3] != t.next {
			t.err, t.r, t.w = errOutOfOrder, 0, 0
			return nil, false
		}
		n = payload(t.buf[t.r:])
		if !t.fill(4 + n) {
			return nil, false
		}
		t.long = append(t.long, t.buf[t.r+4:t.r+4+n]...)
		t.r += 4 + n
	}
	return t.long, true
}

// end gives the memory for rows back.
func (t *tap) end() {
	t.long = nil
	t.resize(tapBuffer)
}

func (t *tap) resize(n int) {
	if n < t.w-t.r || n == len(t.buf) {
		return
	}
	buf := make([]byte, n)
	t.w = copy(buf, t.buf[t.r:t.w])
	t.buf, t.r = buf, 0
}

// SyscallConn lets the driver look whether the server has closed an idle connection.
func (t *tap) SyscallConn() (syscall.RawConn, error) {
	if s, ok := t.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
