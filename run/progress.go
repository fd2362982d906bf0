package run

import (
	"sort"
	"time"

	"github.com/dvt-dev/dvt/extract"
)

// Active is a model that is being run.
type Active struct {
	Model       string
	Since       time.Time
	Rows, Bytes int64 // that have left its sources so far
}

type activity struct {
	since    time.Time
	progress *extract.Progress
}

// begin makes a model's progress visible until end is called.
func (r *Runner) begin(model string) (progress *extract.Progress, end func()) {
	a := &activity{since: time.Now(), progress: &extract.Progress{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == nil {
		r.active = map[string]*activity{}
	}
	r.active[model] = a
	return a.progress, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.active[model] == a {
			delete(r.active, model)
		}
	}
}

// Progress says how far the models that run now have come, by name.
func (r *Runner) Progress() []Active {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Active
	for model, a := range r.active {
		all = append(all, Active{model, a.since, a.progress.Rows.Load(), a.progress.Bytes.Load()})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Model < all[j].Model })
	return all
}
