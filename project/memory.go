package project

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fallbackMemory is assumed where the machine does not say.
const fallbackMemory = 4 << 30

// machineMemory is the memory that this process may use: the machine's, or its
// cgroup's if that has less.
func machineMemory() int64 {
	limit := int64(fallbackMemory)
	if n, ok := memTotal("/proc/meminfo"); ok {
		limit = n
	}
	if n, ok := cgroupLimit("/proc/self/cgroup", "/sys/fs/cgroup"); ok && n < limit {
		limit = n
	}
	return limit
}

func memTotal(path string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Fields(s.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

// cgroupLimit is the smallest limit of the process's cgroup and the groups above it,
// in either version of the interface.
func cgroupLimit(self, root string) (int64, bool) {
	b, err := os.ReadFile(self)
	if err != nil {
		return 0, false
	}
	var least int64
	found := false
	take := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && n > 0 && (!found || n < least) {
			least, found = n, true
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := root, "memory.max"
		if parts[0] != "0" || parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			base, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			take(filepath.Join(base, dir, file))
			if dir == "/" {
				break
			}
		}
	}
	return least, found
}
