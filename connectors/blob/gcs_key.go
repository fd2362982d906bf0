package blob

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// scopeGCS lets a token read and write objects.
const scopeGCS = "https://www.googleapis.com/auth/devstorage.read_write"

// keyJSON is the content of a key file, given as text or as a mapping. What is wrong with
// it is said without what is in it.
func keyJSON(v any) ([]byte, error) {
	data, ok := v.(string)
	if !ok {
		raw, err := stdjson.Marshal(v)
		if err != nil {
			return nil, errors.New("it is neither a JSON object nor a mapping")
		}
		data = string(raw)
	}
	_, err := keyType([]byte(data))
	return []byte(data), err
}

// keyTypes are the credentials that a key file may hold. Others name commands or addresses
// to ask for a token, which only the environment's own configuration may do.
var keyTypes = []google.CredentialsType{google.ServiceAccount, google.AuthorizedUser}

func keyType(data []byte) (google.CredentialsType, error) {
	var key struct {
		Type google.CredentialsType `json:"type"`
	}
	if stdjson.Unmarshal(data, &key) != nil {
		return "", errors.New("it is not the JSON object of a key file")
	}
	if !slices.Contains(keyTypes, key.Type) {
		return "", errors.New(`its "type" must be service_account or authorized_user; others come from the application default credentials`)
	}
	return key.Type, nil
}

// leaves are the texts in a key file's content that are secret by themselves.
func leaves(v any) (out []string) {
	if s, ok := v.(string); ok {
		var m map[string]any
		if stdjson.Unmarshal([]byte(s), &m) != nil {
			return nil
		}
		v = m
	}
	m, _ := v.(map[string]any)
	for _, name := range []string{"private_key", "private_key_id", "client_secret", "refresh_token"} {
		s, _ := m[name].(string)
		if s == "" {
			continue
		}
		out = append(out, s)
		// A message of one line holds a key of many lines with its breaks escaped, or one
		// of its lines.
		out = append(out, strings.ReplaceAll(s, "\n", `\n`))
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	return out
}

// tokensGCS is where requests get their tokens; nil, to send none, for a server of one's
// own without a key.
func tokensGCS(ctx context.Context, c *conn, base http.RoundTripper) (oauth2.TokenSource, error) {
	// Tokens are fetched over the same bounded connections, for as long as c is open.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Transport: base})
	var data []byte
	var err error
	switch path := c.out.Text("keyfile"); {
	case c.out.Keys["keyfile_json"] != nil:
		if data, err = keyJSON(c.out.Keys["keyfile_json"]); err != nil {
			return nil, fmt.Errorf("keyfile_json: %w", err)
		}
	case path != "":
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.env.ProjectDir, path)
		}
		if data, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("keyfile: %w", err)
		}
	case c.out.Text("endpoint") != "":
		return nil, nil
	default:
		found, err := google.FindDefaultCredentials(ctx, scopeGCS)
		if err != nil {
			return nil, errors.New("no credentials: set keyfile or keyfile_json in the output, or GOOGLE_APPLICATION_CREDENTIALS")
		}
		return found.TokenSource, nil
	}
	typ, err := keyType(data)
	if err != nil {
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, data, typ, scopeGCS)
	if err != nil {
		return nil, errors.New("keyfile: its fields are not those of a key file") // the cause might quote it
	}
	return found.TokenSource, nil
}
