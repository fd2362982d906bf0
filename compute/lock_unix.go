//go:build unix

package compute

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of an open file unless another open file has it. Closing the
// file drops it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

func lockWait(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
