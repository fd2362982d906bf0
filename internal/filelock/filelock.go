//go:build unix

// Package filelock is a lock between processes that ends with the process that holds it:
// a file under the operating system's lock, removed when it is released.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Acquire waits up to wait for the lock file at path, calling waiting once if it has to,
// and returns what releases it; nil without an error when somebody else still has it.
func Acquire(ctx context.Context, path string, wait time.Duration, waiting func()) (release func(), err error) {
	deadline := time.Now().Add(wait)
	for told := false; ; {
		f, err := try(path)
		if err != nil {
			return nil, err
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
			return nil, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func try(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist: create it, or correct the path in profiles.yml", filepath.Dir(path))
	}
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
	}
	_ = f.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) || errors.Is(err, os.ErrNotExist) {
		return nil, nil // somebody has it, or removed it just now
	}
	return nil, err
}
