package memo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func key(s string) Key { return sha256.Sum256([]byte(s)) }

func saved(t *testing.T, f *File) {
	t.Helper()
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
}

func get(f *File, k string) string { return string(f.Get(key(k))) }

func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "x.memo")
	f := New(Options{Path: path, Stamp: "build 1"})
	if f.Get(key("a")) != nil {
		t.Fatal("an answer out of nothing")
	}
	saved(t, f) // nothing to say
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a file without an answer")
	}
	f.Put(key("a"), []byte("A"))
	f.Put(key("empty"), []byte{})
	saved(t, f)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	g := New(Options{Path: path, Stamp: "build 1"})
	if get(g, "a") != "A" || g.Get(key("empty")) == nil || g.Get(key("b")) != nil {
		t.Error("not what was put")
	}
	if g = New(Options{Path: path, Stamp: "build 2"}); g.Get(key("a")) != nil {
		t.Error("another build's answer")
	}
	if g = New(Options{Path: path, Stamp: "build 1", Fresh: true}); g.Get(key("a")) != nil {
		t.Error("an old answer though fresh ones were asked for")
	}
	g.Put(key("a"), []byte("A2"))
	saved(t, g)
	g = New(Options{Path: path, Stamp: "build 1", Keep: func(v []byte) bool { return string(v) != "secret" }})
	g.Put(key("s"), []byte("secret"))
	saved(t, g)
	g = New(Options{Path: path, Stamp: "build 1"})
	if get(g, "a") != "A2" || g.Get(key("s")) != nil {
		t.Error("not what was put anew")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Error("left behind:", left, err)
	}
}

// TestDamaged flips each bit and cuts at each byte: an answer is right or not there.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.memo")
	f := New(Options{Path: path})
	for i := range 5 {
		f.Put(key(fmt.Sprint(i)), []byte(strings.Repeat(fmt.Sprint(i), 10*i)))
	}
	saved(t, f)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	see := func(what string, data []byte) (found int) {
		for k, a := range New(Options{Path: path}).decode(data) {
			for i := range 5 {
				if k == key(fmt.Sprint(i)) && string(a.value) == strings.Repeat(fmt.Sprint(i), 10*i) {
					k, found = Key{}, found+1
				}
			}
			if k != (Key{}) {
				t.Fatalf("%s: an answer that was not put: %q", what, a.value)
			}
		}
		return found
	}
	if n := see("whole", whole); n != 5 {
		t.Fatalf("%d answers", n)
	}
	for i := range whole {
		if n := see(fmt.Sprintf("cut at %d", i), whole[:i]); n == 5 {
			t.Errorf("all answers of a file cut at %d", i)
		}
		for bit := range 8 {
			data := bytes.Clone(whole)
			data[i] ^= 1 << bit
			if n := see(fmt.Sprintf("bit %d of byte %d", bit, i), data); n == 5 {
				t.Errorf("all answers with bit %d of byte %d flipped", bit, i)
			}
		}
	}
	// What is damaged is written anew, beside what a killed process left.
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, killed := range []string{".new", ".lock"} {
		if err := os.WriteFile(path+killed, whole[:50], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := New(Options{Path: path})
	g.Put(key("new"), []byte("N"))
	saved(t, g)
	if g = New(Options{Path: path}); get(g, "new") != "N" {
		t.Error("nothing kept over a damaged file")
	}
}

// TestUnusedGoes: an answer that was used again stays for long, one that never was does not.
func TestUnusedGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.memo")
	f := New(Options{Path: path})
	for _, k := range []string{"used", "idle", "never"} {
		f.Put(key(k), []byte(k))
	}
	saved(t, f)
	f = New(Options{Path: path})
	if get(f, "used") != "used" || get(f, "idle") != "idle" {
		t.Fatal("gone at once")
	}
	saved(t, f) // without a new answer
	for i := range maxIdle + 1 {
		f = New(Options{Path: path})
		if get(f, "used") != "used" {
			t.Fatal("gone though it was used")
		}
		f.Put(key(fmt.Sprint("new", i)), []byte("N"))
		saved(t, f)
		all := read(t, path)
		if got, want := bytes.Contains(all, []byte("never")), i+2 <= maxIdle-newIdle; got != want {
			t.Errorf("write %d: never used and there: %v, want %v", i, got, want)
		}
		if got, want := bytes.Contains(all, []byte("idle")), i+1 <= maxIdle; got != want {
			t.Errorf("write %d: not used for long and there: %v, want %v", i, got, want)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	f := New(Options{Path: path})
	var all []byte
	for _, a := range f.load() {
		all = append(all, a.value...)
	}
	return all
}

func TestBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.memo")
	f := New(Options{Path: path})
	f.Put(key("old"), make([]byte, maxFile/2))
	saved(t, f)
	f = New(Options{Path: path})
	for i := range 3 {
		f.Put(key(fmt.Sprint(i)), make([]byte, maxFile/4))
	}
	saved(t, f)
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFile {
		t.Fatal(info.Size(), err)
	}
	f = New(Options{Path: path})
	if f.Get(key("old")) != nil || f.Get(key("0")) == nil || f.Get(key("1")) == nil {
		t.Error("what was not used stays before what was")
	}
}

// TestTogether has several users of one path read, add and write at once.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.memo")
	var all sync.WaitGroup
	for user := range 8 {
		all.Go(func() {
			for round := range 20 {
				f := New(Options{Path: path})
				for i := range 10 {
					if got := f.Get(key(fmt.Sprint(i))); got != nil && string(got) != fmt.Sprint("value", i) {
						t.Errorf("%d is %q", i, got)
					}
				}
				i := (user + round) % 10
				f.Put(key(fmt.Sprint(i)), []byte(fmt.Sprint("value", i)))
				if err := f.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Error("left behind:", left, err)
	}
}
