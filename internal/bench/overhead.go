package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/internal/projectfiles"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

// measureOverhead times the dvt program itself where rows do not count.
func (b *bench) measureOverhead(ctx context.Context) error {
	steps := []struct {
		name, how string
		bar       float64
		do        func(context.Context) (float64, error)
	}{
		{"start-up to the first statement", "from exec to the first connection of a run", 150, b.startUp},
		{"a one-row f_table", "100 models from PostgreSQL into MariaDB, one thread, less a run of one; per model with its own statements", 60, b.oneRow},
		{"1,000 models, first time", "parsed, rendered and planned in a new process, no server asked", 10_000, func(ctx context.Context) (float64, error) { return b.manyModels(ctx, true) }},
		{"1,000 models, again", "the same, once more", 2_000, func(ctx context.Context) (float64, error) { return b.manyModels(ctx, false) }},
	}
	for _, s := range steps {
		best := 0.0
		for n := range b.runs {
			ms, err := s.do(ctx)
			if err != nil {
				return fmt.Errorf("measuring %s: %w", s.name, err)
			}
			if n == 0 || ms < best {
				best = ms
			}
		}
		b.report.Overhead = append(b.report.Overhead, overhead{Name: s.name, MS: best, Bar: s.bar, Measured: s.how})
		b.progress("%-40s %8.1f ms (bar %.0f)", s.name, best, s.bar)
	}
	return nil
}

func (b *bench) settings() settings { return settings{dir: b.dir, rows: b.rows, seed: b.seed} }

func (b *bench) command(ctx context.Context, dir string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.dvt, append(args, "--project-dir", dir, "--profiles-dir", dir)...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("dvt %s: %w: %s", args[0], err, lastLines(string(out)))
	}
	return time.Since(began), nil
}

func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], " | ")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// startUp listens in a server's place and waits for the program to call.
func (b *bench) startUp(ctx context.Context) (_ float64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	outs := outputs(b.settings())
	outs["pg"]["host"], outs["pg"]["port"] = "127.0.0.1", l.Addr().(*net.TCPAddr).Port
	dir := filepath.Join(b.dir, "startup")
	if err := writeProject(dir, "pg", outs, map[string]string{"one": "select * from {{ source('pg', 'one') }}"}); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, b.dvt, "run", "--project-dir", dir, "--profiles-dir", dir)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_ = l.(*net.TCPListener).SetDeadline(began.Add(30 * time.Second))
	c, err := l.Accept()
	took := time.Since(began)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		return 0, err
	}
	return ms(took), c.Close()
}

// oneRow is the time of a model of one row, its own statements included.
func (b *bench) oneRow(ctx context.Context) (float64, error) {
	err := withPG(ctx, func(c *pgconn.PgConn) error {
		_, err := c.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema+"; CREATE TABLE IF NOT EXISTS "+schema+".one AS SELECT 1 AS id, 'one' AS name").ReadAll()
		return err
	})
	if err != nil {
		return 0, err
	}
	const many = 100
	models := map[string]string{}
	for i := range many {
		models[fmt.Sprintf("one_%03d", i)] = fmt.Sprintf("-- %d: each is planned by itself\nselect * from {{ source('pg', 'one') }}", i)
	}
	dir := filepath.Join(b.dir, "onerow")
	if err := writeProject(dir, "my", outputs(b.settings()), models); err != nil {
		return 0, err
	}
	none, err := b.command(ctx, dir, "run", "--threads", "1", "-s", "one_000")
	if err != nil {
		return 0, err
	}
	all, err := b.command(ctx, dir, "run", "--threads", "1")
	if err != nil {
		return 0, err
	}
	return ms(all-none) / (many - 1), nil
}

// manyModels parses, renders and plans a project of 1,000 models.
func (b *bench) manyModels(ctx context.Context, first bool) (float64, error) {
	dir := manyDir(b.settings())
	if first {
		if err := os.RemoveAll(dir); err != nil {
			return 0, err
		}
		if err := projectfiles.Write(dir, projectfiles.Many(1000)); err != nil {
			return 0, err
		}
	}
	f, err := b.once(ctx, "many/dvt")
	return f.Seconds * 1000, err
}

func manyDir(s settings) string { return filepath.Join(s.dir, "many") }

// planMany plans every model of the project, several at once as a run does.
func planMany(ctx context.Context, s settings, timed func(func() (int64, error)) error) error {
	return timed(func() (n int64, err error) {
		dir := manyDir(s)
		p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "explain"})
		if err != nil {
			return 0, err
		}
		r := run.New(p, run.Options{}, silent{}, slog.New(slog.DiscardHandler))
		defer func() { err = errors.Join(err, r.Close()) }()
		nodes, _, err := p.Select(nil, nil, project.TypeModel)
		if err != nil {
			return 0, err
		}
		var group errgroup.Group
		group.SetLimit(p.Threads)
		for _, node := range nodes {
			group.Go(func() error {
				_, err := r.ExplainOffline(ctx, node)
				return err
			})
		}
		return int64(len(nodes)), group.Wait()
	})
}
