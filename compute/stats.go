package compute

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/compute/duck"
)

// Stats are the highest figures of a run so far, in bytes.
type Stats struct {
	PeakMemory   int64 // resident memory of the process
	EngineMemory int64 // what DuckDB accounted for
	Spilled      int64 // in temporary files at one time
}

// Stats samples once more and returns the peaks.
func (e *Engine) Stats() Stats { return e.stat.sample() }

const samplePeriod = 200 * time.Millisecond

// sampler looks at DuckDB's accounts from time to time: it keeps no peaks itself.
type sampler struct {
	mu      sync.Mutex
	session *duck.Conn // nil while there is no instance
	peak    Stats
	cancel  context.CancelFunc
	done    chan struct{}
}

func newSampler() *sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sampler{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(samplePeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.sample()
			}
		}
	}()
	return s
}

// use looks through another session from now on and closes the one before.
func (s *sampler) use(session *duck.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.session
	s.session = session
	if old == nil {
		return nil
	}
	return old.Close()
}

// sample ignores errors: figures for a report are not worth failing a run.
func (s *sampler) sample() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		s.peak.PeakMemory = max(s.peak.PeakMemory, PeakRSS())
		return s.peak
	}
	_ = s.session.Query(context.Background(), memoryQuery, func(rec arrow.RecordBatch) error {
		s.peak.EngineMemory = max(s.peak.EngineMemory, rec.Column(0).(*array.Int64).Value(0))
		s.peak.Spilled = max(s.peak.Spilled, rec.Column(1).(*array.Int64).Value(0))
		return nil
	})
	s.peak.PeakMemory = max(s.peak.PeakMemory, PeakRSS())
	return s.peak
}

func (s *sampler) close() error {
	s.cancel()
	<-s.done
	return s.use(nil)
}
