// Command dvt runs dbt-style SQL models whose tables live on several databases. This
// package turns flags into calls of the rooms below it and events into lines; it holds
// no SQL and no engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

// version is set by the build.
var version = "0.1.0-dev"

// Exit codes, as the documentation promises them.
const (
	exitOK          = 0
	exitFailed      = 1 // a model or test failed
	exitUsage       = 2 // usage or project error; no node started
	exitInterrupted = 130
)

func main() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Main is the program with its surroundings as arguments.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible()
	defer stop()
	app := &app{stdout: stdout, stderr: stderr}
	root := app.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if e := app.close(); err == nil && e != nil {
		err = e
	}
	switch {
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	case err == nil:
		return exitOK
	}
	var failed *failedError
	if errors.As(err, &failed) {
		return exitFailed
	}
	_, _ = fmt.Fprintln(stderr, app.redact(errorText(err)))
	var conn *nodeError
	if errors.As(err, &conn) {
		return exitFailed
	}
	return exitUsage
}

var errInterrupted = errors.New("interrupted")

// interruptible gives a context that the first SIGINT or SIGTERM cancels; a second one
// ends the process at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// failedError says that nodes failed; their messages are printed already.
type failedError struct{ n int }

func (e *failedError) Error() string { return fmt.Sprintf("%d failed", e.n) }

// nodeError is a failure of a node outside a run (show, explain): exit code 1.
type nodeError struct{ err error }

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

func errorText(err error) string { return "Error: " + err.Error() }
