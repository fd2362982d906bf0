package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/run"
)

var printing sync.Mutex

// Event prints a run's event as a line of text or JSON.
func (a *app) Event(e run.Event) {
	if a.quiet && e.Level != run.Fault {
		return
	}
	if e.Level == run.Debug && !a.debug {
		return
	}
	w := a.stdout
	if a.dataOnStdout {
		w = a.stderr
	}
	printing.Lock()
	defer printing.Unlock()
	if a.progressShown {
		_, _ = fmt.Fprint(a.stdout, "\r\x1b[K")
		a.progressShown = false
	}
	e.Text = a.redact(e.Text)
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if a.logFormat == "json" {
		line, err := json.Marshal(e)
		if err == nil {
			_, _ = fmt.Fprintln(w, a.redact(string(line)))
		}
		return
	}
	_, _ = fmt.Fprintln(w, a.colour(e))
}

func (a *app) colour(e run.Event) string {
	if !a.colours() {
		return e.Text
	}
	code := ""
	switch {
	case e.Level == run.Fault:
		code = "\x1b[31m"
	case e.Level == run.Warn || e.Status == run.Skipped:
		code = "\x1b[33m"
	case e.Name == "node_finish" && e.Status == run.Success:
		code = "\x1b[32m"
	default:
		return e.Text
	}
	return code + e.Text + "\x1b[0m"
}

// colours holds on a terminal that has not said no.
func (a *app) colours() bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && isTerminal(a.stdout)
}

// say prints an information line.
func (a *app) say(format string, args ...any) {
	a.Event(run.Event{Level: run.Info, Name: "info", Text: fmt.Sprintf(format, args...)})
}

// out prints a command's own result, quiet or not.
func (a *app) out(text string) error {
	_, err := fmt.Fprintln(a.stdout, a.redact(strings.TrimRight(text, "\n")))
	return err
}

// tee sends log records to the file and to the terminal, which shows events by itself.
type tee struct{ file, terminal slog.Handler }

func (t tee) Enabled(ctx context.Context, l slog.Level) bool {
	return t.file.Enabled(ctx, l) || t.terminal.Enabled(ctx, l)
}

func (t tee) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	event := false
	r.Attrs(func(a slog.Attr) bool {
		event = a.Key == run.EventKey
		return !event
	})
	for _, h := range []slog.Handler{t.file, t.terminal} {
		if event && h == t.terminal {
			continue
		}
		if h.Enabled(ctx, r.Level) {
			errs = append(errs, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tee{t.file.WithAttrs(attrs), t.terminal.WithAttrs(attrs)}
}

func (t tee) WithGroup(name string) slog.Handler {
	return tee{t.file.WithGroup(name), t.terminal.WithGroup(name)}
}
