package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
)

func init() {
	register(service{
		name: "s3", scheme: "s3", bucketKey: "bucket",
		secrets:  []string{"access_key_id", "secret_access_key", "session_token"},
		check:    checkS3,
		open:     openS3,
		endpoint: func(out connectors.Output) string { return out.Text("endpoint") },
		version: func(o *blob.ListObject) string {
			var object types.Object
			o.As(&object)
			return aws.ToString(object.ETag)
		},
		pin: func(as func(any) bool, version string) {
			var in *s3.GetObjectInput
			if as(&in) && version != "" {
				in.IfMatch = aws.String(version)
			}
		},
		get: getS3, put: putS3, abort: abortS3, copy: copyS3, judge: judgeS3,
		grants: map[act]string{actList: "s3:ListBucket on the bucket", actRead: "s3:GetObject", actWrite: "s3:PutObject", actDelete: "s3:DeleteObject",
			actAbort: "s3:ListBucketMultipartUploads on the bucket and s3:AbortMultipartUpload"},
	})
}

func checkS3(out connectors.Output) error {
	if err := checkEndpoint(out); err != nil {
		return err
	}
	if (out.Text("access_key_id") == "") != (out.Text("secret_access_key") == "") {
		return errors.New("access_key_id and secret_access_key belong together: give both, or neither to use the environment's")
	}
	_, err := pathStyle(out)
	return err
}

// pathStyle: servers of one's own seldom have a name for each bucket.
func pathStyle(out connectors.Output) (bool, error) {
	v := out.Text("path_style")
	if v == "" {
		return out.Text("endpoint") != "", nil
	}
	on, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("path_style is %q: it may be true or false", v)
	}
	return on, nil
}

func openS3(ctx context.Context, c *conn) (*blob.Bucket, func(), error) {
	opts := []func(*config.LoadOptions) error{config.WithHTTPClient(awshttp.NewBuildableClient()), config.WithRetryer(retryer)}
	if r := c.out.Text("region"); r != "" {
		opts = append(opts, config.WithRegion(r))
	}
	if id := c.out.Text("access_key_id"); id != "" {
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, c.out.Text("secret_access_key"), c.out.Text("session_token"))))
	}
	endpoint := c.out.Text("endpoint")
	// Not every server but the service's own knows checksums beyond what S3 always had.
	plain := aws.RequestChecksumCalculationWhenSupported
	if endpoint != "" {
		plain = aws.RequestChecksumCalculationWhenRequired
		opts = append(opts, config.WithRequestChecksumCalculation(plain), config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, nil, err
	}
	web := httpClient(cfg.HTTPClient, c.env)
	cfg.HTTPClient = web
	if cfg.Region == "" {
		if endpoint == "" {
			return nil, nil, errors.New("no region: set region in the output, or AWS_REGION")
		}
		cfg.Region = "us-east-1"
	}
	style, _ := pathStyle(c.out) // checked when the output was opened
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = style
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	})
	b, err := s3blob.OpenBucket(ctx, client, c.bucketName, &s3blob.Options{RequestChecksumCalculation: plain})
	return b, web.CloseIdleConnections, err
}

// retryer asks again as the service's own clients do, but not a server that says nothing:
// the wait for it has been bounded once already.
func retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		silent := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if errors.Is(err, netidle.ErrIdle) {
				return aws.FalseTernary
			}
			return aws.UnknownTernary
		})
		o.MaxBackoff = 3 * time.Second
		o.Retryables = append([]retry.IsErrorRetryable{silent}, o.Retryables...)
	})
}

// httpClient is one for S3. base has what the environment says of certificates.
func httpClient(base aws.HTTPClient, env connectors.Env) *http.Client {
	tr := &http.Transport{}
	if b, ok := base.(*awshttp.BuildableClient); ok {
		tr = b.GetTransport()
	}
	bound(tr, env)
	return &http.Client{Transport: tr, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if code := req.Response.StatusCode; code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect {
			return nil
		}
		return http.ErrUseLastResponse // the answer says more: another region
	}}
}

func client(b *blob.Bucket) *s3.Client {
	var c *s3.Client
	b.As(&c)
	return c
}

func codeS3(err error) (string, string) {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return "", ""
	}
	return api.ErrorCode(), api.ErrorMessage()
}

func judgeS3(err error) (problem, string, string) {
	code, message := codeS3(err)
	switch {
	case code == "NoSuchBucket":
		return noBucket, code, message
	case code == "PreconditionFailed":
		return notSame, code, message
	case code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "InvalidToken" || code == "ExpiredToken":
		return badKeys, code, message
	case gcerrors.Code(err) == gcerrors.NotFound:
		return noObject, code, message
	case code == "AccessDenied" || gcerrors.Code(err) == gcerrors.PermissionDenied:
		return denied, code, message
	}
	return unclear, code, message
}

func getS3(ctx context.Context, b *blob.Bucket, bucket, key string) ([]byte, string, error) {
	out, err := client(b).GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		var missing *types.NoSuchKey
		if errors.As(err, &missing) {
			return nil, "", connectors.ErrNotFound
		}
		return nil, "", err
	}
	defer func() { _ = out.Body.Close() }()
	data, err := readSmall(out.Body)
	return data, aws.ToString(out.ETag), err
}

func putS3(ctx context.Context, b *blob.Bucket, bucket, key string, data []byte, version string) (string, error) {
	in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data), ContentType: aws.String("application/json")}
	if version == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(version)
	}
	out, err := client(b).PutObject(ctx, in)
	if err != nil {
		switch code, _ := codeS3(err); code {
		// The service answers a write that met another one with a conflict, and a
		// conditional write of an object that is gone with its absence.
		case "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey":
			return "", connectors.ErrStateMoved
		}
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

func abortS3(ctx context.Context, b *blob.Bucket, bucket, key string) error {
	s := client(b)
	pages := s3.NewListMultipartUploadsPaginator(s, &s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: &key})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if k := aws.ToString(u.Key); k != key && !strings.HasSuffix(key, "-") {
				continue
			}
			_, err := s.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: u.Key, UploadId: u.UploadId})
			if code, _ := codeS3(err); err != nil && code != "NoSuchUpload" {
				return err
			}
		}
	}
	return nil
}

// copyS3: one request copies up to 5 GB; more goes in parts.
func copyS3(ctx context.Context, b *blob.Bucket, bucket, to, from string, size int64) (err error) {
	const whole, part = 4 << 30, 512 << 20
	s, source := client(b), aws.String(url.PathEscape(bucket+"/"+from))
	if size <= whole {
		_, err := s.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &bucket, Key: &to, CopySource: source})
		return err
	}
	up, err := s.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &to})
	if err != nil {
		return err
	}
	var done []types.CompletedPart
	for at, n := int64(0), int32(1); at < size; at, n = at+part, n+1 {
		out, err := s.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: &bucket, Key: &to, UploadId: up.UploadId, PartNumber: &n,
			CopySource: source, CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", at, min(at+part, size)-1))})
		if err != nil {
			return errors.Join(err, abortS3(context.WithoutCancel(ctx), b, bucket, to))
		}
		done = append(done, types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: &n})
	}
	_, err = s.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: &to, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: done}})
	return err
}
