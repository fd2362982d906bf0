package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// binary is a program that tests need and the Debian package that has it.
type binary struct{ name, pkg string }

var needed = []binary{
	{"initdb", "postgresql"},
	{"postgres", "postgresql"},
	{"mariadbd", "mariadb-server"},
	{"mariadb-install-db", "mariadb-server"},
	{"clickhouse-server", "clickhouse-server"},
}

// find is the full path of a server program, "" if there is none. Debian keeps
// PostgreSQL's outside of every PATH, and servers in sbin.
func find(name string) string {
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	patterns := []string{"/usr/lib/postgresql/*/bin/", "/usr/sbin/", "/usr/local/sbin/", "/usr/libexec/"}
	for _, dir := range patterns {
		found, _ := filepath.Glob(dir + name)
		sort.Strings(found)
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

func missing() (names, pkgs []string) {
	seen := map[string]bool{}
	for _, b := range needed {
		if find(b.name) != "" {
			continue
		}
		names = append(names, b.name)
		if !seen[b.pkg] {
			seen[b.pkg] = true
			pkgs = append(pkgs, b.pkg)
		}
	}
	return names, pkgs
}

// install gets missing packages with apt-get and keeps their services from starting.
func install(ctx context.Context) error {
	names, pkgs := missing()
	if len(pkgs) == 0 {
		return nil
	}
	what := fmt.Sprintf("missing test servers: %s (Debian packages %s)", strings.Join(names, ", "), strings.Join(pkgs, ", "))
	if os.Geteuid() != 0 {
		return errors.New(what + ": install them, or run as root to have them installed")
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New(what + ": there is no apt-get to install them")
	}
	restore, err := denyServices("/usr/sbin/policy-rc.d")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer restore()
	options := []string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300"}
	for _, args := range [][]string{{"update"}, append([]string{"install", "--no-install-recommends"}, pkgs...)} {
		cmd := exec.CommandContext(ctx, "apt-get", append(options, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: apt-get %s: %w: %s", what, args[0], err, lastLine(string(out)))
		}
	}
	if names, _ := missing(); len(names) > 0 {
		return fmt.Errorf("%s: still missing after apt-get install: %s", what, strings.Join(names, ", "))
	}
	return nil
}

// denyServices makes the packages' scripts leave their services stopped: a second
// server on the standard port would be found by accident, and nobody would stop it.
func denyServices(path string) (restore func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil // the machine has a policy already
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
