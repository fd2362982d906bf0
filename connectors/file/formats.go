package file

import (
	"context"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.FileFormats = (*conn)(nil)

// FormatOf is the format that a file's name tells.
func (c *conn) FormatOf(name string) string { return formatOf(name) }

// Extensions are the endings of a format.
func (c *conn) Extensions(format string) []string { return slices.Clone(extensions[format]) }

// LookFiles finds columns and types of files.
func (c *conn) LookFiles(ctx context.Context, format string, files []string) (connectors.FileScan, error) {
	s, err := c.look(ctx, found{format: format, files: files})
	if err != nil {
		return connectors.FileScan{}, err
	}
	from := func(cols []connectors.Column, files []string) string {
		if format == parquet {
			return s.read(files)
		}
		return declared(s.read(files), cols, foundTypes(cols))
	}
	return connectors.FileScan{Columns: s.columns, Rows: s.rows, From: from}, nil
}

// StageFile is a staging that ends in a file of the caller's.
func (c *conn) StageFile(ctx context.Context, spec connectors.StageSpec, path string) (connectors.Staging, error) {
	format, err := c.formatFor(spec.Options)
	if err != nil {
		return nil, err
	}
	return c.stage(ctx, spec, target{format: format}, path)
}
