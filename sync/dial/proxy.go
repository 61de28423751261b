package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// proxyFunc returns the proxy of a request; nil = the server is dialled itself.
type proxyFunc func(*http.Request) (*url.URL, error)

// environment returns the proxies that the variables HTTPS_PROXY and NO_PROXY name, in either spelling. HTTP_PROXY does not count: over
// http:// the proxy could read the key.
func environment() proxyFunc { return proxyOf(httpproxy.FromEnvironment()) }

// proxyOf is environment for given values of the variables. This machine itself is never reached through a proxy.
func proxyOf(c *httpproxy.Config) proxyFunc {
	c.HTTPProxy = ""
	of := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		if strings.EqualFold(r.URL.Hostname(), "localhost") {
			return nil, nil
		}
		return of(r.URL)
	}
}

// ProxyError is a proxy that has made no connection. It is an ErrCut, unless the proxy has refused for good.
type ProxyError struct {
	Host   string // of the proxy, without a name and password
	Status int    // that it has answered; 0 = it was not reached
	cause  error
}

// Error names the proxy, and says what it has answered.
func (e *ProxyError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("the proxy %s cannot be reached: %v", e.Host, e.cause)
	}
	return fmt.Sprintf("the proxy %s refused the connection: %d %s", e.Host, e.Status, http.StatusText(e.Status))
}

// Unwrap makes it an ErrCut.
func (e *ProxyError) Unwrap() []error {
	if e.Status != 0 && !Transient(&Refusal{Status: e.Status}) {
		return nil
	}
	return []error{ErrCut, e.cause}
}

// checkProxy returns a *ProxyError if a proxy does not connect to the server.
func checkProxy(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyError{Host: proxy.Host, Status: resp.StatusCode}
}

// proxied is a transport with proxies.
type proxied struct{ *http.Transport }

// RoundTrip returns a *ProxyError if the proxy is not reached.
func (t proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if at := (*net.OpError)(nil); errors.As(err, &at) && at.Op == "proxyconnect" {
		if proxy, _ := t.Proxy(r); proxy != nil { // it was found before
			return nil, &ProxyError{Host: proxy.Host, cause: at.Err}
		}
	}
	return resp, err
}
