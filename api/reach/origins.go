package reach

import (
	"net/http"
	"net/url"
	"strings"
)

// Origins refuses changes that a page of another site asks for, unless the origin of that page is
// listed. A browser sends a key that it has, by cookie or by Basic, with the request of any page.
type Origins struct {
	own    http.CrossOriginProtection
	listed []string // as originOf writes them
}

// anySub is the prefix of a listed host by which all names below the rest of it are listed.
const anySub = "*."

// NewOrigins are the origin of the public URL, if there is one, and the listed origins, which Check
// has taken.
func NewOrigins(base *url.URL, listed []string) *Origins {
	o := &Origins{}
	if base != nil {
		_ = o.own.AddTrustedOrigin(originOf(base)) // a scheme and a host are an origin
	}
	for _, text := range listed {
		if u, err := url.Parse(text); err == nil {
			o.listed = append(o.listed, originOf(u))
		}
	}
	return o
}

// originOf is the origin of a URL as browsers send it: in lower case, and without the port that the
// scheme has anyway.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}

// Own reports whether no page of another site has made a request that can change something:
// Sec-Fetch-Site is same-origin or none, or, without that header, Origin is missing or names the
// request's Host. GET, HEAD and OPTIONS change nothing.
func (o *Origins) Own(r *http.Request) bool { return o.own.Check(r) == nil }

// Listed reports whether an origin is one of the listed ones. null, which pages without an origin
// send, never is.
func (o *Origins) Listed(origin string) bool {
	origin = strings.ToLower(origin)
	for _, l := range o.listed {
		scheme, below, any := strings.Cut(l, anySub)
		if origin == l || any && strings.HasPrefix(origin, scheme) && strings.HasSuffix(origin, "."+below) {
			return true
		}
	}
	return false
}

// Allow reports whether a request may change something: it is Own, or its page's origin is Listed.
func (o *Origins) Allow(r *http.Request) bool { return o.Own(r) || o.Listed(r.Header.Get("Origin")) }
