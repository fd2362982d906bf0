package blob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"gocloud.dev/blob"

	"github.com/dvt-dev/dvt/connectors"
)

// service is one kind of object storage. What gocloud.dev/blob does not do alike on all
// of them is here.
type service struct {
	name      string // type in profiles.yml
	scheme    string // of addresses for people
	bucketKey string // the setting that names the bucket
	secrets   []string
	parts     func(out connectors.Output) []string // secrets inside of them, may be nil
	check     func(out connectors.Output) error
	// open opens the bucket; idle ends connections that nobody uses.
	open func(ctx context.Context, c *conn) (b *blob.Bucket, idle func(), err error)
	// endpoint is the server's address for messages, "" for the service's own.
	endpoint func(out connectors.Output) string
	// version names the content of a listed object; pin makes a read fail if the
	// object has another version by now.
	version func(o *blob.ListObject) string
	pin     func(as func(any) bool, version string)
	// get and put are a small object with its version and a conditional write; put gives
	// connectors.ErrStateMoved when the version is another ("": the object must not exist)
	// and returns the new version.
	get func(ctx context.Context, b *blob.Bucket, bucket, key string) (data []byte, version string, err error)
	put func(ctx context.Context, b *blob.Bucket, bucket, key string, data []byte, version string) (string, error)
	// abort ends the uploads of a key that nobody will complete; a key that ends in a
	// hyphen stands for all that begin so.
	abort func(ctx context.Context, b *blob.Bucket, bucket, key string) error
	// copy copies an object inside of the bucket, whatever its size.
	copy func(ctx context.Context, b *blob.Bucket, bucket, to, from string, size int64) error
	// judge says what an error of the service means. code and message are the server's own
	// words, "" if it gave no answer.
	judge func(err error) (p problem, code, message string)
	// grants says which permission an act needs.
	grants map[act]string
}

// act is what is done with a bucket.
type act uint8

const (
	actList act = iota
	actRead
	actWrite
	actDelete
	actAbort
)

func (a act) String() string {
	return [...]string{"list", "read", "write", "delete", "abort uploads of"}[a]
}

// problem is what an answer of a service means.
type problem uint8

const (
	unclear problem = iota
	noBucket
	noObject
	notSame // the object is not of the version that was asked for
	badKeys // the credentials are refused
	denied
)

// errDenied says that the user lacks a permission.
var errDenied = errors.New("no permission")

// errChanged says that an object is not the one that was listed.
var errChanged = fmt.Errorf("the object changed or vanished while it was read: %w", connectors.ErrChanged)

// where names the bucket's server for people.
func (c *conn) where() string {
	w := c.service.name + " " + c.url(c.prefix)
	if e := c.service.endpoint(c.out); e != "" {
		w += " at " + e
	}
	return w
}

// explain makes one clear line of an error of the service. Its own texts carry request
// ids over several lines; no credential is in them, and none is added.
func (c *conn) explain(ctx context.Context, a act, key string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, code, message := c.service.judge(err)
	said := oneLine(code + ": " + message)
	switch {
	case p == noBucket:
		return &connectors.ConnectError{Where: c.where(), Err: fmt.Errorf("there is no %s %q", c.service.bucketKey, c.bucketName)}
	case p == notSame:
		return fmt.Errorf("%s: %w", c.url(key), errChanged)
	case p == badKeys:
		return &connectors.ConnectError{Where: c.where(), Err: fmt.Errorf("the server refuses the credentials (%s)", said)}
	case p == noObject:
		return fmt.Errorf("%s: %w", c.url(key), connectors.ErrNotFound)
	case p == denied:
		return fmt.Errorf("%w to %s %s: %s is needed", errDenied, a, c.url(key), c.service.grants[a])
	case code != "":
		return fmt.Errorf("cannot %s %s: %s", a, c.url(key), said)
	}
	var network *net.OpError
	var dns *net.DNSError
	var address *url.Error
	switch {
	case errors.As(err, &dns):
		err = dns
	case errors.As(err, &network):
		err = network
	case errors.As(err, &address):
		err = address.Err
	default:
		return fmt.Errorf("cannot %s %s: %s", a, c.url(key), oneLine(err.Error()))
	}
	return &connectors.ConnectError{Where: c.where(), Err: err}
}

func oneLine(s string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ":")
}
