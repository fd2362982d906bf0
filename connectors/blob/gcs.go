package blob

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"golang.org/x/oauth2"

	"github.com/dvt-dev/dvt/connectors"
)

func init() {
	register(service{
		name: "gcs", scheme: "gs", bucketKey: "bucket",
		secrets:  []string{"keyfile_json"},
		parts:    func(out connectors.Output) []string { return leaves(out.Keys["keyfile_json"]) },
		check:    checkGCS,
		open:     openGCS,
		endpoint: func(out connectors.Output) string { return out.Text("endpoint") },
		version: func(o *blob.ListObject) string {
			var item itemGCS
			o.As(&item)
			return item.Generation
		},
		pin: func(as func(any) bool, version string) {
			var in *readGCS
			if as(&in) {
				in.generation = version
			}
		},
		get: getGCS, put: putGCS, copy: copyGCS, judge: judgeGCS,
		// An upload that nobody completes is no object and costs nothing; the service
		// forgets it after a week. It has no list of them.
		abort: func(context.Context, *blob.Bucket, string, string) error { return nil },
		grants: map[act]string{actList: "storage.objects.list on the bucket", actRead: "storage.objects.get", actWrite: "storage.objects.create, and storage.objects.delete to replace",
			actDelete: "storage.objects.delete", actAbort: "nothing"},
	})
}

func checkGCS(out connectors.Output) error {
	if out.Text("keyfile") != "" && out.Keys["keyfile_json"] != nil {
		return errors.New("keyfile and keyfile_json: give one of them, or none to use the application default credentials")
	}
	if v := out.Keys["keyfile_json"]; v != nil {
		if _, err := keyJSON(v); err != nil {
			return fmt.Errorf("keyfile_json: %w", err)
		}
	}
	return checkEndpoint(out)
}

func openGCS(ctx context.Context, c *conn) (*blob.Bucket, func(), error) {
	tr := transport(c.env)
	tokens, err := tokensGCS(ctx, c, tr)
	if err != nil {
		return nil, nil, err
	}
	// An upload that goes on is answered by 308, which is no redirect there.
	web := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if tokens != nil {
		web.Transport = &oauth2.Transport{Source: tokens, Base: tr}
	}
	base := strings.TrimSuffix(c.out.Text("endpoint"), "/")
	if base == "" {
		base = "https://storage.googleapis.com"
	}
	return blob.NewBucket(&bucketGCS{web: web, base: base, name: c.bucketName}), tr.CloseIdleConnections, nil
}

// judgeGCS: a missing bucket and a missing object have one status, told apart by words.
func judgeGCS(err error) (problem, string, string) {
	var token *oauth2.RetrieveError
	if errors.As(err, &token) {
		return badKeys, token.ErrorCode, token.ErrorDescription
	}
	var api *errorGCS
	if !errors.As(err, &api) {
		return unclear, "", ""
	}
	switch {
	case api.status == http.StatusNotFound && strings.Contains(api.message, "bucket does not exist"):
		return noBucket, api.reason, api.message
	case api.status == http.StatusNotFound:
		return noObject, api.reason, api.message
	case api.status == http.StatusPreconditionFailed:
		return notSame, api.reason, api.message
	case api.status == http.StatusUnauthorized:
		return badKeys, api.reason, api.message
	case api.status == http.StatusForbidden:
		return denied, api.reason, api.message
	}
	return unclear, api.reason, api.message
}

func driverGCS(b *blob.Bucket) *bucketGCS {
	var d *bucketGCS
	b.As(&d)
	return d
}

func getGCS(ctx context.Context, b *blob.Bucket, _, key string) ([]byte, string, error) {
	d := driverGCS(b)
	res, err := d.do(ctx, http.MethodGet, d.object(key)+"?alt=media", nil, nil)
	if err != nil {
		if p, _, _ := judgeGCS(err); p == noObject {
			err = connectors.ErrNotFound
		}
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := readSmall(res.Body)
	version := res.Header.Get("X-Goog-Generation")
	if err == nil && version == "" {
		err = errors.New("the answer names no generation")
	}
	return data, version, err
}

// putGCS: generation 0 says that the object must not exist.
func putGCS(ctx context.Context, b *blob.Bucket, _, key string, data []byte, version string) (string, error) {
	if version == "" {
		version = "0"
	}
	d := driverGCS(b)
	res, err := d.do(ctx, http.MethodPost, d.upload(url.Values{"uploadType": {"media"}, "name": {key}, "ifGenerationMatch": {version}}),
		http.Header{"Content-Type": {"application/json"}}, data)
	switch p, _, _ := judgeGCS(err); {
	case p == notSame || p == noObject: // a version of an object that is gone
		return "", connectors.ErrStateMoved
	case err != nil:
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var item itemGCS
	if err := stdjson.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&item); err != nil || item.Generation == "" {
		return "", errors.New("the answer to a write names no generation")
	}
	return item.Generation, nil
}

func copyGCS(ctx context.Context, b *blob.Bucket, _, to, from string, _ int64) error {
	return b.Copy(ctx, to, from, nil)
}
