package blob

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"

	"github.com/dvt-dev/dvt/connectors"
)

// keyAzure is a key as the bucket writes it: some characters have no place in a blob's name.
func keyAzure(key string) (string, error) {
	if strings.Contains(key, "__0x") {
		return "", fmt.Errorf("%q: no name for a blob: it has __0x in it", key)
	}
	var b strings.Builder
	for _, r := range key {
		if r < 32 || strings.ContainsRune("\\\"#%?\x7f", r) {
			_, _ = fmt.Fprintf(&b, "__%#x__", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), nil
}

func blobAzure(b *blob.Bucket, key string) (*blockblob.Client, error) {
	var c *container.Client
	b.As(&c)
	name, err := keyAzure(key)
	if err != nil {
		return nil, err
	}
	return c.NewBlockBlobClient(name), nil
}

// judgeAzure: a wrong key and a lacking right have one status, told apart by code.
func judgeAzure(err error) (problem, string, string) {
	var identity *azidentity.AuthenticationFailedError
	if errors.As(err, &identity) {
		return badKeys, "AuthenticationFailed", "no token for the environment's credentials"
	}
	var api *azcore.ResponseError
	if !errors.As(err, &api) {
		return unclear, "", ""
	}
	code := api.ErrorCode
	if code == "" {
		code = http.StatusText(api.StatusCode)
	}
	message := messageAzure(api.RawResponse)
	switch bloberror.Code(code) {
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted:
		return noBucket, code, message
	case bloberror.ConditionNotMet, bloberror.TargetConditionNotMet, bloberror.BlobAlreadyExists:
		return notSame, code, message
	case bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo, bloberror.NoAuthenticationInformation:
		return badKeys, code, message
	}
	switch api.StatusCode {
	case http.StatusNotFound:
		return noObject, code, message
	case http.StatusForbidden:
		return denied, code, message
	case http.StatusUnauthorized:
		return badKeys, code, message
	case http.StatusPreconditionFailed:
		return notSame, code, message
	}
	return unclear, code, message
}

// messageAzure is the first line of a message; the others are ids of the request.
func messageAzure(res *http.Response) string {
	if res == nil {
		return ""
	}
	var body struct{ Message string }
	data, err := runtime.Payload(res)
	if err != nil || xml.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &body) != nil {
		return ""
	}
	line, _, _ := strings.Cut(body.Message, "\n")
	return strings.TrimSpace(line)
}

func getAzure(ctx context.Context, b *blob.Bucket, _, key string) ([]byte, string, error) {
	c, err := blobAzure(b, key)
	if err != nil {
		return nil, "", err
	}
	out, err := c.DownloadStream(ctx, nil)
	if err != nil {
		if p, _, _ := judgeAzure(err); p == noObject {
			err = connectors.ErrNotFound
		}
		return nil, "", err
	}
	defer func() { _ = out.Body.Close() }()
	data, err := readSmall(out.Body)
	return data, etag(out.ETag), err
}

func putAzure(ctx context.Context, b *blob.Bucket, _, key string, data []byte, version string) (string, error) {
	c, err := blobAzure(b, key)
	if err != nil {
		return "", err
	}
	mime := "application/json"
	out, err := c.Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), &blockblob.UploadOptions{AccessConditions: ifMatch(version), HTTPHeaders: &azblob.HTTPHeaders{BlobContentType: &mime}})
	switch p, _, _ := judgeAzure(err); {
	case p == notSame || p == noObject: // a version of a blob that is gone
		return "", connectors.ErrStateMoved
	case err != nil:
		return "", err
	}
	return etag(out.ETag), nil
}

// copyAzure waits for the service, which copies in its own time.
func copyAzure(ctx context.Context, b *blob.Bucket, _, to, from string, _ int64) error {
	target, err := blobAzure(b, to)
	if err != nil {
		return err
	}
	source, err := blobAzure(b, from)
	if err != nil {
		return err
	}
	begun, err := target.StartCopyFromURL(ctx, source.URL(), nil)
	if err != nil {
		return err
	}
	for status := begun.CopyStatus; status != nil && begun.CopyID != nil && *status != azblob.CopyStatusTypeSuccess; {
		if *status != azblob.CopyStatusTypePending {
			return fmt.Errorf("the copy ended as %q", *status)
		}
		select {
		case <-ctx.Done():
			_, err := target.AbortCopyFromURL(context.WithoutCancel(ctx), *begun.CopyID, nil)
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(time.Second):
		}
		now, err := target.GetProperties(ctx, nil)
		if err != nil {
			return err
		}
		status = now.CopyStatus
	}
	return nil
}
