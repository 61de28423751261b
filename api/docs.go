package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"doorward/kv/value"
)

// docs is the page that shows the OpenAPI document, and its files.
type docs struct {
	site   http.Handler
	policy string // of the page
	assets map[string]bool
}

// newDocs makes the page of a server that is mounted at a prefix.
func newDocs(prefix string) *docs {
	d := &docs{site: v5emb.New("Doorward", prefix+"/openapi.json", prefix+"/docs/"), assets: docsAssets()}
	var page rendered
	d.site.ServeHTTP(&page, &http.Request{URL: &url.URL{Path: prefix + "/docs/"}})
	d.policy = docsPolicy(page.Bytes())
	return d
}

// show answers the page. It is the same at each request.
func (d *docs) show(x *exchange) error {
	guardPage(x.Header(), d.policy)
	if !value.AcceptsGzip(x.request.Header.Values("Accept-Encoding")) {
		x.request.Header.Del("Accept-Encoding") // the library does not look at a quality
	}
	d.site.ServeHTTP(x, x.request)
	return nil
}

// asset answers a file that the page loads.
func (d *docs) asset(x *exchange) error {
	if !d.assets[x.request.PathValue(asterisk)] {
		return errNoRoute
	}
	return d.show(x)
}

// docsAssets are the names of the files that the page is made of. Most lie compressed.
func docsAssets() map[string]bool {
	names := map[string]bool{}
	files, _ := static.FS.ReadDir(".") // embedded: it is there
	for _, f := range files {
		names[strings.TrimSuffix(f.Name(), ".gz")] = true
	}
	return names
}

// inline matches the scripts and styles that lie in a page.
var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</`)

// docsPolicy is the Content-Security-Policy of the page, as that of our own pages. The page has
// scripts and a style in it, which are named by their hashes, and its style has pictures in it.
func docsPolicy(page []byte) string {
	sources := map[string]string{}
	for _, m := range inline.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(m[2])
		sources[string(m[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src 'self'" + sources["script"] + "; style-src 'self'" + sources["style"] +
		"; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

// rendered keeps what a handler writes.
type rendered struct {
	bytes.Buffer
	header http.Header
}

// Header returns the header, which is not sent.
func (r *rendered) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader does nothing: the status is not sent.
func (r *rendered) WriteHeader(int) {}
