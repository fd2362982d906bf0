package compute

/*
#include <malloc.h>
#include <stdio.h>
#include <stddef.h>
#include <sys/types.h>

// DuckDB's static library brings an allocator of its own (jemalloc under this prefix).
// The symbol is weak: a build against another DuckDB library lacks it.
extern int duckdb_je_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen) __attribute__((weak));

static void dvt_set_ms(const char *name, ssize_t ms) {
	duckdb_je_mallctl(name, NULL, NULL, &ms, sizeof ms);
}

static void dvt_tune(int threads, ssize_t ms) {
	mallopt(M_ARENA_MAX, threads);
	if (!duckdb_je_mallctl) return;
	dvt_set_ms("arenas.dirty_decay_ms", ms);
	dvt_set_ms("arenas.muzzy_decay_ms", ms);
	unsigned n = 0;
	size_t size = sizeof n;
	if (duckdb_je_mallctl("arenas.narenas", &n, &size, NULL, 0)) return;
	for (unsigned i = 0; i < n; i++) {
		char name[48];
		snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", i);
		dvt_set_ms(name, ms);
		snprintf(name, sizeof name, "arena.%u.muzzy_decay_ms", i);
		dvt_set_ms(name, ms);
	}
}
*/
import "C"

import (
	"sync"
	"time"
)

// decayMS is how long DuckDB's allocator keeps pages that are free. Its own default of a
// second lets resident memory grow by up to 150 MB beyond memory_limit while a join
// spills; a tenth of it costs nothing measurable.
const decayMS = 100

// tuneAllocators makes memory that is freed go back to the system soon, and keeps the C
// library from having a heap for each of Go's many threads.
func tuneAllocators(threads int) { C.dvt_tune(C.int(max(2, threads)), decayMS) }

var (
	trimMu   sync.Mutex
	lastTrim time.Time
)

// trimAllocators gives back what the C library holds free. It walks the whole heap, so it
// does nothing when it just did.
func trimAllocators() {
	trimMu.Lock()
	defer trimMu.Unlock()
	if time.Since(lastTrim) >= decayMS*time.Millisecond {
		C.malloc_trim(0)
		lastTrim = time.Now()
	}
}
