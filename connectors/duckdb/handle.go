package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// handle is one database file, shared by all connections of the process: DuckDB's locks
// are the process's, so a second opening would not be kept out by the first. The file is
// attached while somebody uses it, read-only unless somebody writes. Nothing here ever
// opens the file itself: closing it would drop the process's lock on it.
type handle struct {
	path, alias string

	mu      sync.Mutex
	engine  connectors.Engine // in which it is attached
	mode    mode
	users   int
	writers int           // waiting to write: new readers queue behind them
	busy    bool          // being attached or detached
	changed chan struct{} // closed when any of the above changes

	swap sync.Mutex // one transaction that changes the catalog at a time
}

type mode uint8

const (
	detached mode = iota
	reading
	writing
)

// foreignWait is how long a lock of another process is waited for.
var foreignWait = 60 * time.Second

var (
	handlesMu sync.Mutex
	handles   = map[string]*handle{}
	aliases   = map[string]bool{"memory": true, "main": true, "system": true, "temp": true}
)

// handleOf is the handle of a real path. Its alias is how the database is called in SQL:
// the file's name, as DuckDB itself would call it, unless another file has it.
func handleOf(path string) *handle {
	handlesMu.Lock()
	defer handlesMu.Unlock()
	if h := handles[path]; h != nil {
		return h
	}
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if base == "" || strings.Contains(base, "__dvt") {
		base = "database"
	}
	alias := base
	for i := 2; aliases[strings.ToLower(alias)]; i++ {
		alias = fmt.Sprintf("%s_%d", base, i)
	}
	aliases[strings.ToLower(alias)] = true
	h := &handle{path: path, alias: alias, changed: make(chan struct{})}
	handles[path] = h
	return h
}

// notify wakes all who wait; h.mu is held.
func (h *handle) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// acquire attaches the file to e, or waits until it may. Several readers, or several
// writers with readers, use one attachment; a writer waits until those who read through
// a read-only one are done.
func (h *handle) acquire(ctx context.Context, e connectors.Engine, want mode) (release func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if want == writing {
		h.writers++
		defer func() { h.writers--; h.notify() }()
	}
	for {
		turn := want == writing || h.mode == writing || h.writers == 0
		if !h.busy && turn && h.users == 0 && (h.mode < want || h.engine != e) {
			if err := h.reattach(ctx, e, want); err != nil {
				return nil, err
			}
		}
		if !h.busy && turn && h.mode >= want && h.engine == e {
			h.users++
			return sync.OnceFunc(func() { h.release() }), nil
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
			h.mu.Lock()
		case <-ctx.Done():
			h.mu.Lock()
			return nil, context.Cause(ctx)
		}
	}
}

// reattach is called with h.mu held and gives it up while it works.
func (h *handle) reattach(ctx context.Context, e connectors.Engine, want mode) error {
	h.busy = true
	was, in := h.mode, h.engine
	h.mu.Unlock()
	var err error
	if was != detached {
		err = h.detach(in)
	}
	if err == nil {
		was = detached
		if err = h.attach(ctx, e, want); err == nil {
			was, in = want, e
		}
	}
	h.mu.Lock()
	h.busy, h.mode, h.engine = false, was, in
	h.notify()
	return err
}

func (h *handle) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	if h.users > 0 || h.busy {
		h.notify()
		return
	}
	h.busy = true
	in := h.engine
	h.mu.Unlock()
	err := h.detach(in) // also writes the log into the file
	h.mu.Lock()
	h.busy = false
	if err == nil {
		h.mode, h.engine = detached, nil
	}
	h.notify()
}

// attach waits for the lock of another process.
func (h *handle) attach(ctx context.Context, e connectors.Engine, want mode) error {
	if err := h.check(want); err != nil {
		return err
	}
	s, err := e.Session(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	deadline := time.Now().Add(foreignWait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.Exec(ctx, attach(h.path, h.alias, want == writing))
		if err == nil || !strings.Contains(err.Error(), "Could not set lock") && !h.lingers(err) {
			return h.wrap(err)
		}
		if time.Now().After(deadline) {
			return &connectors.ConnectError{Where: engine + " " + h.path, Err: fmt.Errorf("another process has the file open, waited %s for it: %w", foreignWait, err)}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lingers says that the last detaching is not over: a transaction of another session
// that looked at all databases, as a look into the catalog does, holds the file until it
// ends.
func (h *handle) lingers(err error) bool {
	return strings.Contains(err.Error(), "Unique file handle conflict")
}

func (h *handle) wrap(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &connectors.ConnectError{Where: engine + " " + h.path, Err: err}
}

// check gives plain answers where DuckDB's would be about itself.
func (h *handle) check(want mode) error {
	info, err := os.Stat(h.path)
	switch {
	case err == nil && info.IsDir():
		return h.wrap(fmt.Errorf("it is a folder"))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return h.wrap(err)
	case want == writing:
		if _, err := os.Stat(filepath.Dir(h.path)); err != nil {
			return h.wrap(fmt.Errorf("its folder cannot be used: %w", err))
		}
		return nil
	}
	return h.wrap(connectors.NotFound("there is no such file"))
}

// detach does not listen to a cancelled run: the file must not stay locked. With an
// engine that has ended the attachment has, too.
func (h *handle) detach(e connectors.Engine) error {
	ctx, cancel := context.WithTimeout(context.Background(), foreignWait)
	defer cancel()
	s, err := e.Session(ctx)
	if errors.Is(err, connectors.ErrEngineGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.Exec(ctx, detach(h.alias)), s.Close())
}
