package blob_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// The keys below open nothing; their texts must not appear in any message.
const (
	azureKey = "c2VjcmV0LWtleS1vZi1ub2JvZHk="
	gcsKey   = `{"type": "authorized_user", "client_id": "somebody", "client_secret": "hush-hush-hush", "refresh_token": "never-tell-this"}`
)

func openService(t *testing.T, typ string, keys map[string]any) (connectors.Conn, error) {
	t.Helper()
	kind, err := connectors.Lookup(typ)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := kind.Open(connectors.Output{Name: "lake", Type: typ, Keys: keys}, connectors.Env{ProjectDir: t.TempDir(), RunID: "blob",
		ConnectTimeout: 2 * time.Second, QueryTimeout: 10 * time.Second})
	if err == nil {
		t.Cleanup(func() {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return conn, err
}

// TestSettings: what a profile gets wrong is said when it is opened, without a secret.
func TestSettings(t *testing.T) {
	account := func(more map[string]any) map[string]any {
		keys := map[string]any{"container": "c", "account": "acc"}
		for k, v := range more {
			keys[k] = v
		}
		return keys
	}
	for _, c := range []struct {
		typ  string
		keys map[string]any
		want string
	}{
		{"gcs", map[string]any{}, `output "lake": bucket is missing`},
		{"gcs", map[string]any{"bucket": "b", "keyfile": "k.json", "keyfile_json": gcsKey}, "keyfile and keyfile_json: give one of them"},
		{"gcs", map[string]any{"bucket": "b", "keyfile_json": "hush-hush-hush"}, "keyfile_json: it is not the JSON object of a key file"},
		{"gcs", map[string]any{"bucket": "b", "keyfile_json": map[string]any{"type": "external_account", "private_key": "hush-hush-hush"}}, `its "type" must be service_account or authorized_user`},
		{"gcs", map[string]any{"bucket": "b", "endpoint": "http://me:hush-hush-hush@host"}, "endpoint: it is a URL like https://host:port, without credentials"},
		{"gcs", map[string]any{"bucket": "b", "keyfile_json": gcsKey}, ""},
		{"azure", map[string]any{"account": "acc"}, `output "lake": container is missing`},
		{"azure", map[string]any{"container": "c"}, "account is missing"},
		{"azure", map[string]any{"container": "c", "account": "acc.evil/"}, "a name of lower case letters and digits"},
		{"azure", account(map[string]any{"account_key": azureKey, "sas_token": "sig=hush-hush-hush"}), "account_key and sas_token: give one of them"},
		{"azure", account(map[string]any{"account_key": "hush-hush-hush!"}), "account_key: it is not base64"},
		{"azure", account(map[string]any{"connection_string": "AccountName=acc;AccountKey=" + azureKey}), "leave out account and endpoint"},
		{"azure", map[string]any{"container": "c", "connection_string": "AccountKey=" + azureKey}, "it has neither AccountName nor BlobEndpoint"},
		{"azure", account(map[string]any{"endpoint": "http://127.0.0.1:10000/acc"}), "sent over https only"},
		{"azure", account(map[string]any{"account_key": azureKey}), ""},
		{"azure", account(nil), ""},
	} {
		_, err := openService(t, c.typ, c.keys)
		text := fmt.Sprint(err)
		if (err == nil) != (c.want == "") || !strings.Contains(text, c.want) && c.want != "" || strings.Contains(text, "\n") {
			t.Errorf("%s %v: %s, want %s", c.typ, c.keys, text, c.want)
		}
		if strings.Contains(text, "hush") || strings.Contains(text, azureKey) {
			t.Errorf("%s: a secret is printed: %s", c.typ, text)
		}
	}
}

// TestKeyfile: a file that is not a key, or not there.
func TestKeyfile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, []byte(`{"type": "service_account", "private_key": "hush-hush-hush"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{path: "the server refuses", path + "x": "no such file"} {
		conn, err := openService(t, "gcs", map[string]any{"bucket": "b", "keyfile": file})
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Ping(context.Background())
		if text := fmt.Sprint(err); err == nil || strings.Contains(text, "hush") || strings.Contains(text, "\n") || file != path && !strings.Contains(text, want) {
			t.Errorf("%s: %s", file, text)
		}
	}
}

// TestSecretsMasked: what is secret by itself inside of a setting is known too.
func TestSecretsMasked(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nfirstsecretline\nsecondsecretline\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct {
		typ, key string
		value    any
		want     []string
	}{
		{"gcs", "keyfile_json", gcsKey, []string{gcsKey, "hush-hush-hush", "never-tell-this"}},
		{"gcs", "keyfile_json", map[string]any{"type": "service_account", "private_key": key}, []string{key, "firstsecretline", "secondsecretline"}},
		{"azure", "account_key", azureKey, []string{azureKey}},
		{"azure", "sas_token", "?sv=2024&sig=a%2Fb%3D", []string{"?sv=2024&sig=a%2Fb%3D", "a%2Fb%3D", "a/b="}},
		{"azure", "connection_string", "AccountName=x;AccountKey=" + azureKey + ";EndpointSuffix=core.windows.net", []string{azureKey}},
		{"azure", "connection_string", "BlobEndpoint=https://x;SharedAccessSignature=sv=1&sig=abcdef", []string{"sv=1&sig=abcdef", "abcdef"}},
	} {
		got := connectors.SecretValues(connectors.Output{Type: c.typ, Keys: map[string]any{c.key: c.value}})
		for _, want := range c.want {
			found := false
			for _, s := range got {
				found = found || s == want
			}
			if !found {
				t.Errorf("%s %s: %q is not among the secrets %q", c.typ, c.key, want, got)
			}
		}
	}
}

// answer is what a service says of a request, as its documentation has it.
type answer struct {
	status int
	body   string
	header map[string]string
}

func gcsError(status int, reason, message string) answer {
	return answer{status, fmt.Sprintf(`{"error": {"code": %d, "message": %q, "errors": [{"message": %q, "domain": "global", "reason": %q}]}}`, status, message, message, reason),
		map[string]string{"Content-Type": "application/json; charset=UTF-8"}}
}

func azureError(status int, code, message string) answer {
	return answer{status, fmt.Sprintf("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>%s\nRequestId:8c0a\nTime:2026-01-01T00:00:00Z</Message></Error>", code, message),
		map[string]string{"Content-Type": "application/xml", "X-Ms-Error-Code": code}}
}

// serve answers requests that have text in their method, address or conditions.
func serve(t *testing.T, answers map[string]answer) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := r.Method + " " + r.URL.String() + " " + r.Header.Get("If-Match") + r.Header.Get("If-None-Match")
		var found *answer
		length := -1
		for text, a := range answers {
			if strings.Contains(line, text) && len(text) > length { // the longest says the most
				found, length = &a, len(text)
			}
		}
		if found == nil {
			t.Errorf("nobody asked for %s", line)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		for k, v := range found.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(found.status)
		_, _ = w.Write([]byte(found.body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// serviceKeys are settings of a service whose server is at url.
func serviceKeys(typ, url string) map[string]any {
	if typ == "gcs" {
		return map[string]any{"bucket": "lake", "endpoint": url}
	}
	return map[string]any{"container": "lake", "endpoint": url + "/acc", "account": "acc", "account_key": azureKey}
}

// TestServiceErrors: the services' answers become the same clear lines.
func TestServiceErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, on string
		answer  answer
		want    string
	}{
		{"gcs", "list", gcsError(401, "authError", "Invalid Credentials"), "the server refuses the credentials (authError: Invalid Credentials)"},
		{"gcs", "list", gcsError(404, "notFound", "The specified bucket does not exist."), `there is no bucket "lake"`},
		{"gcs", "list", gcsError(403, "forbidden", "x does not have storage.objects.list access"), "no permission to list gs://lake/: storage.objects.list on the bucket is needed"},
		{"gcs", "list", gcsError(400, "invalid", "Invalid argument"), "cannot list gs://lake/: invalid: Invalid argument"},
		{"gcs", "write", gcsError(403, "forbidden", "x does not have storage.objects.create access"), "no permission to write gs://lake/f: storage.objects.create"},
		{"gcs", "write", gcsError(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."), "moved"},
		{"gcs", "delete", gcsError(403, "forbidden", "x does not have storage.objects.delete access"), "no permission to delete gs://lake/f: storage.objects.delete is needed"},
		{"gcs", "delete", gcsError(404, "notFound", "No such object: lake/f"), ""},
		{"gcs", "get", gcsError(404, "notFound", "No such object: lake/f"), "not found"},
		{"azure", "list", azureError(403, "AuthenticationFailed", "Server failed to authenticate the request."), "the server refuses the credentials (AuthenticationFailed: Server failed to authenticate the request.)"},
		{"azure", "list", azureError(404, "ContainerNotFound", "The specified container does not exist."), `there is no container "lake"`},
		{"azure", "list", azureError(403, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission."), "no permission to list azblob://lake/: Storage Blob Data Reader"},
		{"azure", "list", azureError(400, "InvalidResourceName", "The specified resource name contains invalid characters."), "cannot list azblob://lake/: InvalidResourceName: The specified resource name contains invalid characters."},
		{"azure", "write", azureError(403, "AuthorizationPermissionMismatch", "no"), "no permission to write azblob://lake/f: Storage Blob Data Contributor"},
		{"azure", "write", azureError(412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."), "moved"},
		{"azure", "write", azureError(409, "BlobAlreadyExists", "The specified blob already exists."), "moved"},
		{"azure", "delete", azureError(403, "AuthorizationFailure", "no"), "no permission to delete azblob://lake/f"},
		{"azure", "delete", azureError(404, "BlobNotFound", "The specified blob does not exist."), ""},
		{"azure", "get", azureError(404, "BlobNotFound", "The specified blob does not exist."), "not found"},
	} {
		t.Run(fmt.Sprintf("%s_%s_%d", c.typ, c.on, c.answer.status), func(t *testing.T) {
			t.Parallel()
			conn, err := openService(t, c.typ, serviceKeys(c.typ, serve(t, map[string]answer{"": c.answer})))
			if err != nil {
				t.Fatal(err)
			}
			switch keeper := conn.(connectors.FileKeeper); c.on {
			case "list":
				_, err = conn.Ping(context.Background())
			case "write":
				err = keeper.PutFile(context.Background(), "f", []byte("{}"), "7")
			case "delete":
				err = keeper.DeleteFile(context.Background(), "f")
			case "get":
				_, _, err = keeper.GetFile(context.Background(), "f")
			}
			if c.want == "moved" && errors.Is(err, connectors.ErrStateMoved) || c.want == "not found" && errors.Is(err, connectors.ErrNotFound) {
				return
			}
			if text := fmt.Sprint(err); (err == nil) != (c.want == "") || c.want != "" && !strings.Contains(text, c.want) || strings.Contains(text, "\n") || len(text) > 400 {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}

// TestServiceDown: a server that is not there is named, after a bounded time.
func TestServiceDown(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"gcs", "azure"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			conn, err := openService(t, typ, serviceKeys(typ, "http://127.0.0.1:1"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Ping(context.Background())
			if text := fmt.Sprint(err); !strings.Contains(text, "at http://127.0.0.1:1") || !strings.Contains(text, "connection refused") || strings.Contains(text, "\n") {
				t.Error(text)
			}
		})
	}
}

// TestServiceConditions: a write names the version that it replaces, a read the one that
// was listed, and the answer's version comes back.
func TestServiceConditions(t *testing.T) {
	t.Parallel()
	const parquetKey = "main/t.parquet"
	stored := func(gen string) answer {
		return answer{200, `{"kind": "storage#object", "name": "f", "bucket": "lake", "size": "2", "generation": "` + gen + `", "crc32c": "KXvQqg=="}`, map[string]string{"Content-Type": "application/json"}}
	}
	created := func(tag string) answer {
		return answer{201, "", map[string]string{"Etag": `"` + tag + `"`, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}}
	}
	xml := map[string]string{"Content-Type": "application/xml"}
	for typ, answers := range map[string]map[string]answer{
		"gcs": {
			"POST /upload":                                       gcsError(412, "conditionNotMet", "no"),
			"ifGenerationMatch=0&":                               stored("11"),
			"ifGenerationMatch=11&":                              stored("12"),
			"GET /storage/v1/b/lake/o/f?":                        {200, "{}", map[string]string{"X-Goog-Generation": "11"}},
			"GET /storage/v1/b/lake/o?":                          {200, `{"items": [{"name": "` + parquetKey + `", "size": "1000", "generation": "77"}]}`, map[string]string{"Content-Type": "application/json"}},
			"/o/main%2Ft.parquet?alt=media&ifGenerationMatch=77": gcsError(412, "conditionNotMet", "no"),
		},
		"azure": {
			"PUT /acc/lake/f ":                      azureError(412, "ConditionNotMet", "no"),
			"PUT /acc/lake/f *":                     created("0x11"),
			`PUT /acc/lake/f "0x11"`:                created("0x12"),
			"GET /acc/lake/f ":                      {200, "{}", map[string]string{"Etag": `"0x11"`}},
			"GET /acc/lake?":                        {200, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="lake"><Blobs><Blob><Name>` + parquetKey + `</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified><Etag>0x77</Etag><Content-Length>1000</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob></Blobs><NextMarker/></EnumerationResults>`, xml},
			`GET /acc/lake/main%2Ft.parquet "0x77"`: azureError(412, "ConditionNotMet", "no"),
		},
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			conn, err := openService(t, typ, serviceKeys(typ, serve(t, answers)))
			if err != nil {
				t.Fatal(err)
			}
			ctx, keeper := context.Background(), conn.(connectors.FileKeeper)
			if err := keeper.PutFile(ctx, "f", []byte("{}"), ""); err != nil {
				t.Errorf("a first write: %v", err)
			}
			data, version, err := keeper.GetFile(ctx, "f")
			if err != nil || string(data) != "{}" {
				t.Errorf("a read: %q, %v", data, err)
			}
			if err := keeper.PutFile(ctx, "f", []byte("{}"), version); err != nil {
				t.Errorf("a write over version %s: %v", version, err)
			}
			if err := keeper.PutFile(ctx, "f", []byte("{}"), "99"); !errors.Is(err, connectors.ErrStateMoved) {
				t.Errorf("a write over another version: %v", err)
			}
			if _, err := conn.Describe(ctx, connectors.Relation{Schema: "main", Name: "t"}); err == nil || !strings.Contains(err.Error(), "the object changed or vanished while it was read") {
				t.Errorf("a read of an object that changed: %v", err)
			}
		})
	}
}

// TestLargeObject: the head of an object is never taken for the whole of it.
func TestLargeObject(t *testing.T) {
	t.Parallel()
	const most = 16 << 20
	body := strings.Repeat("x", most+1)
	header := map[string]string{"X-Goog-Generation": "1", "Etag": `"1"`, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
	keepers := map[string]func(n int) (connectors.FileKeeper, string){}
	for _, typ := range []string{"gcs", "azure"} {
		keepers[typ] = func(n int) (connectors.FileKeeper, string) {
			conn, err := openService(t, typ, serviceKeys(typ, serve(t, map[string]answer{"GET": {200, body[:n], header}})))
			if err != nil {
				t.Fatal(err)
			}
			return conn.(connectors.FileKeeper), "lake/f"
		}
	}
	l := newLake(t)
	keepers["s3"] = func(n int) (connectors.FileKeeper, string) {
		l.must(l.bucket.Put(l.prefix+"/f", []byte(body[:n])))
		return l.open(nil).(connectors.FileKeeper), l.prefix + "/f"
	}
	for typ, keeper := range keepers {
		k, _ := keeper(most)
		if data, _, err := k.GetFile(context.Background(), "f"); err != nil || len(data) != most {
			t.Errorf("%s: %d bytes of %d: %v", typ, len(data), most, err)
		}
		k, name := keeper(most + 1)
		data, _, err := k.GetFile(context.Background(), "f")
		if text := fmt.Sprint(err); len(data) > 0 || !strings.Contains(text, name+": it is larger than the 16 MiB") || !strings.Contains(text, "move it away") {
			t.Errorf("%s: %d bytes: %s", typ, len(data), text)
		}
		if err := k.PutFile(context.Background(), "f", []byte(body), ""); err == nil || !strings.Contains(err.Error(), "more than the 16 MiB that could be read again") {
			t.Errorf("%s: a write: %v", typ, err)
		}
	}
}
