package clickhouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// A lock is a table: creating it is the one act that only one client succeeds in. Its
// owner writes a row every lockBeat; a lock whose last row is older than lockVoid is
// taken over. All ages are by the server's clock.
const (
	lockBeat = 10 * time.Second
	lockVoid = 60 // seconds
	lockPoll = 300 * time.Millisecond

	dropPatience = 5 * time.Second
)

// Lock makes rel's lock table. The heartbeat ends before release returns.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (func(), error) {
	full := c.inDatabase(rel)
	if err := c.ensureDatabase(ctx, full.Schema); err != nil {
		return nil, err
	}
	l := &tableLock{c: c, rel: connectors.Relation{Schema: full.Schema, Name: lockPrefix + relationHash(full)}, owner: newOwner()}
	err := connectors.WaitLock(ctx, rel, wait, lockPoll, waiting, func(ctx context.Context) (bool, error) {
		got, err := l.try(ctx)
		if connectors.Lost(err) { // the lock may have been made all the same
			l.drop()
		}
		return got, err
	})
	if err != nil {
		return nil, err
	}
	l.start()
	return l.release, nil
}

func newOwner() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// tableLock is a lock that is being taken or held.
type tableLock struct {
	c     *conn
	rel   connectors.Relation
	owner string
	stop  chan struct{}
	beats sync.WaitGroup
	once  sync.Once
}

func (l *tableLock) sqlName() string { return relation(l.rel, "") }

// try takes the lock if it is free or void.
func (l *tableLock) try(ctx context.Context) (bool, error) {
	owner, age, err := l.state(ctx)
	if err != nil {
		return false, err
	}
	if owner == "" {
		return l.create(ctx)
	}
	if age <= lockVoid {
		return false, nil
	}
	if err := l.evict(ctx, owner); err != nil {
		return false, err
	}
	return false, nil // the next try races for it like everybody else
}

func (l *tableLock) create(ctx context.Context) (bool, error) {
	err := l.c.run(ctx, false, createLockSQL(l.sqlName(), l.owner), nil)
	if taken(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := l.beat(ctx); err != nil {
		l.drop()
		return false, err
	}
	return true, nil
}

// taken: another client made a table of that name first, or is just doing so.
func taken(err error) bool {
	return isCode(err, codeTableExists, codeTableLocked) ||
		err != nil && (strings.Contains(err.Error(), "already exists") || strings.Contains(err.Error(), "being created"))
}

// state is the owner of the lock and the seconds since it was last heard of; owner is
// "" if nobody has it.
func (l *tableLock) state(ctx context.Context) (owner string, age int64, err error) {
	rows, err := l.c.text(ctx, lockOwnerSQL(l.rel))
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	owner = strings.TrimPrefix(rows[0][0], ownerColumn(""))
	age, _ = strconv.ParseInt(rows[0][1], 10, 64)
	beat, err := l.c.text(ctx, lockAgeSQL(l.sqlName()))
	if errors.Is(err, connectors.ErrNotFound) || isCode(err, codeTableDropped) { // released meanwhile
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	if len(beat) == 1 && beat[0][0] != "" {
		if n, err := strconv.ParseInt(beat[0][0], 10, 64); err == nil {
			age = n
		}
	}
	return owner, age, nil
}

// evict drops the lock of an owner that is gone. Who creates the table named after that
// owner may do so; without it two clients could see the same void lock, and the slower
// one would drop the lock that the faster has taken since.
func (l *tableLock) evict(ctx context.Context, owner string) error {
	claim := &tableLock{c: l.c, owner: l.owner, rel: connectors.Relation{Schema: l.rel.Schema, Name: claimPrefix + owner}}
	err := l.c.run(ctx, false, createLockSQL(claim.sqlName(), l.owner), nil)
	if taken(err) {
		if _, age, err := claim.state(ctx); err == nil && age > lockVoid { // its maker died too
			return l.c.run(ctx, false, dropSQL(claim.sqlName()), nil)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer claim.drop()
	now, age, err := l.state(ctx)
	if err != nil || now != owner || age <= lockVoid {
		return err
	}
	l.c.log.Warn("taking over the lock of a run that is gone", "lock", l.rel.String(), "seconds", age)
	return l.c.run(ctx, false, dropSQL(l.sqlName()), nil)
}

func (l *tableLock) beat(ctx context.Context) error {
	return l.c.run(ctx, false, heartbeatSQL(l.sqlName(), l.owner), nil)
}

// start keeps the lock alive until release.
func (l *tableLock) start() {
	l.stop = make(chan struct{})
	l.beats.Add(1)
	go func() {
		defer l.beats.Done()
		t := time.NewTicker(lockBeat)
		defer t.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-t.C:
			}
			ctx, cancel := context.WithTimeout(context.Background(), lockBeat)
			if err := l.beat(ctx); err != nil {
				l.c.log.Warn("could not renew a lock", "lock", l.rel.String(), "error", err)
			}
			cancel()
		}
	}()
}

func (l *tableLock) release() {
	l.once.Do(func() {
		close(l.stop)
		l.beats.Wait()
		l.drop()
	})
}

// drop drops the lock table if it is still this owner's.
func (l *tableLock) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := l.dropOwn(ctx)
	// A server that restarts has the lock when it is back, and who waits for it would wait
	// a minute.
	for end := time.Now().Add(dropPatience); away(err) && time.Now().Before(end); {
		time.Sleep(lockPoll)
		err = l.dropOwn(ctx)
	}
	if err != nil {
		l.c.log.Warn("could not release a lock; it is void after a minute", "lock", l.rel.String(), "error", err)
	}
}

func (l *tableLock) dropOwn(ctx context.Context) error {
	owner, _, err := l.state(ctx)
	if err == nil && owner == l.owner {
		err = l.c.run(ctx, false, dropSQL(l.sqlName()), nil)
	}
	return err
}

// away: the server could not be reached, or hung up.
func away(err error) bool {
	var c *connectors.ConnectError
	return connectors.Lost(err) || errors.As(err, &c)
}
