package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/internal/retry"
)

const (
	inFlight = 6       // ranges asked for at once, for one read
	rangeMax = 8 << 20 // bytes of one range
	rangeGap = 64 << 10
)

// span is a range of bytes, its end excluded.
type span struct{ from, to int64 }

// coalesce sorts spans, joins those with little between them, and cuts long ones.
func coalesce(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return int(min(1, max(-1, a.from-b.from))) })
	var joined []span
	for _, s := range spans {
		if s.to <= s.from {
			continue
		}
		if n := len(joined); n > 0 && s.from <= joined[n-1].to+rangeGap {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	var out []span
	for _, s := range joined {
		for ; s.to-s.from > rangeMax; s.from += rangeMax {
			out = append(out, span{s.from, s.from + rangeMax})
		}
		out = append(out, s)
	}
	return out
}

// readRange reads n bytes of an object, of the version that was listed.
func (c *conn) readRange(ctx context.Context, o object, from, n int64) ([]byte, error) {
	w := &buffer{at: from, data: make([]byte, n)}
	err := c.copyRange(ctx, o, span{from, from + n}, w)
	return w.data, err
}

type buffer struct {
	at   int64
	data []byte
}

func (b *buffer) WriteAt(p []byte, off int64) (int, error) { return copy(b.data[off-b.at:], p), nil }

// fill copies spans of an object to the same places of w, several at once.
func (c *conn) fill(ctx context.Context, o object, spans []span, w io.WriterAt) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, s := range spans {
		group.Go(func() error { return c.copyRange(ctx, o, s, w) })
	}
	return group.Wait()
}

// copyRange goes on where a connection broke off.
func (c *conn) copyRange(ctx context.Context, o object, s span, w io.WriterAt) error {
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	err = retry.While(ctx, pace, func(err error) bool {
		// An answer of the server is final: its own client has asked again where that
		// makes sense. A connection that ends in the middle of the data is not.
		_, code, _ := c.service.judge(err)
		return code == "" && !errors.Is(err, errChanged)
	}, func() error {
		n, err := c.copyOnce(ctx, b, o, s, w)
		s.from += n
		if s.from == s.to {
			return nil
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return c.readError(ctx, o, err)
}

func (c *conn) readError(ctx context.Context, o object, err error) error {
	if err == nil {
		return nil
	}
	if p, _, _ := c.service.judge(err); p == noObject || p == notSame || errors.Is(err, errChanged) {
		return fmt.Errorf("%s: %w", c.url(o.key), errChanged)
	}
	return c.explain(ctx, actRead, o.key, err)
}

func (c *conn) copyOnce(ctx context.Context, b *blob.Bucket, o object, s span, w io.WriterAt) (n int64, err error) {
	r, err := b.NewRangeReader(ctx, o.key, s.from, s.to-s.from, &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		c.service.pin(as, o.version)
		return nil
	}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	if r.Size() != o.size {
		return 0, errChanged
	}
	return io.Copy(io.NewOffsetWriter(w, s.from), io.LimitReader(r, s.to-s.from))
}
