package mysql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Lock takes the server's advisory lock of rel. It belongs to a session that does
// nothing else, and goes with that session if the process dies.
func (c *Conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (release func(), err error) {
	s, err := c.lockSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	rel = c.at(rel)
	name := c.lockName(rel)
	deadline := time.Now().Add(wait)
	for first := true; ; first = false {
		left := time.Until(deadline)
		seconds := int64(0)
		if !first && left >= time.Second {
			seconds = 1 // short, so that a cancelled ctx or the deadline is seen
		}
		got, err := s.rows(ctx, lockSQL(name, seconds))
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil && got[0][0].s != "1" {
			return nil, context.Cause(ctx) // a killed wait yields NULL, not an error
		}
		if got[0][0].null {
			return nil, errors.New("the server could not take the lock")
		}
		if got[0][0].s == "1" {
			break
		}
		if left <= 0 {
			return nil, &connectors.LockedError{Relation: rel}
		}
		if first && waiting != nil {
			waiting()
		}
		if left < time.Second {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(min(left, 50*time.Millisecond)):
			}
		}
	}
	var once sync.Once
	c.locks.Store(rel, s)
	return func() {
		once.Do(func() {
			c.locks.Delete(rel)
			ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
			defer cancel()
			got, err := s.rows(ctx, unlockSQL(name))
			if err != nil || got[0][0].s != "1" {
				s.close() // which releases it as well
				return
			}
			c.put(s, &c.idleLocks)
		})
	}, nil
}

// lockSession is a session that holds no lock: one that held the lock of another model, or
// a new one, without a database, which may not exist yet.
func (c *Conn) lockSession(ctx context.Context) (*session, error) {
	if s := c.take(ctx, &c.idleLocks); s != nil {
		return s, nil
	}
	return c.open(ctx, "", false)
}

// HoldsLock implements connectors.LockHolder: the lock is there as long as its session.
func (c *Conn) HoldsLock(ctx context.Context, rel connectors.Relation) error {
	s, ok := c.locks.Load(c.at(rel))
	if !ok {
		return errors.New("it was not taken")
	}
	_, err := s.(*session).rows(ctx, "SELECT 1")
	return err
}

// lockName is at most 64 characters, the server's limit. Names of locks are the
// server's, not a database's.
func (c *Conn) lockName(rel connectors.Relation) string {
	if c.server().foldNames {
		rel.Schema, rel.Name = strings.ToLower(rel.Schema), strings.ToLower(rel.Name)
	}
	sum := sha256.Sum256([]byte(rel.Schema + "\x00" + rel.Name))
	return "dvt:" + hex.EncodeToString(sum[:16])
}
