package compute

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// tempDir is a run's own folder for spill files. An OS lock on a file in it tells other
// runs that its owner lives; the system drops the lock with the process.
type tempDir struct {
	path string
	lock *os.File
}

const lockName = "lock"

// newTempDir makes <parent>/<run> and removes the folders of dead runs beside it.
func newTempDir(parent, run string) (*tempDir, error) {
	if parent == "" {
		parent = filepath.Join(os.TempDir(), "dvt")
	}
	if run == "" {
		run = uuid.NewString()
	}
	if run != filepath.Base(run) || strings.HasPrefix(run, ".") {
		return nil, fmt.Errorf("%q is no name for a run's temporary folder", run)
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	t := &tempDir{path: filepath.Join(parent, run)}
	err = guarded(parent, func() error {
		if err := removeDead(parent); err != nil {
			return err
		}
		if err := os.MkdirAll(t.path, 0o700); err != nil {
			return err
		}
		t.lock, err = os.OpenFile(filepath.Join(t.path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		ok, err := tryLock(t.lock)
		if err == nil && !ok {
			err = fmt.Errorf("%s belongs to a run that is still alive", t.path)
		}
		if err != nil {
			return errors.Join(err, t.lock.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// spill is where DuckDB writes.
func (t *tempDir) spill() string { return filepath.Join(t.path, "spill") }

// close removes the folder, then gives up the lock.
func (t *tempDir) close() error {
	if t.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(t.path), t.lock.Close())
	t.lock = nil
	return err
}

// CleanTemp removes the folders of runs that are dead from dir, a Config.TempDirectory.
func CleanTemp(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return guarded(dir, func() error { return removeDead(dir) })
}

// guarded runs one function at a time over all processes, so that a folder whose lock is
// not taken yet is not taken for a dead one. The lock file stands beside the folder,
// which is empty when no run lives.
func guarded(dir string, do func() error) error {
	f, err := os.OpenFile(filepath.Clean(dir)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := lockWait(f); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(do(), f.Close())
}

// removeDead removes each folder that a run made and nobody locks. What has no lock file
// is somebody else's.
func removeDead(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !entry.IsDir() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		dead, err := tryLock(f)
		if err == nil && dead {
			err = os.RemoveAll(path)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
