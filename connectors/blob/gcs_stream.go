package blob

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob/driver"

	"github.com/dvt-dev/dvt/internal/retry"
)

// readerGCS reads a range of an object.
type readerGCS struct {
	io.ReadCloser
	attrs driver.ReaderAttributes
}

func (r *readerGCS) Attributes() *driver.ReaderAttributes { return &r.attrs }
func (r *readerGCS) As(any) bool                          { return false }

func (b *bucketGCS) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	if length == 0 { // there is no such range
		a, err := b.Attributes(ctx, key)
		if err != nil {
			return nil, err
		}
		return &readerGCS{http.NoBody, driver.ReaderAttributes{ContentType: a.ContentType, ModTime: a.ModTime, Size: a.Size}}, nil
	}
	var in readGCS
	if opts.BeforeRead != nil {
		err := opts.BeforeRead(func(i any) bool {
			p, ok := i.(**readGCS)
			if ok {
				*p = &in
			}
			return ok
		})
		if err != nil {
			return nil, err
		}
	}
	q := url.Values{"alt": {"media"}}
	if in.generation != "" {
		q.Set("ifGenerationMatch", in.generation)
	}
	to := ""
	if length > 0 {
		to = strconv.FormatInt(offset+length-1, 10)
	}
	res, err := b.do(ctx, http.MethodGet, b.object(key)+"?"+q.Encode(), http.Header{"Range": {fmt.Sprintf("bytes=%d-%s", offset, to)}}, nil)
	if err != nil {
		return nil, err
	}
	r := &readerGCS{ReadCloser: res.Body, attrs: driver.ReaderAttributes{ContentType: res.Header.Get("Content-Type"), Size: -1}}
	r.attrs.ModTime, _ = time.Parse(http.TimeFormat, res.Header.Get("Last-Modified")) // nobody needs it
	if _, of, ok := strings.Cut(res.Header.Get("Content-Range"), "/"); ok && res.StatusCode == http.StatusPartialContent {
		if r.attrs.Size, err = strconv.ParseInt(of, 10, 64); err != nil {
			r.attrs.Size = -1
		}
	}
	if r.attrs.Size < 0 {
		// The service answers so for what it stores compressed and sends expanded.
		return nil, errors.Join(errors.New("the service does not send ranges of this object: it has a Content-Encoding"), res.Body.Close())
	}
	return r, nil
}

// writerGCS sends an object in chunks. It is visible when the last one has arrived.
type writerGCS struct {
	b       *bucketGCS
	ctx     context.Context
	query   url.Values
	mime    string
	chunk   []byte
	size    int    // of a chunk, a multiple of 256 KiB as the service demands
	session string // address of an upload in chunks, "" before the first
	sent    int64
	sum     hash.Hash32
	failed  error // nothing is sent after it: what is missing would not be missed
}

func (b *bucketGCS) NewTypedWriter(ctx context.Context, key, mime string, opts *driver.WriterOptions) (driver.Writer, error) {
	w := &writerGCS{b: b, ctx: ctx, query: url.Values{"name": {key}}, mime: mime, size: partBytes, sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	if opts.BufferSize > 0 {
		w.size = opts.BufferSize
	}
	if opts.IfNotExist {
		w.query.Set("ifGenerationMatch", "0")
	}
	return w, nil
}

// Write keeps the last bytes: the last chunk is sent by Close.
func (w *writerGCS) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(w.chunk) == w.size {
			if w.failed == nil {
				w.failed = w.send(false)
			}
			if w.failed != nil {
				return n, w.failed
			}
		}
		if w.chunk == nil {
			w.chunk = make([]byte, 0, w.size)
		}
		k := min(len(p), w.size-len(w.chunk))
		w.chunk = append(w.chunk, p[:k]...)
		_, _ = w.sum.Write(p[:k]) // never fails
		n, p = n+k, p[k:]
	}
	return n, nil
}

// Close completes the object, unless the writer's context has ended.
func (w *writerGCS) Close() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.failed != nil {
		return w.failed
	}
	return w.send(true)
}

// send sends the chunk.
func (w *writerGCS) send(last bool) error {
	if w.session == "" && last {
		w.query.Set("uploadType", "media")
		res, err := w.b.do(w.ctx, http.MethodPost, w.b.upload(w.query), http.Header{"Content-Type": {w.mime}}, w.chunk)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		return w.check(res)
	}
	if w.session == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	end := w.sent + int64(len(w.chunk))
	total := "*"
	if last {
		total = strconv.FormatInt(end, 10)
	}
	first := true
	return retry.While(w.ctx, pace, func(err error) bool { return errors.Is(err, errPartly) || again(err) }, func() error {
		if !first {
			// What has arrived is asked for: the answer may have been lost, or part of the chunk.
			if done, err := w.put("bytes */"+total, nil); err == nil && done && last || err != nil && !again(err) {
				return err
			}
		}
		first = false
		rest := w.chunk[len(w.chunk)-int(end-w.sent):]
		span := "*"
		if len(rest) > 0 {
			span = fmt.Sprintf("%d-%d", w.sent, end-1)
		}
		done, err := w.put("bytes "+span+"/"+total, rest)
		switch {
		case err != nil || done && last:
			return err
		case done:
			return errors.New("the service ended the upload before its end")
		case last || w.sent != end:
			return errPartly
		}
		w.chunk = w.chunk[:0]
		return nil
	})
}

var errPartly = errors.New("the service did not take all of a chunk")

// begin opens an upload in chunks.
func (w *writerGCS) begin() error {
	w.query.Set("uploadType", "resumable")
	res, err := w.b.do(w.ctx, http.MethodPost, w.b.upload(w.query), http.Header{"X-Upload-Content-Type": {w.mime}}, nil)
	if err != nil {
		return err
	}
	w.session = res.Header.Get("Location")
	if err := res.Body.Close(); err != nil {
		return err
	}
	if w.session == "" {
		return errors.New("the service does not say where to upload")
	}
	return nil
}

// put sends bytes of the upload, or asks for what has arrived, and learns it from the
// answer; done is that the object is complete.
func (w *writerGCS) put(span string, data []byte) (done bool, err error) {
	res, err := w.b.once(w.ctx, http.MethodPut, w.session, http.Header{"Content-Range": {span}}, data)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusPermanentRedirect {
		return true, w.check(res)
	}
	start, arrived := w.sent, int64(0)
	if _, last, ok := strings.Cut(res.Header.Get("Range"), "-"); ok {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return false, fmt.Errorf("the service says that %q has arrived", last)
		}
		arrived = n + 1
	}
	if arrived < start || arrived > start+int64(len(w.chunk)) {
		return false, fmt.Errorf("the service has %d bytes of the upload, and %d were sent", arrived, start)
	}
	w.sent = arrived
	return false, nil
}

// check compares the object's checksum with that of what was written.
func (w *writerGCS) check(res *http.Response) error {
	var item itemGCS
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil {
		err = stdjson.NewDecoder(bytes.NewReader(raw)).Decode(&item)
	}
	if err != nil {
		return fmt.Errorf("the answer to an upload: %w", err)
	}
	want := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, w.sum.Sum32()))
	if item.Crc32c != "" && item.Crc32c != want {
		return fmt.Errorf("the object has the checksum %s, and what was sent %s: run again", item.Crc32c, want)
	}
	return nil
}
