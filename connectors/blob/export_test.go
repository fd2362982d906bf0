package blob

import (
	"context"
	"net/http"

	"gocloud.dev/blob"
)

// HeldBytes lets tests keep no footers.
var HeldBytes = &heldBytes

// OpenGCS lets tests upload in small chunks.
func OpenGCS(base string) *blob.Bucket {
	return blob.NewBucket(&bucketGCS{web: http.DefaultClient, base: base, name: "lake"})
}

// UploadGCS uploads data in chunks of a size.
func UploadGCS(ctx context.Context, base string, data []byte, size int) error {
	w, err := OpenGCS(base).NewWriter(ctx, "f", &blob.WriterOptions{BufferSize: size, ContentType: "text/csv", DisableContentTypeDetection: true})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		_ = w.Close() // it must not complete the object
		return err
	}
	return w.Close()
}
