package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
)

// faultCell is one step × fault on one target engine.
type faultCell struct {
	target, kind, step, fault string
	src, lane                 string  // drawn
	at                        float64 // drawn: where in the step, 0 to 1
}

func (c faultCell) String() string {
	return fmt.Sprintf("%-4s %-7s %-14s %-8s from %s, %s", c.target, c.kind, c.step, c.fault, c.src, c.lane)
}

var (
	faultTargets = []string{"pg", "my", "ch", "lite", "duck", "lake", "s3"}
	netFaults    = []string{"cut", "down", "restart", "stall", "slow", "truncate", "kill", "int", "term"}
	killFaults   = []string{"kill", "int", "term"}
)

// faultCells lists every cell that makes sense: a file has no connection to cut, and only
// window-style models keep state.
func faultCells(rng *rand.Rand, kinds map[string][]string) []faultCell {
	var cells []faultCell
	add := func(target, kind, step string, faults ...string) {
		for _, f := range faults {
			cells = append(cells, faultCell{target: target, kind: kind, step: step, fault: f})
		}
	}
	for _, target := range faultTargets {
		for _, kind := range kinds[target] {
			server := stepTexts[target] != nil
			add(target, kind, "any", killFaults...)
			add(target, kind, "any", killFaults...) // twice: the moment is random
			add(target, kind, "beside", "second")
			if server {
				add(target, kind, "apply", netFaults...)
				add(target, kind, "applied", netFaults...)
			}
			if kind == "window" { // a merge that keeps state: what a merge has not shown
				if server {
					add(target, kind, "state", netFaults...)
				}
				continue
			}
			for _, step := range []string{"connect", "describe", "extract first", "extract middle", "extract last"} {
				add(target, kind, step, netFaults...)
			}
			add(target, kind, "lock", "held")
			add(target, kind, "connect", "clock")
			if target != "lake" && target != "s3" { // who reads a file or an object has its own
				add(target, kind, "apply", "reader")
			}
			if !server {
				add(target, kind, "stage", "full")
				continue
			}
			for _, step := range []string{"lock", "stage first", "stage middle", "stage last", "cleanup"} {
				add(target, kind, step, netFaults...)
			}
			if stepTexts[target]["count check"] != "" { // PostgreSQL tells the count by itself
				add(target, kind, "count check", netFaults...)
			}
		}
		for _, kind := range kinds[target] {
			switch target {
			case "pg", "my":
				add(target, kind, "extract first", "revoked")
				add(target, kind, "stage first", "revoked")
				add(target, kind, "apply", "revoked")
			case "ch": // rights are for a database as a whole there
				add(target, kind, "extract first", "revoked")
				add(target, kind, "stage first", "revoked")
			case "s3":
				add(target, kind, "lock", "revoked")
				add(target, kind, "stage first", "revoked")
			}
			if kind == "f_table" && (target == "pg" || target == "my" || target == "ch") {
				add(target, kind, "stage middle", "server full")
			}
			if kind != "window" {
				add(target, kind, "compute", "spill full", "memory")
			}
		}
	}
	for i := range cells {
		c := &cells[i]
		c.src = []string{"pg", "my", "ch"}[rng.IntN(3)]
		c.lane = []string{"auto", "compute"}[rng.IntN(2)]
		c.at = rng.Float64()
	}
	return cells
}

// texts are what a target's statements say at a step; they stand in what flows to it.
var stepTexts = map[string]map[string]string{
	"pg": {"lock": "pg_try_advisory_lock", "apply f_table": "RENAME TO", "apply": "INSERT INTO", "state": "_sling_state", "cleanup": "pg_advisory_unlock"},
	"my": {"lock": "GET_LOCK", "count check": "COUNT(*)", "apply f_table": "RENAME TABLE", "apply": "INSERT INTO", "state": "_sling_state", "cleanup": "RELEASE_LOCK"},
	"s3": {"lock": ".lock", "apply f_table": "/t_f_table.parquet", "cleanup": "DELETE "},
	"ch": {"lock": "__dvt_lock", "count check": "count()", "apply f_table": "RENAME TABLE", "apply": "RENAME TABLE", "state": "_sling_state", "cleanup": "DROP TABLE"},
}

// rule is where a cell's fault begins: the proxy that sees it and the trigger there.
func (w *world) rule(c faultCell) (*faultproxy.Proxy, faultproxy.Rule) {
	src := w.sources[c.src]
	total := w.bytes[c.kind+c.src+c.lane]
	share := func(from, to float64, of int64) int64 { return max(1, int64(float64(of)*(from+(to-from)*c.at))) }
	switch c.step {
	case "connect":
		return src, faultproxy.Rule{Bytes: 1 + int64(c.at*60), Direction: faultproxy.ToServer}
	case "describe":
		// Between the handshake and the first rows.
		return src, faultproxy.Rule{Bytes: 400 + int64(c.at*1500)}
	case "extract first":
		return src, faultproxy.Rule{Bytes: share(0.05, 0.15, total[0])}
	case "extract middle":
		return src, faultproxy.Rule{Bytes: share(0.3, 0.8, total[0])}
	case "extract last":
		return src, faultproxy.Rule{Bytes: total[0] - 1500 - int64(c.at*2000)}
	case "stage first":
		return w.to, faultproxy.Rule{Bytes: share(0.05, 0.15, total[1]), Direction: faultproxy.ToServer}
	case "stage middle":
		return w.to, faultproxy.Rule{Bytes: share(0.3, 0.8, total[1]), Direction: faultproxy.ToServer}
	case "stage last":
		return w.to, faultproxy.Rule{Bytes: share(0.93, 0.99, total[1]), Direction: faultproxy.ToServer}
	case "any":
		return src, faultproxy.Rule{After: time.Duration(c.at * float64(w.usual))}
	}
	step, passing := c.step, c.at > 0.5
	switch step {
	case "applied": // the statement has reached the server, the answer is lost
		step, passing = "apply", true
	case "apply":
		passing = false
	}
	text := stepTexts[c.target][step]
	if step == "apply" && c.kind == "f_table" {
		text = stepTexts[c.target]["apply f_table"]
	}
	return w.to, faultproxy.Rule{Match: text, Passing: passing, Direction: faultproxy.ToServer}
}

// arm sets the fault; it reports whether the trigger was reached.
func (w *world) arm(c faultCell, proc *child) (reached func() bool) {
	p, rule := w.rule(c)
	switch c.fault {
	case "cut":
		rule.Fault = faultproxy.Cut
	case "down":
		rule.Fault = faultproxy.Refuse
	case "restart": // all sessions end, nobody listens for a while
		var fired atomic.Bool
		rule.Fault = faultproxy.Refuse
		rule.Do = func() {
			fired.Store(true)
			time.AfterFunc(restartTime, p.Heal)
		}
		p.Set(rule)
		return fired.Load
	case "stall":
		rule.Fault = faultproxy.Stall
	case "slow":
		rule.Fault, rule.Rate = faultproxy.Slow, 3<<20
	case "truncate":
		rule.Fault = faultproxy.Truncate
	case "kill":
		rule.Do = func() { proc.signal(syscall.SIGKILL) }
	case "int":
		rule.Do = func() { proc.signal(syscall.SIGINT) }
	case "term":
		rule.Do = func() { proc.signal(syscall.SIGTERM) }
	}
	p.Set(rule)
	return p.Fired
}

// restartTime is how long a server that restarts is away.
const restartTime = time.Second

func (w *world) heal() {
	for _, p := range w.sources {
		p.Heal()
	}
	if w.to != nil {
		w.to.Heal()
	}
}

// outcome is one line of the table.
type outcome struct {
	cell    faultCell
	reached bool
	code    int
	content string // old, new
	message string
	elapsed time.Duration
	faults  []string // what is wrong
}

// play runs one cell and judges it.
func (w *world) play(c faultCell) outcome {
	w.rewind(c.kind)
	w.measure(c)
	o := outcome{cell: c}
	bad := func(format string, args ...any) { o.faults = append(o.faults, fmt.Sprintf(format, args...)) }
	old := w.content(c.kind)
	n := w.advance(c.kind, c.src, c.lane)
	var r ran
	switch c.fault {
	case "second":
		r = w.beside(c, n, bad)
		o.reached = true
	case "held":
		r = w.held(c, n, bad)
		o.reached = true
	case "full", "spill full", "memory", "revoked", "server full":
		r = w.starved(c, n, bad)
		o.reached = true
	case "reader":
		r = w.behindReader(c, n, bad)
		o.reached = true
	case "clock":
		w.jump(c)
		r = w.run(n, nil)
		o.reached = true
	default:
		proc := &child{}
		if c.fault == "stall" {
			w.env = []string{"DVT_TEST_QUERY_TIMEOUT=2"}
		}
		reached := w.arm(c, proc)
		r = w.run(n, proc)
		o.reached = reached()
		w.heal()
		w.env = nil
	}
	o.code, o.elapsed, o.message = r.code, r.elapsed, failureLine(r.out)
	w.judge(c, r, o.reached, bad)
	left := w.quiet(8 * time.Second)
	if len(left) > 0 {
		bad("still running on the server: %s", strings.Join(left, "; "))
	}
	switch got := w.content(c.kind); {
	case got == n.want:
		o.content = "new"
	case got == old:
		o.content = "old"
		if r.code == 0 {
			bad("exit code 0 but the target has its old content")
		}
	default:
		o.content = "torn"
		bad("the target holds %s: neither the old %s nor the new %s", got, old, n.want)
	}
	w.ageLocks(c)
	again := w.run(n, nil)
	if again.code != 0 {
		bad("the next run fails with exit code %d:\n%s", again.code, again.out)
	} else if got := w.content(c.kind); got != n.want {
		bad("the next run leaves %s, not %s", got, n.want)
	}
	if left := w.leftovers(); len(left) > 0 {
		bad("left behind: %s", strings.Join(left, ", "))
	}
	if len(o.faults) > 0 {
		bad("output of the faulty run:\n%s", r.out)
	}
	return o
}

// harmless faults are those that a run survives.
var harmless = []string{"slow", "second", "reader", "clock"}

// judge looks at the exit code and the output.
func (w *world) judge(c faultCell, r ran, reached bool, bad func(string, ...any)) {
	for _, s := range w.secrets {
		if strings.Contains(r.out, s) {
			bad("a secret is printed")
		}
	}
	if strings.Contains(r.out, "panic:") || strings.Contains(r.out, "goroutine ") {
		bad("a crash")
	}
	if r.hung {
		bad("it does not end: killed after %s", hangs)
	}
	finished := strings.Contains(r.out, "Done. PASS=1 ")
	switch {
	case r.code == 0:
		if !finished {
			bad("exit code 0 without an end")
		}
	case c.fault == "kill" && reached:
		if r.code != -1 {
			bad("killed, but exit code %d", r.code)
		}
	case (c.fault == "int" || c.fault == "term") && reached:
		if r.code == -1 && r.out == "" {
			break // the program had not begun
		}
		if r.code != 130 {
			bad("exit code %d, not 130", r.code)
		}
	case r.code != 1:
		bad("exit code %d", r.code)
	case !strings.Contains(r.out, "Model '"+c.kind+"' (target: tgt, adapter: "):
		bad("the failure does not name its model")
	}
	if slices.Contains(harmless, c.fault) && r.code != 0 {
		bad("it must succeed, exit code %d", r.code)
	}
	late := c.fault == "stall" && strings.Contains(r.out, "query_timeout of") // a busy machine
	if !reached && r.code != 0 && !late {
		bad("the fault was not reached but the run fails")
	}
	limit := 25 * time.Second
	if c.fault == "stall" {
		limit = 45 * time.Second // the timeout, and again for each thing that is taken away
	}
	if c.fault != "second" && c.fault != "held" && r.elapsed > limit {
		bad("it took %s", r.elapsed.Round(100*time.Millisecond))
	}
}

// failureLine is the first line of a model's error.
func failureLine(out string) string {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Model '") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
