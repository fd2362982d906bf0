package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// Lock takes the lock of rel: a file beside the database, under the operating system's
// lock, so that it ends with the process that holds it. It serves two runs on one file
// from different projects as well.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (release func(), err error) {
	if err := c.knows(rel); err != nil {
		return nil, err
	}
	path := c.fileOf(rel).path
	path = filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.dvt-%s.lock", filepath.Base(path), hash12(rel.Name)))
	deadline := time.Now().Add(wait)
	for told := false; ; {
		f, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", rel, err)
		}
		if f != nil {
			return func() {
				// Removed before the lock ends: whoever locks the removed file finds
				// that it is not the one at path and starts over.
				_ = os.Remove(path)
				_ = f.Close()
			}, nil
		}
		if !told && waiting != nil {
			waiting()
		}
		told = true
		if time.Now().After(deadline) {
			return nil, &connectors.LockedError{Relation: rel}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryLock returns nil without an error when another holder is alive.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var mine, there os.FileInfo
		if mine, err = f.Stat(); err == nil {
			there, err = os.Stat(path)
		}
		if err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		if err == nil || errors.Is(err, os.ErrNotExist) {
			err = syscall.EWOULDBLOCK // removed by the last holder: try again
		}
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}
