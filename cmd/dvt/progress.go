package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/run"
)

// progressAfter is how long a model runs before its progress is worth a line.
const progressAfter = 2 * time.Second

// showProgress keeps one line below the events with what is being moved, on a terminal
// only; the returned function ends it.
func (a *app) showProgress(r *run.Runner) (stop func()) {
	if a.quiet || a.logFormat == "json" || !isTerminal(a.stdout) {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				a.progressLine("")
				return
			case <-tick.C:
				a.progressLine(progressText(r.Progress()))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// progressLine replaces the line; Event clears it before it prints.
func (a *app) progressLine(text string) {
	printing.Lock()
	defer printing.Unlock()
	if text == "" && !a.progressShown {
		return
	}
	_, _ = fmt.Fprint(a.stdout, "\r\x1b[K"+text)
	a.progressShown = text != ""
}

func progressText(active []run.Active) string {
	var parts []string
	for _, m := range active {
		took := time.Since(m.Since)
		if took < progressAfter {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s rows, %.0f rows/s, %.1f MB", m.Model, run.Thousands(m.Rows), float64(m.Rows)/took.Seconds(), float64(m.Bytes)/1e6))
	}
	if len(parts) == 0 {
		return ""
	}
	text := "  … " + strings.Join(parts, " · ")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:99]) + "…"
	}
	return text
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
