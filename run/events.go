package run

import (
	"fmt"
	"strings"
	"time"
)

// Event is something that a run tells its user. Text is the line as a terminal shows
// it; the other fields are the same facts for JSON logs.
type Event struct {
	Time   time.Time      `json:"ts"`
	Level  Level          `json:"level"`
	Name   string         `json:"name"` // run_start, node_start, node_finish, node_skip, warning, progress, summary, ...
	Text   string         `json:"msg"`
	Node   string         `json:"node,omitempty"` // unique id
	Status Status         `json:"status,omitempty"`
	Fields map[string]any `json:"data,omitempty"`
}

// EventKey is the key of an event's name in the log, where each event is recorded too.
const EventKey = "event"

// Level is an event's weight.
type Level string

// The levels.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Fault Level = "error"
)

// Sink receives events; it must be safe for concurrent use.
type Sink interface{ Event(Event) }

// lineWidth is where the bracketed part of a node's line begins, as dbt users know it.
const lineWidth = 62

// statusLine pads text with dots up to the bracketed part.
func statusLine(text, bracket string) string {
	dots := max(lineWidth-len([]rune(text))-1, 3)
	return text + " " + strings.Repeat(".", dots) + " [" + bracket + "]"
}

// Thousands writes n with commas: 1,204,311.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + one + "s"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
