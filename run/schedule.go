package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dvt-dev/dvt/project"
)

// errFailFast is why nodes do not start after a failure under --fail-fast.
var errFailFast = errors.New("stopped by --fail-fast")

// Run runs nodes, given in DAG order, as many at once as the project's threads allow,
// each after all of its selected ancestors. A failure skips what is downstream of it.
// Results come in the order in which nodes ended.
func (r *Runner) Run(ctx context.Context, nodes []*project.Node, runNode func(context.Context, *project.Node, *Result)) []*Result {
	return r.runAfter(ctx, nodes, nil, runNode)
}

// runAfter is Run where nodes also wait for those that after gives for them (by unique
// ids).
func (r *Runner) runAfter(ctx context.Context, nodes []*project.Node, after map[string][]string, runNode func(context.Context, *project.Node, *Result)) []*Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &schedule{
		runner: r, cancel: cancel, total: len(nodes), runNode: runNode,
		waits: map[string]int{}, unlocks: map[string][]*project.Node{}, failed: map[string]string{},
		ready: make(chan *project.Node, len(nodes)), free: make(chan string, r.Project.Threads),
	}
	for i := range r.Project.Threads {
		s.free <- fmt.Sprintf("Thread-%d", i+1)
	}
	s.link(nodes, after)
	s.loop(ctx)
	return s.results
}

type schedule struct {
	runner  *Runner
	cancel  context.CancelCauseFunc
	total   int
	runNode func(context.Context, *project.Node, *Result)
	ready   chan *project.Node
	free    chan string // thread names

	mu      sync.Mutex
	started int
	waits   map[string]int             // selected ancestors that have not ended
	unlocks map[string][]*project.Node // selected nodes that wait for one
	failed  map[string]string          // node → the failed ancestor's name
	results []*Result
}

// link finds for each node its nearest selected ancestors: a chain through nodes
// that are not selected (an ephemeral model, say) still orders its ends.
func (s *schedule) link(nodes []*project.Node, after map[string][]string) {
	selected := map[string]*project.Node{}
	for _, n := range nodes {
		selected[n.UniqueID] = n
	}
	for _, n := range nodes {
		seen := map[string]bool{}
		var visit func(id string)
		visit = func(id string) {
			for _, parent := range s.runner.Project.Parents(id) {
				if seen[parent] {
					continue
				}
				seen[parent] = true
				if selected[parent] != nil {
					s.waits[n.UniqueID]++
					s.unlocks[parent] = append(s.unlocks[parent], n)
					continue
				}
				visit(parent)
			}
		}
		visit(n.UniqueID)
		for _, id := range after[n.UniqueID] {
			if selected[id] != nil && !seen[id] {
				seen[id] = true
				s.waits[n.UniqueID]++
				s.unlocks[id] = append(s.unlocks[id], n)
			}
		}
		if s.waits[n.UniqueID] == 0 {
			s.ready <- n
		}
	}
}

func (s *schedule) loop(ctx context.Context) {
	var running sync.WaitGroup
	for range s.total {
		node := <-s.ready
		if cause := s.skipReason(ctx, node); cause != "" {
			s.skip(node, cause)
			continue
		}
		thread := <-s.free
		// What ended while this node waited for a thread may have changed its fate.
		if cause := s.skipReason(ctx, node); cause != "" {
			s.free <- thread
			s.skip(node, cause)
			continue
		}
		res := &Result{Node: node, Thread: thread, Start: time.Now().UTC()}
		index := s.start(node)
		running.Add(1)
		go func() {
			defer running.Done()
			s.runNode(ctx, node, res)
			res.Elapsed = time.Since(res.Start)
			s.finish(index, res)
			s.free <- thread
		}()
	}
	running.Wait()
}

func (s *schedule) skipReason(ctx context.Context, n *project.Node) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if up := s.failed[n.UniqueID]; up != "" {
		return "upstream " + up + " failed"
	}
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errFailFast) {
			return errFailFast.Error()
		}
		return "interrupted"
	}
	return ""
}

func (s *schedule) start(n *project.Node) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	text := fmt.Sprintf("%d of %d START %s", s.started, s.total, describeNode(n))
	s.runner.emit(Info, "node_start", n, "", nil, statusLine(text, "RUN"))
	return s.started
}

func (s *schedule) skip(n *project.Node, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	res := &Result{Node: n, Status: Skipped, Start: time.Now().UTC(), Message: why}
	text := fmt.Sprintf("%d of %d SKIP %s (%s)", s.started, s.total, skippedNode(n), why)
	s.runner.emit(Info, "node_skip", n, Skipped, nil, text)
	s.end(res)
}

func (s *schedule) finish(index int, res *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	level, text, bracket := res.line()
	text = fmt.Sprintf("%d of %d %s", index, s.total, text)
	facts := map[string]any{"execution_time": res.Elapsed.Seconds(), "rows_in": res.RowsIn(), "rows_out": res.RowsOut}
	if res.Status == Error || res.Status == Fail {
		facts = map[string]any{"execution_time": res.Elapsed.Seconds(), "message": res.Message}
		if s.runner.Options.FailFast {
			s.cancel(errFailFast)
		}
	}
	s.runner.emit(level, "node_finish", res.Node, res.Status, facts, statusLine(text, bracket))
	s.end(res)
}

// end records a result and releases what waited for it. The caller holds mu.
func (s *schedule) end(res *Result) {
	s.results = append(s.results, res)
	for _, next := range s.unlocks[res.Node.UniqueID] {
		if res.Status.stops() && s.failed[next.UniqueID] == "" {
			up := res.Node.Name
			if through := s.failed[res.Node.UniqueID]; through != "" {
				up = through
			}
			s.failed[next.UniqueID] = up
		}
		if s.waits[next.UniqueID]--; s.waits[next.UniqueID] == 0 {
			s.ready <- next
		}
	}
}

func relationName(n *project.Node) string {
	if n.Schema == "" {
		return n.Alias
	}
	return n.Schema + "." + n.Alias
}
