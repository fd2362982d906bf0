package blob

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/netidle"
	"github.com/dvt-dev/dvt/internal/retry"
)

// checkEndpoint: credentials in an address would be printed with it.
func checkEndpoint(out connectors.Output) error {
	e := out.Text("endpoint")
	if e == "" {
		return nil
	}
	u, err := url.Parse(e)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return errors.New("endpoint: it is a URL like https://host:port, without credentials")
	}
	return nil
}

// bound bounds connecting, and waiting for a server that says nothing.
func bound(tr *http.Transport, env connectors.Env) {
	dialer := net.Dialer{Timeout: env.ConnectTimeout, KeepAlive: 30 * time.Second}
	if dialer.Timeout <= 0 {
		dialer.Timeout = 10 * time.Second
	}
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return netidle.Wrap(c, env.QueryTimeout), nil
	}
	tr.MaxIdleConnsPerHost, tr.TLSHandshakeTimeout = 2*inFlight, dialer.Timeout
}

// transport is a bounded one of the standard library.
func transport(env connectors.Env) *http.Transport {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	bound(tr, env)
	return tr
}

// resent are the answers after which a request is sent again.
var resent = []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// pace is how often a request is sent.
var pace = retry.Pace{Tries: 4, First: 400 * time.Millisecond, Longest: 3 * time.Second, Factor: 2}
