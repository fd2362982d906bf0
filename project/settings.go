package project

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The defaults of dvt_project.yml.
const (
	memoryShare        = 0.7
	defaultParallelism = 4
	defaultLockWait    = 10 * time.Minute
)

var settingKeys = []string{"federation_memory_limit", "federation_threads", "temp_directory", "max_temp_directory_size", "extract_parallelism", "state", "lock_wait"}

// misplaced warns of settings that stand in dbt_project.yml, where nothing reads them.
func (l *loader) misplaced() {
	for _, key := range settingKeys {
		if n := get(l.p.packages[0].doc.root, key); n != nil {
			l.warn("dbt_project.yml:%d: '%s' has no effect here: it belongs in dvt_project.yml", n.Line, key)
		}
	}
}

// loadSettings reads dvt_project.yml, which may be absent.
func loadSettings(dir string, r *yamlRenderer, env func(string) (string, bool)) (Settings, error) {
	s := Settings{
		MemoryLimit:        int64(memoryShare * float64(machineMemory())),
		Threads:            runtime.GOMAXPROCS(0),
		TempDirectory:      filepath.Join(dir, ".dvt", "tmp"),
		ExtractParallelism: defaultParallelism,
		LockWait:           defaultLockWait,
	}
	path := filepath.Join(dir, "dvt_project.yml")
	if exists(path) {
		d, err := readYAML(path, "dvt_project.yml")
		if err != nil {
			return s, err
		}
		for _, e := range entries(d.root) {
			if isNull(e.val) {
				continue
			}
			if err := s.set(dir, d, e, r); err != nil {
				return s, err
			}
		}
	}
	// The environment wins over the file, so that one project runs with other state
	// in a test than in production.
	for _, name := range []string{"DVT_STATE", "SLING_STATE"} {
		if v, ok := env(name); ok && v != "" {
			s.State = v
		}
	}
	return s, nil
}

func (s *Settings) set(dir string, d doc, e entry, r *yamlRenderer) error {
	if !slices.Contains(settingKeys, e.key) {
		return nil
	}
	v, err := r.text(d, e.val)
	if err != nil {
		return err
	}
	bad := func(want string) error {
		return d.at(e.val).errorf("%s: '%s' is not %s", e.key, v, want)
	}
	switch e.key {
	case "federation_memory_limit":
		n, ok := parseBytes(v)
		if !ok || n < 1<<20 {
			return bad("a size of at least 1MB, such as '512MB' or '4GB'")
		}
		s.MemoryLimit = n
	case "max_temp_directory_size":
		if _, ok := parseBytes(v); !ok {
			return bad("a size such as '20GB'")
		}
		s.MaxTempDirectorySize = v
	case "federation_threads", "extract_parallelism":
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return bad("a number above 0")
		}
		if e.key == "federation_threads" {
			s.Threads = n
		} else {
			s.ExtractParallelism = n
		}
	case "temp_directory":
		if !filepath.IsAbs(v) {
			v = filepath.Join(dir, v)
		}
		s.TempDirectory = filepath.Clean(v)
	case "state":
		s.State = v
	case "lock_wait":
		w, err := parseWait(v)
		if err != nil {
			return bad("a duration such as '30s' or '10m'")
		}
		s.LockWait = w
	}
	return nil
}

func parseWait(v string) (time.Duration, error) {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(v, " ", ""))
	if err == nil && d < 0 {
		err = fmt.Errorf("negative")
	}
	return d, err
}

var bytesForm = regexp.MustCompile(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*(b|bytes?|[kmgt]b?|[kmgt]ib)?\s*$`)

// parseBytes reads a size as DuckDB does: KB, MB, GB, TB are powers of 1000, KiB and
// so on powers of 1024; a bare number is bytes.
func parseBytes(v string) (int64, bool) {
	m := bytesForm.FindStringSubmatch(v)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	unit := strings.ToLower(m[2])
	base := 1000.0
	if strings.HasSuffix(unit, "ib") {
		base = 1024
	}
	if i := strings.IndexByte("kmgt", (unit + "b")[0]); i >= 0 {
		n *= math.Pow(base, float64(i+1))
	}
	if n >= math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

// boolean reads a YAML or Jinja truth value.
func boolean(n *yaml.Node) (value, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return false, false
	}
	return truth(n.Value)
}

func truth(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}
