package servers

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processSpec is one server process.
type processSpec struct {
	name string
	user string // service user to run as when this process is root; "" is root itself
	path string
	args []string
	env  []string
	logs []string // files that say why it failed; the first takes stdout and stderr
	// quit ends it at once: its data are thrown away, so an orderly end (8 s for
	// ClickHouse) would only cost time.
	quit syscall.Signal
}

// process is a started server.
type process struct {
	cmd  *exec.Cmd
	user string
	quit syscall.Signal
	done chan struct{} // closed when the process has been waited for
}

// stop ends the process, and kills its whole group after grace.
func (p *process) stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(p.quit)
	select {
	case <-p.done:
	case <-time.After(grace):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
}

// starter starts processes on one locked thread. The kernel delivers Pdeathsig when
// the starting thread ends, so that thread must live as long as the servers do; with
// it the servers end even when this program is killed.
type starter struct{ jobs chan func() }

func newStarter() *starter {
	s := &starter{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *starter) close() { close(s.jobs) }

func (s *starter) run(spec processSpec) (*process, error) {
	type result struct {
		p   *process
		err error
	}
	c := make(chan result)
	s.jobs <- func() {
		p, err := start(spec)
		c <- result{p, err}
	}
	r := <-c
	return r.p, r.err
}

func start(spec processSpec) (*process, error) {
	out, err := os.OpenFile(spec.logs[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(spec.path, spec.args...)
	cmd.Env = append(os.Environ(), spec.env...)
	cmd.Dir = filepath.Dir(spec.logs[0])
	cmd.Stdout, cmd.Stderr = out, out
	cred, err := credential(spec.user)
	if err != nil {
		return nil, err
	}
	// A process group of its own: a Ctrl-C meant for the tests must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: spec.quit, Credential: cred}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, user: spec.user, quit: spec.quit, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// credential is what root needs to run something as the service user; nil when this
// process is not root and can only run it as itself.
func credential(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 || name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// home makes a folder for one server, owned by its service user.
func (s *Set) home(name, owner string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, chown(dir, owner)
}

func chown(path, owner string) error {
	cred, err := credential(owner)
	if err != nil || cred == nil {
		return err
	}
	return os.Chown(path, int(cred.Uid), int(cred.Gid))
}

// runAs runs a helper program to its end as the service user.
func runAs(owner, dir, path string, args ...string) (string, error) {
	cred, err := credential(owner)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// tail is the last lines of the first log that has any.
func tail(logs ...string) string {
	for _, name := range logs {
		b, err := os.ReadFile(name)
		text := strings.TrimSpace(string(b))
		if err != nil || text == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		if len(lines) > 5 {
			lines = lines[len(lines)-5:]
		}
		return strings.Join(lines, " | ")
	}
	return "no log"
}
