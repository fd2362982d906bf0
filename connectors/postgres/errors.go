package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// SQLSTATE codes that a decision hangs on.
const (
	codeUndefinedTable   = "42P01"
	codeUndefinedSchema  = "3F000"
	codeLockNotAvailable = "55P03"
	codeDeadlock         = "40P01"
	codeDuplicateSchema  = "42P06"
	codeUniqueViolation  = "23505"
	codeForeignKey       = "23503"
	codeUndefinedObject  = "42704"
	codeLimitExceeded    = "54000"
	codeAdminShutdown    = "57P01"
	codeCrashShutdown    = "57P02"
	codeCannotConnectNow = "57P03"
)

// hasCode reports whether err stems from a server error with one of the codes.
func hasCode(err error, codes ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, c := range codes {
		if pg.Code == c {
			return true
		}
	}
	return false
}

// serverError is the engine's message with what it adds to it.
type serverError struct{ pg *pgconn.PgError }

func (e *serverError) Error() string {
	s := e.pg.Message + " (SQLSTATE " + e.pg.Code + ")"
	for _, more := range []struct{ label, text string }{{"detail", e.pg.Detail}, {"hint", e.pg.Hint}, {"where", e.pg.Where}} {
		if more.text != "" {
			s += "; " + more.label + ": " + strings.ReplaceAll(more.text, "\n", " ")
		}
	}
	return s
}

func (e *serverError) Unwrap() error { return e.pg }

func (e *serverError) Is(target error) bool {
	return target == connectors.ErrNotFound && (e.pg.Code == codeUndefinedTable || e.pg.Code == codeUndefinedSchema)
}

// statementError wraps what the server said of sql; nil stays nil. shift is the length
// in characters of what was sent in front of sql.
func (c *conn) statementError(sql string, shift int, err error) error {
	if err == nil {
		return nil
	}
	var done *connectors.StatementError
	if errors.As(err, &done) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		err = &serverError{pg}
		if ended(pg) {
			err = c.lost(err)
		}
		return &connectors.StatementError{SQL: sql, Position: bytePosition(sql, int(pg.Position), shift), Err: err}
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return c.connectError(err)
	}
	if connectors.Broken(err) || errors.Is(err, pgconn.ErrConnClosed) {
		err = c.lost(err)
	}
	return &connectors.StatementError{SQL: sql, Position: -1, Err: err}
}

// lost says of which server a session broke off. What broke it has broken the idle ones
// too.
func (c *conn) lost(err error) error {
	c.pool.Reset()
	return &connectors.LostError{Where: c.settings.where(), Err: err}
}

// ended: the server's last word on a session that it ends, because it shuts down or an
// administrator wants so, or because what reached it was cut off.
func ended(pg *pgconn.PgError) bool {
	return pg.Severity == "FATAL" && (pg.Code == codeAdminShutdown || pg.Code == codeCrashShutdown || strings.HasPrefix(pg.Code, "08"))
}

// bytePosition turns the server's position, counted in characters from 1 over what was
// sent, into a byte offset of sql; -1 if it has none.
func bytePosition(sql string, pos, shift int) int {
	pos -= 1 + shift
	if pos < 0 {
		return -1
	}
	n := 0
	for i := range sql {
		if n == pos {
			return i
		}
		n++
	}
	if n == pos {
		return len(sql)
	}
	return -1
}

func (c *conn) connectError(err error) error {
	if hasCode(err, codeCannotConnectNow) { // it is starting, or stopping
		err = &connectors.LostError{Where: c.settings.where(), Err: err}
	}
	return &connectors.ConnectError{Where: c.settings.where(), Err: &connectCause{text: redact(causeOf(err), c.settings.password), err: err}}
}

// connectCause is the driver's error of several lines, one per address and TLS mode it
// tried, cut down to the one that says what is wrong.
type connectCause struct {
	text string
	err  error
}

func (e *connectCause) Error() string { return e.text }
func (e *connectCause) Unwrap() error { return e.err }

func causeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return (&serverError{pg}).Error()
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return "unknown host " + dns.Name
		}
		return "looking up " + dns.Name + ": " + dns.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer within the connect timeout"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		if op.Timeout() {
			return "no answer within the connect timeout"
		}
		return op.Op + ": " + strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && connect.Unwrap() != nil {
		err = connect.Unwrap()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// redact removes a secret from a text that a driver wrote.
func redact(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, "***")
}
