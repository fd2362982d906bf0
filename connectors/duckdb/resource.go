package duckdb

import "github.com/dvt-dev/dvt/connectors"

var _ connectors.OneWriter = (*conn)(nil)

// Resource is the file, by its real path: a write to it waits for reads of it.
func (c *conn) Resource() string { return c.file.path }
