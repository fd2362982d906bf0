// Package faultproxy is a TCP proxy on the loopback that breaks connections on purpose:
// it cuts, stalls, slows, truncates and refuses them, at an exact byte or after a time.
// It is for tests only and knows no protocol.
package faultproxy

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Fault is what happens to connections when a Rule's trigger is reached.
type Fault uint8

// The faults.
const (
	// None passes everything; with Rule.Do it only tells when the trigger is reached.
	None Fault = iota
	// Cut resets every open connection. New ones pass.
	Cut
	// Refuse resets every open connection, and new ones as soon as they are accepted.
	Refuse
	// Stall passes no further byte in either direction, on open connections and new
	// ones, and keeps them open.
	Stall
	// Slow passes Rule.Rate bytes a second on each connection and direction.
	Slow
	// Truncate ends the connection that reached the trigger in an orderly way (FIN), as
	// a server does that thinks it has sent everything. Others pass.
	Truncate
)

func (f Fault) String() string {
	return [...]string{"none", "cut", "refuse", "stall", "slow", "truncate"}[f]
}

// Direction is where bytes flow to.
type Direction uint8

// The directions.
const (
	ToClient Direction = iota
	ToServer
)

// Rule is one fault and when it begins. The zero trigger is at once.
type Rule struct {
	Fault Fault
	// Bytes of Direction, over all connections and counted from Set on, pass before the
	// fault; not one more.
	Bytes     int64
	Direction Direction
	After     time.Duration // or this time after Set
	// Match, on one connection and in Direction, begins the fault before its first byte
	// passes; with Passing, after the bytes that were read with it have passed.
	Match   string
	Passing bool
	Rate    int64  // Slow: bytes per second, at least 1
	Do      func() // called once when the trigger is reached, before any further byte passes
}

// Proxy forwards a loopback port to a server. Close it.
type Proxy struct {
	upstream string
	listener net.Listener
	pumps    sync.WaitGroup

	mu     sync.Mutex
	conns  map[*pair]bool
	rule   *armed
	total  [2]int64
	closed bool
}

// armed is a rule that has been set, with its progress.
type armed struct {
	Rule
	passed int64
	fired  bool
	over   chan struct{} // closed when another rule takes its place
}

// pair is one proxied connection.
type pair struct {
	client, server *net.TCPConn
	done           chan struct{} // closed with the connections
	once           sync.Once
	cut            [2]bool   // directions that Truncate has ended; under Proxy.mu
	tail           [2][]byte // what has passed last, for a Match that comes in two reads
}

// reset ends both sides with RST, so that data in flight is lost as when a machine dies.
func (c *pair) reset() {
	_ = c.client.SetLinger(0)
	_ = c.server.SetLinger(0)
	c.close()
}

func (c *pair) close() {
	c.once.Do(func() { close(c.done) })
	_ = c.client.Close()
	_ = c.server.Close()
}

// Listen starts a proxy in front of upstream ("127.0.0.1:5432") on a free port.
func Listen(upstream string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{upstream: upstream, listener: l, conns: map[*pair]bool{}}
	p.rule = &armed{fired: true, over: make(chan struct{})}
	p.pumps.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Port is the port of Addr.
func (p *Proxy) Port() string {
	_, port, _ := net.SplitHostPort(p.Addr())
	return port
}

// Set puts a rule in the place of the one before. Connections that a former rule stalled
// or slowed go on under the new one.
func (p *Proxy) Set(r Rule) {
	a := &armed{Rule: r, over: make(chan struct{})}
	p.mu.Lock()
	close(p.rule.over)
	p.rule = a
	p.mu.Unlock()
	switch {
	case r.After > 0:
		p.pumps.Go(func() {
			select {
			case <-time.After(r.After):
				p.fire(a, nil)
			case <-a.over:
			}
		})
	case r.Bytes == 0 && r.Match == "":
		p.fire(a, nil)
	}
}

// Heal passes everything from now on.
func (p *Proxy) Heal() { p.Set(Rule{}) }

// Fired reports whether the trigger of the rule that is set has been reached.
func (p *Proxy) Fired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule.fired
}

// Passed is how many bytes the proxy has forwarded since Listen.
func (p *Proxy) Passed(d Direction) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total[d]
}

// Open is the number of connections that are open now.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Close ends every connection and waits for all that the proxy started.
func (p *Proxy) Close() error {
	p.Heal()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.pumps.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
