package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// S3 is the bucket of the S3 test server.
type S3 struct {
	Endpoint, AccessKey, SecretKey, Region, Bucket string

	client *s3.Client
	http   *http.Client
}

// Close ends idle connections.
func (s *S3) Close() { s.http.CloseIdleConnections() }

// OpenS3 finds the server.
func OpenS3() (*S3, error) {
	v, err := vars("S3", "ENDPOINT", "ACCESS_KEY", "SECRET_KEY", "REGION", "BUCKET")
	if err != nil {
		return nil, err
	}
	s := &S3{Endpoint: v["ENDPOINT"], AccessKey: v["ACCESS_KEY"], SecretKey: v["SECRET_KEY"], Region: v["REGION"], Bucket: v["BUCKET"]}
	s.http = &http.Client{Transport: &http.Transport{}}
	s.client = s3.New(s3.Options{
		HTTPClient:   s.http,
		BaseEndpoint: &s.Endpoint, Region: s.Region, UsePathStyle: true,
		Credentials:                credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
	return s, nil
}

// Keys are the settings of an output on the bucket, below a prefix.
func (s *S3) Keys(prefix string) map[string]any {
	return map[string]any{
		"bucket": s.Bucket, "prefix": prefix, "endpoint": s.Endpoint, "region": s.Region,
		"access_key_id": s.AccessKey, "secret_access_key": s.SecretKey,
	}
}

// User are Keys of a user who may do less: the reader, who may list and read when
// LetRead has been called, or the stranger, who may do nothing.
func (s *S3) User(name, prefix string) (map[string]any, error) {
	name = strings.ToUpper(name)
	v, err := vars("S3", name+"_KEY", name+"_SECRET")
	if err != nil {
		return nil, err
	}
	keys := s.Keys(prefix)
	keys["access_key_id"], keys["secret_access_key"] = v[name+"_KEY"], v[name+"_SECRET"]
	return keys, nil
}

// LetRead lets the reader list and read the bucket. It may be called more than once.
func (s *S3) LetRead() error {
	policy := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"AWS": ["reader"]}, "Action": ["s3:ListBucket"], "Resource": "arn:aws:s3:::%[1]s"},
		{"Effect": "Allow", "Principal": {"AWS": ["reader"]}, "Action": ["s3:GetObject"], "Resource": "arn:aws:s3:::%[1]s/*"}]}`, s.Bucket)
	_, err := s.client.PutBucketPolicy(context.Background(), &s3.PutBucketPolicyInput{Bucket: &s.Bucket, Policy: &policy})
	return err
}

// LetLock lets the reader read all, and write locks below a prefix but nothing else.
func (s *S3) LetLock(prefix string) error {
	policy := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"AWS": ["reader"]}, "Action": ["s3:ListBucket"], "Resource": "arn:aws:s3:::%[1]s"},
		{"Effect": "Allow", "Principal": {"AWS": ["reader"]}, "Action": ["s3:GetObject"], "Resource": "arn:aws:s3:::%[1]s/*"},
		{"Effect": "Allow", "Principal": {"AWS": ["reader"]}, "Action": ["s3:PutObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::%[1]s/%[2]s/.dvt-*"}]}`, s.Bucket, prefix)
	_, err := s.client.PutBucketPolicy(context.Background(), &s3.PutBucketPolicyInput{Bucket: &s.Bucket, Policy: &policy})
	return err
}

// List gives the keys that begin with prefix, sorted.
func (s *S3) List(prefix string) ([]string, error) {
	var out []string
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			out = append(out, *o.Key)
		}
	}
	sort.Strings(out)
	return out, nil
}

// Uploads are the keys of the uploads that were begun and are not complete.
func (s *S3) Uploads(prefix string) ([]string, error) {
	out, err := s.client.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: &s.Bucket, Prefix: &prefix})
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, u := range out.Uploads {
		keys = append(keys, *u.Key)
	}
	sort.Strings(keys)
	return keys, nil
}

// Begin begins an upload and sends one part of it, as a run that dies leaves it.
func (s *S3) Begin(key string) error {
	up, err := s.client.CreateMultipartUpload(context.Background(), &s3.CreateMultipartUploadInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		return err
	}
	_, err = s.client.UploadPart(context.Background(), &s3.UploadPartInput{Bucket: &s.Bucket, Key: &key, UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: bytes.NewReader([]byte("part"))})
	return err
}

// Put writes an object, Get reads one.
func (s *S3) Put(key string, data []byte) error {
	_, err := s.client.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(data)})
	return err
}

func (s *S3) Get(key string) ([]byte, error) {
	out, err := s.client.GetObject(context.Background(), &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	return io.ReadAll(out.Body)
}

// Clean removes all objects and uploads below a prefix.
func (s *S3) Clean(prefix string) error {
	if prefix == "" {
		return fmt.Errorf("the bucket is not removed as a whole")
	}
	keys, err := s.List(prefix)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := s.client.DeleteObject(context.Background(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &k}); err != nil {
			return err
		}
	}
	out, err := s.client.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: &s.Bucket, Prefix: &prefix})
	if err != nil {
		return err
	}
	for _, u := range out.Uploads {
		if _, err := s.client.AbortMultipartUpload(context.Background(), &s3.AbortMultipartUploadInput{Bucket: &s.Bucket, Key: u.Key, UploadId: u.UploadId}); err != nil {
			return err
		}
	}
	return nil
}

// PutFile writes a file of this machine as an object.
func (s *S3) PutFile(key, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = s.client.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &s.Bucket, Key: &key, Body: f})
	return err
}
