package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
)

// schema holds the tables on each server.
const schema = "dvt_bench"

func env(engine, fact string) string { return os.Getenv("DVT_TEST_" + engine + "_" + fact) }

func port(engine, fact string) int {
	n, _ := strconv.Atoi(env(engine, fact))
	return n
}

// outputs are the connections as profiles.yml has them.
func outputs(s settings) map[string]map[string]any {
	return map[string]map[string]any{
		"pg": {"type": "postgres", "host": env("PG", "HOST"), "port": port("PG", "PORT"), "user": env("PG", "USER"),
			"password": env("PG", "PASSWORD"), "dbname": env("PG", "DATABASE"), "schema": schema},
		"my": {"type": "mariadb", "server": env("MY", "HOST"), "port": port("MY", "PORT"), "username": env("MY", "USER"),
			"password": env("MY", "PASSWORD"), "schema": schema},
		"ch": {"type": "clickhouse", "host": env("CH", "HOST"), "port": port("CH", "PORT"), "user": env("CH", "USER"),
			"password": env("CH", "PASSWORD"), "schema": schema},
		"lite": {"type": "sqlite", "path": filepath.Join(s.dir, "t.db")},
		"duck": {"type": "duckdb", "path": filepath.Join(s.dir, "target.duckdb"), "schema": "main"},
		"lake": {"type": "file", "path": filepath.Join(s.dir, "lake"), "format": "parquet"},
	}
}

// world is a compute engine and the connections.
type world struct {
	s      settings
	engine *compute.Engine
	open   map[string]connectors.Conn
}

// memoryLimit is what each measurement may use beside the fixed overhead.
const memoryLimit = 512 << 20

func openWorld(s settings) (*world, error) {
	e, err := compute.Open(compute.Config{MemoryLimit: memoryLimit, TempDirectory: filepath.Join(s.dir, "tmp"), RunID: fmt.Sprint("bench", os.Getpid())})
	if err != nil {
		return nil, err
	}
	return &world{s: s, engine: e, open: map[string]connectors.Conn{}}, nil
}

func (w *world) close() {
	for _, c := range w.open {
		_ = c.Close()
	}
	_ = w.engine.Close()
}

func (w *world) conn(name string) (connectors.Conn, error) {
	if c := w.open[name]; c != nil {
		return c, nil
	}
	out := connectors.Output{Name: name, Keys: map[string]any{}}
	for k, v := range outputs(w.s)[name] {
		if k == "type" {
			out.Type = v.(string)
		} else {
			out.Keys[k] = v
		}
	}
	kind, err := connectors.Lookup(out.Type)
	if err != nil {
		return nil, err
	}
	c, err := kind.Open(out, connectors.Env{
		ProjectDir: w.s.dir, RunID: "bench0001", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), ConnectTimeout: 10 * time.Second,
		Engine: func(context.Context) (connectors.Engine, error) { return w.engine, nil },
	})
	if err == nil {
		w.open[name] = c
	}
	return c, err
}

// inWorld runs f with a world of its own.
func inWorld(s settings, f func(*world) error) error {
	w, err := openWorld(s)
	if err != nil {
		return err
	}
	defer w.close()
	return f(w)
}
