// Command servers runs a command beside private test servers:
//
//	servers -- go test ./...
//
// It installs PostgreSQL, MariaDB and ClickHouse if they are missing (Debian, as root),
// starts each on a temporary data directory and a free loopback port, tells the command
// about them by DVT_TEST_* variables, and stops them on every way out. Its exit code is
// the command's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/dvt-dev/dvt/internal/servers"
)

// grace is what a command gets to end after a signal before it is killed.
const grace = 15 * time.Second

func main() {
	// Pdeathsig follows the thread that started the command: keep to the main one.
	runtime.LockOSThread()
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: servers -- command [argument …]")
		os.Exit(2)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(args, signals))
}

func run(args []string, signals <-chan os.Signal) (code int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	type started struct {
		set *servers.Set
		err error
	}
	c := make(chan started, 1)
	go func() {
		set, err := servers.Start(ctx)
		c <- started{set, err}
	}()
	var s started
	select {
	case s = <-c:
	case sig := <-signals:
		cancel()
		s = <-c
		if s.err == nil {
			s.err = fmt.Errorf("stopped by %s", sig)
		}
	}
	if s.set != nil {
		defer func() {
			if err := s.set.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, "servers: stopping:", err)
				if code == 0 {
					code = 1
				}
			}
		}()
	}
	if s.err != nil {
		fmt.Fprintln(os.Stderr, "servers:", s.err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "servers: ready in %.1f s\n", time.Since(began).Seconds())
	return command(args, s.set.Env(), signals)
}

// command runs args in a process group of its own and passes signals on to all of it:
// go test, for one, leaves its test binaries behind when only it is told to stop.
func command(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		return 127
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var kill <-chan time.Time
	for {
		select {
		case sig := <-signals:
			_ = syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal))
			if kill == nil {
				kill = time.After(grace)
			}
		case <-kill:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		case <-done:
			return exitCode(cmd.ProcessState)
		}
	}
}

// exitCode is the command's own, or 128 + signal as shells report it.
func exitCode(st *os.ProcessState) int {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}
