package connectors

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Output is one output of the profile: the settings of a connection.
type Output struct {
	Name string
	Type string         // engine type as profiles.yml spells it
	Keys map[string]any // the remaining keys as YAML gave them, rendered
}

// Text is the value of the first of some keys that has one, as text.
func (o Output) Text(names ...string) string {
	for _, n := range names {
		if v, ok := o.Keys[n]; ok && v != nil {
			if s := fmt.Sprint(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// Env is what a connector may need of its surroundings.
type Env struct {
	ProjectDir string
	RunID      string
	Log        *slog.Logger
	// Engine opens the compute engine, for connectors whose data DuckDB reads itself.
	Engine func(ctx context.Context) (Engine, error)
	// Mem is what record batches are made in; nil: Go's own memory.
	Mem memory.Allocator
	// ConnectTimeout bounds opening a session, QueryTimeout one statement (0: none).
	ConnectTimeout, QueryTimeout time.Duration
}

// Allocator is Mem, or Go's own memory.
func (e Env) Allocator() memory.Allocator {
	if e.Mem != nil {
		return e.Mem
	}
	return memory.DefaultAllocator
}

// Factory opens a connection lazily: it checks the settings and returns at once;
// the first use connects.
type Factory func(out Output, env Env) (Conn, error)

// Kindred says what a registered engine is, for messages and checks that need no
// connection.
type Kindred struct {
	Types   []string // names in profiles.yml, the first is the engine's own
	Open    Factory
	Secrets []string // keys of Output.Keys whose values are secret
	// SecretParts gives what is secret by itself inside of such values; nil if nothing is.
	SecretParts func(out Output) []string
	// DefaultSchema is the schema that relations get when the model and the profile
	// name none.
	DefaultSchema func(out Output) string
	// CanMerge reports whether the engine can apply deltas in one transaction.
	CanMerge bool
}

var registered = map[string]*Kindred{}

// Register adds an engine; each connector calls it from init.
func Register(k Kindred) {
	for _, t := range k.Types {
		if registered[t] != nil {
			panic("connectors: " + t + " registered twice")
		}
		registered[t] = &k
	}
}

// Lookup finds the engine of a profile's type.
func Lookup(typ string) (*Kindred, error) {
	if k := registered[strings.ToLower(typ)]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("unknown connection type %q: known are %s", typ, strings.Join(Types(), ", "))
}

// Types lists the registered engine types.
func Types() []string {
	var all []string
	for t := range registered {
		all = append(all, t)
	}
	sort.Strings(all)
	return all
}

// SecretValues are the values of out that must never be printed.
func SecretValues(out Output) []string {
	names := []string{"password", "pass", "secret_access_key", "access_key_id", "session_token", "token", "sslpassword"}
	if k := registered[strings.ToLower(out.Type)]; k != nil {
		names = append(names, k.Secrets...)
	}
	var secrets []string
	if k := registered[strings.ToLower(out.Type)]; k != nil && k.SecretParts != nil {
		secrets = k.SecretParts(out)
	}
	for _, n := range names {
		if s := out.Text(n); s != "" {
			secrets = append(secrets, s)
		}
	}
	return secrets
}
