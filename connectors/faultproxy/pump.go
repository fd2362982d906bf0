package faultproxy

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// pumpBytes is read and forwarded at once; slowSteps are the writes of one second under
// Slow.
const (
	pumpBytes = 16 << 10
	slowSteps = 20
)

// accept serves until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pumps.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve forwards one connection until both directions have ended.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	refuse := p.closed || p.rule.fired && p.rule.Fault == Refuse
	p.mu.Unlock()
	var server net.Conn
	var err error
	if !refuse {
		server, err = net.DialTimeout("tcp", p.upstream, 5*time.Second)
	}
	if refuse || err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	c := &pair{client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	p.mu.Lock()
	p.conns[c] = true
	over := p.closed
	p.mu.Unlock()
	if over {
		c.close()
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(c, ToServer, c.client, c.server) })
	both.Go(func() { p.pump(c, ToClient, c.server, c.client) })
	both.Wait()
	c.close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// pump forwards one direction. An orderly end passes like a byte: a stalled network does
// not deliver it.
func (p *Proxy) pump(c *pair, d Direction, from, to *net.TCPConn) {
	buf := make([]byte, pumpBytes)
	for {
		n, err := from.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			k, ok := p.forward(c, d, to, rest)
			if !ok {
				c.close()
				return
			}
			rest = rest[k:]
		}
		if err != nil {
			p.unstalled(c)
			if to.CloseWrite() != nil {
				c.close()
			}
			return
		}
	}
}

// forward passes on a part of data, as much as the rule allows at once, and returns how
// much that was; ok is false when the connection is over.
func (p *Proxy) forward(c *pair, d Direction, to *net.TCPConn, data []byte) (n int, ok bool) {
	if !p.unstalled(c) {
		return 0, false
	}
	p.mu.Lock()
	a, n := p.rule, len(data)
	if c.cut[d] {
		p.mu.Unlock()
		return n, true // swallowed
	}
	counts := !a.fired && a.Bytes > 0 && a.Direction == d
	if counts {
		n = int(min(int64(n), a.Bytes-a.passed))
		a.passed += int64(n)
	}
	reached := counts && n > 0 && a.passed == a.Bytes
	if !a.fired && a.Match != "" && a.Direction == d {
		if at := c.find(d, data, a.Match); at >= 0 {
			reached = true
			if !a.Passing {
				n = at
			}
		}
	}
	var pause time.Duration
	if a.fired && a.Fault == Slow {
		rate := max(a.Rate, 1)
		n = int(min(int64(n), max(rate/slowSteps, 1)))
		pause = time.Duration(n) * time.Second / time.Duration(rate)
	}
	p.total[d] += int64(n)
	p.mu.Unlock()
	if n > 0 {
		if _, err := to.Write(data[:n]); err != nil {
			return n, false
		}
		c.keep(d, data[:n])
	} else if !reached { // another connection is just about to reach the trigger
		pause = time.Millisecond
	}
	if reached {
		p.fire(a, c)
	}
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-a.over:
		case <-c.done:
		}
	}
	return n, true
}

// tailBytes bounds a Match that comes in two reads.
const tailBytes = 128

// find is where match begins in data, 0 if it began before, -1 if it is not there.
func (c *pair) find(d Direction, data []byte, match string) int {
	tail := c.tail[d]
	tail = tail[max(0, len(tail)-len(match)+1):]
	at := bytes.Index(append(tail[:len(tail):len(tail)], data...), []byte(match))
	if at < 0 {
		return -1
	}
	return max(0, at-len(tail))
}

func (c *pair) keep(d Direction, data []byte) {
	t := append(c.tail[d], data...)
	c.tail[d] = t[max(0, len(t)-tailBytes):]
}

// unstalled waits while the rule stalls; false when the connection is over.
func (p *Proxy) unstalled(c *pair) bool {
	for {
		p.mu.Lock()
		a := p.rule
		stalled := a.fired && a.Fault == Stall
		p.mu.Unlock()
		if !stalled {
			select {
			case <-c.done:
				return false
			default:
				return true
			}
		}
		select {
		case <-a.over:
		case <-c.done:
			return false
		}
	}
}

// fire begins a rule's fault; c is the connection that reached the trigger, nil for a
// trigger by time.
func (p *Proxy) fire(a *armed, c *pair) {
	p.mu.Lock()
	if a.fired || p.rule != a {
		p.mu.Unlock()
		return
	}
	a.fired = true
	var reset []*pair
	switch a.Fault {
	case Cut, Refuse:
		for c := range p.conns {
			reset = append(reset, c)
		}
	case Truncate:
		if c != nil {
			c.cut[a.Direction] = true
		}
	}
	p.mu.Unlock()
	if a.Do != nil {
		a.Do()
	}
	for _, c := range reset {
		c.reset()
	}
	if a.Fault == Truncate && c != nil {
		to := c.client
		if a.Direction == ToServer {
			to = c.server
		}
		_ = to.CloseWrite()
	}
}
