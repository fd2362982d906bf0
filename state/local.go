package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dvt-dev/dvt/connectors"
)

// localFiles keeps files in a folder of this machine. Writers of one folder take turns
// under an operating system lock, so that compare and set are one step; a file is
// replaced by rename, so that a reader never sees half of one.
type localFiles struct{ folder string }

func (l localFiles) GetFile(_ context.Context, name string) ([]byte, string, error) {
	data, err := os.ReadFile(filepath.Join(l.folder, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", connectors.ErrNotFound
	}
	return data, version(data), err
}

func version(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (l localFiles) PutFile(ctx context.Context, name string, data []byte, want string) (err error) {
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return err
	}
	unlock, err := l.lock()
	if err != nil {
		return err
	}
	defer unlock()
	_, have, err := l.GetFile(ctx, name)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return err
	}
	if have != want {
		return connectors.ErrStateMoved
	}
	tmp, err := os.CreateTemp(l.folder, ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(l.folder, filepath.FromSlash(name)))
}

// lock waits for the folder's lock; the operating system frees it when its holder dies.
func (l localFiles) lock() (func(), error) {
	f, err := os.OpenFile(filepath.Join(l.folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", l.folder, err)
	}
	return func() { _ = f.Close() }, nil
}

func (l localFiles) ListFiles(context.Context, string) ([]string, error) {
	entries, err := os.ReadDir(l.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (l localFiles) DeleteFile(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(l.folder, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return connectors.ErrNotFound
	}
	return err
}
