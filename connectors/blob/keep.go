package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// smallMax bounds an object that is kept for dvt itself, a lock or a record of state, which
// have a few kilobytes.
const smallMax = 16 << 20

var errLarge = fmt.Errorf("it is larger than the %d MiB that dvt reads of an object it keeps for itself: another program wrote it; move it away, then run again", smallMax>>20)

// readSmall reads an object that is kept for dvt itself. One that is larger is none: the
// head of it must not be taken for the whole.
func readSmall(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, smallMax+1))
	if err == nil && len(data) > smallMax {
		err = errLarge
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// GetFile reads a small object below the prefix.
func (c *conn) GetFile(ctx context.Context, path string) ([]byte, string, error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, "", err
	}
	data, version, err := c.service.get(ctx, b, c.bucketName, c.below(path))
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		err = c.explain(ctx, actRead, c.below(path), err)
	}
	return data, version, err
}

// PutFile writes it by a conditional write.
func (c *conn) PutFile(ctx context.Context, path string, data []byte, version string) error {
	if len(data) > smallMax {
		return fmt.Errorf("cannot write %s: it has %d bytes, more than the %d MiB that could be read again", c.url(c.below(path)), len(data), smallMax>>20)
	}
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	_, err = c.service.put(ctx, b, c.bucketName, c.below(path), data, version)
	if err != nil && !errors.Is(err, connectors.ErrStateMoved) {
		err = c.explain(ctx, actWrite, c.below(path), err)
	}
	return err
}

// ListFiles gives the paths below prefix, without those in folders below it.
func (c *conn) ListFiles(ctx context.Context, prefix string) ([]string, error) {
	prefix = strings.Trim(prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	full := c.below(prefix)
	if prefix == "" && full != "" {
		full = strings.TrimSuffix(full, "/") + "/"
	}
	objects, _, err := c.list(ctx, full, "/")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range objects {
		out = append(out, prefix+strings.TrimPrefix(o.key, full))
	}
	return out, nil
}

// DeleteFile removes it.
func (c *conn) DeleteFile(ctx context.Context, path string) error {
	return c.remove(ctx, c.below(path))
}
