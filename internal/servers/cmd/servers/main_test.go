package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestCommandExitCode(t *testing.T) {
	for _, c := range []struct {
		script string
		want   int
	}{
		{"exit 0", 0},
		{"exit 7", 7},
		{`test "$DVT_TEST_X" = 'a b'`, 0},
		{"kill -9 $$", 137},
	} {
		if got := command([]string{"sh", "-c", c.script}, []string{"DVT_TEST_X=a b"}, nil); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.script, got, c.want)
		}
	}
	if got := command([]string{filepath.Join(t.TempDir(), "absent")}, nil, nil); got != 127 {
		t.Errorf("absent command: exit code %d, want 127", got)
	}
}

// A signal must reach the command's children, as a test binary is one of go test's.
func TestSignalReachesChildren(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	signals := make(chan os.Signal, 1)
	go func() {
		for {
			if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
				signals <- syscall.SIGTERM
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	script := `(trap 'echo told > "$0.told"; exit' TERM; echo up > "$0"; while :; do sleep 0.05; done) & wait`
	if got := command([]string{"sh", "-c", script, file}, nil, signals); got != 143 {
		t.Errorf("exit code %d, want 143", got)
	}
	for range 200 {
		if _, err := os.Stat(file + ".told"); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child was not told to stop")
}
