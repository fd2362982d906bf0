package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
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

// tee sends log records to the file, and to the terminal what is no event already:
// warnings as events, which --quiet, --log-format and colours are for, and with --debug
// the rest as it stands in the file.
type tee struct {
	file, debug slog.Handler
	app         *app
	attrs       []slog.Attr // of With
}

func (t tee) Enabled(context.Context, slog.Level) bool { return true }

func (t tee) Handle(ctx context.Context, r slog.Record) error {
	event := false
	attrs := slices.Clone(t.attrs)
	r.Attrs(func(a slog.Attr) bool {
		event = event || a.Key == run.EventKey
		attrs = append(attrs, a)
		return true
	})
	var err error
	if t.file.Enabled(ctx, r.Level) {
		err = t.file.Handle(ctx, r.Clone())
	}
	switch {
	case event:
	case r.Level >= slog.LevelWarn:
		text := r.Message
		for i, a := range attrs {
			text += []string{" (", ", "}[min(i, 1)] + a.Key + ": " + a.Value.String()
		}
		if len(attrs) > 0 {
			text += ")"
		}
		t.app.warn(text)
	case t.app.debug:
		err = errors.Join(err, t.debug.Handle(ctx, r.Clone()))
	}
	return err
}

func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	t.file, t.debug, t.attrs = t.file.WithAttrs(attrs), t.debug.WithAttrs(attrs), append(slices.Clone(t.attrs), attrs...)
	return t
}

func (t tee) WithGroup(name string) slog.Handler {
	t.file, t.debug = t.file.WithGroup(name), t.debug.WithGroup(name)
	return t
}
