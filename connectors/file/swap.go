package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Replace puts the hidden file in the place of the table by rename(2). Where the table
// was a folder of parts, the folder goes first in every look-up, so that taking it away,
// also by one rename, is what changes the content.
func (c *conn) Replace(_ context.Context, st connectors.Staging) error {
	x, err := c.sealed(st)
	if err != nil {
		return err
	}
	if err := x.writeTypes(x.target.file()); err != nil {
		return err
	}
	if err := os.Rename(x.path, x.target.file()); err != nil {
		return err
	}
	x.path = ""
	if err := syncDir(x.target.dir); err != nil {
		return err
	}
	info, err := os.Lstat(x.target.folder())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	gone := filepath.Join(x.target.dir, stagingPrefix+"old_"+c.hash12(x.spec.Target))
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := os.Rename(x.target.folder(), gone); err != nil {
		return err
	}
	return errors.Join(syncDir(x.target.dir), os.RemoveAll(gone))
}

func (c *conn) sealed(st connectors.Staging) (*staging, error) {
	x, ok := st.(*staging)
	if !ok || x.c != c || !x.sealed || x.path == "" {
		return nil, fmt.Errorf("the staging is not a sealed one of this connection")
	}
	return x, nil
}

// Append adds the hidden file as a part. A table that is one file becomes a folder of
// parts first: made aside with both, and put in place by one rename.
func (c *conn) Append(_ context.Context, st connectors.Staging) (connectors.Applied, error) {
	var out connectors.Applied
	x, err := c.sealed(st)
	if err != nil {
		return out, err
	}
	ext := extensions[x.target.format][0]
	part := "part-" + strings.NewReplacer("/", "_", `\`, "_").Replace(x.spec.RunID) + ext
	folder := x.target.folder()
	if _, err := os.Stat(folder); err == nil {
		if _, err := os.Lstat(filepath.Join(folder, part)); err == nil {
			return out, fmt.Errorf("appending to %s: run %s has appended already", x.spec.Target, x.spec.RunID)
		}
		if err := x.writeTypes(filepath.Join(folder, part)); err != nil {
			return out, err
		}
		if err := os.Rename(x.path, filepath.Join(folder, part)); err != nil {
			return out, err
		}
		x.path = ""
		out.Inserted = x.rows
		return out, syncDir(folder)
	}
	if _, err := os.Stat(x.target.file()); err != nil {
		return out, fmt.Errorf("appending to %s: %w", x.spec.Target, err)
	}
	aside := filepath.Join(x.target.dir, stagingPrefix+"new_"+c.hash12(x.spec.Target))
	if err := os.RemoveAll(aside); err != nil {
		return out, err
	}
	if err := os.Mkdir(aside, 0o755); err != nil {
		return out, err
	}
	err = errors.Join(
		x.writeTypes(filepath.Join(aside, part)),
		os.Link(x.target.file(), filepath.Join(aside, "part-0"+ext)),
		copyTypes(x.target.file(), filepath.Join(aside, "part-0"+ext)),
		os.Rename(x.path, filepath.Join(aside, part)),
	)
	if err == nil {
		err = syncDir(aside)
	}
	if err == nil {
		err = os.Rename(aside, folder)
	}
	if err != nil {
		return out, errors.Join(err, os.RemoveAll(aside))
	}
	x.path = ""
	out.Inserted = x.rows
	// From here on the folder is the table; the single file only costs room.
	return out, errors.Join(syncDir(x.target.dir), os.Remove(x.target.file()), os.RemoveAll(typePath(x.target.file())))
}

// CleanStaging removes what dead runs left beside target.
func (c *conn) CleanStaging(_ context.Context, rel connectors.Relation) error {
	dir, _, err := c.place(rel)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) && strings.Contains(e.Name(), c.hash12(rel)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
