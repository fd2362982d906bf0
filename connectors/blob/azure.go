package blob

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
)

func init() {
	register(service{
		name: "azure", scheme: "azblob", bucketKey: "container",
		secrets:  []string{"account_key", "sas_token", "connection_string"},
		parts:    azureParts,
		check:    checkAzure,
		open:     openAzure,
		endpoint: func(out connectors.Output) string { return out.Text("endpoint") },
		version: func(o *blob.ListObject) string {
			var item container.BlobItem
			if !o.As(&item) || item.Properties == nil {
				return ""
			}
			return etag(item.Properties.ETag)
		},
		pin: func(as func(any) bool, version string) {
			var in *azblob.DownloadStreamOptions
			if as(&in) && version != "" {
				in.AccessConditions = ifMatch(version)
			}
		},
		get: getAzure, put: putAzure, copy: copyAzure, judge: judgeAzure,
		// Blocks that nobody commits are no blob; the service forgets them after a week,
		// and the next commit of the blob does at once.
		abort: func(context.Context, *blob.Bucket, string, string) error { return nil },
		grants: map[act]string{actList: "Storage Blob Data Reader (SAS: list) on the container", actRead: "Storage Blob Data Reader (SAS: read)",
			actWrite: "Storage Blob Data Contributor (SAS: create and write)", actDelete: "Storage Blob Data Contributor (SAS: delete)", actAbort: "nothing"},
	})
}

// etag is without the quotes that a header has and a list has not.
func etag(e *azcore.ETag) string {
	if e == nil {
		return ""
	}
	return strings.Trim(string(*e), `"`)
}

// ifMatch is the condition that a blob has a version; without one it must not exist.
func ifMatch(version string) *azblob.AccessConditions {
	var c azblob.ModifiedAccessConditions
	if version == "" {
		anything := azcore.ETagAny
		c.IfNoneMatch = &anything
	} else {
		e := azcore.ETag(`"` + version + `"`)
		c.IfMatch = &e
	}
	return &azblob.AccessConditions{ModifiedAccessConditions: &c}
}

func checkAzure(out connectors.Output) error {
	var given []string
	for _, k := range []string{"account_key", "sas_token", "connection_string"} {
		if out.Text(k) != "" {
			given = append(given, k)
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("%s: give one of them, or none to use the environment's credentials", strings.Join(given, " and "))
	}
	if out.Text("connection_string") != "" {
		if out.Text("account") != "" || out.Text("endpoint") != "" {
			return errors.New("connection_string names the account and its endpoint: leave out account and endpoint")
		}
		if connectionField(out, "AccountName") == "" && connectionField(out, "BlobEndpoint") == "" {
			return errors.New("connection_string: it has neither AccountName nor BlobEndpoint")
		}
		return nil
	}
	if out.Text("account") == "" {
		return errors.New("account is missing: it is the name of the storage account")
	}
	if strings.Trim(out.Text("account"), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("account %q: it is a name of lower case letters and digits", out.Text("account"))
	}
	if k := out.Text("account_key"); k != "" {
		if _, err := base64.StdEncoding.DecodeString(k); err != nil {
			return errors.New("account_key: it is not base64")
		}
	}
	if err := checkEndpoint(out); err != nil {
		return err
	}
	if len(given) == 0 && strings.HasPrefix(out.Text("endpoint"), "http:") {
		return errors.New("endpoint: the environment's credentials are sent over https only; give account_key or sas_token")
	}
	return nil
}

// connectionField is one of the fields of a connection string, whose values may have = in
// them.
func connectionField(out connectors.Output, name string) string {
	for f := range strings.SplitSeq(out.Text("connection_string"), ";") {
		if k, v, _ := strings.Cut(f, "="); strings.EqualFold(strings.TrimSpace(k), name) {
			return v
		}
	}
	return ""
}

// azureParts: a connection string has a key or a signature in it, a token its signature.
func azureParts(out connectors.Output) (parts []string) {
	sas := out.Text("sas_token")
	for _, name := range []string{"AccountKey", "SharedAccessSignature"} {
		if v := connectionField(out, name); v != "" {
			parts = append(parts, v)
			if name == "SharedAccessSignature" {
				sas = v
			}
		}
	}
	for f := range strings.SplitSeq(strings.TrimPrefix(sas, "?"), "&") {
		if v, ok := strings.CutPrefix(f, "sig="); ok && v != "" {
			parts = append(parts, v)
			if plain, err := url.QueryUnescape(v); err == nil {
				parts = append(parts, plain)
			}
		}
	}
	return parts
}

func openAzure(ctx context.Context, c *conn) (*blob.Bucket, func(), error) {
	tr := transport(c.env)
	var opts container.ClientOptions
	opts.Transport = &http.Client{Transport: tr}
	opts.Retry = policy.RetryOptions{MaxRetries: int32(pace.Tries - 1), MaxRetryDelay: pace.Longest, ShouldRetry: func(res *http.Response, err error) bool {
		return err != nil && !errors.Is(err, netidle.ErrIdle) || res != nil && slices.Contains(resent, res.StatusCode)
	}}
	client, err := clientAzure(c, &opts)
	if err != nil {
		return nil, nil, err
	}
	b, err := azureblob.OpenBucket(ctx, client, nil)
	return b, tr.CloseIdleConnections, err
}

func clientAzure(c *conn, opts *container.ClientOptions) (*container.Client, error) {
	if s := c.out.Text("connection_string"); s != "" {
		client, err := container.NewClientFromConnectionString(s, c.bucketName, opts)
		if err != nil {
			err = errors.New("connection_string: its fields are not those of a storage account") // the cause might quote it
		}
		return client, err
	}
	account, at := c.out.Text("account"), strings.TrimSuffix(c.out.Text("endpoint"), "/")
	if at == "" {
		at = "https://" + account + ".blob.core.windows.net"
	}
	at += "/" + url.PathEscape(c.bucketName)
	if k := c.out.Text("account_key"); k != "" {
		key, err := container.NewSharedKeyCredential(account, k)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(at, key, opts)
	}
	if s := c.out.Text("sas_token"); s != "" {
		return container.NewClientWithNoCredential(at+"?"+strings.TrimPrefix(s, "?"), opts)
	}
	found, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: opts.ClientOptions})
	if err != nil {
		return nil, err
	}
	return container.NewClient(at, found, opts)
}
