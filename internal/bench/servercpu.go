package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// serverSeconds are the CPU seconds of the servers so far: all that the process which
// started the servers has started, but for this program and its children. It is 0 where
// somebody else started them.
func serverSeconds() float64 {
	keeper, err := strconv.Atoi(os.Getenv("DVT_BENCH_KEEPER"))
	if err != nil {
		return 0
	}
	procs := map[int]process{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil { // a process may end meanwhile
			if p, ok := parseStat(string(text)); ok {
				procs[p.pid] = p
			}
		}
	}
	if procs[keeper].name != "servers" {
		return 0
	}
	self, sum := os.Getppid(), int64(0)
	for pid, p := range procs {
		for at := p; at.pid != 0 && at.pid != self; at = procs[at.parent] {
			if at.parent == keeper {
				sum += procs[pid].ticks
				break
			}
		}
	}
	return float64(sum) / ticksPerSecond
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux.
const ticksPerSecond = 100

type process struct {
	pid, parent int
	name        string
	ticks       int64 // of itself and of the children that it has waited for
}

// parseStat reads /proc/PID/stat: the name in it is in parentheses and may hold any byte.
func parseStat(text string) (p process, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, false
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 15 {
		return p, false
	}
	p.name = text[open+1 : end]
	p.pid, _ = strconv.Atoi(strings.TrimSpace(text[:open]))
	p.parent, _ = strconv.Atoi(f[1])
	for _, v := range f[11:15] {
		n, _ := strconv.ParseInt(v, 10, 64)
		p.ticks += n
	}
	return p, true
}
