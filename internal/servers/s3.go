package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// S3 is served by a program of a Go module, which is no dependency of this one: it is
// built once and kept under its version.
const (
	s3Module  = "github.com/versity/versitygw/cmd/versitygw"
	s3Version = "v1.8.0"
)

// installS3 builds the S3 server unless it is there, and returns its path.
func installS3(ctx context.Context) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "tools")
	path := filepath.Join(dir, "versitygw-"+s3Version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// A folder of its own, for another command may be building it too.
	own, err := os.MkdirTemp(dir, "versitygw-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(own) }()
	cmd := exec.CommandContext(ctx, "go", "install", s3Module+"@"+s3Version)
	cmd.Env = append(os.Environ(), "GOBIN="+own, "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the S3 test server: %w: %s", err, lastLine(string(out)))
	}
	return path, os.Rename(filepath.Join(own, "versitygw"), path)
}

// moduleRoot is the folder of the project.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the project's folder: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", errors.New("finding the project's folder: this is no folder of a Go module")
	}
	return filepath.Dir(mod), nil
}

func (s *Set) startS3(ctx context.Context) error {
	path, err := installS3(ctx)
	if err != nil {
		return err
	}
	home := filepath.Join(s.dir, "s3")
	// A folder below the server's is a bucket.
	const bucket = "dvt"
	for _, dir := range []string{home, filepath.Join(home, "meta"), filepath.Join(home, "data"), filepath.Join(home, "data", bucket), filepath.Join(home, "iam")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	const region = "eu-test-1"
	key, secret := "dvt"+randomPassword()[:8], randomPassword()
	address := net.JoinHostPort("127.0.0.1", port)
	endpoint := "http://" + address
	args := []string{"--port", address, "--region", region, "--quiet", "--iam-dir", filepath.Join(home, "iam"), "posix"}
	// Without attributes in the file system a conditional write is not one step there.
	if syscall.Setxattr(home, "user.dvt", []byte("1"), 0) != nil {
		args = append(args, "--sidecar", filepath.Join(home, "meta"))
	}
	err = s.run(ctx, processSpec{
		name: "the S3 server", path: path, args: append(args, filepath.Join(home, "data")),
		env:  []string{"ROOT_ACCESS_KEY=" + key, "ROOT_SECRET_KEY=" + secret},
		logs: []string{filepath.Join(home, "log")}, quit: syscall.SIGKILL,
	}, func(ctx context.Context) error { return answersS3(ctx, endpoint) })
	if err != nil {
		return err
	}
	s.export("S3", "ENDPOINT", endpoint, "ACCESS_KEY", key, "SECRET_KEY", secret, "REGION", region, "BUCKET", bucket)
	// Users who may do nothing but what the bucket's policy says.
	for _, user := range []string{"reader", "stranger"} {
		password := randomPassword()
		cmd := exec.CommandContext(ctx, path, "admin", "--region", region, "--endpoint-url", endpoint, "create-user", "--access", user, "--secret", password, "--role", "user")
		cmd.Env = append(os.Environ(), "ADMIN_ACCESS_KEY="+key, "ADMIN_SECRET_KEY="+secret)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("adding a user of the S3 server: %w: %s", err, lastLine(string(out)))
		}
		name := strings.ToUpper(user)
		s.export("S3", name+"_KEY", user, name+"_SECRET", password)
	}
	return nil
}

// answersS3: a request without credentials is refused, by a server that is up.
func answersS3(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		return err
	}
	if !strings.Contains(body.String(), "AccessDenied") {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}
