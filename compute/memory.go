package compute

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultMemoryLimit is 70 % of the memory that the machine, or the control group that
// the process runs in, has.
func DefaultMemoryLimit() int64 {
	total := int64(8 << 30) // where the system does not say
	if n, ok := meminfo("/proc/meminfo"); ok {
		total = n
	}
	for _, n := range cgroupLimits("/proc/self/cgroup", "/sys/fs/cgroup") {
		total = min(total, n)
	}
	return total / 10 * 7
}

func meminfo(path string) (int64, bool) { return field(path, "MemTotal:") }

// PeakRSS is the process's peak resident memory in bytes, 0 where the system does not say.
func PeakRSS() int64 {
	n, _ := field("/proc/self/status", "VmHWM:")
	return n
}

// field reads a line "name: 123 kB".
func field(path, name string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

// cgroupLimits are the limits of the process's control group and of those above it,
// in both versions of the kernel's interface.
func cgroupLimits(self, root string) (limits []int64) {
	text, err := os.ReadFile(self)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := root, "memory.max"
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			base, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		}
		for dir := filepath.Join("/", parts[2]); ; dir = filepath.Dir(dir) {
			if raw, err := os.ReadFile(filepath.Join(base, dir, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 {
					limits = append(limits, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}
