package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	my "github.com/go-sql-driver/mysql"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
)

// Error numbers of the server that callers decide by.
const (
	errUnknownDatabase = 1049
	errNoSuchTable     = 1146
	errBadTable        = 1051
	errLockWait        = 1205
	errPacketTooLarge  = 1153
	errFuncPacket      = 1301
	errDeadlock        = 1213
	errDuplicate       = 1062
	errNoSuchIndex     = 1176
	errNoThread        = 1094
	errNoTrigger       = 1360
	errNoDatabaseRight = 1044
	errNoTableRight    = 1142
	errTableChanged    = 1412
	errShutdown        = 1053
	errKilled          = 1927 // MariaDB: of a session that somebody ended
)

func isCode(err error, codes ...uint16) bool {
	var e *my.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Number == c {
			return true
		}
	}
	return false
}

// connectError says in one line why there is no session.
func (c *Conn) connectError(err error) error {
	var already *connectors.ConnectError
	if errors.As(err, &already) || errors.Is(err, context.Canceled) {
		return err
	}
	var server *my.MySQLError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &server):
		err = &clear{fmt.Sprintf("%s (error %d)", oneLine(server.Message), server.Number), err}
	case errors.As(err, &dns):
		err = &clear{"unknown host " + dns.Name, err}
	case errors.As(err, &op) && op.Err != nil:
		err = &clear{strings.TrimPrefix(oneLine(op.Err.Error()), "connect: "), err}
	case errors.Is(err, my.ErrInvalidConn):
		// The driver drops the cause.
		err = &clear{"the server closed the connection during login", errors.Join(err, io.ErrUnexpectedEOF)}
	case errors.Is(err, context.DeadlineExceeded):
		err = &clear{"no answer in time", err}
	}
	return &connectors.ConnectError{Where: c.where, Err: err}
}

// statementError gives the refusal of one statement its type.
func (c *Conn) statementError(sql string, err error) error {
	if errors.Is(err, my.ErrPktTooLarge) || isCode(err, errPacketTooLarge, errFuncPacket) {
		err = &clear{fmt.Sprintf("a value or statement exceeds the server's max_allowed_packet (%d bytes): raise that setting (%s)", c.server().maxPacket, err), err}
	}
	var server *my.MySQLError
	if !errors.As(err, &server) {
		if errors.Is(err, driver.ErrBadConn) { // found before anything was sent
			return &connectors.LostError{Where: c.where, Err: &clear{"the server closed the connection", err}}
		}
		if errors.Is(err, my.ErrInvalidConn) {
			// The driver drops the cause.
			text := "the server closed the connection"
			if c.queryTimeout > 0 {
				text += fmt.Sprintf(", or did not answer for %s (query_timeout is %s)", c.queryTimeout+netidle.Grace, c.queryTimeout)
			}
			return &connectors.LostError{Where: c.where, Err: &clear{text, err}}
		}
		return fmt.Errorf("%s: %w", c.where, err)
	}
	if server.Number == errShutdown || server.Number == errKilled {
		err = &connectors.LostError{Where: c.where, Err: err}
	}
	if server.Number == errNoSuchTable || server.Number == errUnknownDatabase || server.Number == errBadTable {
		err = &missing{err}
	}
	if server.Number == errTableChanged { // of InnoDB, instead of an empty table
		err = fmt.Errorf("another session emptied, replaced or altered the table after the snapshot was taken (%s): %w", oneLine(server.Error()), connectors.ErrChanged)
	}
	return &connectors.StatementError{SQL: sql, Position: -1, Err: err}
}

// clear is an error with a text of its own.
type clear struct {
	text  string
	cause error
}

func (e *clear) Error() string { return e.text }
func (e *clear) Unwrap() error { return e.cause }

// missing is a server's error that also Is connectors.ErrNotFound.
type missing struct{ error }

func (e *missing) Unwrap() []error { return []error{e.error, connectors.ErrNotFound} }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
