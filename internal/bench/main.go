// Command bench measures how close dvt comes to the limits of the engines: each route
// beside the engine's own client or bare protocol, in one run, each measurement in a
// process of its own so that its peak memory is its own.
//
//	bin/servers -- bin/bench -rows 5000000 -doc docs/performance.md
//
// It is run by make bench and is not part of dvt.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

type options struct {
	rows, runs         int64
	seed               int64
	routes, parts      string
	growNarrow         string
	growWide           string
	growDelta          string
	dvt, dir           string
	doc, save, compare string
}

func flags() (o options) {
	flag.Int64Var(&o.rows, "rows", 5_000_000, "rows of the wide table")
	flag.Int64Var(&o.runs, "runs", 3, "runs of each measurement, of which the best counts")
	flag.Int64Var(&o.seed, "seed", 1, "seed of the generated data")
	flag.StringVar(&o.routes, "routes", ".", "regular expression of the routes to measure")
	flag.StringVar(&o.parts, "parts", "routes,overhead,growth", "what to measure")
	flag.StringVar(&o.growNarrow, "grow-narrow", "1000000,3000000,10000000", "row counts of the narrow table")
	flag.StringVar(&o.growWide, "grow-wide", "100000,300000,1000000,3000000", "row counts of the wide table")
	flag.StringVar(&o.growDelta, "grow-delta", "100000,1000000", "row counts of the targets of a delta of 1,000 rows")
	flag.StringVar(&o.dvt, "dvt", "bin/dvt", "the dvt program")
	flag.StringVar(&o.dir, "dir", "", "folder for the data (default: a temporary one)")
	flag.StringVar(&o.doc, "doc", "", "write the tables into the marked part of this Markdown file")
	flag.StringVar(&o.save, "save", "bin/bench.json", "write the figures to this file")
	flag.StringVar(&o.compare, "compare", "", "print the figures beside those of this saved run")
	flag.Parse()
	return o
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "measure" { // a child of a run: bench measure ROUTE
		if err := measure(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, flags()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func start(ctx context.Context, o options) (err error) {
	filter, err := regexp.Compile(o.routes)
	if err != nil {
		return fmt.Errorf("reading -routes: %w", err)
	}
	var before *report
	if o.compare != "" {
		text, err := os.ReadFile(o.compare)
		if err != nil {
			return fmt.Errorf("reading the saved run: %w", err)
		}
		if err := json.Unmarshal(text, &before); err != nil {
			return fmt.Errorf("reading the saved run %s: %w", o.compare, err)
		}
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "dvt-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.dvt, err = filepath.Abs(o.dvt); err != nil {
		return err
	}
	b := &bench{options: o, filter: filter, report: describe(ctx, o)}
	if err := b.all(ctx); err != nil {
		return err
	}
	b.report.Ended = time.Now().UTC()
	if err := b.report.write(o.save); err != nil {
		return err
	}
	fmt.Println(b.report.markdown())
	if before != nil {
		fmt.Println(compared(before, b.report))
	}
	if o.doc == "" {
		return nil
	}
	return b.report.into(o.doc)
}
