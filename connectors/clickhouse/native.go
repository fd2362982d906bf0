package clickhouse

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/ClickHouse/ch-go/compress"

	"github.com/dvt-dev/dvt/internal/netidle"
)

// revision is the protocol that dvt speaks: what servers answer to since 2018. Newer
// ones keep to it when the client says so; what later revisions add (sparse columns,
// profile events, parameters) dvt does not need.
const (
	revision        = 54412
	revisionLowCard = 54405 // oldest server with LowCardinality, and oldest that dvt talks to
)

// Packets from the client, and from the server.
const (
	sendHello, sendQuery, sendData, sendCancel, sendPing = 0, 1, 2, 3, 4

	gotHello, gotData, gotException, gotProgress, gotPong, gotEnd, gotProfile = 0, 1, 2, 3, 4, 5, 6
	gotTotals, gotExtremes, gotLog, gotTableColumns                           = 7, 8, 10, 11
)

// cancelWait is how long a cancelled statement may take to end by itself.
const cancelWait = 2 * time.Second

// serverInfo is what a server says of itself.
type serverInfo struct {
	major, minor, patch int
	rev                 int
}

func (s serverInfo) version() string { return fmt.Sprintf("%d.%d.%d", s.major, s.minor, s.patch) }

// native is one connection that speaks ClickHouse's own protocol. It runs one
// statement at a time. After any error the connection is broken and only fit to be closed.
type native struct {
	nc     net.Conn
	in     *input
	out    *bufio.Writer
	msg    output // builds packets
	blk    output // builds blocks, compressed if zip
	zip    bool
	rev    int
	info   serverInfo
	broken bool
}

func dialNative(ctx context.Context, cfg *config) (*native, error) {
	d := net.Dialer{KeepAlive: 30 * time.Second, Timeout: cfg.connectTimeout}
	nc, err := d.DialContext(ctx, "tcp", cfg.addr())
	if err != nil {
		return nil, dialError(err)
	}
	nc = netidle.Wrap(nc, cfg.queryTimeout)
	if cfg.tls != nil {
		tc := tls.Client(nc, cfg.tls)
		if err := tc.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
		nc = tc
	}
	n := &native{nc: nc, in: newInput(nc), out: bufio.NewWriterSize(nc, 1<<18), zip: cfg.compress(nc)}
	n.msg.w, n.blk.w = n.out, n.out
	if n.zip {
		n.blk.zip = compress.NewWriter(compress.LevelZero, compress.LZ4)
	}
	if err := n.guard(ctx, func() error { return n.hello(cfg) }); err != nil {
		_ = nc.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, errors.New("no answer within connect_timeout (an HTTP port would need: set driver: http)")
		}
		return nil, dialError(err)
	}
	return n, nil
}

// guard runs one exchange with the server and interrupts it when ctx ends.
func (n *native) guard(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = n.nc.SetDeadline(time.Unix(1, 0)) })
	err := do()
	if !stop() && ctx.Err() != nil { // interrupted, or ended just before it
		n.broken = true
		return ctx.Err()
	}
	if err != nil {
		// After an exception too: a server that refused a statement before reading the
		// block that follows it takes that block for the next request.
		n.broken = true
	}
	return err
}

func (n *native) hello(cfg *config) error {
	n.msg.uvarint(sendHello)
	n.msg.text("dvt")
	n.msg.uvarint(1)
	n.msg.uvarint(0)
	n.msg.uvarint(revision)
	n.msg.text("") // the database is chosen by USE: one that does not exist yet may still be a target
	n.msg.text(cfg.user)
	n.msg.text(cfg.password)
	if err := n.flush(); err != nil {
		return err
	}
	code, err := n.in.uvarint()
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the server closed the connection: not a native ClickHouse port, or one that wants secure: true")
		}
		return err
	}
	switch code {
	case gotHello:
	case gotException:
		return n.exception()
	case 'H': // HTTP/1.1 400
		return errors.New("this is an HTTP port: set driver: http")
	default:
		return fmt.Errorf("not a ClickHouse server (it answers with packet %d)", code)
	}
	if _, err := n.in.text(); err != nil {
		return err
	}
	for _, p := range []*int{&n.info.major, &n.info.minor, &n.info.rev} {
		if *p, err = n.in.size(1 << 31); err != nil {
			return err
		}
	}
	if n.info.rev < revisionLowCard {
		return fmt.Errorf("ClickHouse %d.%d is too old: dvt needs 18.14 or later", n.info.major, n.info.minor)
	}
	n.rev = min(n.info.rev, revision)
	for range 2 { // time zone, display name
		if _, err := n.in.text(); err != nil {
			return err
		}
	}
	n.info.patch, err = n.in.size(1 << 31)
	return err
}

func (n *native) flush() error {
	if err := n.msg.flush(); err != nil {
		return err
	}
	return n.out.Flush()
}

// query runs sql and hands its blocks to sink. A nil sink discards them.
func (n *native) query(ctx context.Context, sql, id string, sink blockSink) error {
	err := n.guard(ctx, func() error {
		if err := n.start(sql, id); err != nil {
			return err
		}
		for {
			end, err := n.packet(sink)
			if end || err != nil {
				return err
			}
		}
	})
	return err
}

// start sends a statement and the empty block that ends its external tables.
func (n *native) start(sql, id string) error {
	m := &n.msg
	m.uvarint(sendQuery)
	m.text(id)
	m.byte(1) // initial query
	m.text("")
	m.text("")
	m.text("0.0.0.0:0")
	m.byte(1) // over TCP
	m.text("")
	host, _ := os.Hostname()
	m.text(host)
	m.text("dvt")
	m.uvarint(1)
	m.uvarint(0)
	m.uvarint(revision)
	m.text("") // quota key
	m.uvarint(0)
	m.text("") // no settings: they are set once per session
	m.uvarint(2)
	m.byte(b2i(n.zip))
	m.text(sql)
	return n.block(emptyBlock{})
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (n *native) block(b blockSource) error {
	n.msg.uvarint(sendData)
	n.msg.text("")
	if err := n.msg.flush(); err != nil {
		return err
	}
	if err := writeBlock(&n.blk, true, b); err != nil {
		return err
	}
	return n.out.Flush()
}

// packet reads one packet. end is set by the one that ends a statement.
func (n *native) packet(sink blockSink) (end bool, err error) {
	code, err := n.in.uvarint()
	if err != nil {
		return false, err
	}
	switch code {
	case gotData:
		return false, n.data(sink)
	case gotTotals, gotExtremes:
		return false, n.data(nil)
	case gotLog:
		return false, n.logBlock()
	case gotException:
		return true, n.exception()
	case gotProgress:
		return false, n.skip(3)
	case gotProfile:
		if err = n.skip(3); err == nil {
			_, err = n.in.byte()
		}
		if err == nil {
			err = n.skip(1)
		}
		if err == nil {
			_, err = n.in.byte()
		}
		return false, err
	case gotTableColumns:
		for i := 0; i < 2 && err == nil; i++ {
			_, err = n.in.text()
		}
		return false, err
	case gotEnd:
		return true, nil
	}
	return false, fmt.Errorf("damaged stream: packet %d", code)
}

func (n *native) skip(count int) error {
	for range count {
		if _, err := n.in.uvarint(); err != nil {
			return err
		}
	}
	return nil
}

func (n *native) data(sink blockSink) error {
	if _, err := n.in.text(); err != nil {
		return err
	}
	n.in.unzip(n.zip)
	defer n.in.unzip(false)
	if sink == nil {
		sink = &discard{}
	}
	return readBlock(n.in, true, sink)
}

func (n *native) logBlock() error { // never compressed
	if _, err := n.in.text(); err != nil {
		return err
	}
	return readBlock(n.in, true, &discard{})
}

func (n *native) exception() error {
	var first *exception
	for {
		code, err := n.in.uint32()
		if err != nil {
			return err
		}
		var s [3]string // class, message, stack trace
		for i := range s {
			if s[i], err = n.in.text(); err != nil {
				return err
			}
		}
		nested, err := n.in.byte()
		if err != nil {
			return err
		}
		if first == nil {
			first = newException(int(int32(code)), s[1])
		}
		if nested == 0 {
			return first
		}
	}
}

// insert starts an INSERT and returns the columns that the server expects.
func (n *native) insert(ctx context.Context, sql, id string) (cols []header, err error) {
	h := &headerSink{}
	err = n.guard(ctx, func() error {
		if err := n.start(sql, id); err != nil {
			return err
		}
		for !h.done {
			if end, err := n.packet(h); err != nil {
				return err
			} else if end {
				return errors.New("the server ended an INSERT before its data")
			}
		}
		return nil
	})
	return h.cols, err
}

// sendBlock sends one block of an INSERT. What the server has to say meanwhile is
// read first, so that its reason is known and not only that it hung up.
func (n *native) sendBlock(ctx context.Context, b blockSource) error {
	return n.guard(ctx, func() error {
		if err := n.poll(); err != nil {
			return err
		}
		if err := n.block(b); err != nil {
			if e := n.lastWords(); e != nil {
				return e
			}
			return err
		}
		return nil
	})
}

// poll reads packets that have arrived and does not wait for any.
func (n *native) poll() error {
	for {
		_ = n.nc.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := n.in.Peek(1)
		_ = n.nc.SetReadDeadline(time.Time{})
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				return nil
			}
			return noEOF(err)
		}
		end, err := n.packet(nil)
		if err != nil {
			n.broken = true
			return err
		}
		if end {
			return errors.New("the server ended an INSERT before its data")
		}
	}
}

// lastWords is the exception that a server may have sent before it hung up.
func (n *native) lastWords() error {
	_ = n.nc.SetReadDeadline(time.Now().Add(time.Second))
	for {
		end, err := n.packet(nil)
		var e *exception
		if errors.As(err, &e) {
			return e
		}
		if err != nil || end {
			return nil
		}
	}
}

// finish ends an INSERT and waits until the server has stored its blocks.
func (n *native) finish(ctx context.Context) error {
	return n.sendAndWait(ctx, func() error { return n.block(emptyBlock{}) })
}

func (n *native) sendAndWait(ctx context.Context, send func() error) error {
	return n.guard(ctx, func() error {
		if err := send(); err != nil {
			return err
		}
		for {
			if end, err := n.packet(nil); end || err != nil {
				return err
			}
		}
	})
}

// alive checks an idle connection.
func (n *native) alive(ctx context.Context) bool {
	err := n.guard(ctx, func() error {
		n.msg.uvarint(sendPing)
		if err := n.flush(); err != nil {
			return err
		}
		code, err := n.in.uvarint()
		if err == nil && code != gotPong {
			err = fmt.Errorf("packet %d for a ping", code)
		}
		return err
	})
	return err == nil
}

// abort ends a statement that was interrupted: it asks the server to cancel, hangs up
// on its own side and reports whether the server closed the connection in return,
// which it does once the statement has ended.
func (n *native) abort(inData bool) bool {
	_ = n.nc.SetDeadline(time.Now().Add(cancelWait))
	if !inData { // in the middle of a block the server would take it for data
		_, _ = n.nc.Write([]byte{sendCancel})
	}
	if c, ok := n.nc.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	_, err := io.Copy(io.Discard, n.nc)
	return err == nil
}

func (n *native) close() { _ = n.nc.Close() }

// header is the name and type of one column of a block.
type header struct{ name, typ string }

// headerSink takes the first block of an INSERT's answer.
type headerSink struct {
	cols []header
	done bool
}

func (h *headerSink) begin(int, int) error { return nil }
func (h *headerSink) end() error           { h.done = true; return nil }
func (h *headerSink) column(in *input, _, rows int, name, typ string) error {
	h.cols = append(h.cols, header{name, typ})
	return (&discard{}).column(in, 0, rows, name, typ)
}

// prepare chooses the database of unqualified names.
func (n *native) prepare(ctx context.Context, database string) error {
	rows, err := queryText(ctx, n, databaseSQL(database))
	if err != nil || len(rows) == 0 { // a target's database may yet be created
		return err
	}
	return n.query(ctx, useSQL(database), queryID(), nil)
}

// set changes settings for the rest of the session.
func (n *native) set(ctx context.Context, all []setting) error {
	return n.query(ctx, setSQL(all), queryID(), nil)
}
