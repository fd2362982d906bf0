package blob_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dvt-dev/dvt/connectors/blob"
)

// uploads is the service's side of an upload in chunks, as its documentation has it. What
// goes wrong with a request is given by its number.
type uploads struct {
	mu     sync.Mutex
	n      int
	data   []byte
	whole  bool
	faults map[int]string
}

func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	u.n++
	fault := u.faults[u.n]
	if fault == "busy" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.URL.Query().Get("uploadType") == "resumable" {
		w.Header().Set("Location", "http://"+r.Host+"/session")
		return
	}
	span, total, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Content-Range"), "bytes "), "/")
	if from, _, ok := strings.Cut(span, "-"); ok {
		if from != fmt.Sprint(len(u.data)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if fault == "half" {
			body = body[:len(body)/2]
		}
		u.data = append(u.data, body...)
	} else if r.URL.Path != "/session" {
		u.data, total = body, fmt.Sprint(len(body))
	}
	u.whole = u.whole || fmt.Sprint(len(u.data)) == total
	if fault == "lost" {
		panic(http.ErrAbortHandler) // the answer does not arrive
	}
	if u.whole {
		sum := crc32.Checksum(u.data, crc32.MakeTable(crc32.Castagnoli))
		if fault == "spoilt" {
			sum++
		}
		_, _ = fmt.Fprintf(w, `{"name": "f", "generation": "1", "crc32c": %q}`, base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)))
		return
	}
	if len(u.data) > 0 {
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(u.data)-1))
	}
	w.WriteHeader(http.StatusPermanentRedirect)
}

// TestUploadChunks: an upload goes on where the service says that it is.
func TestUploadChunks(t *testing.T) {
	t.Parallel()
	const chunk = 1000
	data := bytes.Repeat([]byte("0123456789abcdefghijklm"), 150)[:3*chunk+7]
	for _, c := range []struct {
		name   string
		size   int
		faults map[int]string
		want   string
	}{
		{"empty", 0, nil, ""},
		{"one request", 10, map[int]string{1: "busy"}, ""},
		{"a whole chunk", chunk, nil, ""},
		{"whole chunks", 3 * chunk, nil, ""},
		{"chunks", len(data), nil, ""},
		{"busy", len(data), map[int]string{1: "busy", 3: "busy"}, ""},
		{"half", len(data), map[int]string{2: "half", 4: "half"}, ""},
		{"lost answers", len(data), map[int]string{2: "lost", 4: "lost"}, ""},
		{"the last answer lost", 3 * chunk, map[int]string{4: "lost"}, ""},
		{"spoilt", len(data), map[int]string{5: "spoilt"}, "checksum"},
		{"spoilt at once", 10, map[int]string{1: "spoilt"}, "checksum"},
		{"down", len(data), map[int]string{3: "busy", 4: "busy", 5: "busy", 6: "busy", 7: "busy", 8: "busy", 9: "busy", 10: "busy"}, "Service Unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := &uploads{faults: c.faults}
			s := httptest.NewServer(u)
			defer s.Close()
			err := blob.UploadGCS(context.Background(), s.URL, data[:c.size], chunk)
			if text := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(text, c.want) && c.want != "" {
				t.Fatalf("%s, want %s", text, c.want)
			}
			if c.want == "" && (!u.whole || !bytes.Equal(u.data, data[:c.size])) {
				t.Errorf("%d bytes arrived, whole %v, of %d", len(u.data), u.whole, c.size)
			}
			if c.want == "Service Unavailable" && u.whole {
				t.Error("the object is there")
			}
		})
	}
}

// TestUploadCancelled: what is cancelled is not completed.
func TestUploadCancelled(t *testing.T) {
	t.Parallel()
	u := &uploads{}
	s := httptest.NewServer(u)
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	w, err := blob.OpenGCS(s.URL).NewWriter(ctx, "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := w.Close(); err == nil || u.whole {
		t.Errorf("a cancelled upload: %v, whole %v", err, u.whole)
	}
}
