package compute

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/compute/duck"
)

// starved says what to do about an error of a query that ran out of memory or of room for
// its temporary files; DuckDB's own advice names settings of a session that is not the
// user's. Other errors are returned as they are.
func (e *Engine) starved(err *duck.Error) error {
	line, _, _ := strings.Cut(err.Message, "\n")
	switch {
	case err.Kind == "Out of Memory" && e.cfg.MaxTempDirectorySize != "":
		// Which of its threads reports first decides whether DuckDB names the memory or the
		// temporary files that could take no more of it.
		return &shortage{fmt.Sprintf("out of memory and of room to spill: %s; raise federation_memory_limit or max_temp_directory_size (%s), or lower --threads", line, e.cfg.MaxTempDirectorySize), err}
	case err.Kind == "Out of Memory":
		return &shortage{fmt.Sprintf("out of memory: %s; raise federation_memory_limit or lower --threads", line), err}
	case err.Kind == "IO" && strings.Contains(err.Message, e.temp.spill()):
		return &shortage{fmt.Sprintf("writing temporary files: %s; temp_directory needs more room", line), err}
	}
	return err
}

// shortage is DuckDB's error in the words of dvt's settings.
type shortage struct {
	text  string
	cause error
}

func (s *shortage) Error() string { return s.text }
func (s *shortage) Unwrap() error { return s.cause }
