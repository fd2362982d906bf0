package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/filelock"
)

// Lock takes the lock of rel: a file beside the database, under the operating system's
// lock, so that it ends with the process that holds it. It serves two runs on one file
// from different projects as well.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (release func(), err error) {
	if err := c.knows(rel); err != nil {
		return nil, err
	}
	path := c.fileOf(rel).path
	path = filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.dvt-%s.lock", filepath.Base(path), hash12(rel.Name)))
	release, err = filelock.Acquire(ctx, path, wait, waiting)
	switch {
	case err != nil:
		return nil, err
	case release == nil:
		return nil, &connectors.LockedError{Relation: rel}
	}
	return release, nil
}
