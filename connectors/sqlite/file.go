package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stallTimeout is how long a writer waits for reads of the same process that do not
// move: a model that streams from a file into the same file would wait for ever.
const stallTimeout = 2 * time.Minute

// patience is how long a new read lets a waiting writer go first. Not for ever: who
// asks may hold a snapshot already, and the writer waits for that one.
const patience = 200 * time.Millisecond

// file is one database file of this process, by real path: every connection to it, of
// whichever output, queues here instead of failing with "database is locked".
//
// Nothing in this package opens the file but SQLite: closing any other descriptor of
// it would drop the locks that SQLite holds in this process.
type file struct {
	path string

	mu      sync.Mutex
	readers int
	writing bool
	waiting int           // writers
	changed chan struct{} // closed and replaced whenever the three above change
	moved   atomic.Int64  // batches read, to tell a slow read from a stuck one
	wal     atomic.Bool   // the journal mode when the file was last opened
}

var files = struct {
	sync.Mutex
	byPath map[string]*file
}{byPath: map[string]*file{}}

// fileAt is the handle of path. Handles stay for the life of the process: there are
// as many as a project has files.
func fileAt(path string) *file {
	path = realPath(path)
	files.Lock()
	defer files.Unlock()
	f := files.byPath[path]
	if f == nil {
		f = &file{path: path, changed: make(chan struct{})}
		files.byPath[path] = f
	}
	return f
}

// realPath follows links, also of the folder of a file that is not there yet.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// set changes the state under f.mu and wakes who waits.
func (f *file) set(change func()) {
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// read waits while a write transaction is open, and a moment for writers that wait.
func (f *file) read(ctx context.Context) (release func(), err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	patient := true
	for {
		f.mu.Lock()
		if !f.writing && (f.waiting == 0 || !patient) {
			f.set(func() { f.readers++ })
			f.mu.Unlock()
			return sync.OnceFunc(func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.set(func() { f.readers-- })
			}), nil
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			patient = false
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// write waits for the other writers of this process and, unless the file is in WAL
// mode, for its reads: outside of WAL a commit needs the file for itself.
func (f *file) write(ctx context.Context) (release func(), err error) {
	f.mu.Lock()
	f.set(func() { f.waiting++ })
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.set(func() { f.waiting-- })
	}()
	moved, since := f.moved.Load(), time.Now()
	for {
		f.mu.Lock()
		if !f.writing && (f.wal.Load() || f.readers == 0) {
			f.set(func() { f.writing = true })
			f.mu.Unlock()
			return sync.OnceFunc(func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.set(func() { f.writing = false })
			}), nil
		}
		changed, writing := f.changed, f.writing
		f.mu.Unlock()
		if now := f.moved.Load(); now != moved || writing {
			moved, since = now, time.Now()
		}
		if time.Since(since) > stallTimeout {
			return nil, fmt.Errorf("%s is being read by this process and the read has not moved for %s: a file that is not in WAL mode cannot be read and written by one model at once", f.path, stallTimeout)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// readAll takes the read side of several files, in one order for all callers.
func readAll(ctx context.Context, all []*file) (release func(), err error) {
	var releases []func()
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	for _, f := range inOrder(all) {
		r, err := f.read(ctx)
		if err != nil {
			release()
			return nil, err
		}
		releases = append(releases, r)
	}
	return release, nil
}

// inOrder sorts files and leaves each once.
func inOrder(all []*file) []*file {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *file) int {
		switch {
		case a.path < b.path:
			return -1
		case a.path > b.path:
			return 1
		}
		return 0
	})
	return slices.Compact(sorted)
}
