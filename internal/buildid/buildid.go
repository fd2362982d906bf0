// Package buildid tells builds of the running program apart: what one build keeps on disk
// another may not understand, or may mean something else by.
package buildid

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// head is how much of a program is searched for the mark that the Go linker leaves near
// the beginning.
const head = 64 << 10

// Get returns a text that two different builds do not share: the linker's build id, which
// is a hash of all that went into the program, or the hash of the program's file.
func Get() (string, error) {
	f, err := open()
	if err != nil {
		return "", fmt.Errorf("opening the running program: %w", err)
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, head)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	if id := find(start[:n]); id != "" {
		return id, nil
	}
	h := sha256.New()
	h.Write(start[:n])
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the running program: %w", err)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// open opens the file that runs, which is not the one at its path when that was replaced
// meanwhile.
func open() (*os.File, error) {
	if runtime.GOOS == "linux" {
		if f, err := os.Open("/proc/self/exe"); err == nil {
			return f, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// find looks for the id in an ELF note (name "Go", type 4) or where the linker puts it in
// other formats; "" if it is in neither, or was set to nothing.
func find(b []byte) string {
	if i := bytes.Index(b, []byte("\x04\x00\x00\x00Go\x00\x00")); i >= 4 {
		size := int(b[i-4]) | int(b[i-3])<<8
		if at := i + 8; at+size <= len(b) {
			return string(b[at : at+size])
		}
	}
	if _, rest, ok := bytes.Cut(b, []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(rest, []byte("\"\n \xff")); ok {
			return string(id)
		}
	}
	return ""
}
