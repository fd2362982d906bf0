package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/run"
)

func (a *app) docsCommand() *cobra.Command {
	c := &cobra.Command{Use: "docs", Short: "Write the project and its lineage across engines as a web page, or serve it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.docsGenerateCommand(), a.docsServeCommand())
	return c
}

func (a *app) docsGenerateCommand() *cobra.Command {
	var o run.DocsOptions
	c := &cobra.Command{Use: "generate", Short: "Write target/index.html, manifest.json and catalog.json", Args: cobra.NoArgs}
	c.Flags().BoolVar(&o.NoCompile, "no-compile", false, "leave the compiled SQL out")
	c.Flags().BoolVar(&o.EmptyCatalog, "empty-catalog", false, "ask no engine for columns and types")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.start(cmd.Context(), "generate", run.Options{})
		if err != nil {
			return err
		}
		index, err := r.Docs(cmd.Context(), o)
		if err != nil {
			return err
		}
		a.say("Wrote %s", index)
		return nil
	}
	return c
}

func (a *app) docsServeCommand() *cobra.Command {
	var port int
	var host string
	var noBrowser bool
	c := &cobra.Command{Use: "serve", Short: "Serve the page that docs generate wrote, on this machine alone, until Ctrl-C", Args: cobra.NoArgs}
	c.Flags().IntVar(&port, "port", 8080, "port; 0 takes any free one")
	c.Flags().StringVar(&host, "host", "127.0.0.1", "address of this machine's own interface")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "open no browser")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := a.load(cmd.Context(), "serve", false)
		if err != nil {
			return err
		}
		dir := p.TargetPath
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
		if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
			return fmt.Errorf("%s is not there: run 'dvt docs generate' first", filepath.Join(dir, "index.html"))
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("--host %s: expected an address of the loopback interface, such as 127.0.0.1: the page is for this machine alone", host)
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("opening port %d: %w; choose another with --port", port, err)
		}
		url := "http://" + l.Addr().String() + "/"
		if err := a.out("Serving the docs at " + url + " — Ctrl-C ends it"); err != nil {
			return err
		}
		if !noBrowser {
			openBrowser(url)
		}
		return serve(cmd.Context(), l, docsHandler(dir))
	}
	return c
}

// docsHandler serves the page and the artifacts, and no other file of the folder, to
// requests that name this machine: other names could be a foreign page's that was made to
// resolve to it.
func docsHandler(dir string) http.Handler {
	files := map[string]string{"/": "index.html", "/index.html": "index.html", "/manifest.json": "manifest.json", "/catalog.json": "catalog.json", "/run_results.json": "run_results.json"}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, _, err := net.SplitHostPort(req.Host)
		if err != nil {
			name = req.Host
		}
		file, ok := files[req.URL.Path]
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers to localhost alone", http.StatusForbidden)
			return
		}
		if !ok {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			http.NotFound(w, req)
			return
		}
		defer func() { _ = f.Close() }()
		http.ServeContent(w, req, file, modified(f), f)
	})
}

func modified(f *os.File) time.Time {
	if info, err := f.Stat(); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	err := s.Close()
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// openBrowser asks the desktop to show url. Where there is none, the user has the address.
func openBrowser(url string) {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	if cmd := exec.Command(name, args...); cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}
