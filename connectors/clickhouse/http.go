package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// httpSession runs statements as HTTP requests whose bodies are blocks of FORMAT Native.
type httpSession struct {
	cfg    *config
	client *http.Client
	info   serverInfo
	params [][2]string // sent with every request; the one that forbids changes comes last
	insSQL string
	insID  string
	broken bool
}

func dialHTTP(ctx context.Context, cfg *config) (session, error) {
	d := net.Dialer{KeepAlive: 30 * time.Second, Timeout: cfg.connectTimeout}
	h := &httpSession{cfg: cfg, client: &http.Client{Transport: &http.Transport{
		DialContext: d.DialContext, TLSClientConfig: cfg.tls, DisableCompression: true, TLSHandshakeTimeout: cfg.connectTimeout,
	}}}
	rows, err := queryText(ctx, h, versionSQL)
	if err != nil {
		h.close()
		return nil, httpDialError(err)
	}
	if len(rows) != 1 {
		h.close()
		return nil, errors.New("not a ClickHouse server")
	}
	for i, s := range strings.SplitN(rows[0][0], ".", 4) {
		n, _ := strconv.Atoi(s)
		switch i {
		case 0:
			h.info.major = n
		case 1:
			h.info.minor = n
		case 2:
			h.info.patch = n
		}
	}
	return h, nil
}

func httpDialError(err error) error {
	if strings.Contains(err.Error(), "malformed HTTP") {
		return errors.New("this is not an HTTP port: set driver: native")
	}
	return dialError(err)
}

// request sends one statement. The caller closes the body.
func (h *httpSession) request(ctx context.Context, id, sql string, body io.Reader, params ...[2]string) (*http.Response, error) {
	scheme := "http"
	if h.cfg.tls != nil {
		scheme = "https"
	}
	all := append([][2]string{{"query_id", id}, {"default_format", "Native"}}, params...)
	if body != nil {
		all = append(all, [2]string{"query", sql})
	} else {
		body = strings.NewReader(sql)
	}
	var q strings.Builder
	for i, p := range append(all, h.params...) {
		if i > 0 {
			q.WriteByte('&')
		}
		q.WriteString(url.QueryEscape(p[0]) + "=" + url.QueryEscape(p[1]))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+h.cfg.addr()+"/?"+q.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-ClickHouse-User", h.cfg.user)
	if h.cfg.password != "" {
		req.Header.Set("X-ClickHouse-Key", h.cfg.password)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // without the URL, which has the statement and the settings
			err = noEOF(u.Err)
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			return nil, err
		}
		return nil, httpException(resp.StatusCode, string(text))
	}
	return resp, nil
}

var codeText = regexp.MustCompile(`(?s)^\s*Code: (\d+)[.,] (?:e\.displayText\(\) = )?(.*)$`)

// httpException reads the text that servers send for an error.
func httpException(status int, text string) error {
	m := codeText.FindStringSubmatch(text)
	if strings.Contains(text, "is for clickhouse-client program") {
		return errors.New("this is a native port: set driver: native")
	}
	if m == nil {
		return &exception{0, fmt.Sprintf("HTTP %d: %.200s", status, strings.Join(strings.Fields(text), " "))}
	}
	code, _ := strconv.Atoi(m[1])
	return newException(code, m[2])
}

func (h *httpSession) query(ctx context.Context, sql, id string, sink blockSink) (err error) {
	defer func() {
		var e *exception
		h.broken = h.broken || err != nil && !errors.As(err, &e)
	}()
	resp, err := h.request(ctx, id, sql, nil)
	if err != nil {
		return ctxError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if sink == nil {
		sink = &discard{}
	}
	in := newInput(resp.Body)
	for {
		if err := midException(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return ctxError(ctx, err)
		}
		if err := readBlock(in, false, sink); err != nil {
			return ctxError(ctx, err)
		}
	}
}

func ctxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

const exceptionMark = "__exception__"

// midException looks at what follows a block: io.EOF at the proper end, the error that
// a server writes into a result already begun, or nil for another block.
func midException(in *input) error {
	b, err := in.Peek(len(exceptionMark) + 2)
	if len(b) == 0 {
		return err
	}
	s := string(b)
	if !strings.HasPrefix(s, "Code: ") && !strings.HasPrefix(strings.TrimPrefix(s, "\r\n"), exceptionMark) {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(in.Reader, 1<<20))
	s = string(text)
	if i := strings.Index(s, "Code: "); i >= 0 {
		return httpException(http.StatusOK, s[i:])
	}
	return &exception{0, strings.TrimSpace(s)}
}

// insert: each block becomes a request of its own, so nothing is sent yet.
func (h *httpSession) insert(_ context.Context, sql, id string) ([]header, error) {
	h.insSQL, h.insID = sql, id
	return nil, nil
}

func (h *httpSession) sendBlock(ctx context.Context, b blockSource) error {
	var body bytes.Buffer
	o := output{w: &body}
	if err := writeBlock(&o, false, b); err != nil {
		return err
	}
	resp, err := h.request(ctx, h.insID, h.insSQL, &body)
	if err != nil {
		h.broken = true
		return ctxError(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	_ = resp.Body.Close()
	if err == nil && len(text) > 0 {
		err = httpException(resp.StatusCode, string(text))
	}
	return err
}

func (h *httpSession) finish(context.Context) error { return nil }

func (h *httpSession) prepare(ctx context.Context, database string) error {
	rows, err := queryText(ctx, h, databaseSQL(database))
	if err == nil && len(rows) > 0 {
		h.params = append(h.params, [2]string{"database", database})
	}
	return err
}

func (h *httpSession) set(_ context.Context, all []setting) error {
	for _, s := range all {
		text := fmt.Sprint(s.value)
		if b, ok := s.value.(bool); ok {
			text = strconv.Itoa(int(b2i(b)))
		}
		h.params = append(h.params, [2]string{s.name, text})
	}
	return nil
}

func (h *httpSession) alive(ctx context.Context) bool {
	_, err := queryText(ctx, h, versionSQL)
	return err == nil
}

func (h *httpSession) server() serverInfo { return h.info }
func (h *httpSession) usable() bool       { return !h.broken }

// abort: closing an HTTP connection does not end its statement on the server.
func (h *httpSession) abort(bool) bool { return false }

func (h *httpSession) close() { h.client.CloseIdleConnections() }
