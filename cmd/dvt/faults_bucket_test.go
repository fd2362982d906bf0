package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/dvt-dev/dvt/connectors/faultproxy"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// openBucket gives a target of S3 a prefix of its own, behind a proxy.
func (w *world) openBucket() {
	var err error
	if w.bucket, err = enginetest.OpenS3(); err != nil {
		w.t.Fatal(err)
	}
	if w.to, err = faultproxy.Listen(strings.TrimPrefix(w.bucket.Endpoint, "http://")); err != nil {
		w.t.Fatal(err)
	}
	w.secrets = append(w.secrets, w.bucket.AccessKey, w.bucket.SecretKey)
	w.t.Cleanup(func() {
		_ = w.to.Close()
		if err := w.bucket.Clean(w.schema + "/"); err != nil {
			w.t.Error(err)
		}
		w.bucket.Close()
	})
}

func (w *world) bucketOutput() string {
	return fmt.Sprintf("    tgt: {type: s3, bucket: %s, prefix: %s, endpoint: 'http://127.0.0.1:%s', region: %s, access_key_id: \"{{ env_var('DVT_TEST_TGT_KEY', '%s') }}\", secret_access_key: \"{{ env_var('DVT_TEST_TGT_SECRET', '%s') }}\", connect_timeout: 5, query_timeout: \"{{ env_var('DVT_TEST_QUERY_TIMEOUT', '600') }}\"}\n",
		w.bucket.Bucket, w.schema, w.to.Port(), w.bucket.Region, w.bucket.AccessKey, w.bucket.SecretKey)
}

// bucketReader lets the next run connect as somebody who may read the bucket, and not
// write more to it than locks, or not even those.
func (w *world) bucketReader(c faultCell) []string {
	let := w.bucket.LetRead
	if c.step != "lock" {
		let = func() error { return w.bucket.LetLock(w.schema) }
	}
	if err := let(); err != nil {
		w.t.Fatal(err)
	}
	keys, err := w.bucket.User("reader", w.schema)
	if err != nil {
		w.t.Fatal(err)
	}
	return []string{fmt.Sprint("DVT_TEST_TGT_KEY=", keys["access_key_id"]), fmt.Sprint("DVT_TEST_TGT_SECRET=", keys["secret_access_key"])}
}

// bucketContent is what the target's object holds: a reader lists it and reads it.
func (w *world) bucketContent(kind string) (string, error) {
	keys, err := w.bucket.List(w.schema + "/t_" + kind)
	if err != nil {
		return "", err
	}
	if len(keys) != 1 {
		return "", fmt.Errorf("the objects are %q", keys)
	}
	data, err := w.bucket.Get(keys[0])
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(w.dir, "object-*.parquet")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	db, err := enginetest.Open("duckdb", "")
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	_, rows, err := db.Query("SELECT COLUMNS(*)::VARCHAR FROM (SELECT " + contentSums + " FROM read_parquet('" + file.Name() + "'))")
	return strings.TrimSpace(enginetest.Text(rows)), err
}

// bucketLeftovers are locks, and uploads that nobody will complete.
func (w *world) bucketLeftovers() []string {
	keys, err := w.bucket.List(w.schema + "/")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, k := range keys {
		if strings.HasPrefix(path.Base(k), ".") {
			found = append(found, k)
		}
	}
	uploads, err := w.bucket.Uploads(w.schema + "/")
	if err != nil {
		return []string{err.Error()}
	}
	return append(found, uploads...)
}
