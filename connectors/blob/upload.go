package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"gocloud.dev/blob"
)

// A part of an upload is held in memory until it is sent. 10,000 parts are the most that
// the service takes, so that an object has up to 160 GB.
const (
	partBytes = 16 << 20
	partsOpen = 3
)

// upload is an object that is being written. It is used by one goroutine.
type upload struct {
	c         *conn
	key       string
	cancel    context.CancelFunc
	w         *blob.Writer
	completed bool
}

// upload begins an object. Whoever begins it calls complete or abort.
func (c *conn) upload(ctx context.Context, key, contentType string) (*upload, error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	// It outlives the call that begins it; abort ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w, err := b.NewWriter(ctx, key, &blob.WriterOptions{BufferSize: partBytes, MaxConcurrency: partsOpen, ContentType: contentType, DisableContentTypeDetection: true})
	if err != nil {
		cancel()
		return nil, c.explain(ctx, actWrite, key, err)
	}
	return &upload{c: c, key: key, cancel: cancel, w: w}, nil
}

// pump runs write, which writes into the named pipe at path, and sends all of it. What
// write returns comes back. When sending fails, write is cancelled and what it still
// writes goes nowhere: a writer whose pipe has no reader would wait for ever.
func (u *upload) pump(ctx context.Context, path string, write func(context.Context) (int64, error)) (rows int64, err error) {
	// Open for both, a pipe waits for nobody, and ends when this end is closed.
	own, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	in, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, errors.Join(err, own.Close())
	}
	asked := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A server that takes nothing must not hold up an end that is asked for.
	stop := context.AfterFunc(ctx, u.cancel)
	defer stop()
	sent := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(onlyWriter{u.w}, in, make([]byte, 1<<20))
		if err != nil {
			err = u.c.explain(context.WithoutCancel(ctx), actWrite, u.key, err)
			cancel(err)
			_, _ = io.Copy(io.Discard, in)
		}
		sent <- errors.Join(err, in.Close())
	}()
	rows, err = write(ctx)
	closed := own.Close()
	if failed := <-sent; failed != nil {
		if asked.Err() != nil {
			return 0, context.Cause(asked)
		}
		return 0, failed
	}
	return rows, errors.Join(err, closed)
}

// onlyWriter hides the rest of a Writer, whose ReadFrom takes the buffer away.
type onlyWriter struct{ io.Writer }

// complete makes the object visible, in the place of one of that key.
func (u *upload) complete(ctx context.Context) error {
	if u.completed {
		return errors.New("the upload is complete already")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, u.cancel)
	defer stop()
	if err := u.w.Close(); err != nil {
		u.w = nil
		return u.c.explain(ctx, actWrite, u.key, err)
	}
	u.completed = true
	return nil
}

// abort ends an upload that is not complete and gives up what it had sent.
func (u *upload) abort(ctx context.Context) error {
	defer u.cancel()
	if u.completed {
		return nil
	}
	u.cancel()
	if u.w != nil {
		_ = u.w.Close() // it has been cancelled
		u.w = nil
	}
	return u.c.abort(ctx, u.key)
}

// abort ends the uploads of a key that were begun and not completed.
func (c *conn) abort(ctx context.Context, key string) error {
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	if err := c.service.abort(ctx, b, c.bucketName, key); err != nil {
		return fmt.Errorf("ending unfinished uploads: %w", c.explain(ctx, actAbort, key, err))
	}
	return nil
}
