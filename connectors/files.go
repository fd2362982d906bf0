package connectors

import "context"

// FileFormats reads and writes single files of this machine in the formats of the file
// connection, which has it. Connectors that keep files elsewhere bring them here and take
// them away, and so give values the same types that the file connection gives them.
type FileFormats interface {
	// FormatOf is the format that a file's name tells, "" if none.
	FormatOf(name string) string
	// Extensions are the endings of a format, its own first; none for no format.
	Extensions(format string) []string
	// LookFiles finds columns and types of files (absolute paths) of one format.
	LookFiles(ctx context.Context, format string, files []string) (FileScan, error)
	// StageFile is Stager.Stage with all rows ending in the file or named pipe at path
	// when Seal or Fill returns. Its Discard leaves path alone; it cannot be swapped in.
	StageFile(ctx context.Context, s StageSpec, path string) (Staging, error)
}

// FileScan is how files are read.
type FileScan struct {
	Columns []Column
	Rows    int64 // -1: not known
	// From is the text after FROM, in the compute engine's SQL, that reads files which
	// are like those looked at. cols are Columns, or with other types the project's own.
	From func(cols []Column, files []string) string
}
