package mysql

import (
	"context"
	"errors"

	"github.com/dvt-dev/dvt/connectors"
)

func (c *Conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	return errors.New("todo")
}

func (c *Conn) Replace(ctx context.Context, staged connectors.Staging) error {
	return errors.New("todo")
}

func (s *session) keyColumns(ctx context.Context, rel connectors.Relation) (map[string]int, error) {
	return nil, nil
}
