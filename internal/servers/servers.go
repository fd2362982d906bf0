// Package servers starts private PostgreSQL, MariaDB and ClickHouse servers for tests:
// each on a data directory of its own below a temporary folder, on a free loopback
// port, with a random password. It is not for production use and never touches a
// server that it did not start.
package servers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// readyTimeout bounds the start of one server, stopTimeout its end.
const (
	readyTimeout = 90 * time.Second
	stopTimeout  = 20 * time.Second
)

var errEnded = errors.New("it ended before it was ready")

// Set is the running servers.
type Set struct {
	dir    string
	zone   string
	prefix string // of the variables that are exported
	small  bool   // files are small, and one that may not grow is an error to the server
	start  *starter

	mu    sync.Mutex
	procs []*process
	env   []string
}

// Start installs what is missing, starts all servers and waits until they answer.
// The caller must call Stop, also after an error when the Set is not nil.
func Start(ctx context.Context) (*Set, error) { return StartIn(ctx, DefaultZone) }

// DefaultZone is far from UTC and from the zones of most people, so that what depends on
// the servers' zone shows.
const DefaultZone = "Asia/Kolkata"

// StartIn is Start with servers that live in another time zone.
func StartIn(ctx context.Context, zone string) (*Set, error) {
	if err := install(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "dvt-servers-")
	if err != nil {
		return nil, err
	}
	s := &Set{dir: dir, zone: zone, start: newStarter()}
	// The service users must be able to walk down to their own data directories.
	if err := os.Chmod(dir, 0o755); err != nil {
		return s, err
	}
	starts := []struct {
		home  string
		start func(context.Context) error
	}{{"postgres", s.startPostgres}, {"mariadb", s.startMariaDB}, {"clickhouse", s.startClickHouse}, {"s3", s.startS3}}
	errs := make([]error, len(starts))
	var wg sync.WaitGroup
	for i, server := range starts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = server.start(ctx)
			// A port that was free may be somebody's by the time the server wants it.
			for more := 2; more > 0 && errors.Is(errs[i], errEnded); more-- {
				if errs[i] = os.RemoveAll(filepath.Join(s.dir, server.home)); errs[i] == nil {
					errs[i] = server.start(ctx)
				}
			}
		}()
	}
	wg.Wait()
	return s, errors.Join(errs...)
}

// StartOne starts one more server, of pg, my or ch, whose files can be limited. It exports
// DVT_TEST_<prefix>_<engine>_<fact>. The caller must call Stop, also after an error when
// the Set is not nil.
func StartOne(ctx context.Context, engine, prefix string) (*Set, error) {
	dir, err := os.MkdirTemp("", "dvt-servers-")
	if err != nil {
		return nil, err
	}
	s := &Set{dir: dir, zone: DefaultZone, prefix: prefix + "_", small: true, start: newStarter()}
	if err := os.Chmod(dir, 0o755); err != nil {
		return s, err
	}
	run := map[string]func(context.Context) error{"pg": s.startPostgres, "my": s.startMariaDB, "ch": s.startClickHouse}[engine]
	if run == nil {
		return s, fmt.Errorf("unknown engine %q: expected pg, my or ch", engine)
	}
	return s, run(ctx)
}

// Limit lets no file of the servers grow beyond bytes, as on a disk that is full there; 0
// lifts it. Sessions have what held when they began.
func (s *Set) Limit(bytes uint64) error {
	limit := "unlimited"
	if bytes > 0 {
		limit = strconv.FormatUint(bytes, 10)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		// Only the process's own user may do it, where root is short of rights. The upper
		// bound stays, so that it can be lifted again.
		out, err := runAs(p.user, s.dir, "prlimit", "--pid", strconv.Itoa(p.cmd.Process.Pid), "--fsize="+limit+":unlimited")
		if err != nil {
			return fmt.Errorf("limiting the files of a server: %w: %s", err, lastLine(out))
		}
	}
	return nil
}

// Env is the environment that tests read: DVT_TEST_<engine>_<fact>=value.
func (s *Set) Env() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.env...)
}

// Stop ends the servers by process id and removes their data.
func (s *Set) Stop() error {
	s.mu.Lock()
	procs := s.procs
	s.procs = nil
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range procs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p.stop(stopTimeout)
		}()
	}
	wg.Wait()
	s.start.close()
	return os.RemoveAll(s.dir)
}

// export adds facts of one engine, given as name, value pairs.
func (s *Set) export(engine string, facts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(facts); i += 2 {
		s.env = append(s.env, "DVT_TEST_"+s.prefix+engine+"_"+facts[i]+"="+facts[i+1])
	}
}

// run starts a server and waits until ready returns nil.
func (s *Set) run(ctx context.Context, spec processSpec, ready func(context.Context) error) error {
	if s.small {
		// Without this the system ends a process whose file may not grow.
		spec.args = append([]string{"-c", `trap "" XFSZ; exec "$@"`, "sh", spec.path}, spec.args...)
		spec.path = "/bin/sh"
	}
	p, err := s.start.run(spec)
	if err != nil {
		return fmt.Errorf("starting %s: %w", spec.name, err)
	}
	s.mu.Lock()
	s.procs = append(s.procs, p)
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("starting %s: %w: %s", spec.name, errEnded, tail(spec.logs...))
		case <-ctx.Done():
			return fmt.Errorf("starting %s: not ready: %w: %s", spec.name, err, tail(spec.logs...))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// freePort returns a loopback port that nobody listens on now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

func randomPassword() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
