//go:build unix

package filelock

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	release, err := Acquire(context.Background(), path, 0, nil)
	if err != nil || release == nil {
		t.Fatal(err)
	}
	told := 0
	if r, err := Acquire(context.Background(), path, 60*time.Millisecond, func() { told++ }); r != nil || err != nil || told != 1 {
		t.Fatal("a second holder", err, told)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path, time.Minute, nil); err == nil {
		t.Fatal("the wait was not cancelled")
	}
	release()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the file stays")
	}
}

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var holders, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			release, err := Acquire(context.Background(), path, 10*time.Second, nil)
			if err != nil || release == nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			holders.Add(-1)
			release()
		}()
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d holders at once", most.Load())
	}
}
