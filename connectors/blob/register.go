// Package blob reads and writes tables kept as objects of a bucket: Parquet, CSV and JSON.
// Objects are reached through gocloud.dev/blob; what is read of them is brought into the
// run's temporary folder, where the file connection's readers give values their types, and
// what is written streams from the file connection's writers into an upload. A table is
// one object, or a folder of parts.
package blob

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// register adds one service under its type in profiles.yml.
func register(s service) {
	connectors.Register(connectors.Kindred{
		Types:         []string{s.name},
		Open:          func(out connectors.Output, env connectors.Env) (connectors.Conn, error) { return open(s, out, env) },
		Secrets:       s.secrets,
		SecretParts:   s.parts,
		DefaultSchema: func(out connectors.Output) string { return out.Text("schema") },
		CanMerge:      false,
	})
}

const (
	parquet = "parquet"
	csv     = "csv"
	json    = "json"
)

// fileKeys are the settings that the file connection understands.
var fileKeys = []string{"format", "delim", "quote", "escape", "nullstr", "header", "maximum_object_size"}

func open(s service, out connectors.Output, env connectors.Env) (connectors.Conn, error) {
	fail := func(format string, args ...any) (connectors.Conn, error) {
		return nil, fmt.Errorf("output %q: %s", out.Name, fmt.Sprintf(format, args...))
	}
	c := &conn{service: s, out: out, env: env, name: out.Name, bucketName: out.Text(s.bucketKey), schema: out.Text("schema"), seen: map[string]*look{}, current: map[connectors.Relation]*look{}}
	if c.bucketName == "" {
		return fail("%s is missing", s.bucketKey)
	}
	if strings.ContainsAny(c.bucketName, "/\x00") {
		return fail("%s %q: it is a name without slashes; what follows goes into prefix", s.bucketKey, c.bucketName)
	}
	var err error
	if c.prefix, err = cleanKey(out.Text("prefix")); err != nil {
		return fail("prefix: %v", err)
	}
	if err := s.check(out); err != nil {
		return fail("%v", err)
	}
	keys := map[string]any{"path": env.ProjectDir}
	for _, k := range fileKeys {
		if v, ok := out.Keys[k]; ok {
			keys[k] = v
		}
	}
	kind, err := connectors.Lookup("file")
	if err != nil {
		return nil, err
	}
	local, err := kind.Open(connectors.Output{Name: out.Name, Type: "file", Keys: keys}, env)
	if err != nil {
		return nil, err
	}
	c.local, c.files = local, local.(connectors.FileFormats)
	if c.format = strings.ToLower(out.Text("format")); c.format == "" {
		c.format = parquet
	}
	if c.log = env.Log; c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.dialect = newDialect(c)
	return c, nil
}

// cleanKey is a key or prefix without slashes at its ends; it must not lead anywhere else.
func cleanKey(key string) (string, error) {
	key = strings.Trim(key, "/")
	for _, part := range strings.Split(key, "/") {
		if part == "." || part == ".." || part == "" && key != "" {
			return "", fmt.Errorf("%q: it must be a plain path without empty, . or .. parts", key)
		}
	}
	if strings.ContainsRune(key, 0) {
		return "", fmt.Errorf("%q: it has a NUL byte", key)
	}
	return key, nil
}
