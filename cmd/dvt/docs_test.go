package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDocsServer: the page and the artifacts, to this machine's own names, until ctx ends.
func TestDocsServer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"index.html", "manifest.json", "other.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("this is "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, docsHandler(dir)) }()
	client := &http.Client{Timeout: 20 * time.Second}
	for _, c := range []struct {
		path, host, want string
		code             int
	}{
		{"/", "", "this is index.html", 200},
		{"/manifest.json", "localhost:8080", "this is manifest.json", 200},
		{"/catalog.json", "", "", 404}, // not generated
		{"/other.txt", "", "", 404},
		{"/../docs_test.go", "", "", 404},
		{"/", "elsewhere.example", "", 403},
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if e := res.Body.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
		if res.StatusCode != c.code || c.want != "" && string(body) != c.want {
			t.Errorf("%s of %q: %d %s", c.path, c.host, res.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
