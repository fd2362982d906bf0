package connectors

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// ErrNotFound says that a relation, database or file does not exist.
var ErrNotFound = errors.New("not found")

// notFound is an ErrNotFound whose text says all.
type notFound string

// NotFound gives an ErrNotFound that reads as text.
func NotFound(text string) error { return notFound(text) }

func (e notFound) Error() string        { return string(e) }
func (e notFound) Is(target error) bool { return target == ErrNotFound }

// ErrEngineGone says that a DuckDB is closed, or refuses every statement after a failure
// of its own. What was attached in it is not any more.
var ErrEngineGone = errors.New("DuckDB has ended")

// ErrChanged says that what is read was emptied, replaced or altered by others since the
// reading began, so that the rest of it cannot be read any more. Work that has applied
// nothing may succeed from its beginning.
var ErrChanged = errors.New("run again")

// ErrTooOld says that the server lacks what the model needs.
var ErrTooOld = errors.New("server too old")

// ConnectError says that a connection could not be opened. Its text names host and
// port, never a secret.
type ConnectError struct {
	Where string // "postgres 127.0.0.1:5432/dvt"
	Err   error
}

func (e *ConnectError) Error() string { return "connecting to " + e.Where + ": " + e.Err.Error() }
func (e *ConnectError) Unwrap() error { return e.Err }

// LostError says that an open connection broke off. Whether the statement that was under
// way took effect is not known.
type LostError struct {
	Where string // as in ConnectError
	Err   error
}

func (e *LostError) Error() string {
	return "the connection to " + e.Where + " was lost: " + e.Err.Error()
}
func (e *LostError) Unwrap() error { return e.Err }

// Lost reports whether err says that an open connection broke off.
func Lost(err error) bool {
	var l *LostError
	return errors.As(err, &l)
}

// Broken reports whether err says that a network peer hung up or vanished, and not that
// it was silent for too long.
func Broken(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// StatementError is an engine's refusal of one statement, with the engine's own
// message.
type StatementError struct {
	SQL      string
	Position int // byte offset of the fault in SQL, -1 if the engine does not say
	Err      error
}

func (e *StatementError) Error() string { return e.Err.Error() }
func (e *StatementError) Unwrap() error { return e.Err }

// ValueError says that one value cannot be carried exactly. It is found before the
// target is touched.
type ValueError struct {
	Column string
	Value  string // the value, shortened for print
	Row    string // which row: key columns and values, or its number in the stream
	Reason string // what is wrong and what the user can do
}

func (e *ValueError) Error() string {
	s := fmt.Sprintf("column %q: value %s", e.Column, e.Value)
	if e.Row != "" {
		s += " in row " + e.Row
	}
	return s + ": " + e.Reason
}

// TypeError says that a column's type cannot be carried, or not to this target.
type TypeError struct {
	Column string
	Native string
	Reason string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("column %q of type %s: %s", e.Column, e.Native, e.Reason)
}

// LockedError says that another run holds the lock of a relation.
type LockedError struct{ Relation Relation }

func (e *LockedError) Error() string {
	return fmt.Sprintf("another run holds the lock of %s", e.Relation)
}

// Shorten cuts a value for an error text to about 80 characters.
func Shorten(s string) string {
	r := []rune(strings.ToValidUTF8(s, "�"))
	if len(r) <= 80 {
		return string(r)
	}
	return string(r[:77]) + "…"
}
