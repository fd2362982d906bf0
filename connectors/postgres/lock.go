package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// lockPoll is how often a waiting run asks again. It asks instead of queueing, so that
// a wait leaves no statement behind and ends when its time is up.
const lockPoll = 200 * time.Millisecond

// lockKey is the advisory lock's number. Such locks belong to one database.
func lockKey(rel connectors.Relation) string {
	sum := sha256.Sum256([]byte("dvt lock\x00" + rel.Schema + "\x00" + rel.Name))
	return strconv.FormatInt(int64(binary.BigEndian.Uint64(sum[:])), 10)
}

// Lock implements connectors.Locker with an advisory lock on a session of its own: it
// ends with the session, so a killed run never leaves one behind.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (func(), error) {
	rel = c.fill(rel)
	key := lockKey(rel)
	session, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	pc := session.Conn().PgConn()
	unlock := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := c.query(ctx, pc, "SELECT pg_catalog.pg_advisory_unlock($1::int8)", key); err != nil {
			closeNow(pc) // the lock ends with the session
		}
		session.Release()
	})
	err = connectors.WaitLock(ctx, rel, wait, lockPoll, waiting, func(ctx context.Context) (bool, error) { return c.tryLock(ctx, pc, key) })
	if err != nil {
		closeNow(pc)
		session.Release()
		return nil, err
	}
	c.locks.Store(rel, pc)
	return func() {
		c.locks.Delete(rel)
		unlock()
	}, nil
}

// HoldsLock implements connectors.LockHolder: the lock is there as long as its session.
func (c *conn) HoldsLock(ctx context.Context, rel connectors.Relation) error {
	pc, ok := c.locks.Load(c.fill(rel))
	if !ok {
		return errors.New("it was not taken")
	}
	_, err := c.query(ctx, pc.(*pgconn.PgConn), "SELECT 1")
	return err
}

func (c *conn) tryLock(ctx context.Context, pc *pgconn.PgConn, key string) (bool, error) {
	rows, err := c.query(ctx, pc, "SELECT pg_catalog.pg_try_advisory_lock($1::int8)::text", key)
	if err != nil {
		return false, err
	}
	return rows[0][0].s == "true", nil
}
