package state

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// files is a Store with one JSON file per record.
type files struct {
	keeper connectors.FileKeeper
	prefix string
}

// name is a record's file: readable, and unique whatever characters the names have.
func (f *files) name(model, target string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, model)
	if len(readable) > 80 {
		readable = readable[:80]
	}
	sum := sha256.Sum256([]byte(model + "\x00" + target))
	return path.Join(f.prefix, fmt.Sprintf("%s-%x.json", readable, sum[:6]))
}

func (f *files) Load(ctx context.Context, model, target string) (*connectors.StateRecord, error) {
	rec, _, err := f.load(ctx, f.name(model, target))
	return rec, err
}

func (f *files) load(ctx context.Context, name string) (*connectors.StateRecord, string, error) {
	data, version, err := f.keeper.GetFile(ctx, name)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading state %s: %w", name, err)
	}
	rec := &connectors.StateRecord{}
	if err := json.Unmarshal(data, rec); err != nil || rec.Model == "" {
		return nil, "", fmt.Errorf("state %s cannot be read: it is not a state record; remove it with 'dvt state reset' if it is to start again", name)
	}
	return rec, version, nil
}

func (f *files) Save(ctx context.Context, rec connectors.StateRecord, previous *string) error {
	name := f.name(rec.Model, rec.Target)
	have, version, err := f.load(ctx, name)
	if err != nil {
		return err
	}
	if (have == nil) != (previous == nil) || have != nil && have.Value != *previous {
		return connectors.ErrStateMoved
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := f.keeper.PutFile(ctx, name, append(data, '\n'), version); err != nil {
		return fmt.Errorf("writing state %s: %w", name, err)
	}
	return nil
}

func (f *files) List(ctx context.Context) ([]connectors.StateRecord, error) {
	names, err := f.keeper.ListFiles(ctx, f.prefix)
	if err != nil {
		return nil, fmt.Errorf("listing state: %w", err)
	}
	var all []connectors.StateRecord
	for _, n := range names {
		if !strings.HasSuffix(n, ".json") {
			continue
		}
		rec, _, err := f.load(ctx, n)
		if err != nil {
			return nil, err
		}
		if rec != nil {
			all = append(all, *rec)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Model < all[j].Model || all[i].Model == all[j].Model && all[i].Target < all[j].Target
	})
	return all, nil
}

func (f *files) Delete(ctx context.Context, model, target string) error {
	err := f.keeper.DeleteFile(ctx, f.name(model, target))
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	return err
}
