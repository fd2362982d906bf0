package conformance

import (
	"os"
	"path/filepath"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// inFiles says that the engine has no database of its own: its relations are files, which
// DuckDB writes and judges.
func (s *Site) inFiles() bool { return s.Engine == "file" || s.Engine == "s3" }

// inBucket gives a site of S3 a prefix of its own.
func (s *Site) inBucket(out *connectors.Output) {
	var err error
	if s.bucket, err = enginetest.OpenS3(); err != nil {
		s.bench.Fatal(err)
	}
	s.prefix = s.bench.name + "_" + filepath.Base(s.path)
	out.Keys = s.bucket.Keys(s.prefix)
}

func (s *Site) key(rel connectors.Relation) string {
	return s.prefix + "/" + rel.Schema + "/" + rel.Name + ".parquet"
}

// put takes the file of a relation to the bucket, fetch brings it back.
func (s *Site) put(rel connectors.Relation) {
	s.bench.Helper()
	if s.bucket != nil {
		if err := s.bucket.PutFile(s.key(rel), s.file(rel)); err != nil {
			s.bench.Fatal(err)
		}
	}
}

func (s *Site) fetch(rel connectors.Relation) {
	s.bench.Helper()
	if s.bucket == nil {
		return
	}
	data, err := s.bucket.Get(s.key(rel))
	if err == nil {
		err = os.WriteFile(s.file(rel), data, 0o600)
	}
	if err != nil {
		s.bench.Fatal(err)
	}
}

// family is the engine whose rules hold.
func family(engine string) string {
	if engine == "s3" {
		return "file"
	}
	return engine
}
