package run

import (
	"bytes"
	"io"
	"net/url"
	"sort"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Redactor removes the profile's secrets from whatever dvt prints or writes. Drivers
// and servers echo connection strings and statements; this is the last gate.
type Redactor struct{ replacer *strings.Replacer }

// shortestSecret is the length below which a value is no secret but a word that
// would be blacked out everywhere.
const shortestSecret = 4

// NewRedactor collects the secrets of outputs.
func NewRedactor(outputs map[string]connectors.Output) *Redactor {
	var secrets []string
	for _, out := range outputs {
		for _, s := range connectors.SecretValues(out) {
			if len(s) >= shortestSecret {
				secrets = append(secrets, s, url.QueryEscape(s), url.PathEscape(s))
			}
		}
	}
	// The longest first: a secret may contain another.
	sort.Slice(secrets, func(i, j int) bool { return len(secrets[i]) > len(secrets[j]) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Writer wraps w; each Write must carry whole lines, for a secret cut in two would
// pass.
func (r *Redactor) Writer(w io.Writer) io.Writer { return redactingWriter{r, w} }

type redactingWriter struct {
	r *Redactor
	w io.Writer
}

func (w redactingWriter) Write(p []byte) (int, error) {
	out := w.r.String(string(p))
	if bytes.Equal(p, []byte(out)) {
		return w.w.Write(p)
	}
	if _, err := io.WriteString(w.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}
