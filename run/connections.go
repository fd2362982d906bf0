package run

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/retry"
)

// Connections are the profile's outputs, opened when first used and shared by all
// models of a run. It remembers what Describe said until Forget.
type Connections struct {
	outputs map[string]connectors.Output
	check   func(name string) (connectors.Output, error) // what stands in the way of using one
	fault   func(name string, err error) error           // what is wrong with an output's keys, with its place; may be nil
	env     connectors.Env

	mu     sync.Mutex
	open   map[string]connectors.Conn
	tables map[tableKey]*tableEntry
}

type tableKey struct {
	connection string
	relation   connectors.Relation
}

type tableEntry struct {
	once  sync.Once
	table *connectors.Table
	err   error
}

// NewConnections prepares the outputs; nothing is opened. check gives an output with all
// its keys, or says what is wrong with it: a missing variable is no fault until then.
func NewConnections(outputs map[string]connectors.Output, check func(string) (connectors.Output, error), env connectors.Env) *Connections {
	return &Connections{outputs: outputs, check: check, env: env, open: map[string]connectors.Conn{}, tables: map[tableKey]*tableEntry{}}
}

// Get opens the connection of an output.
func (c *Connections) Get(name string) (connectors.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.open[name]; conn != nil {
		return conn, nil
	}
	if _, ok := c.outputs[name]; !ok {
		return nil, fmt.Errorf("connection %q is not an output of the profile: there are %s", name, strings.Join(c.names(), ", "))
	}
	out, err := c.check(name)
	if err != nil {
		return nil, err
	}
	kind, err := connectors.Lookup(out.Type)
	if err != nil {
		return nil, fmt.Errorf("output %q: %w", name, err)
	}
	out, env, err := withTimeouts(out, c.env)
	if err != nil {
		return nil, fmt.Errorf("output %q: %w", name, err)
	}
	conn, err := kind.Open(out, env)
	if err != nil {
		if at := fmt.Sprintf("output %q: ", name); !strings.HasPrefix(err.Error(), at) {
			err = fmt.Errorf("%s%w", at, err)
		}
		if c.fault != nil {
			err = c.fault(name, err)
		}
		return nil, err
	}
	c.open[name] = conn
	return conn, nil
}

func (c *Connections) names() []string {
	var names []string
	for n := range c.outputs {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Describe is Conn.Describe, asked once for each relation.
func (c *Connections) Describe(ctx context.Context, name string, rel connectors.Relation) (*connectors.Table, error) {
	key := tableKey{name, rel}
	c.mu.Lock()
	entry := c.tables[key]
	if entry == nil {
		entry = &tableEntry{}
		c.tables[key] = entry
	}
	c.mu.Unlock()
	entry.once.Do(func() {
		var conn connectors.Conn
		if conn, entry.err = c.Get(name); entry.err == nil {
			entry.err = retry.Lost(ctx, nil, func() (err error) {
				entry.table, err = conn.Describe(ctx, rel)
				return err
			})
		}
	})
	if entry.err != nil && (ctx.Err() != nil || connectors.Lost(entry.err)) {
		c.Forget(name, rel) // cancelled or cut off, not answered
	}
	return entry.table, entry.err
}

// Forget drops what is remembered of a relation, because it has been rebuilt.
func (c *Connections) Forget(name string, rel connectors.Relation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tables, tableKey{name, rel})
}

// Close closes every connection that was opened.
func (c *Connections) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for name, conn := range c.open {
		if err := conn.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", name, err))
		}
	}
	c.open = map[string]connectors.Conn{}
	return errors.Join(errs...)
}
