package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Codes of server errors that dvt decides by.
const (
	codeUnknownTable    = 60
	codeTableExists     = 57
	codeUnknownDatabase = 81
	codeReadonly        = 164
	codeTableDropped    = 218
	codeCannotOpen      = 76
	codeNoSuchFile      = 107
	codePoco            = 1000
	codeTableLocked     = 368 // a table of that name is being created or dropped
)

// exception is an error that the server reported.
type exception struct {
	code int
	msg  string
}

func (e *exception) Error() string { return fmt.Sprintf("%s (code %d)", e.msg, e.code) }

// Is makes a missing table or database recognisable whatever statement named it.
func (e *exception) Is(target error) bool {
	return target == connectors.ErrNotFound && (e.code == codeUnknownTable || e.code == codeUnknownDatabase)
}

func newException(code int, msg string) *exception {
	msg = strings.TrimPrefix(strings.TrimSpace(msg), "DB::Exception: ")
	if i := strings.Index(msg, ", e.what() = "); i > 0 {
		msg = msg[:i]
	}
	return &exception{code, strings.TrimSpace(msg)}
}

func isCode(err error, codes ...int) bool {
	var e *exception
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.code == c {
			return true
		}
	}
	return false
}

var positionText = regexp.MustCompile(`failed at position (\d+)`)

// statementError wraps what the server said about sql. Errors that are not the
// server's (the network, the context, a value) pass unchanged.
func statementError(sql string, err error) error {
	var e *exception
	if !errors.As(err, &e) {
		return err
	}
	pos := -1
	if m := positionText.FindStringSubmatch(e.msg); m != nil {
		if n, _ := strconv.Atoi(m[1]); n > 0 && n <= len(sql)+1 {
			pos = n - 1
		}
	}
	return &connectors.StatementError{SQL: sql, Position: pos, Err: e}
}

// dialError says in one line why a connection could not be opened.
func dialError(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("unknown host %s", dns.Name)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer within connect_timeout")
	case errors.As(err, &op) && op.Op == "dial":
		if op.Timeout() {
			return errors.New("no answer within connect_timeout")
		}
		return op.Err
	}
	return err
}
