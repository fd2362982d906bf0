package blob

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
	"golang.org/x/oauth2"

	"github.com/dvt-dev/dvt/internal/netidle"
	"github.com/dvt-dev/dvt/internal/retry"
)

// bucketGCS speaks the service's JSON API over plain HTTP. The service's own client brings
// gRPC with all that belongs to it: twice what the rest of dvt costs to build.
type bucketGCS struct {
	web        *http.Client
	base, name string
}

var _ driver.Bucket = (*bucketGCS)(nil)

// itemGCS is what the service tells of an object. It writes numbers as texts.
type itemGCS struct {
	Name, Size, Generation, Crc32c, ContentType string
	Updated                                     time.Time
}

// readGCS is what a read may demand.
type readGCS struct{ generation string }

// errorGCS is an answer that is no success.
type errorGCS struct {
	status          int
	reason, message string
}

func (e *errorGCS) Error() string { return e.reason + ": " + e.message }

func (b *bucketGCS) object(key string) string { return b.objects() + "/" + url.PathEscape(key) }
func (b *bucketGCS) objects() string {
	return b.base + "/storage/v1/b/" + url.PathEscape(b.name) + "/o"
}
func (b *bucketGCS) upload(q url.Values) string {
	return b.base + "/upload/storage/v1/b/" + url.PathEscape(b.name) + "/o?" + q.Encode()
}

// do sends a request until the service answers it with a success or a final error. What is
// sent must be harmless to repeat. Whoever gets an answer closes its body.
func (b *bucketGCS) do(ctx context.Context, method, address string, header http.Header, body []byte) (res *http.Response, err error) {
	err = retry.While(ctx, pace, again, func() (err error) {
		res, err = b.once(ctx, method, address, header, body) //nolint:bodyclose // whoever gets it closes it
		return err
	})
	return res, err
}

// again: a server that says nothing has been waited for once already.
func again(err error) bool {
	var api *errorGCS
	if errors.As(err, &api) {
		return slices.Contains(resent, api.status)
	}
	var token *oauth2.RetrieveError
	if errors.As(err, &token) {
		return token.Response != nil && slices.Contains(resent, token.Response.StatusCode)
	}
	var network *url.Error
	return errors.As(err, &network) && !errors.Is(err, netidle.ErrIdle)
}

func (b *bucketGCS) once(ctx context.Context, method, address string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := b.web.Do(req)
	if err != nil || res.StatusCode < 300 || res.StatusCode == http.StatusPermanentRedirect {
		return res, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // an answer cut short says less
	var said struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	e := &errorGCS{status: res.StatusCode, reason: http.StatusText(res.StatusCode)}
	if stdjson.Unmarshal(raw, &said) == nil {
		e.message = said.Error.Message
		if len(said.Error.Errors) > 0 && said.Error.Errors[0].Reason != "" {
			e.reason = said.Error.Errors[0].Reason
		}
	} else {
		e.message = string(raw[:min(200, len(raw))])
	}
	return nil, e
}

// ask sends a request and reads its answer into out.
func (b *bucketGCS) ask(ctx context.Context, method, address string, out any) error {
	res, err := b.do(ctx, method, address, nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	return stdjson.NewDecoder(res.Body).Decode(out)
}

func (b *bucketGCS) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	q := url.Values{"fields": {"items(name,size,generation,updated),prefixes,nextPageToken"}, "prefix": {opts.Prefix}, "delimiter": {opts.Delimiter}, "pageToken": {string(opts.PageToken)}}
	if opts.PageSize > 0 {
		q.Set("maxResults", strconv.Itoa(opts.PageSize))
	}
	var said struct {
		Items         []itemGCS
		Prefixes      []string
		NextPageToken string
	}
	if err := b.ask(ctx, http.MethodGet, b.objects()+"?"+q.Encode(), &said); err != nil {
		return nil, err
	}
	page := &driver.ListPage{NextPageToken: []byte(said.NextPageToken)}
	for _, item := range said.Items {
		size, err := strconv.ParseInt(item.Size, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("object %q: its size is %q", item.Name, item.Size)
		}
		page.Objects = append(page.Objects, &driver.ListObject{Key: item.Name, Size: size, ModTime: item.Updated, AsFunc: func(i any) bool {
			p, ok := i.(*itemGCS)
			if ok {
				*p = item
			}
			return ok
		}})
	}
	for _, p := range said.Prefixes {
		page.Objects = append(page.Objects, &driver.ListObject{Key: p, IsDir: true, AsFunc: func(any) bool { return false }})
	}
	slices.SortFunc(page.Objects, func(x, y *driver.ListObject) int { return strings.Compare(x.Key, y.Key) })
	return page, nil
}

func (b *bucketGCS) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	var item itemGCS
	if err := b.ask(ctx, http.MethodGet, b.object(key), &item); err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(item.Size, 10, 64)
	return &driver.Attributes{ContentType: item.ContentType, ModTime: item.Updated, Size: size, AsFunc: func(any) bool { return false }}, err
}

// Copy lets the service copy, which answers in between when that takes long.
func (b *bucketGCS) Copy(ctx context.Context, to, from string, _ *driver.CopyOptions) error {
	token := ""
	for {
		var said struct {
			Done         bool
			RewriteToken string
		}
		address := b.object(from) + "/rewriteTo/b/" + url.PathEscape(b.name) + "/o/" + url.PathEscape(to)
		if err := b.ask(ctx, http.MethodPost, address+"?"+url.Values{"rewriteToken": {token}}.Encode(), &said); err != nil {
			return err
		}
		if said.Done {
			return nil
		}
		if token = said.RewriteToken; token == "" {
			return errors.New("the service neither copied the object nor said how to go on")
		}
	}
}

func (b *bucketGCS) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	return b.ask(ctx, http.MethodDelete, b.object(key), nil)
}

// ErrorCode serves gocloud.dev/blob alone; dvt goes by judgeGCS.
func (b *bucketGCS) ErrorCode(err error) gcerrors.ErrorCode {
	var api *errorGCS
	if errors.As(err, &api) {
		switch api.status {
		case http.StatusNotFound:
			return gcerrors.NotFound
		case http.StatusForbidden, http.StatusUnauthorized:
			return gcerrors.PermissionDenied
		case http.StatusPreconditionFailed:
			return gcerrors.FailedPrecondition
		}
	}
	return gcerrors.Unknown
}

func (b *bucketGCS) As(i any) bool {
	p, ok := i.(**bucketGCS)
	if ok {
		*p = b
	}
	return ok
}

func (b *bucketGCS) ErrorAs(error, any) bool { return false }
func (b *bucketGCS) Close() error            { return nil }

func (b *bucketGCS) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.ErrUnsupported
}
