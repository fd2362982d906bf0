// Package memo keeps answers that cost time in a file, by the hash of all that they depend
// on. Nothing is lost with the file: what cannot be read, is damaged, or is of another
// build is an answer that is not there.
package memo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dvt-dev/dvt/internal/filelock"
)

// Key is the hash of a question.
type Key = [sha256.Size]byte

const (
	// maxFile bounds the file; the answers not used for longest go.
	maxFile = 32 << 20
	// maxIdle is the number of times that the file is written without an answer being
	// used, after which the answer goes.
	maxIdle = 100
	// newIdle is what an answer that only its own process has used counts as: questions
	// with values of the day in them are not asked again.
	newIdle = 80
)

// File is a set of answers. Its methods may be called from several goroutines, and
// several processes may use one path.
type File struct {
	path  string
	head  []byte // what the file begins with
	fresh bool
	keep  func([]byte) bool

	read  sync.Once
	mu    sync.Mutex
	known map[Key]*answer
	dirty bool // there is something to save
	found int
}

type answer struct {
	value []byte
	idle  uint64 // writes of the file since it was used, when it was read
	used  bool   // since then
	isNew bool   // this process's own
}

// Options say what a File holds.
type Options struct {
	Path string
	// Stamp names who gives the answers: those under another stamp are not there.
	Stamp string
	// Fresh leaves alone what the file has: everything is answered anew, and kept.
	Fresh bool
	// Keep reports whether an answer may be written down; nil: all may.
	Keep func(value []byte) bool
}

// New is the set at o.Path, which need not exist. It is read when first asked.
func New(o Options) *File {
	stamp := sha256.Sum256([]byte(o.Stamp))
	return &File{path: o.Path, head: append([]byte("dvt memo 1\n"), stamp[:]...), fresh: o.Fresh, keep: o.Keep, known: map[Key]*answer{}}
}

// Get returns the answer under key, not to be changed; nil if there is none.
func (f *File) Get(key Key) []byte {
	f.read.Do(func() {
		if f.fresh {
			return
		}
		there := f.load()
		f.mu.Lock()
		defer f.mu.Unlock()
		maps.Copy(there, f.known)
		f.known = there
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.known[key]
	if a == nil {
		return nil
	}
	f.dirty = f.dirty || !a.used && a.idle >= newIdle // asked again: it will be kept longer
	a.used = true
	f.found++
	return a.value
}

// Put adds an answer.
func (f *File) Put(key Key, value []byte) {
	if f.keep != nil && !f.keep(value) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[key], f.dirty = &answer{value: value, used: true, isNew: true}, true
}

// Found is how often Get had an answer.
func (f *File) Found() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}

// Save writes the file if there is news, together with those that other processes
// wrote meanwhile. The file at the path is the old one or the new one as a whole, whenever
// the process ends. While another process writes, nothing is: its answers are as good.
func (f *File) Save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	release, err := filelock.Acquire(context.Background(), f.path+".lock", 0, nil)
	if err != nil || release == nil {
		return err
	}
	defer release()
	there := f.load()
	for _, a := range there {
		a.idle++
	}
	for key, a := range f.known {
		if !a.used {
			continue
		}
		idle := uint64(0)
		if a.isNew {
			idle = newIdle
			if other := there[key]; other != nil { // put by another, or asked for anew
				idle = min(idle, other.idle)
			}
		}
		there[key] = &answer{value: a.value, idle: idle}
	}
	if err := f.write(f.encode(there)); err != nil {
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	f.dirty = false
	return nil
}

// write replaces the file. It is not forced to the disk: after a power cut it may be
// damaged, which is seen.
func (f *File) write(data []byte) error {
	next := f.path + ".new" // one name, so that what a killed process leaves is used again
	err := os.Remove(next)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return os.Rename(next, f.path)
}

// An entry is the key, the idle count, the length of the value, the value and the check.
const checkSize = 16

func check(entry []byte) []byte {
	sum := sha256.Sum256(entry)
	return sum[:checkSize]
}

// encode leaves out what has not been used for long.
func (f *File) encode(all map[Key]*answer) []byte {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b Key) int {
		if x, y := all[a].idle, all[b].idle; x != y {
			return int(min(x, maxIdle+1)) - int(min(y, maxIdle+1))
		}
		return bytes.Compare(a[:], b[:])
	})
	out := slices.Clone(f.head)
	for _, key := range keys {
		a := all[key]
		if a.idle > maxIdle {
			break
		}
		size := len(key) + 2*binary.MaxVarintLen64 + len(a.value) + checkSize
		if len(out)+size > maxFile {
			continue
		}
		at := len(out)
		out = append(out, key[:]...)
		out = binary.AppendUvarint(out, a.idle)
		out = binary.AppendUvarint(out, uint64(len(a.value)))
		out = append(out, a.value...)
		out = append(out, check(out[at:])...)
	}
	return out
}

// load reads the file; what cannot be read has no answers.
func (f *File) load() map[Key]*answer {
	info, err := os.Stat(f.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return map[Key]*answer{}
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return map[Key]*answer{}
	}
	return f.decode(data)
}

// decode gives the answers up to the first that is damaged: where the next one begins is
// not known then.
func (f *File) decode(data []byte) map[Key]*answer {
	out := map[Key]*answer{}
	if !bytes.HasPrefix(data, f.head) {
		return out
	}
	for rest := data[len(f.head):]; len(rest) > 0; {
		var key Key
		if len(rest) < len(key) {
			break
		}
		copy(key[:], rest)
		at := len(key)
		idle, n := binary.Uvarint(rest[at:])
		if n <= 0 {
			break
		}
		at += n
		size, n := binary.Uvarint(rest[at:])
		if n <= 0 {
			break
		}
		at += n
		if left := len(rest) - at - checkSize; left < 0 || size > uint64(left) {
			break
		}
		end := at + int(size)
		if !bytes.Equal(check(rest[:end]), rest[end:end+checkSize]) {
			break
		}
		out[key] = &answer{value: rest[at:end:end], idle: idle}
		rest = rest[end+checkSize:]
	}
	return out
}
