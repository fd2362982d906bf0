package sqlite

/*
#cgo CFLAGS: -O2
#cgo linux LDFLAGS: -lm
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#include <stdlib.h>
#include "lite.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // compiles SQLite into the program

	"github.com/dvt-dev/dvt/connectors"
)

// Flags of sqlite3_open_v2. NOMUTEX: a session is used by one goroutine at a time.
const (
	openReadWrite = 0x2
	openCreate    = 0x4
	openURI       = 0x40
	openNoMutex   = 0x8000
)

// Primary result codes that callers decide by.
const (
	codeAny        = 1
	codeBusy       = 5
	codeLocked     = 6
	codeInterrupt  = 9
	codeFull       = 13
	codeConstraint = 19
	codeNotADB     = 26
)

// libVersion is SQLite's own version: "3.50.4".
func libVersion() string { return C.GoString(C.sqlite3_libversion()) }

// codeError is SQLite's refusal with its own message.
type codeError struct {
	code int // extended
	msg  string
}

func (e *codeError) Error() string { return e.msg }

// hasCode reports whether err is SQLite's with one of the primary codes.
func hasCode(err error, codes ...int) bool {
	var e *codeError
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.code&0xff == c {
			return true
		}
	}
	return false
}

// session is one SQLite connection. It is used by one goroutine at a time; only
// interrupt may come from another.
type session struct {
	db   *C.sqlite3
	wait *C.lite_wait
	path string
}

var initOnce sync.Once

func openSession(path string, create bool, wait time.Duration) (*session, error) {
	flags := openReadWrite | openNoMutex | openURI
	if create {
		flags |= openCreate
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	s := &session{path: path, wait: (*C.lite_wait)(C.calloc(1, C.sizeof_lite_wait))}
	s.wait.limit_ms = C.int64_t(wait.Milliseconds())
	if rc := C.sqlite3_open_v2(name, &s.db, C.int(flags), nil); rc != C.LITE_OK {
		err := s.fail("", int(rc))
		s.close()
		return nil, err
	}
	C.lite_set_wait(s.db, s.wait)
	initOnce.Do(func() { C.lite_init() })
	if rc := C.lite_functions(s.db); rc != C.LITE_OK {
		err := s.fail("", int(rc))
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	// Everything of a session is finalized before, so that this cannot fail.
	C.sqlite3_close(s.db)
	C.free(unsafe.Pointer(s.wait))
	s.db, s.wait = nil, nil
}

// fail is the error of the last call, which returned rc.
func (s *session) fail(sql string, rc int) error {
	err := &codeError{code: rc, msg: "out of memory"}
	pos := -1
	if s.db != nil {
		if x := int(C.sqlite3_extended_errcode(s.db)); x&0xff == rc&0xff {
			err.code = x
		}
		err.msg = C.GoString(C.sqlite3_errmsg(s.db))
		pos = int(C.sqlite3_error_offset(s.db))
	}
	if hasCode(err, codeBusy, codeLocked) {
		err.msg = fmt.Sprintf("another process holds a lock on %s (waited %s)", s.path, time.Duration(s.wait.limit_ms)*time.Millisecond)
	}
	if sql == "" {
		return err
	}
	return &connectors.StatementError{SQL: sql, Position: pos, Err: err}
}

// guard runs f so that the end of ctx interrupts the statement that f runs. An error
// of f after that is ctx's.
func (s *session) guard(ctx context.Context, f func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.setCancel(1)
		C.sqlite3_interrupt(s.db)
	})
	err := f()
	if !stop() {
		<-ended
		s.setCancel(0)
	}
	if err != nil && ctx.Err() != nil && hasCode(err, codeInterrupt, codeBusy) {
		return context.Cause(ctx)
	}
	return err
}

func (s *session) setCancel(v C.int) {
	// Read by the busy handler, which a C call of another thread may be running.
	C.lite_cancel(s.wait, v)
}

// setWait sets how long a lock is waited for and returns what it was.
func (s *session) setWait(wait time.Duration) (before time.Duration) {
	before = time.Duration(s.wait.limit_ms) * time.Millisecond
	s.wait.limit_ms = C.int64_t(wait.Milliseconds())
	return before
}

// exec runs all statements of sql.
func (s *session) exec(ctx context.Context, sql string) error {
	if strings.IndexByte(sql, 0) >= 0 {
		return errors.New("a statement contains a NUL byte")
	}
	return s.guard(ctx, func() error {
		text := C.CString(sql)
		defer C.free(unsafe.Pointer(text))
		if rc := C.sqlite3_exec(s.db, text, nil, nil, nil); rc != C.LITE_OK {
			return s.fail(sql, int(rc))
		}
		return nil
	})
}

// inTransaction reports whether a transaction is open.
func (s *session) inTransaction() bool { return C.sqlite3_get_autocommit(s.db) == 0 }

// stmt is one prepared statement.
type stmt struct {
	s   *session
	c   *C.sqlite3_stmt
	sql string
}

// prepare compiles the one statement that sql holds.
func (s *session) prepare(sql string) (*stmt, error) {
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, errors.New("a statement contains a NUL byte")
	}
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	st := &stmt{s: s, sql: sql}
	var tail *C.char
	if rc := C.sqlite3_prepare_v2(s.db, text, -1, &st.c, &tail); rc != C.LITE_OK {
		return nil, s.fail(sql, int(rc))
	}
	if st.c == nil || strings.Trim(C.GoString(tail), " \t\r\n;") != "" {
		st.close()
		return nil, &connectors.StatementError{SQL: sql, Position: -1, Err: errors.New("exactly one statement is expected")}
	}
	return st, nil
}

func (st *stmt) close() { C.sqlite3_finalize(st.c) }

func (st *stmt) readonly() bool       { return C.sqlite3_stmt_readonly(st.c) != 0 }
func (st *stmt) columns() int         { return int(C.sqlite3_column_count(st.c)) }
func (st *stmt) column(i int) string  { return C.GoString(C.sqlite3_column_name(st.c, C.int(i))) }
func (st *stmt) null(i int) bool      { return C.sqlite3_column_type(st.c, C.int(i)) == C.LITE_NULL }
func (st *stmt) integer(i int) int64  { return int64(C.sqlite3_column_int64(st.c, C.int(i))) }
func (st *stmt) double(i int) float64 { return float64(C.sqlite3_column_double(st.c, C.int(i))) }
func (st *stmt) class(i int) int      { return int(C.sqlite3_column_type(st.c, C.int(i))) }
func (st *stmt) text(i int) string    { return string(st.bytes(i, false)) }
func (st *stmt) step() (bool, error) {
	switch rc := C.sqlite3_step(st.c); rc {
	case C.LITE_ROW:
		return true, nil
	case C.LITE_DONE:
		return false, nil
	default:
		return false, st.s.fail(st.sql, int(rc))
	}
}

// bytes copies a text or blob.
func (st *stmt) bytes(i int, blob bool) []byte {
	var p unsafe.Pointer
	if blob {
		p = C.sqlite3_column_blob(st.c, C.int(i))
	} else {
		p = unsafe.Pointer(C.sqlite3_column_text(st.c, C.int(i)))
	}
	return C.GoBytes(p, C.sqlite3_column_bytes(st.c, C.int(i)))
}

// rows runs sql and calls row for each row; for the catalog's few rows.
func (s *session) rows(ctx context.Context, sql string, row func(st *stmt) error) error {
	return s.guard(ctx, func() error {
		st, err := s.prepare(sql)
		if err != nil {
			return err
		}
		defer st.close()
		for {
			more, err := st.step()
			if err != nil || !more {
				return err
			}
			if err := row(st); err != nil {
				return err
			}
		}
	})
}

// collation is a table column's collating sequence, "" for a view's column.
func (s *session) collation(schema, table, column string) string {
	args := [3]*C.char{C.CString(schema), C.CString(table), C.CString(column)}
	defer func() {
		for _, a := range args {
			C.free(unsafe.Pointer(a))
		}
	}()
	var coll *C.char
	if C.sqlite3_table_column_metadata(s.db, args[0], args[1], args[2], nil, &coll, nil, nil, nil) != C.LITE_OK || coll == nil {
		return ""
	}
	return C.GoString(coll)
}
