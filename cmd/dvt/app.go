package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

// app is one invocation: the global flags and what they open.
type app struct {
	stdout, stderr io.Writer

	projectDir, profilesDir, profile, target, vars, logFormat string
	threads                                                   int
	debug, quiet, noColor                                     bool
	store                                                     bool // --store-failures
	partialParse, noPartialParse                              bool

	started       time.Time
	progressShown bool
	dataOnStdout  bool // stdout is the command's result: what else there is to say goes to stderr
	logFile       *os.File
	log           *slog.Logger
	profiles      profiles
	runner        *run.Runner
	redactor      *run.Redactor
}

var goParse = regexp.MustCompile(`: strconv\.Parse(?:Int|Float): .*$`)

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "dvt",
		Short:         "Run SQL models whose tables live on several databases",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			cmd.SuggestionsMinimumDistance = min(2, len(args[0])/2)
			text := fmt.Sprintf("unknown command %q for %q", args[0], "dvt")
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				text += ". Did you mean: " + strings.Join(near, ", ") + "?"
			}
			return errors.New(text)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		// What Go calls the parser is nothing to the reader.
		return errors.New(goParse.ReplaceAllString(err.Error(), ": expected a number"))
	})
	root.SetVersionTemplate("dvt {{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&a.projectDir, "project-dir", ".", "folder of dbt_project.yml")
	f.StringVar(&a.profilesDir, "profiles-dir", "", "folder of profiles.yml (default: the project's, $DVT_PROFILES_DIR, $DBT_PROFILES_DIR, ~/.dvt, ~/.dbt)")
	f.StringVar(&a.profile, "profile", "", "profile to use instead of the project's")
	f.StringVarP(&a.target, "target", "t", "", "output that models without a target of their own land on")
	f.StringVar(&a.vars, "vars", "", "variables as a YAML mapping: '{key: value}'")
	f.IntVar(&a.threads, "threads", 0, "models run at once (default: the profile's, else 4)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if a.threads < 1 && f.Changed("threads") {
			return fmt.Errorf("--threads %d: expected 1 or more", a.threads)
		}
		if on, err := strconv.ParseBool(os.Getenv("DBT_PARTIAL_PARSE")); err == nil && !f.Changed("partial-parse") {
			a.partialParse = on
		}
		return a.profiles.start()
	}
	f.BoolVar(&a.partialParse, "partial-parse", true, "use what earlier runs found out about unchanged models (also DBT_PARTIAL_PARSE)")
	f.BoolVar(&a.noPartialParse, "no-partial-parse", false, "analyse every model anew")
	a.profiles.flags(f)
	f.StringVar(&a.logFormat, "log-format", "text", "text or json")
	f.BoolVarP(&a.debug, "debug", "d", false, "print the debug log too")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print errors only")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR)")
	root.AddCommand(
		a.initCommand(), a.debugCommand(), a.compileCommand(), a.explainCommand(), a.runCommand(), a.buildCommand(), a.showCommand(),
		a.seedCommand(), a.snapshotCommand(), a.testCommand(), a.sourceCommand(), a.retryCommand(),
		a.lsCommand(), a.cleanCommand(), a.stateCommand(), a.syncCommand(), a.docsCommand(), a.versionCommand(),
		a.unsupported("deps", "put the packages' folders into dbt_packages/ (dbt deps does that) or copy their macros into macros/"),
		a.unsupported("run-operation", "run a statement as a hook, or with the engine's own client"),
	)
	return root
}

func (a *app) unsupported(name, instead string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Not supported: " + instead, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("dvt %s is not supported: %s", name, instead)
		},
	}
}

// load reads the project for a command that dbt knows as which.
func (a *app) load(ctx context.Context, which string, fullRefresh bool) (*project.Project, error) {
	if a.logFormat != "text" && a.logFormat != "json" {
		return nil, fmt.Errorf("--log-format %q: expected text or json", a.logFormat)
	}
	switch which {
	case "list", "show", "explain":
		a.dataOnStdout = true
	}
	var vars map[string]any
	dir, err := filepath.Abs(a.projectDir)
	if err != nil {
		return nil, err
	}
	if a.vars != "" {
		if vars, err = project.ParseVars(a.vars); err != nil {
			return nil, fmt.Errorf("--vars: expected a YAML mapping such as '{key: value}': %w", err)
		}
	}
	a.started = time.Now()
	p, err := project.Load(ctx, project.Options{
		Dir: dir, ProfilesDir: a.profilesDir, Profile: a.profile, Target: a.target, Vars: vars, Threads: a.threads,
		FullRefresh: fullRefresh, StoreFailures: a.store, Command: which, Shallow: which == "clean", StartedAt: a.started.UTC(), InvocationID: uuid.NewString(),
	})
	if err != nil {
		return nil, err
	}
	a.redactor = run.NewRedactor(p.Outputs)
	if err := a.openLog(p.Dir); err != nil {
		return nil, err
	}
	for _, n := range p.Notes {
		a.log.Debug(n)
	}
	later := map[string]bool{} // what is said of the nodes that are selected
	for _, n := range p.Nodes {
		later[n.PromotionWarning] = true
	}
	for _, w := range p.Warnings {
		if !later[w] {
			a.warn(w)
		}
	}
	return p, nil
}

// openLog starts logs/dvt.log; a project folder that cannot be written to goes without.
func (a *app) openLog(dir string) error {
	var w io.Writer = io.Discard
	path := filepath.Join(dir, "logs", "dvt.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			a.logFile, w = f, a.redactor.Writer(f)
		}
	}
	var handler slog.Handler = slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
	handler = tee{file: handler, debug: slog.NewTextHandler(a.redactor.Writer(a.stderr), &slog.HandlerOptions{Level: slog.LevelDebug}), app: a}
	a.log = slog.New(handler)
	return nil
}

// start loads the project and prepares its runner.
func (a *app) start(ctx context.Context, which string, o run.Options) (*run.Runner, error) {
	a.store = o.Store
	p, err := a.load(ctx, which, o.FullRefresh)
	if err != nil {
		return nil, err
	}
	o.Version, o.PlanAnew = version, a.noPartialParse || !a.partialParse
	a.runner = run.New(p, o, a, a.log)
	return a.runner, nil
}

func (a *app) close() error {
	var errs []error
	if a.runner != nil {
		errs = append(errs, a.runner.Close())
	}
	errs = append(errs, a.profiles.stop())
	if a.logFile != nil {
		errs = append(errs, a.logFile.Close())
	}
	return errors.Join(errs...)
}

func (a *app) redact(s string) string { return a.redactor.String(s) }

// selectNodes applies --select and --exclude and prints what they missed.
func (a *app) selectNodes(p *project.Project, sel, exclude []string, types ...string) ([]*project.Node, error) {
	nodes, warnings, err := p.Select(words(sel), words(exclude), types...)
	for _, w := range warnings {
		a.warn(w)
	}
	return nodes, err
}

// promoted says which of nodes run as something else than they say.
func (a *app) promoted(nodes []*project.Node) {
	for _, n := range nodes {
		if n.Promoted {
			a.warn(n.PromotionWarning)
		}
	}
}

func (a *app) warn(text string) {
	a.Event(run.Event{Time: time.Now().UTC(), Level: run.Warn, Name: "warning", Text: a.redact(text)})
}

// words splits selectors at spaces, for `-s "a b"` means the same as `-s a -s b`.
func words(in []string) []string {
	var out []string
	for _, s := range in {
		out = append(out, strings.Fields(s)...)
	}
	return out
}

// selectFlags adds -s and --exclude; values may follow as arguments, as in dbt.
func selectFlags(c *cobra.Command) (sel, exclude *[]string) {
	sel, exclude = new([]string), new([]string)
	c.Flags().StringArrayVarP(sel, "select", "s", nil, "what to run: name, path, tag:, source:, +parents, children+, a,b")
	c.Flags().StringArrayVarP(sel, "models", "m", nil, "the same as --select")
	c.Flags().StringArrayVar(exclude, "exclude", nil, "what to leave out")
	_ = c.Flags().MarkHidden("models")
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && len(*sel) == 0 {
			return fmt.Errorf("unexpected argument %q: select models with -s %s", args[0], args[0])
		}
		*sel = append(*sel, args...)
		return nil
	}
	return sel, exclude
}
