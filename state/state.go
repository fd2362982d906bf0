// Package state keeps how far each incremental model has read: in a table of one of the
// profile's connections, in files of one, or in local files. It computes no watermark.
package state

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Store keeps records. All methods are safe for concurrent use, also by other
// processes.
type Store interface {
	// Load returns the record of a model and its target, nil if there is none. A
	// record that cannot be read is an error, not a missing one.
	Load(ctx context.Context, model, target string) (*connectors.StateRecord, error)
	// Save replaces the record whose value is *previous, or creates it when previous
	// is nil; connectors.ErrStateMoved when another run was first.
	Save(ctx context.Context, rec connectors.StateRecord, previous *string) error
	// List returns all records, by model and target.
	List(ctx context.Context) ([]connectors.StateRecord, error)
	// Delete removes a record; one that is not there is no error.
	Delete(ctx context.Context, model, target string) error
}

// Place is where a configured state lives.
type Place struct {
	// Connection and Schema are set when the state is a table: a load that lands on
	// the same connection can write its record in its own transaction.
	Connection, Schema string
	Store              Store
}

// Open resolves a SLING_STATE value: "OUTPUT/schema" is a table, "OUTPUT/path" of a
// connection that keeps files is a folder there, anything else is a local folder
// (relative to dir). A first segment that equals an output's name, whatever its case,
// is that output. conn opens an output; it is called only for the one that is named.
func Open(value, dir string, outputs []string, conn func(string) (connectors.Conn, error)) (*Place, error) {
	first, rest, _ := strings.Cut(filepath.ToSlash(value), "/")
	for _, name := range outputs {
		if strings.EqualFold(name, first) {
			return open(value, name, rest, conn)
		}
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(dir, value)
	}
	return &Place{Store: &files{keeper: localFiles{value}}}, nil
}

func open(value, name, rest string, conn func(string) (connectors.Conn, error)) (*Place, error) {
	c, err := conn(name)
	if err != nil {
		return nil, fmt.Errorf("opening state %q: %w", value, err)
	}
	rest = strings.Trim(rest, "/")
	switch c := c.(type) {
	case connectors.StateKeeper:
		if strings.Contains(rest, "/") {
			return nil, fmt.Errorf("state %q: expected %s/schema", value, name)
		}
		return &Place{Connection: name, Schema: rest, Store: &table{keeper: c, schema: rest}}, nil
	case connectors.FileKeeper:
		return &Place{Store: &files{keeper: c, prefix: rest}}, nil
	case connectors.LocalFolder:
		return &Place{Store: &files{keeper: localFiles{filepath.Join(c.Folder(), filepath.FromSlash(rest))}}}, nil
	}
	return nil, fmt.Errorf("state %q: connection %q cannot keep state", value, name)
}

// table is a Store in a connection's table.
type table struct {
	keeper connectors.StateKeeper
	schema string
}

func (t *table) Load(ctx context.Context, model, target string) (*connectors.StateRecord, error) {
	return t.keeper.LoadState(ctx, t.schema, model, target)
}

func (t *table) Save(ctx context.Context, rec connectors.StateRecord, previous *string) error {
	return t.keeper.SaveState(ctx, connectors.StateSave{Schema: t.schema, Record: rec, Previous: previous})
}

func (t *table) List(ctx context.Context) ([]connectors.StateRecord, error) {
	return t.keeper.ListState(ctx, t.schema)
}

func (t *table) Delete(ctx context.Context, model, target string) error {
	return t.keeper.DeleteState(ctx, t.schema, model, target)
}
