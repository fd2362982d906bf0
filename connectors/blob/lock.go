package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// A lock is an object that only one run can create. Its owner writes it anew every
// lockBeat; one that did not change for lockVoid while somebody waited for it is taken
// over. Nobody's clock is compared with another's.
const (
	lockBeat = 5 * time.Second
	lockVoid = 20 * time.Second
	lockPoll = 500 * time.Millisecond
)

// holder is what a lock says. A holder on this machine that runs no more is not waited for.
type holder struct {
	Owner string `json:"owner"`
	Host  string `json:"host"` // with what tells one count of process ids from another
	PID   int    `json:"pid"`
	Start string `json:"start"` // of the process, as the system tells it, so that its id is not another's
	Beat  int64  `json:"beat"`
}

// lock is a lock that is being taken or held.
type lock struct {
	c       *conn
	key     string
	me      holder
	version string
	stop    chan struct{}
	beats   sync.WaitGroup
	once    sync.Once

	theirs string // the version last seen, and since when it is the same
	since  time.Time
}

// Lock makes the lock of rel. The heartbeat ends before release returns.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (func(), error) {
	var random [8]byte
	_, _ = rand.Read(random[:])
	l := &lock{c: c, key: ".dvt-" + c.hash12(rel) + ".lock", stop: make(chan struct{})}
	l.me = holder{Owner: hex.EncodeToString(random[:]), Host: machine(), PID: os.Getpid(), Start: started(os.Getpid())}
	err := connectors.WaitLock(ctx, rel, wait, lockPoll, waiting, func(ctx context.Context) (bool, error) {
		return l.try(ctx)
	})
	if err != nil {
		return nil, err
	}
	l.beats.Go(l.keep)
	return l.release, nil
}

// try takes the lock if it is free or void.
func (l *lock) try(ctx context.Context) (bool, error) {
	data, version, err := l.c.GetFile(ctx, l.key)
	if errors.Is(err, connectors.ErrNotFound) {
		return l.write(ctx, "")
	}
	if err != nil {
		return false, err
	}
	if version != l.theirs {
		l.theirs, l.since = version, time.Now()
	}
	var h holder
	_ = stdjson.Unmarshal(data, &h) // what cannot be read is void after a while
	gone := h.Host != "" && h.Host == l.me.Host && h.Start != "" && started(h.PID) != h.Start
	if !gone && time.Since(l.since) < lockVoid {
		return false, nil
	}
	l.c.log.Warn("taking over the lock of a run that is gone", "lock", l.c.url(l.c.below(l.key)))
	return l.write(ctx, version)
}

// write puts the lock in the place of a version of it; false if another was first.
func (l *lock) write(ctx context.Context, version string) (bool, error) {
	l.me.Beat++
	data, err := stdjson.Marshal(l.me)
	if err != nil {
		return false, err
	}
	b, err := l.c.bucket(ctx)
	if err != nil {
		return false, err
	}
	key := l.c.below(l.key)
	now, err := l.c.service.put(ctx, b, l.c.bucketName, key, data, version)
	if errors.Is(err, connectors.ErrStateMoved) {
		return false, nil
	}
	if err != nil {
		return false, l.c.explain(ctx, actWrite, key, err)
	}
	l.version = now
	return true, nil
}

// keep writes the lock anew until it is released.
func (l *lock) keep() {
	t := time.NewTicker(lockBeat)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockBeat)
		if ok, err := l.write(ctx, l.version); !ok {
			l.c.log.Warn("could not renew a lock", "lock", l.c.url(l.c.below(l.key)), "error", err)
		}
		cancel()
	}
}

func (l *lock) release() {
	l.once.Do(func() {
		close(l.stop)
		l.beats.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, version, err := l.c.GetFile(ctx, l.key)
		if err == nil && version == l.version {
			err = l.c.DeleteFile(ctx, l.key)
		}
		if err != nil && !errors.Is(err, connectors.ErrNotFound) {
			l.c.log.Warn("could not release a lock; it is void after a while", "lock", l.c.url(l.c.below(l.key)), "error", err)
		}
	})
}

// machine names this machine, its boot, and the container in which process ids count.
func machine() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return host + " " + strings.TrimSpace(string(boot)) + " " + space
}

// started tells a process from another one that had its id; "" if there is none, or if
// the system does not say.
func started(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return startField(string(raw))
}

// startField is the 22nd field of a process's stat line, its start since boot. The second
// is the program's name in parentheses, which may hold anything.
func startField(stat string) string {
	at := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[at+1:])
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
