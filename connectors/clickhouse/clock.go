package clickhouse

import "context"

// TimestampDigits is 0 on servers whose only time type is DateTime.
func (c *conn) TimestampDigits(ctx context.Context) (int, error) {
	f, err := c.capabilities(ctx)
	if err != nil {
		return 0, err
	}
	if f.types["DateTime64"] {
		return 6, nil
	}
	return 0, nil
}
